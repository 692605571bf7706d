#!/usr/bin/env bash
# The Slurm launcher against programs that stand in for Slurm's: what a real cluster says and does
# only now and then.  tests/cli/slurm.sh has the real one.
set -u
. "$(dirname "$0")/top.bash"
. tests/cli/sweep_lib.bash
export ISO_TRAIN_PROGRAM FAKE=$tmp/fake PATH=$tmp/fake/bin:$PATH
ISO_TRAIN_PROGRAM=$standin
export STANDIN_STEPS=5 STANDIN_SLEEP=0.01
make_data
cd "$tmp" || exit 1
make_grid toy.yaml '[2]'
mkdir -p fake/bin
# Starts every task of the array at once; a file stands for each that is under way.
cat > fake/bin/sbatch <<'END'
#!/usr/bin/env bash
echo "sbatch: your job goes to the default account" >&2
[ -z "${FAKE_JOB-}" ] || { echo "$FAKE_JOB"; exit; }
printf '%s\n' "$*" >> "$FAKE/calls"
job=$(($(wc -l < "$FAKE/calls") + 40))
for flag; do case $flag in --array=*) last=${flag#--array=1-} last=${last%%%*} ;; esac; done
queued=$(find "$FAKE" -maxdepth 1 -name '*_*' ! -name '*.preempted' | wc -l)
if [ $((queued + last)) -gt "${FAKE_LIMIT:-1000}" ]; then
    sed -i '$d' "$FAKE/calls"
    echo "sbatch: error: AssocMaxSubmitJobLimit" >&2
    echo "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)" >&2
    exit 1
fi
echo "$((queued + last))" >> "$FAKE/most"
for i in $(seq "$last"); do
    if [ -e "$FAKE/preempt" ]; then # this one is pushed out before it did anything
        mv "$FAKE/preempt" "$FAKE/${job}_$i.preempted"
        continue
    fi
    touch "$FAKE/${job}_$i"
    (SLURM_ARRAY_TASK_ID=$i bash "$flag"; rm "$FAKE/${job}_$i") >/dev/null 2>&1 &
done
echo "$job;loopback"
END
cat > fake/bin/squeue <<'END'
#!/usr/bin/env bash
[ "$1" = --version ] && exit
while [ "$1" != -j ]; do shift; done
[ ! -e "$FAKE/down" ] || { echo "Unable to contact slurm controller" >&2; exit 1; }
[ ! -e "$FAKE/gone" ] || exit 127
cd "$FAKE" && for task in "$2"_*; do
    case $task in
    *.preempted) echo "${task%.preempted}|PREEMPTED" ;;
    *) [ -e "$task" ] && echo "$task|RUNNING" ;;
    esac
done
true
END
printf '#!/bin/sh\nexit 1\n' > fake/bin/sacct
printf '#!/bin/sh\nprintf "Configuration data\\nMaxArraySize            = ${FAKE_ARRAY:-1001}\\nMaxDBDMsgs = 1\\n"\n' > fake/bin/scontrol
chmod +x fake/bin/*
sweep() { timeout -k 5 60 "$iso" sweep toy.yaml --no-fit --data data --launcher slurm --poll 0.2 --out "$@"; }

# What sbatch says beside the number is no part of it.
sweep talk > out 2> log || { cat log; fail "the study"; }
want '6 runs: 6 done' out "all done"
[ "$(cat talk/slurm/1.job)" = 41 ] || fail "the number of the job: $(cat talk/slurm/1.job)"
FAKE_JOB='Submitted, thank you' sweep vague > out 2> log && fail "no number"
want 'sbatch printed "Submitted, thank you' log "no number"

# A limit on tasks at once; an array of the user's own is refused, and a task too many does nothing.
sweep few --at-once 2 > out 2> log || { cat log; fail "--at-once"; }
tail -n 1 fake/calls | grep -qF -- '--array=1-6%2 ' || fail "--at-once: $(tail -n 1 fake/calls)"
for flag in --array=1-36%8 -a1-36; do
    sweep own --sbatch=$flag > out 2> log
    [ $? = 2 ] || fail "$flag: exit"
    want '--at-once N limits how many' log "$flag: message"
done
SLURM_ARRAY_TASK_ID=7 bash few/slurm/1.sh || fail "a task too many: exit"
[ -z "$(find few/runs -maxdepth 1 -type f)" ] || fail "a task too many worked in runs/"

# Arrays of at most MaxArraySize - 1 tasks; a task may train several runs side by side.
FAKE_ARRAY=5 sweep split > out 2> log || { cat log; fail "MaxArraySize"; }
[ "$(cat split/slurm/*.runs | wc -l) $(wc -l < split/slurm/1.runs) $(wc -l < split/slurm/2.runs)" = "6 4 2" ] ||
    fail "MaxArraySize: $(wc -l split/slurm/*.runs)"
sweep 'pack%j' --per-task 4 --threads-per-run 2 --prologue 'echo "loaded"; export STANDIN_PAD=" "' \
    > out 2> log || { cat log; fail "--per-task"; }
want '6 runs: 6 done' out "--per-task"
[ "$(awk '{print NF}' 'pack%j/slurm/1.runs' | xargs)" = "4 2" ] || fail "--per-task: $(cat pack*/slurm/1.runs)"
tail -n 1 fake/calls | grep -q -- '--array=1-2 .*--output=.*/pack%%j/slurm/1.log .*--cpus-per-task=8 --mem=[0-9]*M' ||
    fail "--per-task: $(tail -n 1 fake/calls)"
