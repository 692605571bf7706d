#!/usr/bin/env bash
# sweep --ranks: large runs train on several ranks and end with the numbers of one process; a
# stopped study saves and resumes, and a rank that dies is named and retried.
set -eu
. "$(dirname "$0")/top.bash"
command -v mpirun >/dev/null || skip "no mpirun: apt-get install openmpi-bin"
"$B/isodepth" version --json | grep -q '"mpi": *true' || skip "this build has no MPI"
. tests/cli/sweep_lib.bash
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
make_data
cd "$tmp"
make_grid toy.yaml '[2]'
toy=(sweep toy.yaml --no-fit --data data --set budgets='[1e10, 4e10]' --set widths='[1, 2]' --set lanes=4)
sweep() { "$iso" "${toy[@]}" "$@"; }
numbers() { # STUDY: what a run computed
    for d in "$1"/runs/*/; do
        echo "$(basename "$d") $(cksum <"$d/model.safetensors") $(grep '"loss"' "$d/result.json")"
    done
}
sweep --out alone --jobs 1 >/dev/null 2>&1 || fail "one process"
numbers alone >want

# Only the runs of the larger budget have ranks.
sweep --out study --jobs 2 --ranks 2 --ranks-from 3e10 >out 2>log || fail "the study: $(cat log)"
grep -q '4 runs: 4 done' out || fail "$(cat out)"
numbers study | diff - want || fail "other numbers on ranks"
[ "$(grep -l '2 ranks of 1 threads' study/runs/*/train.log | wc -l)" = 2 ] || fail "which runs have ranks"
grep -L 'ranks of' study/runs/*/train.log | grep -vq 1e10 && fail "a small run has ranks"

# SIGTERM: the ranks save and the study resumes, with the ranks of its start.  Should somebody else
# end mpirun, it leaves them more than its usual second.
begun() { [ -n "$(find "$1"/runs -name metrics.jsonl -size +0 2>/dev/null)" ]; }
await() { for _ in $(seq 1000); do "$@" >/dev/null 2>&1 && return; sleep 0.02; done; fail "timeout: $*"; }
"$iso" "${toy[@]}" --out cut --jobs 1 --ranks 2 --set save_every=0 --set budgets='[5e11]' --set widths='[2]' >out 2>log &
scheduler=$!
await begun cut
grace=$(tr '\0' '\n' <"/proc/$(pgrep -P $scheduler)/environ" | sed -n 's/^OMPI_MCA_odls_base_sigkill_timeout=//p')
[ "${grace:-1}" -ge 10 ] || fail "mpirun has ${grace:-1} s before it kills"
kill -TERM $scheduler
code=0; wait $scheduler || code=$?
[ $code = 3 ] || fail "stopping: exit code $code $(cat log)"
ls cut/runs/*/latest >/dev/null || fail "stopping: nothing was saved: $(tail -n 5 cut/runs/*/train.log)"
[ "$(pgrep -cf "$tmp/cut" || true)" = 0 ] || fail "ranks are left: $(pgrep -af "$tmp/cut")"

# A killed rank: the run is retried, and the log says which one it was.  Here mpirun need not wait.
OMPI_MCA_odls_base_sigkill_timeout=1 "$iso" sweep --out cut --no-fit --jobs 1 >out 2>log &
scheduler=$!
resumed() { grep -q 'resuming at step' cut/runs/*/train.log; }
await resumed
kill -9 "$(pgrep -f "exe train $tmp/cut/grid.yaml" -n)" || fail "no rank to kill"
wait $scheduler || fail "after a killed rank: $(cat log)"
grep -q 'retried.*rank [01] .*signal 9' log || fail "the killed rank: $(cat log)"
sweep --out whole --jobs 1 --set budgets='[5e11]' --set widths='[2]' >/dev/null 2>&1 || fail "one process"
numbers whole >want
numbers cut | diff - want || fail "other numbers after a stop and a kill"

code=0; sweep --out many --ranks 5 2>log || code=$?
[ $code = 2 ] && grep -q 'ranks 5: a batch .* has 4 lanes' log || fail "five ranks: $code $(cat log)"
echo "sweep: the same numbers on ranks, stopped and killed"
