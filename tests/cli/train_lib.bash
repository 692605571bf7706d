# Shared by the tests of single models: a folder to work in, the program, a text and a small run.
# Sourced after top.bash; goes into the folder.
I=$(realpath "$B/isodepth")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

small_text() { # DOCUMENTS: writes text.txt
    for i in $(seq "$1"); do
        echo "Line $i has the number $((i * i % 97)) and ends here, or there."
        echo
    done >text.txt
}

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

small_grid() { # BUDGETS WIDTHS BATCH: writes grid.yaml for data/ in rows of 64 tokens
    cat >grid.yaml <<YAML
budgets: $1
r: [1, 2]
widths: $2
width_unit: 16
depth: 4
prelude: 1
coda: 1
head: 16
seq_len: 64
vocab: 257
batch_tokens: $3
transfer: {width: 32, batch_tokens: $3, looped_r: 2}
data: data
YAML
}

stopped_run() { # DIR ARGS...: trains run.yaml to its end, through up to three `stops` by a signal
    local dir=$1 pid code
    stops=0
    shift
    while [ ! -e "$dir/result.json" ]; do
        "$I" -q train run.yaml --out "$dir" "$@" 2>/dev/null &
        pid=$!
        if [ $stops -lt 3 ]; then
            sleep 0.3
            kill -TERM $pid 2>/dev/null || true
            stops=$((stops + 1))
        fi
        code=0; wait $pid || code=$?
        case $code in 0 | 3) ;; *) fail "exit code $code" ;; esac
        [ $SECONDS -lt 240 ] || fail "not done"
    done
}

same() { # DIR DIR WHAT: the tensors of both files, and the metrics but for times
    cmp -s "$1/model.safetensors" "$2/model.safetensors" || fail "$3: other weights"
    python3 - "$1" "$2" <<'PY' || fail "$3: other moments or metrics"
import json, struct, sys
def tensors(path):
    b = open(path + "/optimiser.safetensors", "rb").read()
    return b[8 + struct.unpack("<Q", b[:8])[0]:]
def metrics(path):
    lines = [json.loads(l) for l in open(path + "/metrics.jsonl")]
    return [{k: v for k, v in l.items() if k not in ("seconds", "gflops", "tokens_per_second")} for l in lines]
a, b = sys.argv[1:]
assert tensors(a) == tensors(b), "moments"
assert metrics(a) == metrics(b), "metrics"
PY
}

losses() { sed 's/"grad_norm.*//' "$1"; } # METRICS: each step's loss, without norms and times
