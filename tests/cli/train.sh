#!/usr/bin/env bash
# train, loss, init and inspect from the outside: files, refusals, signals, exit codes.
set -eu
. "$(dirname "$0")/top.bash"
read_formats=$PWD/tests/cli/read_formats.py
. tests/cli/train_lib.bash

# A text of our own: sentences from a small grammar.
awk 'BEGIN { srand(7); split("the a one every", det); split("cat dog bird fish king", noun)
    split("sees likes finds follows", verb)
    for (i = 0; i < 1500; i++) { s = ""; for (k = 0; k < 6; k++)
        s = s det[1+int(rand()*4)] " " noun[1+int(rand()*5)] " " verb[1+int(rand()*4)] " " \
            det[1+int(rand()*4)] " " noun[1+int(rand()*5)] ". "
        print s "\n" } }' >text.txt
small_run 1024 60 64

# A whole run: every file is there, and the loss is far below the 5.5 nats of the start.
"$I" train run.yaml --out run --threads 2 --tensorboard 2>log || fail "train: $(cat log)"
grep -q 'memory .* GB' log || fail "no memory estimate"
grep -q 'about .* to go' log || fail "no time estimate"
for f in config.yaml metrics.jsonl model.safetensors optimiser.safetensors result.json; do
    [ -s "run/$f" ] || fail "$f is missing"
done
python3 "$read_formats" run || fail "files as other programs read them"
[ ! -e run/latest ] || fail "states are left behind"
[ "$(wc -l <run/metrics.jsonl)" = 60 ] || fail "metrics have $(wc -l <run/metrics.jsonl) lines"
python3 - <<'PY' || fail "result.json"
import json, math
r = json.load(open("run/result.json"))
steps = [json.loads(l) for l in open("run/metrics.jsonl")]
assert r["status"] == "done" and r["steps"] == 60 and r["tokens"] == 60 * 1024
assert abs(steps[0]["loss"] - math.log(257)) < 0.02, steps[0]
assert r["loss"] < 2.4, r["loss"]
assert abs(r["bits_per_byte"] / (r["loss"] / math.log(2)) - 1) < 0.05
for k in "run flops seconds budget r d_model seed n_once n_rec n_inject n_embed config_hash " \
         "data_checksum version kernels cpu threads".split():
    assert k in r, k
assert [s["step"] for s in steps] == list(range(1, 61))
for s in steps: # norms of the groups: the matrices' is constant, the gradients' make up the whole
    parts = sum(s["grad_norm_" + g] ** 2 for g in ("matrix", "embed", "head", "norm"))
    assert abs(parts ** 0.5 / s["grad_norm"] - 1) < 1e-9 and "norm_scalar" not in s, s
    assert abs(s["norm_matrix"] / steps[0]["norm_matrix"] - 1) < 1e-5, s
assert steps[-1]["norm_head"] > 1.5 * steps[0]["norm_head"], steps[-1]
assert abs(steps[-1]["rate_matrix"] / steps[0]["rate_matrix"] - (1 - .9 * 59 / 60)) < 1e-9
PY

# A mechanism's own numbers: the decay of `diagonal` starts at 1/2 and stays within (0, 1).
"$I" -q train run.yaml --out diagonal --set loop=diagonal --set steps=3 2>log ||
    fail "diagonal: $(cat log)"
python3 - <<'PY' || fail "the decay in metrics.jsonl"
import json
steps = [json.loads(l) for l in open("diagonal/metrics.jsonl")]
assert all(0 < s["decay_mean"] <= s["decay_max"] < 1 for s in steps), steps
assert abs(steps[0]["decay_mean"] - 0.5) < 0.05, steps[0]
PY

# Done is done; other settings are rejected; the resolved config repeats the run.
"$I" train run.yaml --out run 2>log && grep -q 'already done' log || fail "done again: $(cat log)"
if "$I" train run.yaml --out run --set seed=2 2>log; then fail "another seed was accepted"; fi
grep -q 'other settings' log || fail "refusal says: $(cat log)"
sed -n 2p run/config.yaml | grep -q '^# trained for 60 steps, 61440 tokens, [0-9.e+]* FLOPs$' &&
    grep -q '^steps: 60$' run/config.yaml || fail "the horizon: $(head -n 30 run/config.yaml)"
