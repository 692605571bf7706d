#!/usr/bin/env bash
# Ranks: weights, moments and metrics have the bits of one process, also when ranks are killed and
# other numbers of ranks and threads resume; over shared memory and TCP; ranks that differ are
# rejected; a failure, a signal or a death of one rank ends all.  tests/long/mpi.sh has all numbers.
set -eu
. "$(dirname "$0")/top.bash"
. tests/cli/mpi_lib.bash

check() { # NAME SET...
    local name=$1
    shift
    train 1 2 "$name" "$@" || fail "$name"
    train 2 2 "$name-2" "$@" || fail "$name on 2 ranks"
    same "$name" "$name-2" "$name on 2 ranks"
    killed 3 1 "$name-cut" "$@"
    train 2 1 "$name-cut" "$@" || fail "$name: resume"
    same "$name" "$name-cut" "$name killed on 3 ranks, resumed on 2"
}
mechanisms check
mpi=(--mca btl "self,tcp" --mca btl_tcp_if_include lo)
train 3 1 tcp --set r=2 || fail "TCP"
same linear tcp "3 ranks over TCP"
mpi=()

# One process resumes what ranks began, and the other way round; --start works with ranks.
killed 2 1 back --set r=2
train 1 1 back --set r=2 || fail "one process after ranks"
same linear back "two ranks, then one process"
train 1 1 warm --start linear --set steps=3 || fail "--start"
train 3 1 warm-3 --start linear --set steps=3 || fail "--start on ranks"
same warm warm-3 "--start on ranks"

# Ranks that differ are rejected with the list; what fails on one rank is said with its number.
refused() { # WORDS COMMAND...
    local words=$1 code=0
    shift
    "$@" >log 2>&1 || code=$?
    [ $code = 1 ] || fail "exit code $code, wanted \"$words\": $(cat log)"
    [ "$(grep -c '^isodepth: ' log)" = 1 ] || fail "not one message: $(cat log)"
    grep -q "$words" log || fail "wanted \"$words\": $(cat log)"
}
two=("$I" -q train run.yaml --out two --threads 1)
refused 'the ranks differ' mpirun --oversubscribe -n 1 -x ISO_CPU=ref "${two[@]}" : -n 1 "${two[@]}"
grep -q 'rank 0 on .* kernels ref' log && grep -q 'rank 1 on .* kernels [a-z]*' log || fail "the list: $(cat log)"
refused 'the ranks differ' mpirun --oversubscribe -n 1 "${two[@]}" : -n 1 "${two[@]}" --set seed=3
cp "$I" another && echo >>another # another build of the same version
refused 'the ranks differ' mpirun --oversubscribe -n 1 "${two[@]}" : -n 1 ./another "${two[@]:1}"
grep -q 'rank 1 on .* program [0-9a-f]*$' log || fail "the list: $(cat log)"
refused 'rank 1 on .*nowhere: no such' mpirun --oversubscribe -n 1 "${two[@]}" : -n 1 "${two[@]}" --data nowhere
refused '7 ranks, but a batch .* has 6 lanes' ranks 7 "${two[@]}"
refused 'rank 1 on .*needs .* GB .* allowed' mpirun --oversubscribe -n 1 "${two[@]}" : -n 1 "${two[@]}" --memory 0.002
rm -rf two
code=0 # the limit on file sizes is a full disk, which must not meet the shared memory of MPI
mpirun --oversubscribe --mca btl self,tcp -n 1 bash -c 'ulimit -f 100; trap "" XFSZ; exec "$@"' limited "${two[@]}" : \
    -n 1 "${two[@]}" >log 2>&1 || code=$?
[ $code = 1 ] && grep -q 'rank 0 on .*: cannot write' log || fail "a full disk: $code $(cat log)"
[ ! -e two/latest ] || fail "half a state counts"

# A signal to one rank, or through mpirun to all, saves and ends with code 3.
endless=("$I" train run.yaml --threads 1 --set r=2 --set save_every=0 --set steps=100000)
saved_step() { sed 's/checkpoint-0*//' "$1/latest"; }
signalled() { # DIR WHO SIGNAL WORDS
    local dir=$1 code=0 to launcher before
    before=$(steps_in "$dir")
    mpirun --oversubscribe -n 2 "${endless[@]}" --out "$dir" >log 2>&1 &
    launcher=$!
    until_holds "a step of $dir" beyond "$dir" "$before"
    case $2 in all) to=$launcher ;; *) to=$(rank_pid $launcher "$2") ;; esac
    kill "-$3" "$to"
    wait $launcher || code=$?
    [ $code = 3 ] && grep -q "$4" log || fail "SIG$3 to $2: $code $(cat log)"
    [ "$(saved_step "$dir")" = "$(steps_in "$dir")" ] || fail "SIG$3 to $2: $(ls "$dir"), $(steps_in "$dir") steps"
}
signalled by-rank 1 TERM 'stopped by a signal to rank 1 after step'
signalled by-all all USR1 'isodepth: stopped after step'

