#!/usr/bin/env bash
# The Python package over the library of this build; the wheel itself is in tests/long/wheel.sh.
set -eu
. "$(dirname "$0")/top.bash"
case $B in *-san | *-tsan) echo "a sanitizer's library cannot be loaded by Python"; exit 77 ;; esac
make --no-print-directory B="$B" "$B/libisodepth.so" >/dev/null
ISODEPTH_LIBRARY=$(realpath "$B/libisodepth.so") ISODEPTH_PROGRAM=$(realpath "$B/isodepth")
ISODEPTH_EXAMPLES=$(realpath examples)
export ISODEPTH_LIBRARY ISODEPTH_PROGRAM ISODEPTH_EXAMPLES PYTHONDONTWRITEBYTECODE=1
PYTHONPATH=python python3 tests/python/run.py
