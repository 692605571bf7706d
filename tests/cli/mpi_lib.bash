# Shared by the tests of ranks: a small run of six lanes, started with mpirun.  Sourced after
# top.bash; goes into a folder of its own.
command -v mpirun >/dev/null || skip "no mpirun: apt-get install openmpi-bin"
top=$PWD
. tests/cli/train_lib.bash
"$I" version --json | grep -q '"mpi": *true' || skip "this build has no MPI"
unset ISO_CPU
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
small_text 900
small_run 3072 15 64 # 48 sequences: six lanes, which is no power of two
echo "save_every: 3" >>run.yaml
echo "validate_every: 5" >>run.yaml

mpi=()
ranks() { # N COMMAND...: on N ranks; mpi has further options
    local n=$1
    shift
    timeout 120 mpirun --oversubscribe "${mpi[@]}" -n "$n" "$@"
}
train() { # RANKS THREADS DIR SET...
    local n=$1 threads=$2 dir=$3
    shift 3
    if [ "$n" = 1 ]; then
        "$I" -q train run.yaml --out "$dir" --threads "$threads" "$@"
    else
        ranks "$n" "$I" -q train run.yaml --out "$dir" --threads "$threads" "$@"
    fi
}
until_holds() { # WHAT COMMAND...: waits until the command holds
    local what=$1 end=$((SECONDS + 120))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || fail "timeout: $what: $(tail -n 3 log killed.log 2>/dev/null)"
        sleep 0.01
    done
}
first_state() { until_holds "the first state of $1" test -s "$1/latest"; }
steps_in() { wc -l 2>/dev/null <"$1/metrics.jsonl" || echo 0; }
beyond() { [ "$(steps_in "$1")" -gt "$2" ]; } # DIR STEPS
rank_pid() { # MPIRUN RANK
    local pid
    for pid in $(pgrep -P "$1"); do
        tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$2" && echo "$pid"
    done
    return 0
}
"${CC:-cc}" -shared -fPIC -D_GNU_SOURCE -o hold.so "$top/tests/hold_shim.c" || fail "the shim"
killed() { # RANKS THREADS DIR SET...: held after its first saved state, where its last rank is killed
    local n=$1 dir=$3 shell pid
    HOLD_AT=/latest LD_PRELOAD=$work/hold.so train "$@" 2>>killed.log &
    shell=$!
    first_state "$dir"
    pid=$(pgrep -P $shell)
    [ "$n" = 1 ] || pid=$(rank_pid "$(pgrep -P "$pid")" $((n - 1))) # mpirun is below timeout
    kill -9 "$pid"
    wait $shell 2>/dev/null || true
}
mechanisms() { # FUNCTION: for each row of the promise
    "$1" linear --set r=2
    "$1" hyper --set r=2 --set 'loop={name: hyper, lanes: 3}'
    "$1" truncated --set r=4 --set depth=6 --set bptt=2
    "$1" plain --set r=1
}
