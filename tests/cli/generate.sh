#!/usr/bin/env bash
# generate: seeds, depths, cache budgets, and what is rejected.
set -eu
. "$(dirname "$0")/top.bash"
chain_model=$PWD/tests/cli/chain_model.py
. tests/cli/train_lib.bash
shape=(--set d_model=32 --set head=16 --set depth=8 --set vocab=257 --set seq_len=32)
"$I" init "${shape[@]}" --set r=4 -o linear.safetensors
"$I" init "${shape[@]}" --set r=2 --set 'loop={name: hyper, lanes: 2}' -o hyper.safetensors
gen() { "$I" generate -c linear.safetensors "$@"; }

[ "$(gen --ids 1,2,3 -n 20 -s 5)" = "$(gen --ids 1,2,3 -n 20 -s 5)" ] || fail "a seed does not repeat"
[ "$(gen --ids 1,2,3 -n 20 -s 5)" != "$(gen --ids 1,2,3 -n 20 -s 6)" ] || fail "seeds do not matter"
[ "$(gen --ids 1,2,3 -n 20 -s 5 --top-k 1)" = "$(gen --ids 1,2,3 -n 20 --temperature 0)" ] ||
    fail "top-k 1 is not greedy"
[ "$(gen --ids 9,8 -n 7 | tr ',' '\n' | wc -l)" = 7 ] || fail "not 7 tokens"
[ "$(gen --ids 1,2 -n 9 -s 1 --kv-budget 4)" = "$(gen --ids 1,2 -n 9 -s 1)" ] ||
    fail "a budget of r is not the full cache"
gen --ids 1,2 -n 9 --kv-budget 1 --recur 6 >/dev/null || fail "a small budget at another depth"
# The prompt has full attention whatever the budget, so the first token does not depend on it; only
# one that is run token by token does.
long=5,6,7,8,9,10,11,12,13,14,15
[ "$(gen --ids $long -n 1 -s 3 --kv-budget 1)" = "$(gen --ids $long -n 1 -s 3)" ] || fail "prefill"
[ "$(gen --ids $long -n 9 -s 3 --sequential-prefill)" = "$(gen --ids $long -n 9 -s 3)" ] ||
    fail "one by one with the full cache"

# Text of known tokens: characters in pieces, bytes that are no UTF-8, an end within a character.
bad=$'\xEF\xBF\xBD' # U+FFFD, @ below
says() { local wanted=$1 prompt=$2 n=$3; shift 3 # WANTED PROMPT N [--tokenizer ...]
    "$I" generate -c chain.safetensors -p "$prompt" -n "$n" --temperature 0 "$@" >text
    printf '%s\n' "${wanted//@/$bad}" | cmp - text || fail "wanted $wanted, got $(od -c text)"; }
tiny=(--set d_model=16 --set head=16 --set depth=1 --set r=1 --set seq_len=32)
"$I" init "${tiny[@]}" --set vocab=257 -o chain.safetensors
python3 "$chain_model" chain.safetensors 97 195 169 255 98 226 130 99 240 159 146 # a é . b .. c ...
says 'é' a 2
says 'é@b' a 4
says 'é@b@@c' a 7
says 'é@b@@c@@@' a 10
says '@' é 1
if "$I" version --json | grep -q '"sentencepiece": true'; then
    for i in $(seq 300); do echo "one$i two three a b c é"; done >text.txt
    "$I" tokenizer train --vocab 300 --out tok.model text.txt >/dev/null 2>&1
    ids() { printf '%s' "$1" | "$I" tokenizer encode tok.model; }
    bytes=$(ids '☃') # three byte pieces: the text has no such character
    [ "$(wc -w <<<"$bytes")" = 3 ] || fail "pieces of a snowman: $bytes"
    "$I" init "${tiny[@]}" --set vocab=300 -o chain.safetensors
    # shellcheck disable=SC2046,SC2086
    python3 "$chain_model" chain.safetensors $(ids a) $bytes $(ids b)
    says '☃b' a 4 --tokenizer tok.model
    says '@@' a 2 --tokenizer tok.model
fi
gen --ids 1 -n 300 >/dev/null || fail "beyond the trained length"

refuse() { local says=$1; shift
    if "$I" generate "$@" >/dev/null 2>log; then fail "accepted: $*"; fi
    grep -q -- "$says" log || fail "$* says: $(cat log)"; }
python3 - linear.safetensors nan.safetensors <<'P'
import json, struct, sys
data = bytearray(open(sys.argv[1], "rb").read().replace(b'"xxh64"', b'"stale"', 1))
start = 8 + struct.unpack_from("<Q", data)[0]
first = json.loads(data[8:start])["norm_final.weight"]["data_offsets"][0]
struct.pack_into("<f", data, start + first, float("nan"))
open(sys.argv[2], "wb").write(data)
P
refuse 'nan.safetensors: its outputs are not finite' -c nan.safetensors --ids 1
# loss prints no accuracy of it either.
head -c 660 /dev/zero >zeros.bin
for per_token in "" --per-token; do
    command="loss --tokens zeros.bin --row-len 33 $per_token"
    # shellcheck disable=SC2086
    "$I" $command -c linear.safetensors >/dev/null 2>log || fail "$command: $(cat log)"
    # shellcheck disable=SC2086
    if "$I" $command -c nan.safetensors >out 2>log; then fail "$command: accepted"; fi
    grep -q 'nan.safetensors: its outputs are not finite' log || fail "$command says: $(cat log)"
    if grep -q nan out; then fail "$command prints $(cat out)"; fi
done
# eval scores the other models of a study, and says which of a task's items have no loss.
printf '{"context": "one", "continuation": "two"}\n' >one.jsonl
printf 'icl_tasks: [{label: a, dataset_uri: one.jsonl, icl_task_type: language_modeling}]\n' >one.yaml
"$I" eval --suite one.yaml --tasks . -c nan.safetensors >out 2>log || fail "eval: $(cat log)"
grep -q 'the loss of 1 of 1 items is not finite' log || fail "eval says: $(cat log)"
refuse 'cannot run at 3' -c hyper.safetensors --ids 1 --recur 3
refuse 'not a token id below 257' -c linear.safetensors --ids 1,257
refuse 'at most 320' -c linear.safetensors --ids 1 -n 320
refuse 'one of --prompt and --ids' -c linear.safetensors
refuse 'nothing.safetensors' -c nothing.safetensors --ids 1
mkfifo config.yaml # beside a checkpoint it names the data, and with them the tokenizer
timeout -k 1 20 "$I" generate -c linear.safetensors -p a >/dev/null 2>log || true
grep -q 'config.yaml: not a regular file' log || fail "a pipe beside a checkpoint: $(cat log)"
rm config.yaml
head -c 1000 linear.safetensors >cut.safetensors
refuse 'cut.safetensors' -c cut.safetensors --ids 1
echo "generate: all as it should be"