# Ctrl-C in the terminal of mpirun, which has an exit code of its own: every step is saved, and the
# run resumes with the bits of one that was left alone.
code=0
OMPI_MCA_odls_base_sigkill_timeout=3 timeout 150 python3 "$top/tests/cli/ctrl_c.py" typed/metrics.jsonl 3 \
    mpirun --oversubscribe -n 2 "${endless[@]}" --out typed >log 2>&1 || code=$?
[ $code = 1 ] || fail "Ctrl-C: exit code $code $(cat log)"
[ "$(saved_step typed)" = "$(steps_in typed)" ] || fail "Ctrl-C: $(ls typed), $(steps_in typed) steps"
signalled typed all USR1 'isodepth: stopped after step'
step=$(saved_step typed)
"${endless[@]}" --out untyped --keep --set "save_every=$step" >log 2>&1 &
alone=$!
first_state untyped
kill -TERM $alone
wait $alone || true
for dir in typed untyped; do
    cp -r "$dir/checkpoint-$(printf %09d "$step")" $dir-then
    head -n "$step" $dir/metrics.jsonl >$dir-then/metrics.jsonl
done
same typed-then untyped-then "Ctrl-C, resumed"

# A stop does not wait for the end of a step, here of minutes.
long=("${endless[@]}" --set batch_tokens=16777216 --set lanes=64)
for start in "" "mpirun --oversubscribe -n 2"; do
    rm -rf minutes log
    $start "${long[@]}" --out minutes >log 2>&1 &
    pid=$!
    until_holds "the announcement" grep -q ' to go' log
    kill -USR1 $pid
    code=0; wait $pid || code=$?
    [ $code = 3 ] && grep -q 'stopped after step 0 of' log || fail "a stop in a long step: $code $(cat log)"
done

# Ranks that need longer to save than mpirun would wait say so once.
for wait in 0:1 60:0; do
    rm -rf warned
    OMPI_MCA_odls_base_sigkill_timeout=${wait%:*} ranks 2 "$I" train run.yaml --out warned --threads 1 \
        --set steps=3 --set save_every=1 2>log || fail "$(cat log)"
    [ "$(grep -c 'mpirun kills its ranks .*OMPI_MCA_odls_base_sigkill_timeout=' log)" = "${wait#*:}" ] ||
        fail "mpirun waits ${wait%:*} s: $(cat log)"
done

# A rank that dies: mpirun names it, nothing stays behind, and what was saved is whole.
grep -q 'rank 2 .*exited on signal 9' killed.log || fail "a killed rank: $(cat killed.log)"
pgrep -f "$work" >/dev/null && fail "ranks are left: $(pgrep -af "$work")"

# Without mpirun the ranks end, too.
mpirun --oversubscribe -n 2 "$I" -q train run.yaml --out alone --threads 1 --set steps=100000 >log 2>&1 &
launcher=$!
first_state alone
kill -9 $launcher || fail "mpirun ended by itself: $(cat log)"
for _ in $(seq 200); do pgrep -f "$work" >/dev/null || break; sleep 0.1; done
pgrep -f "$work" >/dev/null && fail "mpirun was killed, ranks are left: $(pgrep -af "$work")"

# Without --threads, ranks on the same cores divide them.
mpi=(--bind-to none)
ranks 2 "$I" train run.yaml --out shared --set steps=1 2>log || fail "ranks on the same cores: $(cat log)"
cores=$(($(nproc) / 2))
[ $cores -gt 0 ] || cores=1
grep -q "2 ranks of $cores threads" log || fail "ranks on the same cores: $(cat log)"
mpi=()

# Only train starts MPI: other commands do not care that a launcher is there.
OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 timeout 20 "$I" inspect linear >/dev/null || fail "inspect under a launcher"
echo "mpi: the same bits on 1, 2 and 3 ranks, whole and resumed"
