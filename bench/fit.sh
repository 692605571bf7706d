#!/usr/bin/env bash
# The joint fit and the bootstrap side by side with SciPy, interleaved, medians of ROUNDS rounds.
# SciPy would need most of an hour for 200 x 500: it does one resample a round, times 200.
set -eu
rounds=${ROUNDS:-3}
ours=${B:-build}/bench/bench_fit
python=/usr/bin/python3 # Debian's, which python3-scipy belongs to
if ! "$python" -c 'import scipy' 2>/dev/null; then
    echo "fit: python3-scipy is missing; tools/deps bench installs it"
    exit 0
fi
median() { sort -g | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for _ in $(seq "$rounds"); do
    "$ours" joint >>"$work/joint"
    "$python" bench/fit_scipy.py joint 500 >>"$work/scipy_joint"
    "$ours" bootstrap >>"$work/bootstrap"
    "$python" bench/fit_scipy.py bootstrap 500 1 | awk '{print 200 * $1}' >>"$work/scipy_bootstrap"
    "$ours" protocol >>"$work/protocol"
done
report() { # NAME OURS THEIRS
    awk -v name="$1" -v a="$(median <"$2")" -v b="$(median <"$3")" \
        'BEGIN {printf "%-28s ours %8.3f s (2 threads), SciPy %9.2f s (1 thread): %.0f times as fast\n", name, a, b, b / a}'
}
report "joint fit, 500 starts" "$work/joint" "$work/scipy_joint"
report "bootstrap, 200 x 500 starts" "$work/bootstrap" "$work/scipy_bootstrap"
awk -v s="$(median <"$work/protocol")" 'BEGIN {printf "%-28s ours %8.3f s (aim: below 10)\n", "whole protocol", s}'
awk -v a="$(awk '{print $2}' "$work/joint" | median)" -v b="$(awk '{print $2}' "$work/scipy_joint" | median)" \
    'BEGIN {printf "minimum found: ours %.12e, SciPy %.12e: %s\n", a, b, a <= b * (1 + 1e-9) ? "not worse" : "WORSE"; exit a > b * (1 + 1e-9)}'