grep -q '} $' 'pack%j/runs/'*/metrics.jsonl || fail "--prologue: its settings do not reach the trainer"
sweep cpu --mem-per-cpu --threads-per-run 2 > out 2> log || { cat log; fail "--mem-per-cpu"; }
tail -n 1 fake/calls | grep -q -- ' --mem-per-cpu=[0-9]*M ' || fail "--mem-per-cpu: $(tail -n 1 fake/calls)"

# A cluster that accepts three tasks of a user: the rest waits, and all are trained.
rm fake/most
FAKE_LIMIT=3 STANDIN_SLEEP=0.1 sweep limit > out 2> log || { cat log; fail "a submit limit"; }
want '6 runs: 6 done' out "a submit limit"
want 'runs wait until the cluster accepts more tasks of this user: sbatch failed' log "a submit limit"
[ "$(sort -n fake/most | tail -n 1)" = 3 ] || fail "a submit limit: $(cat fake/most)"
[ "$(grep -c 'runs wait until' log)" -le 3 ] || { cat log; fail "a submit limit: chatter"; }
FAKE_LIMIT=0 sweep none > out 2> log && fail "a cluster that accepts nothing"
want 'job submit limit' log "a cluster that accepts nothing"
[ -z "$(ls none/slurm)" ] || fail "a refused submission leaves files"

# Tasks start the program by its name: when another has taken it, no more are submitted.
mkdir bin && cp "$iso" bin/isodepth && rm log
FAKE_LIMIT=3 env -u ISO_TRAIN_PROGRAM timeout -k 5 60 bin/isodepth sweep toy.yaml --no-fit --data data \
    --launcher slurm --poll 0.2 --out lost > out 2> log &
scheduler=$!
for _ in $(seq 100); do grep -qs 'runs wait until' log && break; sleep 0.1; done
cp "$iso" bin/new && mv bin/new bin/isodepth
wait $scheduler
[ $? = 1 ] || { cat log; fail "a replaced program: exit"; }
want "$tmp/bin/isodepth was replaced or deleted since this sweep began" log "a replaced program"
bin/isodepth sweep --no-fit --poll 0.2 --out lost --launcher local > out 2> log || { cat log; fail "the replaced program goes on"; }
want '6 runs: 6 done' out "the replaced program goes on"

# A task that was preempted before it began counts as no failure.
touch fake/preempt
sweep pushed --retries 0 > out 2> log || { cat log; fail "a preempted task"; }
want 'PREEMPTED' log "a preempted task"
want '6 runs: 6 done' out "a preempted task"

