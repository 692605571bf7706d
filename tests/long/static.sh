#!/usr/bin/env bash
# make static: one file without shared libraries that does the same as the usual program in an empty
# file system. Skipped where the sources of its libraries cannot be fetched.
set -eu
. "$(dirname "$0")/../cli/top.bash"
[ "$(uname -m)" = x86_64 ] || skip "not an x86-64 machine"
command -v apt-get > /dev/null || skip "no apt-get: NLopt and SentencePiece cannot be fetched"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! make static B="$B" > "$work/log" 2>&1; then
    ! grep -q "cannot be fetched" "$work/log" || skip "sources cannot be fetched"
    fail "make static: $(tail -n 20 "$work/log")"
fi
alone=$B/static/isodepth
ldd "$alone" 2>&1 | grep -q "not a dynamic executable" || fail "it needs $(ldd "$alone")"

# A root with nothing but the program and a folder with inputs; $inside runs it there.
root=$work/root
mkdir -p "$root/w"
cp "$alone" "$root/isodepth"
if [ "$(id -u)" = 0 ]; then
    inside=(chroot "$root" /isodepth)
elif unshare --user --map-root-user true 2> /dev/null; then
    inside=(unshare --user --map-root-user chroot "$root" /isodepth)
else
    skip "neither root nor a user namespace: no chroot"
fi

"${inside[@]}" version -v > "$work/version"
for part in sentencepiece zlib zstd snappy sqlite; do
    grep -q "^$part *yes" "$work/version" || fail "$part is not in it: $(cat "$work/version")"
done
grep -q "^iconv *no" "$work/version" || fail "iconv would need modules: $(cat "$work/version")"
solvers=$("${inside[@]}" help fit)
if grep -q "^nlopt *yes" "$work/version"; then
    grep -q lbfgs <<< "$solvers" || fail "NLopt is in, lbfgs is not offered"
else
    ! grep -q lbfgs <<< "$solvers" || fail "NLopt is not in, lbfgs is offered"
fi

cp examples/paper_baseline.csv "$root/w/"
untimed() { sed 's/[0-9.]* s\.$//'; }
"$B/isodepth" fit examples/paper_baseline.csv --starts 50 --resamples 40 | untimed > "$work/fit"
"${inside[@]}" fit /w/paper_baseline.csv --starts 50 --resamples 40 | untimed > "$work/fit.inside"
cmp "$work/fit" "$work/fit.inside" || fail "fit: $(diff "$work/fit" "$work/fit.inside")"

cat README.md docs/*.md > "$root/w/text.txt"
iconv -f UTF-8 -t UTF-16 "$root/w/text.txt" > "$root/w/utf16.txt"
"${inside[@]}" tokenizer train --vocab 600 /w/text.txt --out /w/tok.model > /dev/null
"$B/isodepth" tokenizer train --vocab 600 "$root/w/text.txt" --out "$work/tok.model" > /dev/null
cmp "$root/w/tok.model" "$work/tok.model" || fail "tokenizer train"
"$B/isodepth" -q pack "$root/w/text.txt" -t "$work/tok.model" -T 32 --val 5% -o "$work/data" > /dev/null
for text in text utf16; do
    "${inside[@]}" -q pack /w/$text.txt -t /w/tok.model -T 32 --val 5% -o /w/$text > /dev/null
    cmp "$root/w/$text/train-00000.shard" "$work/data/train-00000.shard" || fail "pack $text"
done
"${inside[@]}" -q pack /w/text.txt -t bytes --encoding cp1252 -o /w/no 2> "$work/err" &&
    fail "an encoding that is not in"
grep -q "this build has utf8, latin1, utf16" "$work/err" || fail "no iconv: $(cat "$work/err")"

cat > "$root/w/run.yaml" <<'YAML'
d_model: 32
head: 16
r: 2
depth: 4
prelude: 1
coda: 1
batch_tokens: 128
steps: 2
transfer: {width: 32, batch_tokens: 128, looped_r: 2}
YAML
"${inside[@]}" -q train /w/run.yaml --data /w/text --out /w/run > /dev/null
"$B/isodepth" -q train "$root/w/run.yaml" --data "$work/data" --out "$work/run" > /dev/null
cmp "$root/w/run/model.safetensors" "$work/run/model.safetensors" || fail "train: other weights"
grep -q '"status": "done"' "$root/w/run/result.json" || fail "train: $(cat "$root/w/run/result.json")"
echo ok
