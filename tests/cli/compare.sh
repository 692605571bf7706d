#!/usr/bin/env bash
# isodepth compare end to end: a variant made from the shipped runs by lowering their looped losses.
set -eu
. "$(dirname "$0")/top.bash"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "compare.sh: $1"; exit 1; }
base=examples/paper_baseline.csv
# A better loop: looped losses 1.5 % lower on the four lower budgets; r = 1 runs are not repeated.
grep -v '^#' $base | awk -F, -v OFS=, 'NR == 1 {print} NR > 1 && $3 > 1 && $1 < 5e18 {$9 = $9 * 0.985; print}' >"$work/better.csv"
grep -v '^#' $base | awk -F, -v OFS=, 'NR == 1 || $1 < 5e18' >"$work/same.csv"
quick=(--starts 10 --resamples 40)

"$B"/isodepth compare $base "$work/better.csv" "$work/same.csv" "${quick[@]}" >"$work/page"
grep -q '^better: capacity gain; phi changes by +0.[12]' "$work/page" || fail "$(head -n 1 "$work/page")"
grep -q '^same: undecided at this noise; phi changes by [+-]0.000' "$work/page" || fail "$(sed -n 2p "$work/page")"
grep -q '4 shared budgets, 60 and 60 looped runs, 20 shared runs of r = 1' "$work/page" || fail "protocol"

"$B"/isodepth compare $base "$work/better.csv" "${quick[@]}" --json -j1 >"$work/one.json"
"$B"/isodepth compare $base "$work/better.csv" "${quick[@]}" --json -j3 >"$work/three.json"
cmp "$work/one.json" "$work/three.json" || fail "the number of threads changes the digits"
python3 - "$work/one.json" <<'P' || fail "JSON"
import json, sys
v, = json.load(open(sys.argv[1]))["variants"]
assert v["name"] == "better" and v["verdict"] == "capacity gain"
low, high = v["delta_phi_interval"]
assert 0 < low < v["delta_phi"] < high
assert abs(v["phi"] - v["phi_base"] - v["delta_phi"]) < 1e-12
assert v["share_above_0"] == 1
assert len(v["channels"]) == 12
for c in v["channels"]:
    assert abs(c["token"] + c["capacity"] + c["width"] - c["change"]) < 1e-9
    assert abs(c["token"]) < 1e-9 and c["capacity"] < 0 and c["width"] <= 1e-12
    assert c["variant_inference_flops"] < c["base_inference_flops"]
P
"$B"/isodepth compare $base "$work/better.csv" "${quick[@]}" --latex | grep -q '\\toprule' || fail "--latex"
# Without resamples: the change, no interval and no verdict.
"$B"/isodepth compare $base "$work/better.csv" --starts 10 --resamples 0 >"$work/page"
grep -q '^better: not judged, no interval was computed; phi changes by +0.[0-9]* and the' "$work/page" ||
    fail "--resamples 0: $(head -n 1 "$work/page")"
if grep -qw nan "$work/page"; then fail "nan on the page"; fi

# Names: known endings alone are cut, slashes do not matter, equal names get their folder.
mkdir "$work/a" "$work/b"
cp "$work/better.csv" "$work/a/loop.v2"
cp "$work/better.csv" "$work/a/runs.csv"
cp "$work/better.csv" "$work/b/runs.csv"
"$B"/isodepth compare - "$work/a/loop.v2" "$work/a/" "$work/a/runs.csv" "$work/b/runs.csv" --starts 5 --resamples 0 \
    --json <$base >"$work/names.json"
python3 - "$work/names.json" <<'P' || fail "names"
import json, sys
c = json.load(open(sys.argv[1]))
names = [c["base"]] + [v["name"] for v in c["variants"]]
assert names == ["standard input", "loop.v2", "a", "a/runs", "b/runs"], names
P
printf 'budget,r,n_once,n_rec,tokens,loss\n3e18,2,5e7,4e7,1e9,3\n' >"$work/other.csv"
status=0
"$B"/isodepth compare $base "$work/other.csv" 2>"$work/stderr" || status=$?
[ $status = 1 ] || fail "exit $status"
grep -q 'other: no budget has looped runs' "$work/stderr" || fail "$(cat "$work/stderr")"
status=0
"$B"/isodepth compare $base "$work/better.csv" --json --latex 2>"$work/stderr" || status=$?
[ $status = 2 ] || fail "--json --latex: exit $status"
grep -q 'exclude each other' "$work/stderr" || fail "--json --latex: $(cat "$work/stderr")"
status=0
"$B"/isodepth compare $base 2>"$work/stderr" || status=$?
[ $status = 2 ] || fail "one table: exit $status"
