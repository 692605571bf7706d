#!/usr/bin/env bash
# What ranks cost on one machine: two ranks of one thread against one process of two threads, the
# same run, T=256, V=4096, 20 layers, r=4; medians of the steps' tokens/s, rounds interleaved.
#   BENCH_RANK_WIDTHS="128 256"   BENCH_ROUNDS=3   BENCH_RANK_TOKENS=16384   BENCH_RANK_STEPS=4
set -eu
command -v mpirun >/dev/null && "$B/isodepth" version --json | grep -q '"mpi": *true' ||
    { echo "no MPI here: apt-get install libopenmpi-dev openmpi-bin, and build again"; exit 0; }
iso=$(realpath "$B/isodepth")
tokens=${BENCH_RANK_TOKENS:-16384}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for i in $(seq 9000); do echo "Line $i has the number $((i * i % 97)) and ends here, or there."; echo; done >text.txt
"$iso" -q pack text.txt -t bytes -T 256 --val 1% -o data >/dev/null
median() { sort -n | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'; }
speed() { # DIR: of the steps after the first
    sed -n '2,$s/.*"tokens_per_second": *\([0-9.e+]*\).*/\1/p' "$1/metrics.jsonl" | median
}
for d in ${BENCH_RANK_WIDTHS:-128 256}; do
    run=(train run.yaml --set "d_model=$d" --set "steps=${BENCH_RANK_STEPS:-4}")
    cat >run.yaml <<END
data: data
r: 4
head: 64
vocab: 4096
batch_tokens: $tokens
transfer: {batch_tokens: $tokens}
END
    threads='' ranks=''
    for round in $(seq "${BENCH_ROUNDS:-3}"); do
        "$iso" -q "${run[@]}" --out "t$d-$round" --threads 2
        mpirun --oversubscribe --bind-to none -n 2 "$iso" -q "${run[@]}" --out "r$d-$round" --threads 1
        cmp -s "t$d-$round/model.safetensors" "r$d-$round/model.safetensors" || echo "d=$d: other weights on ranks"
        threads+=$(speed "t$d-$round")$'\n' ranks+=$(speed "r$d-$round")$'\n'
    done
    awk -v t="$(printf '%s' "$threads" | median)" -v r="$(printf '%s' "$ranks" | median)" -v d="$d" 'BEGIN {
        printf "d=%d: 1 process of 2 threads %d tokens/s, 2 ranks of 1 thread %d, ratio %.2f (goal 0.95)\n", d, t, r, r / t }'
done
