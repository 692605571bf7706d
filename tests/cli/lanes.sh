#!/usr/bin/env bash
# lanes: weights, moments and metrics have the same bits with any number of threads, also when a run
# is killed and resumed with another number; lanes, micro-batch and kernels are settings of a run.
set -eu
. "$(dirname "$0")/top.bash"
. tests/cli/train_lib.bash
unset ISO_CPU
small_text 900
small_run 3072 24 64 # 48 sequences: six lanes, which is no power of two
echo "save_every: 3" >>run.yaml
echo "validate_every: 10" >>run.yaml

killed() { # DIR THREADS SET...: killed after its first saved state
    local dir=$1 threads=$2
    shift 2
    "$I" -q train run.yaml --out "$dir" --threads "$threads" "$@" 2>/dev/null &
    pid=$!
    for _ in $(seq 2000); do [ -s "$dir/latest" ] && break; sleep 0.005; done
    kill -9 $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
}
check() { # NAME SET...
    local name=$1
    shift
    for threads in 1 2 3; do
        "$I" -q train run.yaml --out "$name-$threads" --threads $threads "$@" || fail "$name"
        same "$name-1" "$name-$threads" "$name on $threads threads"
    done
    killed "$name-cut" 3 "$@"
    killed "$name-cut" 1 "$@"
    "$I" -q train run.yaml --out "$name-cut" --threads 2 "$@" || fail "$name: resume"
    same "$name-1" "$name-cut" "$name killed on 3 threads and on 1, resumed on 2"
}
check linear --set r=2
check hyper --set r=2 --set 'loop={name: hyper, lanes: 3}'
check truncated --set r=4 --set depth=6 --set bptt=2
check plain --set r=1

# What was resolved is in config.yaml, which repeats the run.
grep -q '^lanes: 6$' linear-1/config.yaml || fail "lanes: $(grep lanes linear-1/config.yaml)"
grep -q '^micro_batch: 4$' linear-1/config.yaml || fail "$(grep micro linear-1/config.yaml)"
grep -q '^kernels: ' linear-1/config.yaml || fail "config.yaml names no kernels"
"$I" -q train linear-1/config.yaml --out again --threads 2 || fail "config.yaml as settings"
same linear-1 again "config.yaml as settings"

# Other lanes are another run.
"$I" -q train run.yaml --out eight --set r=2 --set lanes=8 --set micro_batch=2 || fail "eight lanes"
cmp -s linear-1/model.safetensors eight/model.safetensors && fail "lanes change nothing"
code=0; "$I" -q train run.yaml --out linear-1 --set r=2 --set lanes=8 2>log || code=$?
[ $code = 1 ] && grep -q 'other settings' log || fail "other lanes in one directory: $(cat log)"
refused() { # SETTING WORDS
    if "$I" -q train run.yaml --out none --set "$1" 2>log; then fail "$1 was accepted"; fi
    grep -q "$2" log || fail "$1: $(cat log)"
}
refused lanes=49 'lanes: 49 lanes, but a batch has 48 sequences'
refused micro_batch=9 'micro_batch: 9 sequences at once, but a lane has 8'
refused kernels=z80 'no kernels "z80"; there are: ref'

# Too little memory is refused, not met with another micro-batch.
if "$I" -q train run.yaml --out none --memory 0.002 2>log; then fail "2 MB were enough"; fi
grep -q 'use fewer threads, .* or a smaller micro_batch' log || fail "memory: $(cat log)"

# A run keeps its kernels, unless it is told otherwise.
"$I" -q train run.yaml --out kept --set steps=6 --set kernels=ref --threads 2 || fail "kernels: ref"
killed plain-c 2 --set steps=6 --set kernels=ref
"$I" -q train run.yaml --out plain-c --set steps=6 || fail "resuming keeps the kernels"
same kept plain-c "kernels: ref, resumed without naming them"
if "$I" version -v | grep -q 'avx2'; then
    killed moved 2 --set steps=6 --set kernels=ref
    if "$I" -q train run.yaml --out moved --set steps=6 --set kernels=avx2 2>log; then fail "other kernels"; fi
    grep -q 'began with kernels ref' log || fail "other kernels: $(cat log)"
    "$I" -q train run.yaml --out moved --set steps=6 --set kernels=avx2 --allow-other-kernels || fail "allowed"
fi
echo "lanes: the same bits on 1, 2 and 3 threads, whole and resumed"