"$I" -q train run/config.yaml --out again --threads 2
cmp run/model.safetensors again/model.safetensors || fail "config.yaml gives another run"

# The validation loss is what the result says, by a third way.
"$I" loss -c run -d data --json >loss.json
python3 -c '
import json
a, b = json.load(open("loss.json")), json.load(open("run/result.json"))
assert abs(a["loss"] - b["loss"]) < 1e-5 * b["loss"], (a, b)' || fail "loss"
n=$("$I" loss -c run -d data --rows 2 --per-token | wc -l)
[ "$n" = 129 ] || fail "per-token printed $n lines"
code=0; "$I" loss -c run -d data --per-token --json >out 2>log || code=$?
[ $code = 2 ] && [ ! -s out ] && grep -q 'leave --json out' log || fail "per-token as JSON: $code $(cat log)"
"$I" loss -c run -d data --recur 5 >/dev/null || fail "another depth"

# A tokenizer of the same size is not the model's: the hashes tell, where both are known.
with_hash() { # HASH: the model as if its data had been packed with the tokenizer of that hash
    sed 's/\("tokenizer_hash": *\)"[0-9a-f]*"/\1"'"$1"'"/; s/"xxh64"/"stale"/' run/model.safetensors >other.safetensors; }
with_hash 0000000000000000
"$I" loss -c other.safetensors -d data >/dev/null 2>log || fail "an unknown tokenizer"
[ "$(grep -c 'other.safetensors has no checksum' log)" = 1 ] || fail "no checksum says: $(cat log)"
"$I" generate -c other.safetensors -p The -n 3 >/dev/null || fail "generate: an unknown tokenizer"
with_hash 123456789abcdef0
if "$I" loss -c other.safetensors -d data 2>log; then fail "data of another tokenizer"; fi
grep -q 'data: the tokenizer .* not the one .*wanted 123456789abcdef0' log || fail "says: $(cat log)"
if "$I" generate -c other.safetensors -p The 2>log; then fail "another tokenizer"; fi
grep -q 'bytes: the tokenizer .* not the one' log || fail "generate says: $(cat log)"

# All checkpoints are kept on request; a run that begins with another's weights continues at its loss, and
# is not the run that begins at random.
"$I" -q train run.yaml --out kept --threads 2 --keep --set steps=12 --set save_every=3
[ "$(ls -d kept/checkpoint-* | wc -l)" = 4 ] || fail "checkpoints: $(ls kept)"
"$I" loss -c kept/checkpoint-000000003/model.safetensors -d data >/dev/null || fail "a kept checkpoint"
"$I" -q train run.yaml --out warm --threads 2 --set steps=5 --start run || fail "--start"
python3 - <<'PY' || fail "the loss at the start"
import json
first = json.loads(open("warm/metrics.jsonl").readline())["loss"]
assert abs(first - json.load(open("run/result.json"))["loss"]) < 0.3, first
PY
if "$I" train run.yaml --out warm --set steps=5 --start kept 2>log; then fail "another start"; fi
grep -q 'other settings' log || fail "another start says: $(cat log)"
if "$I" train run.yaml --out x --set d_model=64 --start run 2>log; then fail "another width"; fi
grep -q 'tensor .* the architecture asks for' log || fail "another width says: $(cat log)"

# Warm-up and warm-down: other rates, another run.
"$I" -q train run.yaml --out up --threads 2 --set steps=10 --set schedule.warmup=0.2 --set schedule.warmdown=0.5 \
    --set schedule.final=0
python3 - <<'PY' || fail "the schedule"
import json
rate = [json.loads(l)["rate_head"] for l in open("up/metrics.jsonl")]
assert [round(x / rate[2], 9) for x in rate] == [0.5, 1, 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2], rate
PY

# A grid's run by its id.
small_grid '[2e9, 4e9]' '[1, 2]' 1024
id=$("$I" plan grid.yaml --csv | awk -F, 'NR == 4 { print $1 }')
"$I" -q train grid.yaml --run "$id" --out grid-run || fail "a grid's run"
grep -q "\"run\": \"$id\"" grid-run/result.json || fail "the grid's id"
"$I" -q train grid.yaml --run "$id" --out grid-short --set steps=3 2>log || fail "fewer steps: $(cat log)"
grep -q '"steps": 3,' grid-short/result.json || fail "fewer steps: $(cat grid-short/result.json)"
if "$I" train grid.yaml --run nothing --out x 2>log; then fail "an unknown id was accepted"; fi
grep -q 'isodepth plan' log || fail "unknown id says: $(cat log)"
if "$I" train grid.yaml --out x 2>log; then fail "a whole grid was accepted"; fi
grep -q 'grid.yaml is a grid.*--run ID.*isodepth plan grid.yaml' log || fail "a grid: $(cat log)"

