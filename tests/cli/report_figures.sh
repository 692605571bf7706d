#!/usr/bin/env bash
# The figures of a report say what its JSON says: report_figures.py reads every mark, curve and
# interval back out of the SVGs, by the texts at their axes.
set -eu
. "$(dirname "$0")/top.bash"
. tests/cli/report_lib.bash
need gnuplot python3
paper_data
"$B/isodepth" -q report "$dir/study" --starts 100 --resamples 60 --paper --out "$dir/r" \
    --compare "Truncated BPTT=$dir/truncated.csv" --compare "Hyperconnections=$dir/hyper.csv" \
    --rates "$dir/rates.csv" --beyond "$dir/beyond" >/dev/null

# What the figures are compared with, from the commands that compute it alone.
"$B/isodepth" -q rates "$dir/rates.csv" --json >"$dir/rates.json"
for variant in truncated hyper; do # its own looped runs beside the r = 1 runs of the base
    awk -F, -v OFS=, 'FNR == NR {if (FNR == 1) print; else own[++n] = $0; next}
        /^#/ {next}
        $3 == 1 && $1 < 6e18 {print $1, $3, $4, $5, $6, $7, $8, $9}
        END {for (i = 1; i <= n; i++) print own[i]}' \
        "$dir/$variant.csv" examples/paper_baseline.csv >"$dir/own.csv"
    "$B/isodepth" -q fit "$dir/own.csv" --starts 100 --resamples 0 --json >"$dir/$variant.json"
done
python3 tests/cli/report_figures.py "$dir/r" "$dir" || fail "the figures and the JSON differ"

# The laws of each r: those of the command, with the exponents that the paper prints.
"$B/isodepth" -q fit "$dir/study" --law chinchilla --by r --resamples 0 --json >"$dir/by-r.json"
python3 - "$dir" <<'EOF' || fail "other laws than those of fit --by r"
import json, sys
load = lambda path: json.load(open(f'{sys.argv[1]}/{path}'))['fits']
for a, b, published in zip(load('r/fit-by-r.json'), load('by-r.json'), (0.495, 0.623, 0.668, 0.599), strict=True):
    for key in ('r', 'A', 'alpha', 'B', 'beta', 'E'):
        assert abs(a[key] - b[key]) < 1e-6 * abs(b[key]), (key, a[key], b[key])
    assert abs(a['derived']['frontier_exponents'][0]['n_exponent'] - published) < 0.0006, published
top = load('r/fit-by-r.json')[0]['derived']
assert abs(top['frontier'][-1]['n'] / 545e6 - 1) < 0.09 and abs(top['parabolas'][-1]['n'] / 545e6 - 1) < 0.002
EOF
passed
