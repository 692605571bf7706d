# Shared by the tests of ranks: a small run of six lanes, started with mpirun.  Sourced after
# top.bash; goes into a folder of its own.
skip() { echo "$*"; exit 77; }
command -v mpirun >/dev/null || skip "no mpirun: apt-get install openmpi-bin"
. tests/cli/train_lib.bash
"$I" version --json | grep -q '"mpi": *true' || skip "this build has no MPI"
unset ISO_CPU
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for i in $(seq 900); do echo "Line $i has the number $((i * i % 97)) and ends here, or there."; echo; done >text.txt
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
first_state() { for _ in $(seq 4000); do [ -s "$1/latest" ] && break; sleep 0.005; done; }
rank_pid() { pgrep -P "$1" | sed -n "$(($2 + 1))p"; } # MPIRUN RANK
trainer_below() { # SHELL RANKS: the last rank, or the one process; mpirun is below timeout
    local below
    below=$(pgrep -P "$1") || return 0
    if [ "$2" != 1 ]; then
        below=$(pgrep -P "$below") && below=$(rank_pid "$below" $(($2 - 1))) || return 0
    fi
    echo "$below"
}
killed() { # RANKS THREADS DIR SET...: its last rank is killed after the first saved state
    local n=$1 dir=$3 shell pid=
    train "$@" 2>>killed.log &
    shell=$!
    for _ in $(seq 1000); do pid=$(trainer_below $shell "$n"); [ -n "$pid" ] && break; sleep 0.005; done
    first_state "$dir"
    kill -9 "$pid" 2>/dev/null || true
    wait 2>/dev/null || true
}
mechanisms() { # FUNCTION: for each row of the promise
    "$1" linear --set r=2
    "$1" hyper --set r=2 --set 'loop={name: hyper, lanes: 3}'
    "$1" truncated --set r=4 --set depth=6 --set bptt=2
    "$1" plain --set r=1
}
