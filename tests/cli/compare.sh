#!/usr/bin/env bash
# isodepth compare end to end: a variant made from the shipped runs by lowering their looped losses.
set -eu
. "$(dirname "$0")/top.bash"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
base=examples/paper_baseline.csv
# A better loop: looped losses 1.5 % lower on the four lower budgets; r = 1 runs are not repeated.
grep -v '^#' $base | awk -F, -v OFS=, 'NR == 1 {print} NR > 1 && $3 > 1 && $1 < 5e18 {$9 = $9 * 0.985; print}' >"$work/better.csv"
grep -v '^#' $base | awk -F, -v OFS=, 'NR == 1 || $1 < 5e18' >"$work/same.csv"
quick=(--starts 10 --resamples 40)

"$B"/isodepth compare $base "$work/better.csv" "$work/same.csv" "${quick[@]}" >"$work/page"
grep -q '^better: capacity gain; phi changes by +0.[12]' "$work/page" || fail "$(head -n 1 "$work/page")"
grep -q '^same: undecided at this noise; phi changes by [+-]0.000' "$work/page" || fail "$(sed -n 2p "$work/page")"
grep -q '^paper_baseline: 4 shared budgets, 60 looped runs; 20 runs of r = 1, those of paper_baseline, for all' "$work/page" ||
    fail "protocol"
grep -q '^same: 60 looped runs; its 20 runs of r = 1 are not used' "$work/page" || fail "runs that are not used"

# Two variants in one call, on several threads and without resampling: the same digits.
"$B"/isodepth compare $base "$work/better.csv" "$work/same.csv" "${quick[@]}" --json -j1 >"$work/one.json"
"$B"/isodepth compare $base "$work/better.csv" "$work/same.csv" "${quick[@]}" --json -j3 >"$work/three.json"
cmp "$work/one.json" "$work/three.json" || fail "the number of threads changes the digits"
"$B"/isodepth compare $base "$work/better.csv" --starts 10 --resamples 0 --json >"$work/none.json"
"$B"/isodepth compare $base "$work/better.csv" --starts 10 --resamples 0 --level 0.8 --json >"$work/level.json"
python3 - "$work/one.json" "$work/none.json" "$work/page" "$work/level.json" <<'P' || fail "JSON"
import json, sys
v, same = json.load(open(sys.argv[1]))["variants"]
none, = json.load(open(sys.argv[2]))["variants"]
page = open(sys.argv[3]).read().splitlines()
assert v["name"] == "better" and v["verdict"] == "capacity gain"
for x, other in ((v, same), (same, v)):
    low, high = x["delta_phi_interval"]
    assert low < x["delta_phi"] < high
    assert list(x["joint"]) == list(x["separate"])
    for name in "joint", "separate":
        e = x[name]
        assert abs(e["phi"] - e["phi_base"] - e["delta_phi"]) < 1e-12
        assert e["phi_base"] == other[name]["phi_base"] == x["phi_base"]  # one base
    headline = x[x["estimator"]]
    for key in headline:
        assert x[key] == headline[key], key
    assert (x["estimator"] == "joint") == (x["shared_law"]["p"] >= 0.05)
    assert x["shared_law"]["df"] == 3
assert v["delta_phi_interval"][0] > 0
for key in "delta_phi", "delta_phi_interval", "verdict", "joint", "separate", "shared_law":
    assert none[key] == v[key], key  # nothing here needs resampling
narrow, = json.load(open(sys.argv[4]))["variants"]
assert narrow["delta_phi"] == v["delta_phi"] and narrow["df"] == v["df"]
assert narrow["delta_phi_interval"][0] > v["delta_phi_interval"][0]  # 80 % instead of 95 %
worst = {"ok": "good", "caution": "caution", "fail": "undetermined"}
for x in v, same, none:
    levels = [c["level"] for c in x["checks"]]
    assert x["trust"] == worst[max(levels, key=list(worst).index)], levels
    assert {c["recipe"] for c in x["checks"]} == {"paper_baseline", x["name"]}
    assert x["checks"][-1]["name"] == "shared_law"
    assert "Trust: " + x["trust"] in x["sentence"]
assert page[:2] == [v["sentence"], same["sentence"]]  # the page says what the JSON says
assert len(v["channels"]) == 12
for c in v["channels"]:
    assert abs(c["token"] + c["capacity"] + c["width"] - c["change"]) < 1e-9
    assert abs(c["token"]) < 1e-9 and c["capacity"] < 0 and c["width"] <= 1e-12
    assert c["variant_inference_flops"] < c["base_inference_flops"]
P
"$B"/isodepth compare $base "$work/better.csv" "${quick[@]}" --latex | grep -q '\\toprule' || fail "--latex"
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
# A table beside itself: two names, and no minus before a zero.
"$B"/isodepth compare $base $base --starts 5 --resamples 0 >"$work/page"
grep -q '^examples/paper_baseline (2): undecided at this noise; phi changes by +0.000' "$work/page" ||
    fail "a table beside itself: $(head -n 1 "$work/page")"
if grep -q -e '-0\.0000' "$work/page"; then fail "a zero with a minus"; fi
# One shared budget of six.
grep -v '^#' $base | awk -F, 'NR == 1 || $1 == 1e18' >"$work/one.csv"
"$B"/isodepth compare $base "$work/one.csv" --starts 5 --resamples 0 >"$work/page"
grep -q 'in paper_baseline, cut to the shared budgets, all runs have one budget' "$work/page" || fail "one shared budget"
grep -q '^paper_baseline: 1 shared budget, ' "$work/page" || fail "one shared budget: plural"
if grep -qw nan "$work/page"; then fail "nan for one shared budget"; fi

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
