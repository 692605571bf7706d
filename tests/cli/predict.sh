#!/usr/bin/env bash
# isodepth predict: what a fit says of models, by hand and from a table, with its interval.
set -eu
. "$(dirname "$0")/top.bash"
isodepth=$B/isodepth
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for law in joint phi_per_r saturating looped_offset; do
    "$isodepth" fit examples/paper_baseline.csv --law $law --resamples 40 --starts 20 --json >"$work/fit.json"
    # The runs that were fitted get the losses that the fit itself predicts, in the same order.
    "$isodepth" predict "$work/fit.json" examples/paper_baseline.csv --json >"$work/points.json"
    python3 - "$work/fit.json" "$work/points.json" <<'PY' || fail "$law"
import json, sys
fit, points = (json.load(open(name)) for name in sys.argv[1:])
predicted = fit["derived"]["predicted"]
assert len(points["points"]) == len(predicted) == 116
for p, expected in zip(points["points"], predicted):
    assert abs(p["loss"] - expected) < 1e-12, (p, expected)
    low, high = p["loss_interval"]
    assert low <= high and low - 0.05 < p["loss"] < high + 0.05, p
PY
done
# Points keep their order, and equal ones their places.
printf 'n,tokens\n3e9,1e10\n1e9,2e10\n1e9,2e10\n2e9,1e9\n' >"$work/points.csv"
"$isodepth" predict "$work/fit.json" "$work/points.csv" --json >"$work/points.json"
python3 - "$work/points.json" <<'PY' || fail "points in another order"
import json, sys
points = json.load(open(sys.argv[1]))["points"]
assert [p["tokens"] for p in points] == [1e10, 2e10, 2e10, 1e9], points
PY
# By hand: the law's formula with the printed parameters.
"$isodepth" fit examples/paper_baseline.csv --resamples 40 --starts 20 --json >"$work/fit.json"
"$isodepth" predict "$work/fit.json" --n 1e9 --tokens 2e10 --json >"$work/point.json"
python3 - "$work/fit.json" "$work/point.json" <<'PY' || fail "by hand"
import json, sys
fit, point = (json.load(open(name)) for name in sys.argv[1:])
loss = fit["E"] + fit["A"] * 1e9 ** -fit["alpha"] + fit["B"] * 2e10 ** -fit["beta"]
assert abs(point["points"][0]["loss"] - loss) < 1e-12
PY
refuse() { # MESSAGE WORDS...
    ! "$isodepth" predict "${@:2}" 2>"$work/err" >/dev/null || fail "accepted: ${*:2}"
    grep -q -- "$1" "$work/err" || fail "$(cat "$work/err")"
}
refuse 'give a model by --n and --tokens' "$work/fit.json"
refuse '--tokens is missing' "$work/fit.json" --n 1e9
refuse 'not JSON; expected what isodepth fit prints' examples/paper_baseline.csv --n 1e9 --tokens 1e9
refuse '^isodepth: r is 4, but nothing says which parameters are looped' "$work/fit.json" --n 1e9 --tokens 1e9 --r 4
refuse 'no law, injection or parameters' "$work/point.json" --n 1e9 --tokens 1e9
# What the fit does not hold is not made up: parameters out of place, a refit of another law, an r
# without a phi of its own, embeddings.
edit() { # CODE, which changes the fit f, to "$work/edited.json"
    python3 -c "import json, sys; f = json.load(open(sys.argv[1])); p = f['diagnostics']['parameters']
$1
json.dump(f, open(sys.argv[2], 'w'))" "$work/fit.json" "$work/edited.json"
}
looped=(--n 1e9 --tokens 1e9 --r 3 --arch "depth=10,prelude=2,coda=2")
"$isodepth" predict "$work/fit.json" "${looped[@]}" >/dev/null || fail "the joint law has one phi for all r"
edit 'p[0], p[2] = p[2], p[0]'
refuse 'not in its place' "$work/edited.json" --n 1e9 --tokens 1e9
edit 'f["draws"]["values"][0].append(1)'
refuse 'not one number for each parameter' "$work/edited.json" --n 1e9 --tokens 1e9
edit 'f["phi"] += 0.1'
refuse 'phi is .*, but diagnostics.parameters, which predict uses' "$work/edited.json" --n 1e9 --tokens 1e9
edit 'f["E"] += 0.1'
refuse 'E is .*, but diagnostics.parameters, which predict uses' "$work/edited.json" --n 1e9 --tokens 1e9
edit 'del p[5], f["draws"]'
refuse 'r is 3, but the fit has no phi for it$' "$work/edited.json" "${looped[@]}"
"$isodepth" fit examples/paper_baseline.csv --law phi_per_r --resamples 0 --starts 20 --json >"$work/per_r.json"
refuse 'r is 3, but the fit has no phi for it; fit a law' "$work/per_r.json" "${looped[@]}"
grep -v '^#' examples/paper_baseline.csv | sed '1s/$/,n_embed/; 2,$s/$/,1e7/' >"$work/embed.csv"
"$isodepth" fit "$work/embed.csv" --embeddings --resamples 0 --starts 20 --json >"$work/embed.json"
refuse 'the fit counts embeddings' "$work/embed.json" --n 1e9 --tokens 1e9
"$isodepth" predict "$work/embed.json" "$work/embed.csv" >/dev/null || fail "a table with n_embed"
"$isodepth" predict "$work/fit.json" --n 1e12 --tokens 1e13 >"$work/far"
grep -q 'times beyond the largest run' "$work/far" || fail "an extrapolation without a word"
grep -q "The checks of the fit say: caution" "$work/far" || fail "no trust"
"$isodepth" predict "$work/fit.json" --n 1e8 --tokens 1e9 >"$work/near"
! grep -q 'times beyond' "$work/near" || fail "no extrapolation"
echo ok
