#!/usr/bin/env bash
# Tokenising: isodepth pack with two threads against spm_encode, the same text and model, in one
# run, alternating; the best of three each. Text: what is in BENCH_TEXT, else this machine's
# documentation; model: BENCH_MODEL, else one trained on the text. The goal is 1.5 times.
set -eu
iso=$B/isodepth
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v spm_encode > /dev/null || { echo "spm_encode is not installed"; exit 0; }

if [ -n "${BENCH_TEXT:-}" ]; then
    cat "$BENCH_TEXT" > "$work/text.txt"
else
    cat /usr/share/common-licenses/* /usr/share/perl/5*/pod/*.pod /usr/share/doc/*/copyright \
        2> /dev/null | head -c 40000000 > "$work/all" || true
    # Each paragraph once: pack would leave out the others.
    LC_ALL=C awk 'BEGIN { RS = ""; ORS = "\n\n" } !seen[$0]++' "$work/all" > "$work/text.txt"
fi
model=${BENCH_MODEL:-$work/bench.model}
[ -e "$model" ] || "$iso" -q tokenizer train --vocab 8192 "$work/text.txt" --out "$model" > /dev/null

now() { date +%s.%N; }
best() { awk -v a="$1" -v b="$2" 'BEGIN { print (a == "" || b < a) ? b : a }'; }
peer='' ours=''
for _ in 1 2 3; do
    t=$(now)
    spm_encode --model="$model" --output_format=id --input="$work/text.txt" --output="$work/ids"
    peer=$(best "$peer" "$(awk -v a="$t" -v b="$(now)" 'BEGIN { print b - a }')")
    t=$(now)
    "$iso" -q pack "$work/text.txt" --tokenizer "$model" -T 1024 --threads 2 --out "$work/p" \
        --force --json > "$work/json"
    ours=$(best "$ours" "$(awk -v a="$t" -v b="$(now)" 'BEGIN { print b - a }')")
done
peer_tokens=$(wc -w < "$work/ids")
our_tokens=$(awk '/"tokens"/ { gsub(/[^0-9]/, ""); n += $0 } END { print n }' "$work/json")
awk -v pt="$peer_tokens" -v ps="$peer" -v ot="$our_tokens" -v os="$ours" 'BEGIN {
    printf "%-44s %8.2f M tokens/s (%d tokens, %.2f s)\n", "spm_encode", pt / ps / 1e6, pt, ps
    printf "%-44s %8.2f M tokens/s (%d tokens, %.2f s)\n", \
        "isodepth pack, 2 threads, reading to fsync", ot / os / 1e6, ot, os
    printf "ratio %.2f (goal 1.5)\n", (ot / os) / (pt / ps) }'
