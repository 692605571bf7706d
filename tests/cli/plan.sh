#!/usr/bin/env bash
# isodepth plan from the outside: columns, totals, JSON, shapes, and 30 broken grids.
set -u
. "$(dirname "$0")/top.bash"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
iso=$(realpath "$B/isodepth")

# The table of the paper's grid: 116 rows under the promised header.
"$iso" plan grids/paper.yaml --csv > "$tmp/paper.csv" || fail "plan --csv"
[ "$(wc -l < "$tmp/paper.csv")" = 117 ] || fail "116 rows and a header"
want="run,budget,s,r,loop,bptt,d_model,n_head,n_prelude,n_recur,n_coda,n_once,n_rec,n_inject,\
n_embed,flops_per_token,tokens,steps,batch_tokens,lr_base,lr_matrix,lr_embed,lr_head,lr_norm,seed,\
lr_scalar,vocab,seq_len,loop_options,lanes,micro_batch,share,iterations,data_seed"
[ "$(head -n 1 "$tmp/paper.csv")" = "$want" ] || fail "header"
[ "$(cut -d, -f1 "$tmp/paper.csv" | sort | uniq -d)" = "" ] || fail "ids are unique"
"$iso" plan grids/paper.yaml --json | python3 -c '
import json, sys
p = json.load(sys.stdin)
assert p["n_runs"] == 116 == len(p["runs"]) and p["runs"][0]["d_model"] == 384, p["n_runs"]
' || fail "plan --json"
"$iso" plan grids/paper.yaml --tflops 100 | tail -n 1 | grep -q '^116 runs, .* hours at 100 TFLOP/s$' ||
    fail "totals"
# Finished runs are found by their ids: those of the shipped grids never change.
for g in $(cut -d' ' -f1 tests/data/run_ids.txt | uniq); do
    "$iso" plan "$g" --csv | tail -n +2 | sed "s|,.*||; s|^|$g |" || fail "$g"
