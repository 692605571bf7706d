#!/usr/bin/env bash
# pack: reproducible, refuses and repeats as it should, survives kill -9.
set -eu
. "$(dirname "$0")/top.bash"
iso=$B/isodepth
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
packed() { (cd "$1" && cat meta.json ./*.shard) | cksum; }

awk 'BEGIN { s = 42
    for (d = 0; d < 30000; d++) { line = "document " d ":"
        s = (s * 16807) % 2147483647
        for (k = s % 60; k > 0; k--) { s = (s * 16807) % 2147483647; line = line " w" s % 5000 }
        print line "\n" } }' > "$work/text.txt"

# Two threads and one give the same bytes; so does a folder, gzip, and standard input.
"$iso" pack "$work/text.txt" --tokenizer bytes -T 127 --out "$work/one" --threads 1 > "$work/log"
grep -q "30000 documents read, 0 duplicates" "$work/log" || fail "counts: $(cat "$work/log")"
"$iso" -q pack "$work/text.txt" --tokenizer bytes -T 127 --out "$work/two" --threads 3 > /dev/null
[ "$(packed "$work/one")" = "$(packed "$work/two")" ] || fail "threads change the bytes"
"$iso" -q pack - --tokenizer bytes -T 127 --out "$work/pipe" < "$work/text.txt" > /dev/null
for f in train-00000.shard val-00000.shard; do
    cmp "$work/one/$f" "$work/pipe/$f" || fail "standard input gives other rows"
done

gzip -c "$work/text.txt" > "$work/text.txt.gz"
"$iso" -q pack "$work/text.txt.gz" --tokenizer bytes -T 127 --out "$work/gz" > /dev/null
cmp "$work/one/train-00000.shard" "$work/gz/train-00000.shard" || fail "gzip gives other rows"

# Fields whose long names end differently are different packings.
long=$(printf '%0200d' 0)
for i in $(seq 40); do echo "{\"${long}a\": \"the text $i\", \"${long}b\": \"other words $i\"}"; done \
    > "$work/long.jsonl"
"$iso" -q pack "$work/long.jsonl" --field "${long}a" --tokenizer bytes -T 7 --out "$work/long" \
    > /dev/null
! "$iso" pack "$work/long.jsonl" --field "${long}b" --tokenizer bytes -T 7 --out "$work/long" \
    > /dev/null 2> "$work/err" || fail "another field is taken for the same"
grep -q "holds another packing: field is" "$work/err" || fail "another field: $(cat "$work/err")"

# A folder with links that lead back, a FIFO and a name in capitals: the same rows, at once.
mkdir "$work/folder"
cp "$work/text.txt" "$work/folder/B.TXT"
ln -s . "$work/folder/l1"
ln -s . "$work/folder/l2"
mkfifo "$work/folder/x.txt"
timeout 60 "$iso" pack "$work/folder" --tokenizer bytes -T 127 --out "$work/links" \
    > /dev/null 2> "$work/err" || fail "a folder with links and a FIFO: $(cat "$work/err")"
grep -q "1 FIFOs, sockets or devices skipped; the first is .*/x.txt" "$work/err" &&
    grep -q "2 links to directories that are read already skipped" "$work/err" ||
    fail "what was skipped: $(cat "$work/err")"
cmp "$work/one/train-00000.shard" "$work/links/train-00000.shard" || fail "links change the rows"

# Line ends and encodings: the same rows, and a word about each.
sed 's/$/\r/' "$work/text.txt" > "$work/crlf.txt"
"$iso" pack "$work/crlf.txt" --tokenizer bytes -T 127 --out "$work/crlf" > /dev/null 2> "$work/err"
cmp "$work/one/train-00000.shard" "$work/crlf/train-00000.shard" || fail "CR LF changes the rows"
grep -q "60000 line ends changed to LF (--keep-cr keeps them)" "$work/err" || fail "$(cat "$work/err")"
"$iso" pack "$work/crlf.txt" --tokenizer bytes -T 127 --keep-cr --out "$work/keep" \
    > /dev/null 2> "$work/err"
grep -q "line ends" "$work/err" && fail "--keep-cr"
{ printf '\377\376'; iconv -f UTF-8 -t UTF-16LE "$work/text.txt"; } > "$work/utf16.txt"
"$iso" -q pack "$work/utf16.txt" --tokenizer bytes -T 127 --out "$work/utf16" > /dev/null
cmp "$work/one/train-00000.shard" "$work/utf16/train-00000.shard" || fail "UTF-16 changes the rows"
sed 's/document/d\xc3\xb6cument/' "$work/text.txt" > "$work/umlaut.txt"
iconv -f UTF-8 -t ISO-8859-1 "$work/umlaut.txt" > "$work/latin1.txt"
"$iso" -q pack "$work/umlaut.txt" --tokenizer bytes -T 127 --out "$work/umlaut" > /dev/null
"$iso" -q pack "$work/latin1.txt" --encoding latin1 --tokenizer bytes -T 127 --out "$work/latin1" \
    > /dev/null 2> "$work/err"
cmp "$work/umlaut/train-00000.shard" "$work/latin1/train-00000.shard" || fail "Latin-1 changes rows"
[ ! -s "$work/err" ] || fail "--encoding latin1 warns: $(cat "$work/err")"
"$iso" -q pack "$work/latin1.txt" --tokenizer bytes -T 127 --out "$work/invalid" \
    > /dev/null 2> "$work/err"
grep -q "30000 bytes are not UTF-8, the first in .*latin1.txt, document 1; .*--encoding" "$work/err" &&
    grep -q '"invalid_bytes": 30000' "$work/invalid/meta.json" || fail "invalid: $(cat "$work/err")"
# Bytes that an encoding does not have are no reason to convert from another one.
printf '\377\376\075\330\101\000' > "$work/lone.txt"
"$iso" pack "$work/lone.txt" "$work/text.txt" --tokenizer bytes -T 127 --out "$work/lone" \
    > /dev/null 2> "$work/err"
grep -q "2 bytes are not valid in the encoding of their file, the first in .*lone.txt (utf16" "$work/err" ||
    fail "a lone surrogate: $(cat "$work/err")"
grep -q ": 1 file converted to UTF-8" "$work/err" || fail "one file: $(cat "$work/err")"
grep -q "not UTF-8" "$work/err" && fail "a lone surrogate: $(cat "$work/err")"
grep -q '"invalid_bytes": 2' "$work/lone/meta.json" || fail "a lone surrogate is not counted"

# Settings that help are named as options.
advises() { # OPTION ARGUMENTS...
    local option=$1 status=0; shift
    "$iso" pack "$@" --tokenizer bytes -T 127 --out "$work/advice" > /dev/null 2> "$work/err" || status=$?
    [ $status = 1 ] && grep -q -e "$option" "$work/err" || fail "$option: $(cat "$work/err")"
}
printf '{"body": "one"}\n' > "$work/body.jsonl"
printf 'nul \000 byte\n' > "$work/nul.txt"
printf '{"text": "good"}\n{"text": bad}\n' > "$work/half.jsonl"
advises "set --val to a share" "$work/text.txt" --val files
advises "set --field to one of them" "$work/body.jsonl"
advises "set --encoding" "$work/nul.txt"
advises "raise --max-lost" "$work/half.jsonl" --skip-bad --max-lost 1%

# --skip-bad names every file and the bytes lost, and fails when it is too much.
mkdir "$work/damaged"
cp "$work/text.txt" "$work/damaged/a.txt"
ln -s nowhere "$work/damaged/b.txt"
printf '{"text": "good"}\n{"text": bad}\n' > "$work/damaged/c.jsonl"
head -c 1000 "$work/text.txt.gz" > "$work/damaged/d.txt.gz"
status=0; "$iso" pack "$work/damaged" --tokenizer bytes -T 127 --out "$work/skip" \
    > /dev/null 2> "$work/err" || status=$?
[ $status = 1 ] && grep -q "b.txt: cannot open" "$work/err" || fail "a dangling link"
"$iso" pack "$work/damaged" --tokenizer bytes -T 127 --out "$work/skip" --skip-bad \
    > /dev/null 2> "$work/err" || fail "--skip-bad: $(cat "$work/err")"
for lost in "0 bytes of .*/b.txt in 1 place:" "14 bytes of .*/c.jsonl in 1 place: .*c.jsonl:2" \
    "1000 bytes of .*/d.txt.gz in 1 place:" "1014 of [0-9]* bytes (.* %) in all"; do
    grep -q "lost $lost" "$work/err" || fail "--skip-bad does not say '$lost': $(cat "$work/err")"
done
[ "$(grep -c '"why"' "$work/skip/meta.json")" = 3 ] && grep -q '"bytes_lost": 1014' \
    "$work/skip/meta.json" || fail "--skip-bad: $(cat "$work/skip/meta.json")"
cat "$work/text.txt.gz" "$work/text.txt.gz" | head -c 500000 > "$work/damaged/d.txt.gz"
status=0; "$iso" pack "$work/damaged" --tokenizer bytes -T 127 --out "$work/much" --skip-bad \
    > /dev/null 2> "$work/err" || status=$?
{ [ $status = 1 ] && grep -q "bytes were lost in 3 of 4 files, more than 1 %; the most in .*d.txt.gz" \
    "$work/err" && [ ! -e "$work/much/meta.json" ]; } || fail "too much lost: $(cat "$work/err")"
"$iso" pack "$work/damaged" --tokenizer bytes -T 127 --out "$work/much" --skip-bad --max-lost 40% \
    > /dev/null 2> "$work/err" || fail "--max-lost: $(cat "$work/err")"

# Ready tokens of Parquet: a list of T+1 tokens is a row as it is; no tokenizer is needed.
"$iso" pack tests/data/parquet/duckdb_tokens_snappy_v1.parquet --vocab 65536 -T 15 --val 0 \
    --out "$work/ready" --json > "$work/log"
grep -q '"cropped": 0' "$work/log" || fail "ready tokens: $(cat "$work/log")"
"$iso" data "$work/ready" --verify --json | grep -q '"tokenizer": "none"' || fail "ready tokens"
[ "$("$iso" data "$work/ready" --row 0 | wc -w)" = 16 ] || fail "a row of ready tokens"

# A name that is not UTF-8 (Latin-1) makes no invalid JSON, and is packed like any other.
name=$(printf 'caf\351.txt')
cp "$work/text.txt" "$work/$name"
"$iso" -q pack "$work/$name" --tokenizer bytes -T 127 --out "$work/$name.data" --json > "$work/log"
for json in "$work/log" "$work/$name.data/meta.json"; do
    iconv -f UTF-8 -t UTF-8 "$json" > /dev/null || fail "JSON that is not UTF-8: $(cat "$json")"
done
cmp "$work/one/train-00000.shard" "$work/$name.data/train-00000.shard" || fail "a name changes rows"
"$iso" data "$work/$name.data" --json | grep -q '"rows"' || fail "a name that is not UTF-8"
"$iso" pack "$work/$name" --tokenizer bytes -T 127 --out "$work/$name.data" |
    grep -q "nothing to do" || fail "a name that is not UTF-8 is not found again"

# The file twice: every document of the second is a duplicate, the rows are the same.
"$iso" pack "$work/text.txt" "$work/text.txt" --tokenizer bytes -T 127 --out "$work/double" \
    --json > "$work/log"
grep -q '"duplicates": 30000' "$work/log" || fail "duplicates: $(cat "$work/log")"
cmp "$work/one/train-00000.shard" "$work/double/train-00000.shard" || fail "duplicates change rows"

# A finished directory: nothing to do; other settings are refused, and forced.
"$iso" pack "$work/text.txt" --tokenizer bytes -T 127 --out "$work/two" | grep -q "nothing to do" ||
    fail "repeating is not a no-op"
status=0; "$iso" pack "$work/text.txt" --tokenizer bytes -T 63 --out "$work/two" \
    2> "$work/err" || status=$?
{ [ $status = 1 ] && grep -q "seq_len is 127 there, 63 was asked for.*force" "$work/err"; } ||
    fail "other settings: $(cat "$work/err")"
"$iso" -q pack "$work/text.txt" --tokenizer bytes -T 63 --out "$work/two" --force > /dev/null
"$iso" data "$work/two" --json | grep -q '"T": 63' || fail "--force"

# Another name of the same file is the same source, unless it is read as another format.
awk '{ print "{\"text\": \"" $0 "\"}" }' "$work/text.txt" > "$work/j.txt"
"$iso" -q pack "$work/j.txt" --tokenizer bytes -T 63 --out "$work/named" > /dev/null
mv "$work/j.txt" "$work/k.txt"
"$iso" pack "$work/k.txt" --tokenizer bytes -T 63 --out "$work/named" | grep -q "nothing to do" ||
    fail "a renamed source"
mv "$work/k.txt" "$work/j.jsonl"
status=0; "$iso" pack "$work/j.jsonl" --tokenizer bytes -T 63 --out "$work/named" \
    2> "$work/err" || status=$?
[ $status = 1 ] && grep -q "sources is" "$work/err" || fail "a source read as another format"

# Usage errors.
status=0; "$iso" pack "$work/text.txt" --tokenizer bytes -T 127 --format txt --out "$work/one" \
    2> "$work/err" || status=$?
[ $status = 2 ] && grep -q -- "--format: expected .* found \"txt\". Did you mean text?" "$work/err" ||
    fail "--format: $(cat "$work/err")"
for bad in "--val 1" "--val x" "--long cut" "--bos y" "--bos 257" "--seq-len 0" "--vocab 99" \
    "--encoding klingon" "--max-lost 2"; do
    status=0
    # shellcheck disable=SC2086 # an option and its value
    "$iso" pack "$work/text.txt" --tokenizer bytes $bad --out "$work/bad" 2> "$work/err" || status=$?
    name=${bad%% *}
    [ $status != 0 ] && grep -q -- "${name#--}" "$work/err" || fail "$bad: $(cat "$work/err")"
done
status=0; "$iso" pack "$work/text.txt" --tokenizer bytes --out "" 2> "$work/err" || status=$?
[ $status = 2 ] && grep -q "name is empty" "$work/err" || fail "--out with an empty name"
status=0; "$iso" pack "$work/text.txt" --out "$work/bad" 2> "$work/err" || status=$?
[ $status = 2 ] && grep -q -- "--tokenizer is missing.*set --vocab" "$work/err" || fail "no tokenizer"
status=0; "$iso" pack "$work/none.txt" --tokenizer bytes --out "$work/bad" 2> "$work/err" || status=$?
[ $status = 1 ] && grep -q "none.txt" "$work/err" || fail "no such file"
printf 'short' > "$work/short.txt"
status=0; "$iso" pack "$work/short.txt" --tokenizer bytes --out "$work/bad" 2> "$work/err" || status=$?
[ $status = 1 ] && grep -q "do not fill one training row" "$work/err" || fail "too little text"

# kill -9 at random moments: never a half packing that opens; a rerun starts over and arrives.
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    "$iso" -q pack "$work/text.txt" --tokenizer bytes -T 127 --out "$work/kill" > /dev/null &
    pid=$!
    sleep "0.$((i * i * 7 % 40 / 10))$((i * 3 % 10))"
    kill -9 $pid 2> /dev/null || true
    wait $pid 2> /dev/null || true
    if [ -e "$work/kill/meta.json" ]; then
        "$iso" data "$work/kill" --verify > /dev/null || fail "a killed packing opened, damaged"
        rm -r "$work/kill"
    elif [ -d "$work/kill" ]; then
        status=0; "$iso" data "$work/kill" 2> "$work/err" || status=$?
        [ $status = 1 ] && grep -q "interrupted" "$work/err" || fail "half a packing was read"
    fi
done
mkdir -p "$work/kill"
rm -f "$work/kill/meta.json"
cp "$work/one/train-00000.shard" "$work/kill/train-00007.shard"
mkdir -p "$work/kill/.packing"
echo half > "$work/kill/.packing/val-00000.shard.tmp123"
mine="notes.txt meta.json.bak tokenizer.model tokenizer.model.old spill-list.txt x.shard train-1.shard
    train-00000.shard.gz pretrain-00000.shard"
for name in $mine; do echo mine > "$work/kill/$name"; done
"$iso" pack "$work/text.txt" --tokenizer bytes -T 127 --out "$work/kill" 2> "$work/err" > /dev/null
grep -q "interrupted; starting over" "$work/err" || fail "the rerun does not say what it does"
for name in meta.json train-00000.shard val-00000.shard; do
    cmp "$work/kill/$name" "$work/one/$name" || fail "the rerun's bytes differ"
done
[ ! -e "$work/kill/.packing" ] || fail "a temporary file stays behind"
for name in $mine; do
    [ "$(cat "$work/kill/$name")" = mine ] || fail "a file that is not ours was removed: $name"
done

# A link in place of our folders: what is behind it is not ours.
mkdir "$work/linked"
cp -r "$work/one" "$work/victim"
for name in .packing .packed; do
    ln -s ../victim "$work/linked/$name"
    status=0
    "$iso" pack "$work/text.txt" --tokenizer bytes -T 127 --out "$work/linked" > /dev/null \
        2> "$work/err" || status=$?
    [ $status = 1 ] && grep -q "linked/$name: a symbolic link" "$work/err" || fail "$name: $(cat "$work/err")"
    diff -r "$work/one" "$work/victim" || fail "$name: files behind the link are gone"
    rm "$work/linked/$name" || fail "$name: the link is gone"
done

# A full disk: an error, and nothing that opens.
status=0
(ulimit -f 100; trap '' XFSZ; "$iso" -q pack "$work/text.txt" --tokenizer bytes -T 127 \
    --out "$work/full" > /dev/null 2> "$work/err") || status=$?
{ [ $status = 1 ] && [ ! -e "$work/full/meta.json" ] && grep -q "ulimit -f" "$work/err"; } ||
    fail "full disk: $status $(cat "$work/err")"

# What cannot be packed does not replace what is there.
before=$(packed "$work/two")
for bad in "--format txt" "--format jsonl" "--tokenizer none.model"; do
    status=0
    # shellcheck disable=SC2086 # an option and its value
    "$iso" -q pack "$work/text.txt" --tokenizer bytes -T 31 $bad --out "$work/two" --force \
        > /dev/null 2> "$work/err" || status=$?
    [ $status != 0 ] && [ "$(packed "$work/two")" = "$before" ] || fail "--force $bad: $status"
done
status=0
(ulimit -f 100; trap '' XFSZ; "$iso" -q pack "$work/text.txt" --tokenizer bytes -T 31 \
    --out "$work/two" --force > /dev/null 2> "$work/err") || status=$?
[ $status = 1 ] && [ "$(packed "$work/two")" = "$before" ] || fail "--force on a full disk: $status"
echo ok
