#!/usr/bin/env bash
# The paper's grid with the paper's tokenizer: its vocabulary of 32,008 exceeds the tokenizer's 32,000.
set -eu
. "$(dirname "$0")/top.bash"
grid=$PWD/grids/paper.yaml tokenizer=$PWD/../shared/data/llama2_tokenizer.model
. tests/cli/train_lib.bash
"$I" version --json | grep -q '"sentencepiece": true' || skip "built without SentencePiece"
[ -e "$tokenizer" ] || skip "the Llama 2 tokenizer is not at hand"

for i in $(seq 400); do echo "Row $i: a sheep ($((i * 7919 % 977))) and its shepherd crossed the river."; echo; done >text.txt
"$I" pack text.txt -t "$tokenizer" -T 32 --val 5% -o data >/dev/null
id=$("$I" plan "$grid" --csv | awk -F, '$3 == 6 && $4 == 2 && $2 == 4.64e17 { print $1 }')
small=(--set seq_len=32 --set batch_tokens=64 --set steps=2)
"$I" -q train "$grid" --run "$id" --data data --out run "${small[@]}" 2>log || fail "s = 6: $(cat log)"
grep -q '"vocab": 32008,' run/result.json && grep -q '"d_model": 384,' run/result.json || fail "$(cat run/result.json)"

# Whoever reads the model takes the tokenizer of 32,000, and draws none of the eight tokens it lacks.
"$I" loss -c run -d data --rows 2 >/dev/null || fail "loss"
"$I" generate -c run --tokenizer "$tokenizer" -p "A sheep" -n 5 >/dev/null || fail "generate"
# A larger vocabulary, or a smaller one of another tokenizer, is rejected.
if "$I" train "$grid" --run "$id" --data data --out x "${small[@]}" --set vocab=31999 2>log; then fail "31999"; fi
grep -q 'vocab: the data in data has 32000, the settings ask for 31999' log || fail "31999: $(cat log)"
if "$I" generate -c run --tokenizer bytes -p x -n 1 2>log; then fail "bytes"; fi
grep -q 'bytes: the tokenizer has 257 tokens, the model 32008' log || fail "bytes: $(cat log)"
echo "paper_grid: two steps at s = 6"
