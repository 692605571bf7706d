#!/usr/bin/env bash
# What the world around does to a scheduler: hang-ups, odd signal settings, others' locks.
set -u
here=$(dirname "$0")
. tests/cli/sweep_lib.bash
export ISO_TRAIN_PROGRAM
ISO_TRAIN_PROGRAM=$(realpath "$here/../standin_trainer")
export STANDIN_SLEEP=0.01 STANDIN_STEPS=5
make_data
cd "$tmp" || exit 1
make_grid toy.yaml '[2]'
sweep() { timeout 60 "$iso" sweep toy.yaml --no-fit --data data --out "$@"; }
# want TEXT FILE WHAT: the file holds the text.
want() { grep -qF -- "$1" "$2" || { cat "$2"; fail "$3"; }; }

# A hang-up saves and stops, unless nohup said otherwise.
for start in "" nohup; do
    code=$([ "$start" ] && echo 0 || echo 3)
    STANDIN_STEPS=30 STANDIN_SLEEP=0.02 $start "$iso" sweep toy.yaml --no-fit --data data \
        --out "hup$start" > out 2> log < /dev/null &
    scheduler=$!
    for _ in $(seq 100); do grep -qs started log && break; sleep 0.05; done
    kill -HUP $scheduler
    wait $scheduler
    [ $? = "$code" ] || { cat log; fail "SIGHUP ${start:-alone}: exit"; }
done

# Started by a program that ignores SIGCHLD.
timeout 60 python3 -c '
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$iso" sweep toy.yaml --no-fit --data data --out chld > out 2> log ||
    { cat log; fail "SIGCHLD ignored"; }
want '6 runs: 6 done' out "SIGCHLD ignored"
echo ok
