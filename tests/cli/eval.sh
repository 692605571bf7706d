#!/usr/bin/env bash
# isodepth probes and eval from the outside.
set -u
. "$(dirname "$0")/top.bash"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
iso=$(realpath "$B/isodepth")

# The paper's five probe files, by the checksums of the published ones.
"$iso" probes --out "$tmp/probes" || fail "probes"
cat > "$tmp/sums" <<'SUMS'
f8a18e6989eda65f62797ca77756b72acb96d40e7f7466676f6917cdd4c310d0  induction_head.jsonl
45e165026d251c1c998d5984853e0a40f2f1b5343f8bacf061470034dc0404ae  var_assign_d0_math.jsonl
0fdff618e1bfd23052472c58182e4adbf78e141bf0c89b89ed486b85aaf90fe1  var_assign_d0_code.jsonl
8214a887b2dca3e1ae9d7e0287a1ad1f4afbea4356868d9f111bbdae03da9ada  var_assign_d1_math.jsonl
518f951c5d2655d02464bafd54c7243ace26228f2d70789ed93995f3e8a78a77  var_assign_d1_code.jsonl
SUMS
(cd "$tmp/probes" && sha256sum --quiet -c "$tmp/sums") || fail "the probes are not the paper's"
[ "$(cat "$tmp"/probes/*.jsonl | wc -l)" = 10000 ] || fail "ten files of 1000 rows"

# An untrained model knows nothing: every loss is ln(257) but for the head's small noise.
"$iso" init --set vocab=257 --set seq_len=64 --set d_model=32 --set head=16 --set r=2 \
    --set depth=6 --set transfer.width=64 --set transfer.looped_r=2 --out "$tmp/m.safetensors" ||
    fail "init"
run() {
    "$iso" eval -c "$tmp/m.safetensors" --suite suites/probes.yaml --tasks "$tmp/probes" \
        --max-per-task 6 "$@"
}
run --json --out "$tmp/out" > "$tmp/first.json" || fail "eval"
python3 - "$tmp/first.json" <<'PY' || fail "losses"
import json, math, sys
models = json.load(open(sys.argv[1]))["models"]
assert len(models) == 1 and len(models[0]["tasks"]) == 10
for t in models[0]["tasks"]:
    assert abs(t["loss"] - math.log(257)) < 0.02 and t["items"] == 6, t
mean = sum(t["loss"] for t in models[0]["tasks"] if t["axis"] == "Depth of aliases") / 5
assert abs(models[0]["axes"]["Depth of aliases"] - mean) < 1e-12
mean = sum(t["accuracy"] for t in models[0]["tasks"] if t["axis"] == "Depth of aliases") / 5
assert abs(models[0]["axis_accuracy"]["Depth of aliases"] - mean) < 1e-12
for axis, cut in models[0]["axis_cut"].items():
    assert cut == all(t["cut"] == t["items"] for t in models[0]["tasks"] if t["axis"] == axis), axis
PY

# Where every prompt of an axis was cut, its mean says so; where some were, the column of the tasks.
run > "$tmp/tables" 2> "$tmp/log" || fail "tables"
grep -qE '^Depth of aliases +m.safetensors +[0-9.]+ cut +[0-9.]+ cut$' "$tmp/tables" || fail "cut: $(cat "$tmp/tables")"
grep -qE '^Reasoning primitives +m.safetensors +[0-9.]+ +[0-9.]+$' "$tmp/tables" || fail "not cut: $(cat "$tmp/tables")"
[ "$(grep -c 'Depth of aliases: every prompt was too long for 1 of 1 models' "$tmp/log")" = 1 ] || fail "the warning"
! grep -q 'Reasoning primitives: every' "$tmp/log" || fail "a warning for nothing"

# Started again it takes what is there, and scores what is missing or damaged; threads and
# batches do not matter beyond rounding.
touch -d '2000-01-01' "$tmp/out/m.safetensors/depth_d1.jsonl"
rm "$tmp/out/m.safetensors/depth_d2.jsonl"
echo broken >> "$tmp/out/m.safetensors/depth_d3.jsonl"
run --json --out "$tmp/out" --threads 1 > "$tmp/second.json" || fail "again"
[ "$tmp/out/m.safetensors/depth_d1.jsonl" -ot "$tmp/first.json" ] || fail "a good record was redone"
[ -s "$tmp/out/m.safetensors/depth_d2.jsonl" ] || fail "a missing record was not made"
python3 - "$tmp/first.json" "$tmp/second.json" <<'PY' || fail "the same scores"
import json, sys
a, b = (json.load(open(p))["models"][0]["tasks"] for p in sys.argv[1:])
for x, y in zip(a, b):
    assert abs(x["loss"] - y["loss"]) < 1e-5, (x, y)
PY

