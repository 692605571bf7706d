#!/usr/bin/env bash
# 200 power cuts of a toy study, and 200 of `pack`: see tests/cli/power_cut.sh.
. "$(dirname "$0")/../cli/top.bash"
POINTS=200 exec bash tests/cli/power_cut.sh
