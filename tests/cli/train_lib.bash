# Shared by the tests of single models: a folder to work in, the program, and a small run.
# Sourced after top.bash; goes into the folder.
I=$(realpath "$B/isodepth")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "FAIL: $*"; exit 1; }

small_run() { # BATCH STEPS T: packs text.txt into data/ and writes run.yaml
    "$I" pack text.txt -t bytes -T "$3" --val 5% -o data >/dev/null
    cat >run.yaml <<YAML
data: data
d_model: 32
head: 16
r: 2
depth: 4
prelude: 1
coda: 1
batch_tokens: $1
steps: $2
transfer: {width: 32, batch_tokens: $1, looped_r: 2}
YAML
}
