#!/usr/bin/env bash
# Learning rates: a grid with matrix_rates, the page at the end of its sweep, isodepth rates, a fit
# that refuses such a table, and the section that report --rates adds.
set -u
. "$(dirname "$0")/top.bash"
. tests/cli/sweep_lib.bash
baseline=$(realpath examples/paper_baseline.csv)
make_data
cd "$tmp" || exit 1
make_grid toy.yaml
sed -i 's/^budgets: .*/budgets: [2e9, 6e9]/; s/^widths: .*/widths: {2e9: [1], 6e9: [1, 2]}/' toy.yaml
echo 'matrix_rates: [0.005, 0.02, 0.08, 0.32]' >> toy.yaml

"$iso" sweep toy.yaml --data data --out st --set rates.matrix=0.02 > out 2> log ||
    { cat log; fail "the sweep"; }
want "24 runs: 24 done" out "three conditions for each r, four rates each"
want "The base matrix rate 0.02 costs" out "the grid's own rate is judged"
[ -s st/report/report.html ] && [ -s st/report/rates.json ] || fail "the page"

# The numbers of the page, from the table of runs.
"$iso" rates st --rate 0.08 --json > rates.json || fail "rates --json"
python3 - st/runs.csv rates.json <<'END' || fail "regret"
import csv, json, sys
runs = list(csv.DictReader(open(sys.argv[1])))
page = json.load(open(sys.argv[2]))
assert page["rate"] == 0.08 and len(page["conditions"]) == 6, page
for c in page["conditions"]:
    at = {float(x["lr_base"]): float(x["loss"]) for x in runs
          if float(x["r"]) == c["r"] and float(x["d_model"]) == c["d_model"]
          and float(x["budget"]) == c["budget"]}
    assert len(at) == 4 and {p["rate"]: p["loss"] for p in c["points"]} == at, c
    assert c["best_loss"] <= min(at.values()) + 1e-12
    assert abs(c["regret"] - (at[0.08] - c["best_loss"])) < 1e-12, c
END
"$iso" rates st --csv | head -n 1 | grep -q '^r,d_model,budget,tokens' || fail "rates --csv"
"$iso" rates st | grep -q 'base rate *conditions *mean regret *worst regret' || fail "rates"

# A fit would take the rates for noise.
"$iso" fit st 2> log && fail "fit of a rate sweep"
want "isodepth rates compares them" log "fit says what to do"
"$iso" rates "$baseline" 2> log && fail "rates of a table without rates"
want "column lr_base is missing" log "no rates"

# As a section of another report.
"$iso" -q report "$baseline" --rates st --starts 20 --resamples 0 --out rep >/dev/null ||
    fail "report --rates"
want '<section id="rates">' rep/report.html "the section"
want 'toprule' rep/tables/rates-conditions.tex "its table"
if command -v gnuplot >/dev/null; then
    for f in rates-transfer rates-loss; do
        [ -s "rep/figures/$f.svg" ] || fail "figure $f"
    done
fi
echo "rates ok"