# A pipe in the place of a run's file is named, not waited for; one that the user gives is read.
mkdir pipes
for f in config.yaml metrics.jsonl result.json; do
    mkfifo pipes/$f
    code=0; timeout -k 1 20 "$I" train run.yaml --out pipes --threads 2 >/dev/null 2>log || code=$?
    [ $code = 1 ] && grep -q "pipes/$f: not a regular file" log || fail "$f is a pipe: $code $(cat log)"
    rm pipes/$f
done
"$I" train <(cat run.yaml) --out piped --threads 2 --set steps=1 2>log || fail "a piped file: $(cat log)"

# What cannot fit is rejected before it starts; mistakes name the place.
if "$I" train run.yaml --out big --set d_model=4096 --memory 0.5 2>log; then fail "too big"; fi
grep -q 'needs .* GB' log || fail "memory refusal says: $(cat log)"
if "$I" train run.yaml --out x --set depth=5 2>log; then fail "impossible depth"; fi
grep -q 'does not divide' log || fail "depth says: $(cat log)"
sed 's/d_model/d_modle/' run.yaml >typo.yaml
if "$I" train typo.yaml --out x 2>log; then fail "typo"; fi
grep -q 'typo.yaml:2: unknown key d_modle. Did you mean d_model' log || fail "typo: $(cat log)"

# SIGTERM: the step ends, the state is saved, exit code 3; starting again resumes.
"$I" train run.yaml --out cut --threads 2 --set steps=100000 2>log &
pid=$!
for _ in $(seq 100); do [ -s cut/metrics.jsonl ] && break; sleep 0.1; done
kill -TERM $pid
code=0; wait $pid || code=$?
[ $code = 3 ] || fail "SIGTERM gave exit code $code: $(cat log)"
[ -s cut/latest ] || fail "nothing saved"
"$I" inspect cut | grep -q 'inject.weight' || fail "inspect of an unfinished run"

# A shard that loses its rows under a running training: an error that names it, no bare signal.
cp -r data short
"$I" train run.yaml --data short --out under --threads 2 --set steps=100000 2>log &
pid=$!
until [ -s under/metrics.jsonl ] || ! kill -0 $pid 2>/dev/null; do sleep 0.1; done
truncate -s 4096 short/train-00000.shard
code=0; wait $pid || code=$?
[ $code = 1 ] && [ "$(grep -c 'short/train-00000.shard: cannot read: the file was cut off' log)" = 1 ] ||
    fail "a shard cut off while it is read: $code $(cat log)"
# A bus error that is none stays what it is.
"$I" train run.yaml --out cut --threads 2 --set steps=100000 2>log &
pid=$!
sleep 0.5
kill -BUS $pid
code=0; wait $pid 2>/dev/null || code=$?
[ $code = $((128 + $(kill -l BUS))) ] || fail "SIGBUS from outside: $code $(cat log)"

# A run whose loss is not finite any more is recorded as diverged, and not repeated.
wild=(--set rates.norm=1e6 --set transfer.width=1000000 --set transfer.width_exponent=-4)
for words in 'diverged: the loss at step' 'diverged before'; do
    code=0; "$I" train run.yaml --out bad "${wild[@]}" 2>log || code=$?
    [ $code = 1 ] && grep -q "$words" log || fail "divergence: $code $(cat log)"
done
grep -q '"status": "diverged"' bad/result.json || fail "no record of the divergence"
grep -q '"loss": null' bad/result.json || fail "a diverged run has a loss"

