#!/usr/bin/env bash
# isodepth power end to end: a grid file, its table, a table of runs, errors.
set -eu
. "$(dirname "$0")/top.bash"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quick=(--repetitions 12 --starts 5)

"$B"/isodepth power grids/paper.yaml "${quick[@]}" --json -j1 >"$work/grid.json"
"$B"/isodepth power grids/paper.yaml "${quick[@]}" --json -j3 >"$work/three.json"
cmp "$work/grid.json" "$work/three.json" || fail "the number of threads changes the digits"
"$B"/isodepth plan grids/paper.yaml --csv >"$work/plan.csv"
"$B"/isodepth power "$work/plan.csv" "${quick[@]}" --json | cmp - "$work/grid.json" || fail "a grid and its table differ"
"$B"/isodepth plan grids/paper.yaml --set r=[1,4] --csv >"$work/plan.csv"
"$B"/isodepth power "$work/plan.csv" "${quick[@]}" --json >"$work/part.json"
"$B"/isodepth power grids/paper.yaml --set r=[1,4] "${quick[@]}" --json | cmp - "$work/part.json" || fail "--set"
! "$B"/isodepth power "$work/plan.csv" --set r=[1,4] 2>"$work/log" || fail "--set with a table"
grep -q 'is a table of runs' "$work/log" || fail "--set with a table: message"
python3 - "$work/grid.json" <<'P' || fail "JSON"
import json, sys
p = json.load(open(sys.argv[1]))
assert p["n_runs"] == 116
# About the half-width of the published interval, [0.41, 0.53].
assert 0.03 < p["half_width"] < 0.07, p["half_width"]
assert 0.02 < p["smallest_delta_phi"] < 0.1
budgets = [q for q in p["parts"] if q["what"] == "budget"]
assert len(budgets) == 6 and abs(sum(q["flops_share"] for q in budgets) - 1) < 1e-9
assert all(q["half_width_without"] > p["half_width"] for q in p["parts"])
P
"$B"/isodepth power examples/paper_baseline.csv --from examples/paper_baseline.csv "${quick[@]}" >"$work/page"
grep -q '^phi would come out within +-0.0' "$work/page" || fail "page"
grep -q 'Most for its FLOPs: budget' "$work/page" || fail "page"
# What is assumed is said; at pocket scale it is the pocket study's.
grep -qx '  from a fit to the runs given (examples/paper_baseline.csv),' "$work/page" &&
    grep -q '^  measured at 4.64e+17 to 2.15e+19 FLOPs;' "$work/page" ||
    fail "what is assumed: $(grep -A2 Assumed "$work/page")"
"$B"/isodepth power grids/pocket.yaml "${quick[@]}" --cell-noise 0 >"$work/page" || fail "--cell-noise 0"
grep -q 'from the pocket study (docs/results/pocket/base.csv)' "$work/page" || fail "a pocket grid: $(cat "$work/page")"
"$B"/isodepth power grids/paper.yaml --from docs/results/pocket/base.csv "${quick[@]}" >"$work/page"
grep -q 'Warning: the grid reaches 3.3e+06 times beyond' "$work/page" || fail "far away: $(cat "$work/page")"
# Tables with other names: the grid's, and the pilot's.
export=examples/wandb_export.csv
how=(--arch "depth=10,prelude=1,coda=1" --where recipe=base)
for tables in "grids/pocket.yaml --from $export" "$export"; do
    # shellcheck disable=SC2086 # words
    "$B"/isodepth power $tables "${how[@]}" "${quick[@]}" >"$work/page" || fail "power $tables"
    grep -q '  phi = 0.913, noise of ln L' "$work/page" || fail "power $tables: $(cat "$work/page")"
done
"$B"/isodepth power grids/pocket.yaml --from $export 2>"$work/err" && fail "no architecture"
grep -q 'the architecture, --arch depth' "$work/err" || fail "$(cat "$work/err")"
# Ten times less noise: ten times narrower.
"$B"/isodepth power grids/paper.yaml "${quick[@]}" --noise 3.3e-4 --cell-noise 1.8e-4 --json |
    python3 -c '
import json, sys
small, large = json.load(sys.stdin), json.load(open(sys.argv[1]))
assert 6 < large["half_width"] / small["half_width"] < 15' "$work/grid.json" || fail "noise"
# A grid that cannot determine phi gets the reason instead of a half-width.
check_undetermined() { # reason, settings
    "$B"/isodepth power grids/paper.yaml --set "$2" "${quick[@]}" >"$work/page"
    grep -q "^phi would be undetermined: $1" "$work/page" || fail "$2: $(head -n 1 "$work/page")"
    if grep -q 'within +-\|shares the r = 1 runs' "$work/page"; then fail "$2: a half-width"; fi
    "$B"/isodepth power grids/paper.yaml --set "$2" "${quick[@]}" --json |
        python3 -c '
import json, sys
p = json.load(sys.stdin)
assert p["undetermined"].startswith(sys.argv[1]), p
assert p["half_width"] is p["smallest_delta_phi"] is None
assert p["parts"] == p["phi"] == []' "$1" || fail "$2: JSON"
}
check_undetermined 'all runs have one budget' 'budgets=[1e18]'
check_undetermined 'no budget has runs with r = 1' 'r=[2,4]'
check_undetermined 'all runs have one r' 'r=[4]'
if grep -q undetermined "$work/grid.json"; then fail "the paper's grid is undetermined"; fi
status=0
"$B"/isodepth power no-such.yaml 2>"$work/stderr" || status=$?
[ $status = 1 ] || fail "missing file: exit $status"
