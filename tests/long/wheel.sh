#!/usr/bin/env bash
# `make python` gives a wheel that installs into an empty environment, without a compiler and without
# Debian's libraries, and fits; then the package's tests, with pandas and numpy from PyPI.
set -eu
. "$(dirname "$0")/../cli/top.bash"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make --no-print-directory python >"$work/log" 2>&1 || { tail -n 3 "$work/log"; exit 77; }
set -- "$B"/python/isodepth-*-py3-none-manylinux*_x86_64.whl
[ $# = 1 ] && [ -e "$1" ] || fail "one wheel is expected: $*"
python3 -m venv "$work/venv" || skip "python3-venv is missing"
"$work/venv/bin/pip" -q install --no-index "$1" || fail "the wheel does not install"
cp -r tests "$work/tests" # the package must come from the wheel, not from the source tree
mkdir "$work/examples"
cp examples/notebook.ipynb "$work/examples"
cd "$work"
env -i HOME="$work" PATH=/nowhere "$work/venv/bin/python" - <<'PY' || fail "the fit of an empty environment"
import isodepth
fit = isodepth.fit(isodepth.example("paper_baseline"), resamples=0)
assert abs(fit.phi - 0.458) < 0.002, fit.phi
try:
    fit.figure("worth")
except isodepth.IsodepthError as error:
    assert "gnuplot" in str(error)
else:
    raise SystemExit("a figure without gnuplot")
assert "phi = 0.458" in fit._repr_html_()
PY
"$work/venv/bin/isodepth" version | grep -q isodepth || fail "the command isodepth"
ldd "$work"/venv/lib/python3*/site-packages/isodepth/lib/libisodepth.so |
    grep -vE 'linux-vdso|libm\.so|libc\.so|ld-linux' && fail "the library needs more than the C library"
"$work/venv/bin/pip" -q install pandas numpy nbclient ipykernel >/dev/null 2>&1 ||
    echo "without PyPI: pandas, numpy, nbclient and ipykernel are not there"
"$work/venv/bin/python" tests/python/run.py
