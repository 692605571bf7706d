#!/usr/bin/env bash
# The joint fit and the bootstrap beside SciPy: seconds of CPU of all threads, which other work on
# the machine hardly changes.  Ours and theirs take turns; each ratio is that of one turn, and the
# median of ROUNDS turns is printed.
# SciPy would need most of an hour for 200 x 500: it does one resample a turn, times 200.
set -eu
rounds=${ROUNDS:-3}
ours=${B:-build}/bench/bench_fit
python=/usr/bin/python3 # Debian's, which python3-scipy belongs to
if ! "$python" -c 'import scipy' 2>/dev/null; then
    echo "fit: python3-scipy is missing; tools/deps bench installs it"
    exit 0
fi
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
turn() { # FILE NAME ARGUMENTS...: their seconds and minimum follow ours in a row of FILE
    local file=$1 name=$2
    shift 2
    "$ours" "$name" | tr '\n' ' ' >>"$file"
    "$python" bench/fit_scipy.py "$name" "$@" >>"$file"
}
for _ in $(seq "$rounds"); do
    turn "$work/joint" joint 500
    turn "$work/bootstrap" bootstrap 500 1
    "$ours" protocol >>"$work/protocol"
done
median() { sort -g | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
report() { # NAME FILE COLUMN SCALE: seconds of ours in column 1, of theirs in COLUMN, times SCALE
    local a b ratio
    a=$(awk '{print $1}' "$2" | median)
    b=$(awk -v c="$3" -v s="$4" '{print s * $c}' "$2" | median)
    ratio=$(awk -v c="$3" -v s="$4" '{print s * $c / $1}' "$2" | median)
    printf '%-28s ours %8.3f s of CPU, SciPy %9.2f s: %.0f times as fast\n' "$1" "$a" "$b" "$ratio"
}
report "joint fit, 500 starts" "$work/joint" 4 1
report "bootstrap, 200 x 500 starts" "$work/bootstrap" 4 200
printf '%-28s ours %8.3f s of CPU\n' "whole protocol" "$(median <"$work/protocol")"
awk '{a = $2; b = $5; worse = worse || a > b * (1 + 1e-9)}
    END {printf "minimum found: ours %.12e, SciPy %.12e: %s\n", a, b, worse ? "WORSE" : "not worse"; exit worse}' \
    "$work/joint"
