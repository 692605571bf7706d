#!/usr/bin/env bash
# 200 power cuts of a toy study, and 200 of `pack`: see tests/cli/power_cut.sh.
cd "$(dirname "$0")/../.." || exit 1
POINTS=200 exec bash tests/cli/power_cut.sh