done > "$tmp/ids"
diff tests/data/run_ids.txt "$tmp/ids" || fail "other ids"
for g in grids/*.yaml; do "$iso" plan "$g" >/dev/null || fail "$g"; done
"$iso" plan grids/paper.yaml --set r=[1,4] --set budgets=[1e18] --set widths=[10] --csv |
    wc -l | grep -qx 3 || fail "--set"

# The rates' reference is counted, not built: 4 iterations need not divide 6 layers, nor 96 640.
"$iso" plan grids/paper.yaml --set r=[3] --set budgets=[1e16] --set widths=[3] --set depth=8 --set head=96 \
    --set prelude=1 --set coda=1 --csv | wc -l | grep -qx 2 || fail "a reference that cannot be built"

# One shape.
"$iso" plan --shape r=4,s=10 > "$tmp/shape" || fail "--shape"
grep -q '408M' "$tmp/shape" && grep -q '578M' "$tmp/shape" || fail "equivalent sizes"
"$iso" plan --shape 'r=2,s=10,loop={name: hyper, lanes: 4}' | grep -q 'inject: hyper' || fail "hyper"

# Broken grids: NAME, the text, the message after the file's name.
good='budgets: [1e18]
r: [1, 4]
widths: [10]'
cases=0
broken() {
    printf '%s\n' "$1" > "$tmp/g.yaml"
    got=$(cd "$tmp" && "$iso" plan g.yaml 2>&1 >/dev/null)
    code=$?
    cases=$((cases + 1))
    [ "$code" = 1 ] || fail "exit $code for: $1"
    [ "$got" = "isodepth: $2" ] || fail "message
  got:  $got
  want: isodepth: $2"
}
broken '' 'g.yaml: key r is missing (recurrence counts)'
broken 'r: 4
widths: [10]' 'g.yaml: exactly one of budgets and tokens_per_param must be given'
broken 'r: 4
widths: [10]
budgets: [1e18]
tokens_per_param: [20]' 'g.yaml: exactly one of budgets and tokens_per_param must be given'
broken 'budgets: [1e18]' 'g.yaml: key r is missing (recurrence counts)'
broken 'budgets: [1e18]
r: 4' 'g.yaml: key widths is missing (widths s: one list, or one per budget, or one per budget and r)'
broken 'budgets: [1e18]
r: 4
widths: {1e18: {21e185: [10]}}' 'g.yaml:3: widths: "21e185" is not a recurrence count from 1 to 10000'
broken 'budgets: [1e18]
r: [1]
widths: {1e18: [6], 10e17: [8]}' 'g.yaml:3: widths: 10e17 is there twice'
broken 'budgets: [1e18]
r: [2]
widths: {1e18: {2: [6], 2.0: [8]}}' 'g.yaml:3: widths: 2.0 is there twice'
broken 'budgets: [1e30]
r: 4
widths: [10]
batch_tokens: 999424000000' 'g.yaml:1: budgets: budget 1e+30 means more than 1e12 steps or 1e18 tokens'
broken "$good
share: maybe" 'g.yaml:4: share: expected true or false, found "maybe"'
broken "$good
dpeth: 20" 'g.yaml:4: unknown key dpeth. Did you mean depth?'
broken "$good
depth: twenty" 'g.yaml:4: depth: expected a whole number, found "twenty"'
broken "$good
depth: 20.5" 'g.yaml:4: depth: expected a whole number, found "20.5"'
broken "$good
depth: 0" 'g.yaml:4: depth: must be between 1 and 10000, found "0"'
broken "$good
depth: 21" 'g.yaml:4: depth: r = 4 does not divide the 17 layers between prelude and coda (depth 21 - prelude 2 - coda 2)'
broken "$good
prelude: 18" 'g.yaml: depth: depth 20 leaves 0 layers between prelude 18 and coda 2, too few for r = 4'
broken "$good
head: 48" 'g.yaml:4: head: width 640 is not a multiple of the head size 48'
broken "$good
head: 5" 'g.yaml:4: head: head size 5 is odd; rotary positions need pairs'
broken "$good
loop: hyper
bptt: half" 'g.yaml:5: bptt: loop hyper needs full backpropagation (bptt: full): with window 2 of r = 4 some parameters would get no gradient'
broken "$good
loop: passthrough
bptt: half" 'g.yaml:5: bptt: loop passthrough needs full backpropagation (bptt: full): with window 2 of r = 4 some parameters would get no gradient'
broken "$good
loop: hypr" 'g.yaml:4: loop: unknown mechanism "hypr". Did you mean hyper?'
mechanisms=$("$iso" help plan | sed -n '/^Loop mechanisms/,/^$/s/^  \([a-z_]\+\)  .*/ \1/p' | tr -d '\n')
broken "$good
loop: fold" "g.yaml:4: loop: unknown mechanism \"fold\"; there are$mechanisms"
broken "$good
loop: {lanes: 2}" 'g.yaml:4: loop: name is missing: {name: hyper, lanes: 2}'
broken "$good
loop: {name: hyper, lanes: 1}" 'g.yaml:4: loop: loop hyper: lanes must be at least 2, got 1'
broken "$good
loop: {name: linear, lanes: 2}" 'g.yaml:4: loop: mechanism linear has no option lanes'
broken "$good
loop: none" 'g.yaml: depth: loop none has one iteration, but r is 4'
broken "$good
bptt: some" 'g.yaml:4: bptt: expected full, half or a number from 1, found "some"'
broken "$good
bptt: 5" 'g.yaml:4: bptt: bptt window 5 is longer than r = 4'
broken 'budgets: [1e10]
r: [1]
widths: [10]' 'g.yaml:1: budgets: budget 1e+10 is too small for one step: a batch of 262144 tokens costs 2.69e+14 FLOPs at r = 1, width 640'
twice=$(awk -F, '$2 == "1e+18" && $3 == 10 && $4 == 1 { print $1 }' "$tmp/paper.csv")
broken 'budgets: [1e18, 1e18]
r: [1]
widths: [10]' 'g.yaml:3: widths: run '"$twice"' is planned twice: budget 1e+18, r = 1, s = 10'
broken 'budgets: [1e18]
r: [1, 1]
widths: [10]' 'g.yaml:2: r: 1 is there twice'
broken 'budgets: [1e18]
r: [1.5]
widths: [10]' 'g.yaml:2: r: expected whole numbers, found 1.5'
broken 'budgets: [1e18]
r: [1]
widths: {2e18: [10]}' 'g.yaml:3: widths: budget 2e+18 is not in budgets'
broken 'budgets: [1e18]
r: [1]
widths: {1e18: {2: [10]}}' 'g.yaml:3: widths: r = 2 is not in r'
broken 'budgets: [1e18, 2e18]
r: [1]
widths: {1e18: [10]}' 'g.yaml:3: widths: no widths for budget 2e+18 and r = 1'
broken 'budgets: [1e18]
r: [1]
widths: {big: [10]}' 'g.yaml:3: widths: "big" is not a budget in FLOPs'
broken 'budgets: []
r: [1]
widths: [10]' 'g.yaml:1: budgets: the list is empty'
broken 'budgets: [-1e18]
r: [1]
widths: [10]' 'g.yaml:1: budgets: must be between 1 and 1e+30, found "-1e18"'
broken "$good
batch_tokens: 1000" 'g.yaml:4: batch_tokens: batch of 1000 tokens is not a multiple of seq_len 2048'
broken "$good
rates: {matrix: fast}" 'g.yaml:4: matrix: expected a number, found "fast"'
broken "$good
rates: 3" 'g.yaml:4: rates: expected a mapping, found "3"'
broken 'budgets: [1e18' "g.yaml:2: not valid YAML: did not find expected ',' or ']'"
broken "$good
---
r: 2" 'g.yaml:4: a second document; a settings file has one'
broken 'just words' 'g.yaml:1: expected keys with values, found "just words"'
broken 'budgets: [1e18]
r: [1]
widths: [0.001]' 'g.yaml:3: widths: s = 0.001 gives the width 0.064, not a whole number'
[ $cases -ge 30 ] || fail "only $cases broken grids"

