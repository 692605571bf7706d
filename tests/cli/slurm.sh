#!/usr/bin/env bash
# A study on a real Slurm: munged, slurmctld and two slurmd on the loopback, as root.  The array
# gives the same results as the local launcher; a killed task, a cancelled array, a time-limit
# signal and a scheduler that leaves are all survived.
set -u
. "$(dirname "$0")/top.bash"
. tests/cli/slurm_lib.bash
export ISO_TRAIN_PROGRAM
ISO_TRAIN_PROGRAM=$standin
export STANDIN_STEPS=30 STANDIN_SLEEP=0.01

# --- the studies ---
make_data
cd "$tmp" || exit 1
make_grid toy.yaml
make_grid half.yaml '[2]'
sweep() { "$iso" sweep toy.yaml --no-fit --data data "$@"; }
slurm=(--no-fit --data data --launcher slurm --partition main --poll 0.5)
on_slurm() { "$iso" sweep "$@" "${slurm[@]}"; }
arrays() { find "$1"/slurm -name '*.job' | wc -l; }
# A run that is under way in study $1.
trainer_of() { pgrep -f "standin_trainer train $tmp/$1/" | head -n 1; }
await() { # WHAT COMMAND...: until the command holds
    local what=$1
    shift
    for _ in $(seq 150); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done
    tail -n 20 log* "$tmp"/slurmctld.log
    fail "timeout: $what"
}
running() { [ -n "$(trainer_of "$1")" ]; }

sweep --out local >/dev/null 2>&1 || fail "the local study"
results local > want
grep ^r2 want > want2

# Undisturbed: as few arrays as MaxArraySize allows, the same results.
on_slurm toy.yaml --out quiet > out 2> log || { cat log; fail "the study"; }
grep -q '12 runs: 12 done' out || fail "all done"
results quiet | diff - want || fail "the launchers differ"
[ "$(arrays quiet)" = 2 ] || fail "two arrays are enough"

# Two runs to a task, side by side, in a folder with a sign that sbatch expands; a time-limit
# signal saves and requeues both.
STANDIN_SLEEP=0.2 on_slurm half.yaml --out 'pair%j' --per-task 2 --mem-per-cpu \
    --prologue 'echo "loaded for $SLURM_ARRAY_TASK_ID"' > out 2> log &
scheduler=$!
first=
pair_runs() {
    first=$(sed -n 1p 'pair%j/slurm/1.runs') &&
        for run in $first; do [ -s "pair%j/runs/$run/metrics.jsonl" ] || return 1; done
}
await "both runs of a task" pair_runs
scancel --batch --signal=USR1 "$(squeue -h -r -j "$(cat 'pair%j/slurm/1.job')_1" -o %A)" ||
    { squeue -r; fail "signal to a task with two runs"; }
wait $scheduler || { cat log; fail "two runs to a task"; }
results 'pair%j' | diff - want2 || fail "two runs to a task: other results"
[ "$(arrays 'pair%j') $(wc -l < 'pair%j/slurm/1.runs')" = "1 3" ] || fail "one array of three tasks"
grep -q 'loaded for 3' 'pair%j/slurm/1.log' || fail "the prologue, or the log of a path with %"

# Preempted by a job of more weight: saved, requeued by Slurm, resumed; nothing is submitted again.
STANDIN_SLEEP=0.2 on_slurm half.yaml --out pushed --retries 0 > out 2> log &
scheduler=$!
await "a running task" running pushed
sbatch -p urgent --exclusive -N 2 --output=/dev/null --wrap 'sleep 1' > /dev/null || fail "urgent job"
wait $scheduler || { cat log; fail "preempted tasks"; }
grep -qi 'preempted.*requeued' slurmctld.log || { grep -i preempt slurmctld.log; tail -n 30 slurmctld.log; fail "nothing was preempted"; }
results pushed | diff - want2 || fail "preempted: other results"
[ "$(arrays pushed)" = 1 ] || fail "a preempted task was submitted again"

# A killed task is submitted again, alone; a time-limit signal is a save and a requeue.
STANDIN_SLEEP=0.3 on_slurm half.yaml --out rough > out 2> log &
scheduler=$!
two_run() { [ "$(squeue -h -r -t R -o %i | wc -l)" -ge 2 ] && running rough; }
await "two running tasks" two_run
victim=$(trainer_of rough)
task=
for t in $(squeue -h -r -t R -o %i); do # a task that is not the victim's
    run=$(sed -n "${t#*_}p" rough/slurm/1.runs)
    tr '\0' ' ' < "/proc/$victim/cmdline" | grep -q "$run" || task=$t
done
signalled=$(sed -n "${task#*_}p" rough/slurm/1.runs)
await "the task's trainer" test -s "rough/runs/$signalled/metrics.jsonl"
kill -9 "$victim" || fail "no trainer to kill"
scancel --batch --signal=USR1 "$(squeue -h -r -j "$task" -o %A)" || { squeue -r; fail "scancel --signal $task"; }
wait $scheduler || { cat log; fail "the study with a killed task"; }
grep -q 'is retried: Slurm task' log || fail "the killed task is retried"
results rough | diff - want2 || fail "killed and requeued: other results"
[ "$(arrays rough)" = 2 ] || fail "only the killed task is submitted again: $(arrays rough) arrays"
[ "$(wc -l < rough/slurm/2.runs)" = 1 ] || fail "the second array has one run"
grep -qx "$signalled" rough/slurm/2.runs && fail "the signalled task was requeued, not submitted"

# The scheduler leaves, its tasks go on, the next one finds them.
STANDIN_SLEEP=0.1 "$iso" sweep half.yaml "${slurm[@]}" --out left > out 2> log &
scheduler=$!
await "a running task" running left
kill -INT $scheduler
wait $scheduler
[ $? = 3 ] || fail "leaving: exit code"
grep -q 'Its tasks stay in the queue and continue; to end them: scancel' log || fail "leaving: message"
running left || fail "the tasks went with the scheduler"
# A cancelled array: stopped, resumable, and the next start submits what is missing.
STANDIN_SLEEP=0.1 on_slurm half.yaml --out left > out 2> log2 &
scheduler=$!
sleep 1.5
[ "$(arrays left)" = 1 ] || fail "tasks under way were submitted again"
scancel "$(cat left/slurm/1.job)"
wait $scheduler
[ $? = 3 ] || { cat log2; fail "a cancelled array: exit code"; }
grep -q 'was cancelled' log2 || fail "a cancelled array: message"
done_before=$(find left/runs -name result.json | wc -l)
on_slurm half.yaml --out left > out 2> log3 || { cat log3; fail "after the cancelled array"; }
[ "$(wc -l < left/slurm/2.runs)" = $((6 - done_before)) ] || fail "only what is missing is submitted"
results left | diff - want2 || fail "cancelled: other results"
[ ! -e rough/races ] && [ ! -e left/races ] || fail "two trainers in one folder"

# Without a queue there is a message.
SLURM_CONF=/no/such on_slurm half.yaml --out none 2> log && fail "no cluster"
grep -q 'sbatch failed\|squeue failed' log || { cat log; fail "no cluster: message"; }
echo ok
