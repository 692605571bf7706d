#!/usr/bin/env bash
# The Python package over the library of this build; the wheel itself is in tests/long/wheel.sh.
# pandas, numpy and what runs the notebook come from PyPI, into build/venv; without them fewer tests
# run, and a line says which.
set -eu
. "$(dirname "$0")/top.bash"
case $B in *-san | *-tsan) skip "a sanitizer's library cannot be loaded by Python" ;; esac
make --no-print-directory B="$B" "$B/libisodepth.so" >/dev/null

python=$B/venv/bin/python
packages="numpy pandas nbclient ipykernel"
have_all() { [ -x "$python" ] && "$python" -c "import ${packages// /, }" 2>/dev/null; }
if ! have_all; then
    rm -rf "$B/venv"
    python3 -m venv "$B/venv" >/dev/null 2>&1 &&
        "$python" -m pip -q --retries 0 --timeout 20 install $packages >/dev/null 2>&1 || true
fi
have_all || { echo "without PyPI: $packages are not there"; python=python3; }

ISODEPTH_LIBRARY=$(realpath "$B/libisodepth.so") ISODEPTH_PROGRAM=$(realpath "$B/isodepth")
ISODEPTH_EXAMPLES=$(realpath examples) PYTHONPATH=$(realpath python)
export ISODEPTH_LIBRARY ISODEPTH_PROGRAM ISODEPTH_EXAMPLES PYTHONPATH PYTHONDONTWRITEBYTECODE=1
"$python" tests/python/run.py