# The command line itself.
"$iso" plan no-such.yaml 2>"$tmp/err" && fail "missing file"
grep -q 'no-such.yaml: cannot open: No such file or directory' "$tmp/err" || fail "missing file: message"
"$iso" plan --cvs grids/paper.yaml 2>"$tmp/err"
[ $? = 2 ] && grep -q 'unknown option --cvs. Did you mean --csv?' "$tmp/err" || fail "nearest option"
"$iso" plna 2>"$tmp/err"
[ $? = 2 ] && grep -q 'Did you mean "plan"?' "$tmp/err" || fail "nearest command"
"$iso" plan --tflops=x grids/paper.yaml 2>"$tmp/err"
[ $? = 2 ] && grep -q -- '--tflops: expected a number such as 0.5 or 7e9, found "x"' "$tmp/err" || fail "bad number"
for set in 'r=[1, 2.5]' 'seeds=[1, 1.5]'; do
    "$iso" plan grids/demo.yaml --set "$set" >/dev/null 2>"$tmp/err"
    [ $? = 2 ] && grep -q "^isodepth: --set: ${set%%=*}: expected whole numbers" "$tmp/err" ||
        fail "--set $set"
done
"$iso" plan --shape r=2.5,s=10 >/dev/null 2>"$tmp/err"
[ $? = 2 ] && grep -q -- '--shape: r: expected a whole number' "$tmp/err" || fail "--shape with half an r"
"$iso" plan --shape r=4,s=10 --set depth=8 >/dev/null 2>"$tmp/err"
[ $? = 2 ] && grep -q -- '--set .* belong to a grid file' "$tmp/err" || fail "--shape with --set"
"$iso" plan --json -- grids/paper.yaml >/dev/null || fail "-- ends options"
"$iso" plan grids/paper.yaml >/dev/full 2>"$tmp/err"
[ $? = 1 ] && grep -q 'cannot write to standard output' "$tmp/err" || fail "full disk on stdout"
# Tokens per executed parameter in place of budgets.
printf 'r: [1, 4]\nwidths: [6, 10]\ntokens_per_param: [10, 20]\n' > "$tmp/ratio.yaml"
"$iso" plan "$tmp/ratio.yaml" --csv > "$tmp/ratio.csv" || fail "tokens_per_param"
python3 - "$tmp/ratio.csv" <<'PY' || fail "tokens per parameter"
import csv, sys
runs = list(csv.DictReader(open(sys.argv[1])))
assert len(runs) == 8
for i, run in enumerate(runs):
    n = float(run["n_once"]) + float(run["r"]) * (float(run["n_rec"]) + float(run["n_inject"]))
    assert abs(float(run["tokens"]) / n - (10 if i < 4 else 20)) < 262144 / n, run
    flops = float(run["tokens"]) * float(run["flops_per_token"])
    assert abs(flops / float(run["budget"]) - 1) < 1e-3, run
PY

# Settings that came later change the id only where they are not at their default.
ids() { "$iso" plan grids/paper.yaml --csv "$@" | cut -d, -f1 | head -n 2 | tail -n 1; }
[ "$(ids)" = "$(ids --set schedule.final=0.1)" ] && [ "$(ids)" != "$(ids --set schedule.warmup=0.1)" ] || fail "ids"

echo ok
