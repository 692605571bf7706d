#!/usr/bin/env bash
# One hash over {1, 2, 3 threads} x {1, 2, 3 ranks} x {whole, killed and resumed with other numbers}
# for every mechanism of the promise; a rank that hangs when all are asked to stop.
set -eu
. "$(dirname "$0")/../cli/top.bash"
. tests/cli/mpi_lib.bash

check() { # NAME SET...
    local name=$1 n threads
    shift
    train 1 1 "$name" "$@" || fail "$name"
    for n in 1 2 3; do
        for threads in 1 2 3; do
            train $n $threads whole "$@" || fail "$name on $n ranks of $threads threads"
            same "$name" whole "$name on $n ranks of $threads threads"
            killed $n $threads cut "$@"
            train $((n % 3 + 1)) $((threads % 3 + 1)) cut "$@" || fail "$name: resume"
            same "$name" cut "$name killed on $n ranks of $threads threads, resumed on others"
            rm -rf whole cut
        done
    done
}
mechanisms check

# A rank that does not answer after a stop signal is named, and nobody waits for ever.
mpirun --oversubscribe -n 2 "$I" -q train run.yaml --out hung --threads 1 --set steps=100000 >log 2>&1 &
launcher=$!
first_state hung
one=$(rank_pid $launcher 1) zero=$(rank_pid $launcher 0)
kill -STOP "$one"
kill -TERM "$zero"
code=0; wait $launcher || code=$?
kill -9 "$one" 2>/dev/null || true
[ $code != 0 ] && grep -q 'rank 0 on .* lost rank 1: it does not answer after a stop signal' log ||
    fail "a hanging rank: $code $(cat log)"
"$I" inspect hung >/dev/null || fail "a hanging rank: no state"
echo "mpi: one hash for all numbers of ranks and threads"
