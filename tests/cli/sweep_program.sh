#!/usr/bin/env bash
# A program that is rebuilt, installed over or deleted while its sweep trains: every run is trained
# by the program that the sweep began with.
set -u
. "$(dirname "$0")/top.bash"
. tests/cli/sweep_lib.bash
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
make_data
cd "$tmp" || exit 1
make_grid toy.yaml '[2]'
flags=(--no-fit --data data --jobs 1 --retries 0 --set budgets='[1e10, 2e10]' --set widths='[1, 2]' --set lanes=2)
numbers() { for d in "$1"/runs/*/; do echo "$(basename "$d") $(cksum < "$d/model.safetensors")"; done; }
other() { printf '#!/bin/sh\ntouch %s/wrong\nexit 1\n' "$tmp" > new && chmod +x new && mv new bin/isodepth; }
begun() { for _ in $(seq 500); do grep -qs started "$1" && return; sleep 0.02; done; fail "nothing began: $(cat "$1")"; }
# lose STUDY COMMAND [FLAG...]: a study whose program the command does away with after its first start.
lose() {
    local study=$1 how=$2
    shift 2
    mkdir -p bin && cp "$iso" bin/isodepth && rm -f log
    bin/isodepth sweep toy.yaml "${flags[@]}" --out "$study" "$@" > out 2> log &
    local scheduler=$!
    begun log
    $how
    wait $scheduler || { cat log; fail "$study"; }
    grep -q '4 runs: 4 done' out || { cat out; fail "$study: runs"; }
    [ ! -e wrong ] || fail "$study: the other program was started"
    numbers "$study" | diff - want || fail "$study: other numbers"
}

"$iso" sweep toy.yaml "${flags[@]}" --out quiet > /dev/null 2> log || { cat log; fail "undisturbed"; }
numbers quiet > want
lose replaced other
lose deleted 'rm bin/isodepth' --adapt
mpi=0
command -v mpirun > /dev/null && "$iso" version --json | grep -q '"mpi": *true' && mpi=1
[ $mpi = 0 ] || lose ranks other --ranks 2

# A file that may be executed but not read: the kernel shows its process to nobody else.
mkdir -p closed/bin && cp -r data toy.yaml closed && cp "$iso" closed/bin/isodepth
chmod 0111 closed/bin/isodepth && chmod 755 "$tmp"
[ "$(id -u)" != 0 ] || chown -R nobody closed
# unread FLAG...: a sweep with that file, by a user whom its mode concerns.
unread() {
    local call
    call=$(printf '%q ' bin/isodepth sweep toy.yaml "${flags[@]}" --set 'budgets=[1e10]' "$@")
    call="cd $tmp/closed && export HOME=$tmp/closed && exec $call"
    if [ "$(id -u)" = 0 ]; then su nobody -s /bin/bash -c "$call"; else bash -c "$call"; fi
}
unread --out one > out 2> log || { cat log closed/one/runs/*/train.log; fail "a program that cannot be read"; }
grep -q '2 runs: 2 done' out || { cat out; fail "a program that cannot be read: runs"; }
if [ $mpi = 1 ]; then
    unread --out two --ranks 2 > out 2> log &
    scheduler=$!
    for _ in $(seq 1500); do grep -qs loss closed/two/runs/*/metrics.jsonl && break; sleep 0.02; done
    cp closed/bin/isodepth closed/bin/new && mv closed/bin/new closed/bin/isodepth
    wait $scheduler
    [ $? = 1 ] || { cat log; fail "a replaced program that cannot be read: exit"; }
    grep -q 'isodepth was replaced or deleted since this sweep began' log ||
        { cat log; fail "a replaced program that cannot be read: message"; }
    grep -q ' done: loss' log || { cat log; fail "ranks of a program that cannot be read"; }
fi

# ps and pgrep know a run by the program's name.
"$iso" sweep toy.yaml "${flags[@]}" --out long --set budgets='[1e13]' --set widths='[2]' > out 2> log &
scheduler=$!
for _ in $(seq 500); do grep -qs loss long/runs/*/metrics.jsonl && break; sleep 0.02; done
shown=$(ps -o comm= --ppid $scheduler)
kill -TERM $scheduler
wait $scheduler
[ $? = 3 ] || { cat log; fail "stopping: exit"; }
[ "$shown" = isodepth ] || fail "ps shows a run as $shown"
echo ok