# Records stay below --out, and those of several runs apart, however a checkpoint is written.
printf 'icl_tasks: [{label: a, dataset_uri: depth_d0.jsonl, icl_task_type: language_modeling}]\n' > "$tmp/one.yaml"
mkdir -p "$tmp/runs/x" "$tmp/runs/y" "$tmp/runs/z" "$tmp/other/x"
for d in runs/x runs/y runs/z other/x; do cp "$tmp/m.safetensors" "$tmp/$d/model.safetensors"; done
record() { # DIR ARGUMENTS...
    (cd "$tmp/runs/$1" && shift && "$iso" eval --suite "$tmp/one.yaml" --tasks "$tmp/probes" \
        --max-per-task 2 "$@") >/dev/null || fail "eval $*"
}
record . --out "$tmp/kept" -c ../runs/x/
record y --out "$tmp/kept" -c ../y/model.safetensors
record z --out "$tmp/kept" -c .
[ "$(cd "$tmp/kept" && find . -type f | sort | xargs)" = "./x/a.jsonl ./y/a.jsonl ./z/a.jsonl" ] ||
    fail "records: $(find "$tmp/kept" "$tmp/runs")"
record x --out "$tmp/twins" -c . -c ../../other/x
[ -s "$tmp/twins/_/a.jsonl" ] && [ -s "$tmp/twins/_._.._other_x/a.jsonl" ] ||
    fail "records of one name: $(find "$tmp/twins")"

# What is wrong is said.
expect() { # MESSAGE ARGUMENTS...
    local want=$1
    shift
    "$iso" eval "$@" >/dev/null 2>"$tmp/err" && fail "no error for: $*"
    grep -qF -- "$want" "$tmp/err" || fail "message: $(cat "$tmp/err"), want: $want"
}
expect "needed: --checkpoint F, or a study" --suite suites/probes.yaml
expect "no such task file" -c "$tmp/m.safetensors" --suite suites/probes.yaml --tasks "$tmp"
expect "expected numbers from 1" -c "$tmp/m.safetensors" --suite suites/probes.yaml \
    --tasks "$tmp/probes" -r 1,x --max-per-task 6
expect '--recur: expected numbers from 1 to 10000, found "4294967297"' -c "$tmp/m.safetensors" \
    --suite suites/probes.yaml --tasks "$tmp/probes" -r 4294967297 --max-per-task 6
for recur in ',' ''; do
    expect "--recur: expected numbers from 1 to 10000, found none" -c "$tmp/m.safetensors" \
        --suite suites/probes.yaml --tasks "$tmp/probes" --recur "$recur"
done
printf 'icl_tasks: [{label: a, dataset_uri: depth_d0.jsonl, icl_task_type: schema, num_fewshot: 0.5}]\n' > "$tmp/bad.yaml"
expect "bad.yaml:1: num_fewshot: expected a whole number, found 0.5" -c "$tmp/m.safetensors" \
    --suite "$tmp/bad.yaml" --tasks "$tmp/probes"
printf 'tasks: [{name: a, file: b}]\ngroups: {x: X}\n' > "$tmp/bad.yaml"
expect "key group is missing" -c "$tmp/m.safetensors" --suite "$tmp/bad.yaml" --tasks "$tmp/probes"
for name in ../../b b/c . ..; do
    printf 'groups: {x: X}\ntasks:\n  - {name: %s, file: depth_d0.jsonl, group: x, task_type: schema}\n' \
        "$name" > "$tmp/bad.yaml"
    expect "bad.yaml:3: name: \"$name\" is not a name of a file" -c "$tmp/m.safetensors" \
        --suite "$tmp/bad.yaml" --tasks "$tmp/probes"
done
printf 'icl_tasks: [{label: a, dataset_uri: depth_d0.jsonl, icl_task_type: guess}]\n' > "$tmp/bad.yaml"
expect 'unknown value "guess"' -c "$tmp/m.safetensors" --suite "$tmp/bad.yaml" --tasks "$tmp/probes"
printf 'icl_tasks: [{label: a, dataset_uri: depth_d0.jsonl, icl_task_type: language_modeling, num_fewshot: [2]}]\n' > "$tmp/core.yaml"
"$iso" eval -c "$tmp/m.safetensors" --suite "$tmp/core.yaml" --tasks "$tmp/probes" \
    --max-per-task 4 -r 1,2,1,2 > "$tmp/core.txt" || fail "CORE form"
[ "$(grep -c '^core *a *m.safetensors@r1' "$tmp/core.txt")" = 1 ] || fail "--recur: $(cat "$tmp/core.txt")"
"$iso" eval -c "$tmp/m.safetensors" --suite "$tmp/core.yaml" --tasks "$tmp/probes" \
    --max-per-task 4 --latex | grep -q toprule || fail "--latex"

# The whole five-axis suite, where its files are.
if [ -d ../shared/data/evals ]; then
    "$iso" init --set vocab=32000 --set seq_len=256 --set d_model=16 --set head=16 --set r=2 \
        --set depth=6 --set transfer.width=64 --set transfer.looped_r=2 \
        --out "$tmp/l.safetensors" || fail "init"
    "$iso" eval -c "$tmp/l.safetensors" --suite suites/five_axes.yaml --tasks ../shared/data/evals \
        --tokenizer ../shared/data/llama2_tokenizer.model --max-per-task 20 --json > "$tmp/five" ||
        fail "five axes"
    [ "$(grep -c '"task"' "$tmp/five")" = 20 ] || fail "20 tasks"
fi
# Every multiple-choice task of the suites has the accuracy of guessing.
python3 - <<'PY' || fail "a task without a baseline"
import glob
tasks = [line for path in glob.glob("suites/*.yaml") for line in open(path) if "multiple_choice" in line]
assert tasks and all("baseline: 0." in line for line in tasks), tasks
PY
echo ok
