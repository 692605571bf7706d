#!/usr/bin/env bash
# tokenizer train, encode, decode, info: end to end, and against spm_encode.
set -eu
. "$(dirname "$0")/top.bash"
iso=$B/isodepth
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The bytes tokenizer needs no library.
[ "$(printf 'Az\n' | "$iso" tokenizer encode bytes)" = "65 122" ] || fail "encode bytes"
[ "$(printf 'Az\n' | "$iso" tokenizer encode bytes --bos --json)" = "[256, 65, 122]" ] ||
    fail "encode bytes --bos --json"
[ "$(echo '256 72 105' | "$iso" tokenizer decode bytes)" = "Hi" ] || fail "decode bytes"
[ "$(echo '[256, 72, 105]' | "$iso" tokenizer decode bytes)" = "Hi" ] || fail "decode a JSON array"
printf 'abcdef' > "$work/six.txt"
"$iso" tokenizer info bytes "$work/six.txt" --json | grep -q '"bytes_per_token": 1' || fail "info"
"$iso" tokenizer info bytes | grep -q "257, padded to 320" || fail "padded vocabulary"

# Errors: exit code, place and remedy.
status=0; echo "1 2 x" | "$iso" tokenizer decode bytes 2> "$work/err" || status=$?
[ $status = 1 ] || fail "exit code of a bad id is $status"
grep -q "standard input:1: column 5" "$work/err" || fail "place of a bad id: $(cat "$work/err")"
status=0; printf '256 72\0 105\n' | "$iso" tokenizer decode bytes 2> "$work/err" || status=$?
{ [ $status = 1 ] && grep -q "standard input:1: column 7" "$work/err"; } || fail "ids behind a NUL"
status=0; echo "1 2 999" | "$iso" tokenizer decode bytes 2> "$work/err" || status=$?
{ [ $status = 1 ] && grep -q "token 999 .*outside the vocabulary of 257" "$work/err"; } ||
    fail "id out of range: $(cat "$work/err")"
status=0; "$iso" tokenizer encode bytes "$work" 2> "$work/err" || status=$?
{ [ $status = 1 ] && grep -q "$work: cannot read" "$work/err"; } || fail "a folder is not a file"
status=0; "$iso" tokenizer encode nonsense < /dev/null 2> "$work/err" || status=$?
{ [ $status = 1 ] && grep -q "isodepth tokenizer train" "$work/err"; } || fail "unknown tokenizer"

# The first word alone lists the commands that begin with it.
"$iso" help tokenizer | grep -q "tokenizer train  *train a byte" || fail "help tokenizer"
for words in tokenizer "tokenizer learn" corpus; do
    status=0
    # shellcheck disable=SC2086 # one word or two
    "$iso" $words 2> "$work/err" || status=$?
    { [ $status = 2 ] && grep -q "${words%% *} has these commands" "$work/err"; } ||
        fail "$words: $(cat "$work/err")"
done

"$iso" version --json | grep -q '"sentencepiece": true' || {
    skip "this build has no SentencePiece"
}

# Training: deterministic, and decoding returns the text.
awk 'BEGIN { s = 7; split("lo re mi fa sol tre ka dor sun an", w, " ")
    for (i = 0; i < 3000; i++) { line = ""
        for (k = 0; k < 8; k++) { s = (s * 16807) % 2147483647
            line = line w[1 + s % 10] w[1 + int(s / 10) % 10] (k % 3 ? " " : ", ") }
        print line (i % 9 ? "" : "\n") } }' > "$work/text.txt"
"$iso" tokenizer train --vocab 420 "$work/text.txt" --out "$work/a.model" > /dev/null
OMP_NUM_THREADS=1 "$iso" tokenizer train --vocab 420 "$work/text.txt" --out "$work/b.model" \
    --json | grep -q '"vocab": 420' || fail "train --json"
cmp "$work/a.model" "$work/b.model" || fail "training is not deterministic"
# A sample is evenly spread documents: a quarter gives the model of every fourth document alone.
awk -v RS= -v ORS='\n\n' 'NR % 4 == 0' "$work/text.txt" > "$work/fourth.txt"
"$iso" tokenizer train --vocab 420 "$work/fourth.txt" --out "$work/c.model" > /dev/null
"$iso" tokenizer train --vocab 420 --sample 25% "$work/text.txt" --out "$work/d.model" > /dev/null
cmp "$work/c.model" "$work/d.model" || fail "--sample"
if cmp -s "$work/a.model" "$work/d.model"; then fail "--sample took all"; fi
if (ulimit -f 1; "$iso" tokenizer train --vocab 420 "$work/text.txt" --out "$work/large.model") 2> "$work/err"; then
    fail "a file beyond its limit"
