#!/usr/bin/env bash
# A study of version 0.1.0 (tests/data/study-0.1.0.tar.gz: eight finished runs, one that was stopped
# on its way, one not begun; plain kernels) opens, is resumed and is reused by this version.
set -u
. "$(dirname "$0")/top.bash"
. tests/cli/sweep_lib.bash
tar -C "$tmp" -xf tests/data/study-0.1.0.tar.gz || fail "unpack"
cd "$tmp" || exit 1
export ISO_CPU=ref # those of the half-trained run, on every machine
half=r2-d8-6e09-1f2c4af4
cp -r study untouched

# From outside, without writing: columns that it does not have are empty.
"$iso" status study | grep -q '10 runs: 8 done, 2 planned' || fail "status"
"$iso" runs study --csv > old.csv || fail "runs"
[ "$(head -n 1 old.csv | tr , '\n' | sed -n '/^lr_scalar$/=')" = 38 ] || fail "new columns go last"
[ "$("$iso" runs study --where 'status=done and loss<4' --csv | wc -l)" = 9 ] || fail "losses"
cmp -s study/study.db untouched/study.db || fail "looking changed the store"
"$iso" fit study --resamples 0 | grep -q '^phi = ' || fail "fit"

# Resumed: finished runs count, the half-trained one ends as if it had never stopped.  Where
# this version computes other digits than the old one it has to begin again, and say so.
sweep() { "$iso" sweep study/grid.yaml --no-fit --data data "$@"; }
sweep --out study > out 2> log || { cat log; fail "resuming"; }
grep -q '10 runs: 10 done' out || fail "all done: $(cat out)"
[ "$(grep -c ' started' log)" = 2 ] || { cat log; fail "finished runs were trained again"; }
grep -q 'resuming at step 31\|starting again from step 0' study/runs/$half/train.log || fail "neither of the two"
"$iso" -q train study/grid.yaml --run $half --data data --out fresh --threads 1 2> log ||
    { cat log; fail "the run from its start"; }
cmp fresh/model.safetensors study/runs/$half/model.safetensors || fail "resumed: other weights"
[ "$("$iso" runs study --where 'lr_scalar>0 and vocab=257 and seq_len=32' --csv | wc -l)" = 11 ] ||
    fail "the plan's new columns are filled in"
for run in untouched/runs/*/result.json; do
    cmp -s "$run" "study/${run#untouched/}" || fail "$run was changed"
done

# Its finished runs can be reused, from the folder and from its table.
for from in untouched old.csv; do
    ISO_TRAIN_PROGRAM=$standin sweep --out "new-$from" --reuse "$from" > out 2> log || { cat log; fail "--reuse $from"; }
    grep -q '^isodepth: reused 8 runs of' log || { cat log; fail "--reuse $from: eight runs"; }
    grep -q '10 runs: 10 done' out || fail "--reuse $from: all done"
    "$iso" sweep --out "new-$from" --no-fit > out 2> log || { cat log; fail "--reuse $from: resuming"; }
    grep -q 'not the grid' log && fail "--reuse $from: resuming takes the grid for another"
done

# A store that is lost is rebuilt from the folders.
"$iso" sweep --rebuild --out untouched > out 2> log || { cat log; fail "rebuild"; }
grep -q '8 done' out || { cat out; fail "rebuild: finished runs count"; }
echo ok
