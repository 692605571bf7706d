#!/usr/bin/env bash
# Runs of two ranks on the two nodes of a real Slurm, by srun and by mpirun: the numbers of one
# process; a time-limit signal saves and requeues, a rank that dies ends the other and the run is
# submitted again, scancel saves.
set -u
. "$(dirname "$0")/top.bash"
"$B/isodepth" version --json | grep -q '"mpi": *true' || skip "this build has no MPI"
. tests/cli/slurm_lib.bash
srun --mpi=list 2>&1 | grep -q pmix || skip "this Slurm has no PMIx"
make_data
cd "$tmp" || exit 1
make_grid toy.yaml '[2]'
grid=(toy.yaml --no-fit --data data --set widths='[1, 2]' --set lanes=4 --set save_every=20)
slurm=(--launcher slurm --partition main --poll 0.5 --ranks 2 --nodes 2)
numbers() { # STUDY: what a run computed
    for d in "$1"/runs/*/; do
        echo "$(basename "$d") $(cksum <"$d/model.safetensors") $(grep '"loss"' "$d/result.json")"
    done
}
await() { # WHAT COMMAND...: until the command holds
    local what=$1
    shift
    for _ in $(seq 300); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done
    tail -n 20 log ./*/runs/*/train.log "$tmp"/slurmctld.log
    fail "timeout: $what"
}

# The runs of the larger budget have ranks, on both nodes, in an array of their own.
sizes=(--set budgets='[1e10, 4e10]')
"$iso" sweep "${grid[@]}" "${sizes[@]}" --out local >/dev/null 2>&1 || fail "the local study"
numbers local >want
"$iso" sweep "${grid[@]}" "${sizes[@]}" "${slurm[@]}" --ranks-from 3e10 --out quiet >out 2>log ||
    { cat log; tail quiet/runs/*/train.log quiet/slurm/*.log; fail "the study"; }
grep -q '4 runs: 4 done' out || fail "all done: $(cat out)"
numbers quiet | diff - want || fail "other numbers on ranks"
[ "$(find quiet/slurm -name '*.job' | wc -l)" = 2 ] || fail "one array for each size"
[ "$(cat quiet/slurm/1.runs)" = "$(cd quiet/runs && ls -d ./*4e10* | sed 's|./||' | sort -t- -k2r)" ] ||
    fail "the large runs come first: $(cat quiet/slurm/1.runs)"
grep -q 'NodeList=n\[1-2\]' slurmctld.log || fail "both nodes: $(grep NodeList slurmctld.log)"
[ "$(grep -l '2 ranks of 1 threads' quiet/runs/*/train.log | wc -l)" = 2 ] || fail "which runs have ranks"

# Where srun has no PMIx, mpirun starts the ranks, with time to save when it is ended.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mkdir bin
cat >bin/mpirun <<END
#!/usr/bin/env bash
echo "\$OMPI_MCA_odls_base_sigkill_timeout" >>$tmp/grace
exec $(command -v mpirun) "\$@"
END
chmod +x bin/mpirun
"$iso" sweep "${grid[@]}" "${sizes[@]}" "${slurm[@]}" --ranks-from 3e10 --out by_mpirun \
    --prologue "PATH=$tmp/bin:\$PATH; srun() { [ \$1 = --mpi=list ] || command srun \"\$@\"; }" >out 2>log ||
    { cat log; tail by_mpirun/runs/*/train.log by_mpirun/slurm/*.log; fail "mpirun in a task"; }
numbers by_mpirun | diff - want || fail "other numbers with mpirun"
[ "$(xargs <grace)" = "10 10" ] || fail "mpirun in a task: it waits $(cat grace) s"

# One longer run: the time is up, a rank is killed, somebody cancels.
one=(--set budgets='[4e11]' --set widths='[2]' --set save_every=50)
"$iso" sweep "${grid[@]}" "${one[@]}" --out whole >/dev/null 2>&1 || fail "one process"
numbers whole >want
ranks_of() { pgrep -f "isodepth train $tmp/$1/grid.yaml" | while read -r p; do
    tr '\0' ' ' <"/proc/$p/cmdline" | grep -q '^srun' || echo "$p"; done; }
job_of() { squeue -h -r -j "$(cat "rough/slurm/$1.job")_1" -o %A; }
starts() { [ "$(grep -c 'steps of' rough/runs/*/train.log)" -ge "$1" ] && [ -e "$(echo rough/runs/*/latest)" ]; }
saved() { [ -e "$(echo rough/runs/*/latest)" ]; }
"$iso" sweep "${grid[@]}" "${one[@]}" "${slurm[@]}" --out rough >out 2>log &
scheduler=$!
await "a saved state" saved
scancel --batch --signal=USR1 "$(job_of 1)" || fail "time-limit signal"
await "the stop" grep -q 'stopped after step' rough/runs/*/train.log
await "the second start" starts 2
victim=$(ranks_of rough | tail -n 1)
kill -9 "$victim" || fail "no rank to kill"
wait $scheduler || { cat log; tail rough/runs/*/train.log; fail "after a time limit and a killed rank"; }
grep -q 'task [01]: Killed' rough/runs/*/train.log || { cat rough/runs/*/train.log; fail "which rank died"; }
grep -q 'is retried' log || { cat log; fail "the killed rank"; }
numbers rough | diff - want || fail "other numbers after a time limit and a killed rank"

"$iso" sweep "${grid[@]}" "${one[@]}" "${slurm[@]}" --set seeds='[5]' --out ended >out 2>log &
scheduler=$!
under_way() { grep -q 'steps of' ended/runs/*/train.log; }
await "a run on ranks" under_way
scancel "$(cat ended/slurm/1.job)"
wait $scheduler
[ $? = 3 ] || { cat log; fail "a cancelled run of ranks: exit code"; }
await "the ranks save" grep -q 'stopped after step' ended/runs/*/train.log
echo ok