# Finite numbers that are not a result: no gradient, worse than guessing, far worse than before.  The
# model is kept.
blown() { # NAME REASON --set ...
    local name=$1 reason=$2; shift 2
    code=0; "$I" train run.yaml --out "$name" "$@" 2>log || code=$?
    [ $code = 1 ] && grep -q "diverged: $reason" log || fail "$name: $code $(cat log)"
    grep -q '"status": "diverged"' "$name/result.json" && grep -q "\"message\": \"$reason" "$name/result.json" &&
        grep -q '"loss": null' "$name/result.json" || fail "$name: $(cat "$name/result.json")"
    "$I" inspect "$name/model.safetensors" >/dev/null || fail "$name: the model is gone"
}
blown dead 'the gradient at step [0-9]* is 0' --set rates.head=1e6
# Rows in the order of the documents: 480 of little news, then 320 of none; validation rows of either
# kind, or in letters that no training row has.
mkdir shift strange
python3 - <<'PY'
import json, random
draw = random.Random(3)
easy = lambda: {"text": "".join(draw.choice(("ab", "cd")) for _ in range(32))}
hard = lambda: {"text": "".join(draw.choice("abcdefghijklmnop") for _ in range(64))}
strange = lambda: {"text": "".join(draw.choice("QRSTUVWXYZ") for _ in range(64))}
def write(path, docs):
    open(path, "w").writelines(json.dumps(d) + "\n" for d in docs)
for folder in "shift", "strange":
    write(folder + "/train.jsonl", [easy() for _ in range(480)] + [hard() for _ in range(320)])
write("shift/val.jsonl", [easy() for _ in range(40)])
write("strange/val.jsonl", [strange() for _ in range(40)])
PY
for kind in shift strange; do
    "$I" pack $kind -t bytes -T 64 --val files --seed 0 -o "$kind-data" >/dev/null 2>&1 || fail "pack $kind"
done
blown guess 'the validation loss [0-9.]* is above that of guessing, 5.5491' --set data=strange-data
blown shifted 'the mean loss of the last 8 steps, [0-9.]*, is [0-9.]* above the lowest such mean' \
    --set data=shift-data --set batch_tokens=512 --set steps=100
"$I" -q train run.yaml --out before --set data=shift-data --set batch_tokens=512 --set steps=60 2>log ||
    fail "before the shift: $(cat log)"

# --start takes the tokens of its own tokenizer only, even where another has as many.
for half in head tail; do
    "$half" -n 800 text.txt >"$half.txt"
    "$I" -q tokenizer train --vocab 300 --out "$half.model" "$half.txt" >/dev/null
    "$I" -q pack -t "$half.model" -T 64 --val 5% -o "$half-data" text.txt >/dev/null
done
"$I" -q train run.yaml --out begun --data head-data --set steps=2
"$I" -q train run.yaml --out goes-on --data head-data --set steps=3 --start begun || fail "--start"
if "$I" -q train run.yaml --out other --data tail-data --set steps=3 --start begun 2>log; then fail "--start: another tokenizer"; fi
grep -q -- '--start begun: its tokens are those of another tokenizer' log || fail "--start says: $(cat log)"

# An initialised checkpoint, and what is in it: of a run's file, whose data gives what it leaves out...
"$I" init run.yaml -o m.safetensors >out 2>log || fail "init of a run's file: $(cat log)"
numbers=$("$I" inspect m.safetensors | tail -n 1)
[ "$(cat out)" = "m.safetensors: linear, r = 2, width 32, vocabulary 257, seed 1: $numbers" ] || fail "init says: $(cat out)"
"$I" inspect m.safetensors --json | python3 -c '
import json, sys
a = json.loads(json.load(sys.stdin)["metadata"]["isodepth"])
assert (a["vocab"], a["seq_len"], a["d_model"], a["r"]) == (257, 64, 32, 2), a' || fail "init RUN.yaml"
"$I" init run/config.yaml --set data=gone -o m.safetensors || fail "init of a complete file"
# ... and of settings alone.
"$I" init --set d_model=32 --set head=16 --set r=4 --set vocab=100 --set seq_len=32 -o m.safetensors
"$I" inspect m.safetensors --json | python3 -c '
import json, sys, math
v = json.load(sys.stdin)
t = {x["name"]: x for x in v["tensors"]}
assert abs(t["inject.weight"]["norm"] - math.sqrt(32)) < 1e-5
assert t["lm_head.weight"]["shape"] == [128, 32]
assert json.loads(v["metadata"]["isodepth"])["r"] == 4' || fail "inspect --json"
echo "train: all as it should be"
