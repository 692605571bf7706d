#!/usr/bin/env bash
# data: what it shows, rows decoded, verification of damaged copies; corpus finds its script.
set -eu
. "$(dirname "$0")/top.bash"
iso=$B/isodepth
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# 400 documents of 15 bytes: with BOS 16 tokens each, so four fill a row of T+1 = 64 exactly.
awk 'BEGIN { for (i = 0; i < 400; i++) printf "document %06d\n\n", i }' > "$work/text.txt"
"$iso" -q pack "$work/text.txt" --tokenizer bytes -T 63 --val 0 --out "$work/p" > /dev/null
"$iso" data "$work/p" --verify > "$work/out"
grep -q "vocabulary 257 padded to 320" "$work/out" || fail "vocabulary: $(cat "$work/out")"
grep -q "all checksums verified" "$work/out" || fail "verify"
grep -Eq "^train +100 +6400 +400 +0.9375 +100.00%" "$work/out" || fail "counts: $(cat "$work/out")"
"$iso" data "$work/p" --json > "$work/json"
grep -q '"rows": 100' "$work/json" || fail "json: $(cat "$work/json")"

# meta.json may hold any number; one that no integer holds is printed as it is.
cp -r "$work/p" "$work/huge"
sed -i 's/"kept": [0-9]*/"kept": 1e300/; s/"xxh64"/"none"/' "$work/huge/meta.json"
"$iso" data "$work/huge" --json | grep -q '"kept": 1e+300' || fail "a count of 1e300"

# All rows, decoded, are the documents again.
for i in $(seq 0 99); do "$iso" data "$work/p" --row "$i"; done | sed 's/^<bos>//' | sort > "$work/back"
grep . "$work/text.txt" | cmp - "$work/back" || fail "the rows are not the documents"
"$iso" data "$work/p" --row 0 --json | python3 -c '
import json, sys
row = json.load(sys.stdin)["row"]
assert len(row["tokens"]) == 64 and row["tokens"][0] == 256, row
assert row["text"].count("<bos>document ") == 4, row' || fail "--row --json"
status=0; "$iso" data "$work/p" --row 100 2> "$work/err" || status=$?
[ $status = 2 ] && grep -q "has 100 rows" "$work/err" || fail "row out of range"

# Shuffled rows do not drift.
"$iso" data "$work/p" --drift | grep -q "stationary" || fail "drift of shuffled rows"

# Damage: every cut at 1/50 is seen at once, every flipped bit by --verify.
cp -r "$work/p" "$work/d"
shard=$work/d/train-00000.shard
size=$(stat -c %s "$shard")
for k in $(seq 0 49); do
    head -c $((size * k / 50)) "$work/p/train-00000.shard" > "$shard"
    status=0; "$iso" data "$work/d" > /dev/null 2> "$work/err" || status=$?
    [ $status = 1 ] && grep -q "train-00000.shard: " "$work/err" || fail "cut at $k/50 is not seen"
done
for k in $(seq 1 20); do
    python3 -c '
import sys
data = bytearray(open(sys.argv[1], "rb").read())
bit = int(sys.argv[2]) * 7919 * 127 % (len(data) * 8)
data[bit // 8] ^= 1 << bit % 8
open(sys.argv[3], "wb").write(data)' "$work/p/train-00000.shard" "$k" "$shard"
    status=0; "$iso" data "$work/d" --verify > /dev/null 2> "$work/err" || status=$?
    [ $status = 1 ] || fail "flipped bit $k is not seen"
done

# So is a tokenizer that is not the one that packed.
if "$iso" version --json | grep -q '"sentencepiece": true'; then
    for i in $(seq 300); do echo "one$i two three a b c"; done > "$work/words.txt"
    "$iso" tokenizer train --vocab 300 --out "$work/tok.model" "$work/words.txt" > /dev/null 2>&1
    "$iso" -q pack "$work/words.txt" --tokenizer "$work/tok.model" -T 63 --out "$work/t" > /dev/null
    "$iso" data "$work/t" --verify > /dev/null || fail "a good tokenizer is rejected"
    printf x >> "$work/t/tokenizer.model"
    status=0; "$iso" data "$work/t" --verify > /dev/null 2> "$work/err" || status=$?
    [ $status = 1 ] && grep -q "t/tokenizer.model: not the tokenizer that packed" "$work/err" ||
        fail "a damaged tokenizer is not seen: $(cat "$work/err")"
fi
rm "$work/d/meta.json"
status=0; "$iso" data "$work/d" 2> "$work/err" || status=$?
[ $status = 1 ] && grep -q "interrupted; pack again" "$work/err" || fail "a directory without meta.json"

# corpus: the script is found by ISO_SHARE, gets the options, and its exit code counts.
mkdir "$work/share"
printf '#!/bin/sh\necho "$@"\nexit "${FAKE_STATUS:-0}"\n' > "$work/share/corpus_debian"
chmod +x "$work/share/corpus_debian"
out=$(ISO_SHARE=$work/share "$iso" corpus debian --out "$work/c" --only bible)
[ "$out" = "--out $work/c --only bible" ] || fail "corpus: $out"
for pair in 1:1 2:2 3:3; do
    status=0
    ISO_SHARE=$work/share FAKE_STATUS=${pair%:*} "$iso" corpus debian --out "$work/c" \
        > /dev/null 2>&1 || status=$?
    [ $status = "${pair#*:}" ] || fail "corpus: exit code $status for $pair"
done
status=0; ISO_SHARE=$work/none "$iso" corpus debian --out "$work/c" 2> "$work/err" || status=$?
[ $status = 1 ] && grep -q "ISO_SHARE" "$work/err" || fail "corpus without its script"
echo ok
