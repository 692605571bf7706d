#!/usr/bin/env bash
# Training speed against PyTorch (bench/torch_train.py): the same model, forward + backward +
# optimiser, 2 threads, T=256, V=4096, 20 layers, interleaved; medians of the rounds and ratios.
# PyTorch runs in bf16 where the CPU has bf16 products, else in fp32, which is faster there.
#   BENCH_WIDTHS="64 128 256 640"   BENCH_ROUNDS=3   BENCH_PYTHON=python3   BENCH_TOKENS=16384
set -eu
python=${BENCH_PYTHON:-python3}
rounds=${BENCH_ROUNDS:-3}
tokens=${BENCH_TOKENS:-16384}
goal() { case $1 in 64) echo 4 ;; 128) echo 3 ;; 256) echo 2 ;; *) echo 1.2 ;; esac; }
if ! "$python" -c 'import torch' 2>/dev/null; then
    echo "no PyTorch here (python3-torch, or pip install torch): only our own speed"
    exit 0
fi
dtype=fp32
grep -qE 'amx_bf16|avx512_bf16' /proc/cpuinfo && dtype=bf16
median() { sort -n | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'; }
for r in 1 4; do
    for d in ${BENCH_WIDTHS:-64 128}; do
        peer='' ours=''
        for _ in $(seq "$rounds"); do
            peer+=$("$python" bench/torch_train.py --d "$d" --r "$r" --threads 2 --dtype $dtype \
                --batch-tokens "$tokens" --steps 2 | sed 's/.*"tokens_per_s": \([0-9.]*\).*/\1/')$'\n'
            ours+=$("$B/bench/bench_train" "$d" "$r" 2 $((tokens / 256)) 256 4096 2 |
                sed 's/.*: \([0-9]*\) tokens.*/\1/')$'\n'
        done
        awk -v o="$(printf '%s' "$ours" | median)" -v p="$(printf '%s' "$peer" | median)" \
            -v d="$d" -v r="$r" -v t=$dtype -v g="$(goal "$d")" 'BEGIN {
            printf "d=%d r=%d: %d tokens/s, PyTorch %s %d, ratio %.2f (goal %s on AMX)\n", d, r, o, t, p, o / p, g }'
    done
done
# Two threads against one, and the memory of long sequences.
one=$("$B/bench/bench_train" 128 4 1 16 256 4096 3 | sed 's/.*: \([0-9]*\) tokens.*/\1/')
two=$("$B/bench/bench_train" 128 4 2 16 256 4096 3 | sed 's/.*: \([0-9]*\) tokens.*/\1/')
awk -v a="$one" -v b="$two" 'BEGIN { printf "two threads / one thread: %.2f (goal 1.8)\n", b / a }'
