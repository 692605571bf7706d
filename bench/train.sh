#!/usr/bin/env bash
# Training speed beside PyTorch, eager and with torch.compile (bench/torch_train.py): the same model,
# forward + backward + optimiser, T=256, V=4096, 20 layers.  The contestants take turns; the table
# has medians of the rounds, per second of the wall clock and per CPU second of all threads.  fp32 is
# our AVX-512 or AVX2 table; bf16 is measured where the CPU has AMX.
#   BENCH_WIDTHS="32 64 128 256 640"   BENCH_R="1 4"   BENCH_ROUNDS=3   BENCH_TOKENS=4096 (of a step)
#   BENCH_THREADS=2   BENCH_DTYPES="fp32 bf16"   BENCH_PYTHON=python3
set -eu
python=${BENCH_PYTHON:-python3}
tokens=${BENCH_TOKENS:-4096}
threads=${BENCH_THREADS:-2}
fp32=avx2
dtypes=fp32
grep -q avx512f /proc/cpuinfo && fp32=avx512
grep -q amx_bf16 /proc/cpuinfo && dtypes='fp32 bf16'
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

peers=
if ! "$python" -c 'import torch' 2>/dev/null; then
    echo "no PyTorch for $python, so only our own speed; to compare:"
    echo "    python3 -m venv DIR; DIR/bin/pip install torch; BENCH_PYTHON=DIR/bin/python make bench"
else
    peers=eager
    if "$python" -c 'import torch; torch.compile(lambda x: x + 1)(torch.ones(3))' >/dev/null 2>&1; then
        peers='eager compile'
    else
        echo "torch.compile does not work for $python (it needs PyTorch 2, g++ and the headers of"
        echo "that Python, python3-dev): eager only"
    fi
fi

head_of() { if [ "$1" -ge 512 ]; then echo 128; elif [ "$1" -ge 64 ]; then echo 32; else echo 16; fi; }
# Each prints: tokens per second, tokens per CPU second.
ours() { # dtype d r
    local table=amx
    [ "$1" = fp32 ] && table=$fp32
    ISO_CPU=$table "$B/bench/bench_train" "$2" "$3" "$threads" $((tokens / 256)) 256 4096 2 |
        sed 's,.*: \([0-9]*\) tokens/s\, \([0-9]*\) per CPU.*,\1 \2,'
}
eager() { # dtype d r [option]
    "$python" bench/torch_train.py --d "$2" --r "$3" --head "$(head_of "$2")" --dtype "$1" \
        --threads "$threads" --batch-tokens "$tokens" --steps 2 ${4:+"$4"} |
        sed 's/.*"tokens_per_s": \([0-9.]*\), "tokens_per_cpu_s": \([0-9.]*\).*/\1 \2/'
}
compile() { eager "$@" --compile; }

median() { # WHO COLUMN
    cut -d' ' -f"$2" "$results/$1" | sort -n | awk '{ x[NR] = $1 } END { printf "%.0f", x[int((NR + 1) / 2)] }'
}
row() { # dtype d r
    rm -f "$results"/*
    for _ in $(seq "${BENCH_ROUNDS:-3}"); do
        for who in ours $peers; do "$who" "$@" >>"$results/$who"; done
    done
    printf '%-5s %4s %2s' "$@"
    for column in 1 2; do
        printf ' | %9s' "$(median ours $column)"
        for who in $peers; do
            printf ' %9s %5s' "$(median "$who" $column)" \
                "$(awk -v a="$(median ours $column)" -v b="$(median "$who" $column)" 'BEGIN { if (b > 0) printf "%.2f", a / b; else print "-" }')"
        done
    done
    echo
}

printf '%-5s %4s %2s' '' d r
for unit in tokens/s tok/CPU-s; do
    printf ' | %9s' "$unit"
    for who in $peers; do printf ' %9s %5s' "$who" ours/; done
done
echo
for dtype in ${BENCH_DTYPES:-$dtypes}; do
    for r in ${BENCH_R:-1 4}; do
        for d in ${BENCH_WIDTHS:-32 64 128 256 640}; do row "$dtype" "$d" "$r"; done
    done
done
