#!/usr/bin/env bash
# What the world around does to a scheduler: hang-ups, odd signal settings, others' locks.
set -u
. "$(dirname "$0")/top.bash"
. tests/cli/sweep_lib.bash
export ISO_TRAIN_PROGRAM
ISO_TRAIN_PROGRAM=$standin
export STANDIN_SLEEP=0.01 STANDIN_STEPS=5
make_data
cd "$tmp" || exit 1
make_grid toy.yaml '[2]'
sweep() { timeout -k 5 60 "$iso" sweep toy.yaml --no-fit --data data --out "$@"; }

# A hang-up saves and stops, unless nohup said otherwise.
for start in "" nohup; do
    code=$([ "$start" ] && echo 0 || echo 3)
    rm -f log
    STANDIN_STEPS=30 STANDIN_SLEEP=0.02 $start "$iso" sweep toy.yaml --no-fit --data data \
        --out "hup$start" > out 2> log < /dev/null &
    scheduler=$!
    for _ in $(seq 100); do grep -qs started log && break; sleep 0.05; done
    kill -HUP $scheduler
    wait $scheduler
    [ $? = "$code" ] || { cat log; fail "SIGHUP ${start:-alone}: exit"; }
done

# Started by a program that ignores SIGCHLD.
timeout -k 5 60 python3 -c '
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$iso" sweep toy.yaml --no-fit --data data --out chld > out 2> log ||
    { cat log; fail "SIGCHLD ignored"; }
want '6 runs: 6 done' out "SIGCHLD ignored"

# A folder that is in use keeps its own run waiting, and no other.
sweep used --dry-run > out || fail "--dry-run"
largest=$(sed -n '2,7p' out | sort -grk8 | awk 'NR == 1 {print $1}')
mkdir -p "used/runs/$largest"
(exec 8> "used/runs/$largest/.running" && flock 8 && exec sleep 20) &
holder=$!
sleep 0.2
sweep used --jobs 1 > out 2> log &
scheduler=$!
for _ in $(seq 100); do [ "$(find used/runs -name result.json | wc -l)" = 5 ] && break; sleep 0.1; done
want "$largest waits" log "a folder in use"
[ "$(find used/runs -name result.json | wc -l)" = 5 ] || { cat log; fail "a folder in use stops the others"; }
kill $holder
wait $scheduler || { cat log; fail "after a folder in use"; }
want '6 runs: 6 done' out "after a folder in use"

# Pipes in the place of a run's files are named, not waited for.
run=used/runs/$largest
mv "$run/result.json" result.json && mkfifo "$run/result.json"
timeout -k 1 20 "$iso" status used > out 2> log || fail "a result is a pipe: status $? $(cat log)"
rm "$run/result.json" "$run/train.log" && mkfifo "$run/train.log"
sweep used > out 2> log && fail "a log that is a pipe"
want "$largest/train.log: not a regular file" log "a log that is a pipe"
rm "$run/train.log" && mv result.json "$run/"
# So are pipes in the place of the study's own.
for command in 'runs.csv fit' 'runs.csv status' 'grid.yaml sweep --no-fit --out'; do
    file=used/${command%% *}
    mv "$file" kept && mkfifo "$file"
    # shellcheck disable=SC2086
    timeout -k 1 20 "$iso" ${command#* } used > out 2> log || true # status only warns
    want "$file: not a regular file" log "$command"
    mv kept "$file"
done

# Whoever looks whether a scheduler is at work has its lock for a moment.
(exec 8> used/lock && flock 8 && exec sleep 0.5) &
sleep 0.2
sweep used > out 2> log || { cat log; fail "a moment's lock"; }
wait

# A killed scheduler: its runs save and leave, and all who look say so.
STANDIN_SLEEP=1 "$iso" sweep toy.yaml --no-fit --data data --out killed > out 2> log &
scheduler=$!
for _ in $(seq 100); do
    [ "$("$iso" runs killed --csv --where status=running 2>/dev/null | wc -l)" -gt 1 ] && break
    sleep 0.1
done
"$iso" status killed | grep -q running || fail "status sees running runs"
# Whoever may only read the study sees them, too.
cp "$iso" isodepth && chmod 755 "$tmp" && chmod a-w killed/lock killed/runs/*/.running
if [ "$(id -u)" = 0 ]; then
    su nobody -s /bin/bash -c "$tmp/isodepth status $tmp/killed" > out
else
    ./isodepth status killed > out
fi
grep -q 'running' out && grep -q '^a scheduler is at work' out || { cat out; fail "status for a reader"; }
chmod u+w killed/lock killed/runs/*/.running
kill -9 $scheduler
wait $scheduler 2>/dev/null
for _ in $(seq 50); do pgrep -f "train $tmp/killed/" > /dev/null || break; sleep 0.1; done
"$iso" status killed > out
want '6 runs: 6 planned' out "status of a killed study"
[ "$("$iso" runs killed --csv --where status=planned | wc -l)" = 7 ] || fail "runs of a killed study"
# What each run resumes from, in words and in the study's FLOPs.
for run in killed/runs/*/; do
    [ -s "$run/latest" ] || continue
    step=$(sed 's/checkpoint-0*//' "$run/latest")
    grep -q "$(basename "$run") .*stopped, resumes at step $step of" out || { cat out; fail "progress"; }
done
grep -q 'stopped, resumes at' out || { cat out; fail "no run saved anything"; }
# A study that once used Slurm is no different.
mkdir killed/slurm
"$iso" status killed | grep -q '6 runs: 6 planned' || fail "status: the last scheduler was local"
rmdir killed/slurm

# A run that was killed before it saved anything has steps and no checkpoint.
run=$(ls killed/runs | head -n 1)
rm -rf killed/runs/*/latest
echo '{"step": 3, "loss": 3}' > "killed/runs/$run/metrics.jsonl"
sweep killed > out 2> log || fail "after the kill"
want "$run started" log "after the kill"
grep -q 'from its checkpoint' log && { cat log; fail "a checkpoint that is not there"; }

# A checkpoint that the trainer cannot use: whoever watches is told.
run=$(ls killed/runs | head -n 1)
rm "killed/runs/$run"/{result.json,metrics.jsonl}
printf checkpoint-000000900 > "killed/runs/$run/latest"
STANDIN_SLEEP=0.1 sweep killed > out 2> log || { cat log; fail "an unusable checkpoint"; }
want ', before its checkpoint at step 900; its train.log says why' log "an unusable checkpoint"

# A reader that holds the store for longer than a writer waits.
rm log # which says "started", too
(STANDIN_STEPS=20 STANDIN_SLEEP=0.05 sweep held --jobs 1 > out 2> log; echo $? > code) &
for _ in $(seq 100); do grep -qs started log && break; sleep 0.05; done
python3 -c '
import sqlite3, time
db = sqlite3.connect("held/study.db", isolation_level=None)
db.execute("BEGIN")
db.execute("SELECT * FROM run").fetchall()
time.sleep(13)'
wait
[ "$(cat code)" = 0 ] || { cat log; fail "a reader of the store stopped the study"; }
[ "$("$iso" runs held --csv --where 'status=done and attempts=1' | wc -l)" = 7 ] ||
    fail "the store has what happened while it was held"
"$iso" runs held --csv | cmp -s - held/runs.csv || fail "runs.csv after the reader"
[ "$(python3 -c '
import sqlite3
print(sqlite3.connect("held/study.db").execute("SELECT count(*) FROM attempt").fetchone()[0])')" = 6 ] ||
    fail "each attempt is in the store once"
echo ok