# A node without the study's kernels is left out of the next submission, beside those that the user
# leaves out.  A run that comes back from it all the same has failed.
cat > old_node <<'END'
#!/usr/bin/env bash
while [ "$1" != --out ]; do shift; done
printf %s "$LACKS" > "$2/lacks-kernels.n1"
exit 1
END
chmod +x old_node
flags=(--retries 1 --sbatch=-xn7 --sbatch=--exclude=n8 --set budgets='[2e10]' --set widths='[1]')
: > fake/calls
LACKS=avx2 ISO_TRAIN_PROGRAM=$tmp/old_node sweep old --set kernels=avx2 "${flags[@]}" > out 2> log
[ $? = 1 ] || { cat log; fail "a node that is not left out: exit"; }
[ "$(grep -c 'is retried: n1 lacks the kernels avx2$' log)" = 1 ] || { cat log; fail "the first time"; }
[ "$(grep -c 'is retried: n1 lacks the kernels avx2; set kernels' log)" = 1 ] || { cat log; fail "the second time"; }
want 'failed: n1 lacks the kernels avx2; set kernels: to what all nodes have' log "the third time"
[ "$(grep -c -- ' --exclude=n7,n8,n1 [^ ]*sh$' fake/calls) $(wc -l < fake/calls)" = "2 3" ] ||
    { cat fake/calls; fail "which nodes are left out"; }
LACKS=ref ISO_TRAIN_PROGRAM=$tmp/old_node sweep old --set kernels=avx2 "${flags[@]}" > out 2> log
grep -q lacks log && { cat log; fail "other kernels count"; }
# A note that nobody has read yet.
printf avx2 > "$(echo old/runs/*)/lacks-kernels.n3"
sweep old --set kernels=avx2 "${flags[@]}" > out 2> log || { cat log; fail "after a note"; }
tail -n 1 fake/calls | grep -q -- ' --exclude=n7,n8,n3 [^ ]*sh$' || { cat fake/calls; fail "a note from before"; }

# Resumed by its name alone it goes to the queue again, with the same options.
rm -r few/runs/*; calls=$(wc -l < fake/calls)
timeout -k 5 60 "$iso" sweep --no-fit --poll 0.2 --out few > out 2> log || { cat log; fail "resuming"; }
[ "$(wc -l < fake/calls)" = $((calls + 1)) ] || fail "resuming: not by sbatch"
tail -n 1 fake/calls | grep -qF -- '--array=1-6%2 ' || fail "resuming: $(tail -n 1 fake/calls)"

# Names that sbatch cannot carry are refused.
sweep 'back\slash' > out 2> log && fail "a backslash"
want 'rename the folder' log "a backslash"

# Tasks continue without their scheduler, and status and runs know.
STANDIN_SLEEP=1 "$iso" sweep toy.yaml --no-fit --data data --launcher slurm --out alone > out 2> log &
scheduler=$!
for _ in $(seq 100); do
    [ "$("$iso" runs alone --csv --where status=running 2>/dev/null | wc -l)" = 7 ] && break
    sleep 0.1
done
kill -9 $scheduler
wait $scheduler 2>/dev/null
"$iso" status alone > out
want '6 runs: 6 running' out "status of tasks without a scheduler"
want 'no scheduler is at work' out "status of tasks without a scheduler"
[ "$("$iso" runs alone --csv --where status=running | wc -l)" = 7 ] || fail "runs of tasks that continue"
sweep alone > out 2> log || { cat log; fail "finding the tasks again"; }
[ "$(find alone/slurm -name '*.job' | wc -l)" = 1 ] || fail "tasks under way were submitted again"

# A controller that restarts; a queue that is gone for good, and its tasks.
for trouble in down gone; do
    STANDIN_SLEEP=0.5 sweep $trouble > out 2> log &
    scheduler=$!
    for _ in $(seq 100); do grep -qs started log && break; sleep 0.1; done
    touch fake/$trouble
    sleep 1
    rm fake/$trouble
    wait $scheduler
    echo $? > $trouble.code
    mv log $trouble.log
done
[ "$(cat down.code)" = 0 ] || { cat down.log; fail "a controller that restarts"; }
[ "$(grep -c 'the queue does not answer and is asked again: squeue failed' down.log)" = 1 ] ||
    { cat down.log; fail "a controller that restarts: message"; }
[ "$(cat gone.code)" = 1 ] || fail "no squeue any more: exit"
want 'Its tasks stay in the queue and continue; to end them: scancel' gone.log "no squeue any more"
echo ok