fi
grep -q 'large.model: .*ulimit -f' "$work/err" || fail "a file beyond its limit: $(cat "$work/err")"
[ -z "$(find "$work" -name 'large.model*')" ] || fail "a file beyond its limit: left $(ls "$work")"
status=0; "$iso" tokenizer train --sample 2 "$work/text.txt" --out "$work/d.model" 2> "$work/err" || status=$?
{ [ $status = 2 ] && grep -q -- '--sample: expected a share' "$work/err"; } || fail "--sample 2: $(cat "$work/err")"
mkdir "$work/folder"
cp "$work/text.txt" "$work/folder"
seq 9000 > "$work/folder/README.md"
"$iso" -q tokenizer train --vocab 420 "$work/folder" --out "$work/b.model" > /dev/null
cmp "$work/a.model" "$work/b.model" || fail "a README beside the text was learned"
printf '  two  spaces \ttab na\xc3\xafve \xf0\x9f\x98\x80\nlore mifa, sol\n\nx\n' > "$work/lines"
"$iso" tokenizer encode "$work/a.model" "$work/lines" > "$work/ids"
"$iso" tokenizer decode "$work/a.model" "$work/ids" | cmp - "$work/lines" || fail "round trip"
# Carriage returns, kept or not, are in no piece.
sed 's/$/\r/' "$work/text.txt" > "$work/crlf.txt"
"$iso" tokenizer train --vocab 420 "$work/crlf.txt" --out "$work/b.model" > /dev/null 2> "$work/err"
cmp "$work/a.model" "$work/b.model" || fail "CR LF changes the model"
grep -q "line ends changed to LF" "$work/err" || fail "CR LF: $(cat "$work/err")"
"$iso" -q tokenizer train --vocab 420 "$work/crlf.txt" --keep-cr --out "$work/b.model" > /dev/null
cmp "$work/a.model" "$work/b.model" || fail "pieces with a carriage return"
status=0; "$iso" tokenizer train --vocab 420 "$work/text.txt" --out "$work/c" 2> /dev/null || status=$?
[ $status = 2 ] || fail "a model's name must end in .model: exit code $status"

# What cannot work is said in our own words, and before the training where possible.
refused() { # WORDS OPTIONS...: fails with a message that has WORDS, and leaves no file
    local words=$1 status=0
    shift
    "$iso" tokenizer train "$@" 2> "$work/err" || status=$?
    [ $status = 1 ] && grep -q -- "$words" "$work/err" || fail "$*: $(cat "$work/err")"
    [ -z "$(find "$work" -name 'no.model*')" ] || fail "$*: a file is left behind"
}
refused "nodir/no.model: cannot write" --out "$work/nodir/no.model" "$work/none.txt"
: > "$work/empty.txt"
refused "empty.txt: there is no text" --out "$work/no.model" "$work/empty.txt"
printf 'hello world\n' > "$work/hello.txt"
refused "vocab 260 is too small: .*at least 267" --vocab 260 --out "$work/no.model" "$work/hello.txt"
refused "vocab 400 is too large: .*at most 285" --vocab 400 --out "$work/no.model" "$work/hello.txt"
for vocab in 267 285; do
    "$iso" tokenizer train --vocab $vocab --out "$work/h.model" "$work/hello.txt" > /dev/null ||
        fail "--vocab $vocab"
done

# A model in the folder to pack into is not lost, whether packing succeeds or not.
mkdir "$work/data"
cp "$work/a.model" "$work/data/tokenizer.model"
for t in 100000 63; do
    "$iso" pack --tokenizer "$work/data/tokenizer.model" -T $t --out "$work/data" "$work/text.txt" \
        > "$work/log" 2>&1 || [ $t = 100000 ] || fail "a model in the folder: $(cat "$work/log")"
    cmp "$work/a.model" "$work/data/tokenizer.model" || fail "the model in the folder is lost"
    ! grep -q interrupted "$work/log" || fail "the model counted as the remains of a packing"
done
"$iso" data "$work/data" --row 0 > /dev/null || fail "a packing with its model"

command -v spm_encode > /dev/null || skip "spm_encode is not installed"
spm_encode --model="$work/a.model" --output_format=id < "$work/lines" | cmp - "$work/ids" ||
    fail "ids differ from spm_encode's"
echo ok
