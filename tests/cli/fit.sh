#!/usr/bin/env bash
# isodepth fit end to end: page, JSON keys, LaTeX, --out, --by r, input forms, errors, threads.
set -eu
. "$(dirname "$0")/top.bash"
fit=$B/isodepth
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Few starts and resamples: this is about the command, not about the numbers.
quick=(--starts 20 --resamples 40)

"$fit" fit examples/paper_baseline.csv "${quick[@]}" >"$work/page"
head -n 1 "$work/page" | grep -q '^phi = 0.458   95 % interval \[0.4.*   trust: caution   (bootstrap over 24 cells' ||
    fail "headline: $(head -n 1 "$work/page")"
for words in 'Did the fit converge?' '20 of 20 starts reached the best minimum' 'bootstrap over budgets' \
    'low half, C <= 2.15e+18 *56 .* 0.441' 'recurrent .* 0.433' 'Predicting the largest budget' \
    '^1 *29 *-0.0010' '^4 *1.89 blocks'; do
    grep -q -- "$words" "$work/page" || fail "the page lacks '$words'"
done
"$fit" fit examples/paper_baseline.csv --starts 20 --resamples 0 |
    grep -q '^phi = 0.458   (no interval was computed)   trust: caution as far as it was checked$' || fail "--resamples 0"
if grep -q $'\033' "$work/page"; then fail "colour in a pipe"; fi

"$fit" fit examples/paper_baseline.csv "${quick[@]}" --json --threads 1 >"$work/one.json"
"$fit" fit examples/paper_baseline.csv "${quick[@]}" --json --threads 3 >"$work/three.json"
cmp "$work/one.json" "$work/three.json" || fail "the number of threads changes the digits"
python3 - "$work/one.json" <<'P' || fail "JSON"
import json, sys
f = json.load(open(sys.argv[1]))
first = ["law", "n_runs", "A", "alpha", "B", "beta", "E", "phi", "r2", "huber_sum", "phi_interval"]
assert list(f)[:11] == first, list(f)
assert f["law"] == "joint" and f["n_runs"] == 116
assert abs(f["phi"] - 0.458) < 0.003 and len(repr(f["phi"])) > 12
low, high = f["phi_interval"]
assert low < 0.46 < high
assert [b["block"] for b in f["intervals"]["bootstrap"]] == ["cell", "run", "budget"]
assert len(f["intervals"]["jackknife"]) == 34
assert abs(f["restricted"]["phi_1"]["r2"] - 0.954) < 0.002
assert len(f["derived"]["predicted"]) == 116
assert f["trust"] == "caution"
for c in f["checks"]:
    assert list(c) == ["name", "level", "value", "threshold", "message", "advice"], c
    assert c["level"] == ("caution" if c["name"] == "one_phi" else "ok"), c
P
# Page and JSON say the same, in numbers and words.
python3 - "$work/one.json" "$work/page" <<'P' || fail "the page and the JSON differ"
import json, math, re, sys
f, page = json.load(open(sys.argv[1])), open(sys.argv[2]).read()
mc = max(f["phi_interval_mc"])
digits = max(n for n in range(4) if n == 0 or mc <= 10 ** -n)  # no more than the error supports
low, high = f["phi_interval"]
digits = max(digits, min(n for n in range(4) if n == 3 or 5 * 10 ** -n <= high - low))  # shows the width
outwards = lambda towards, x: towards(x * 10 ** digits) / 10 ** digits
head = "phi = %.3f   95 %% interval [%.*f, %.*f]   trust: %s   (" % (
    f["phi"], digits, outwards(math.floor, low),
    digits, outwards(math.ceil, high), f["trust"])
assert page.startswith(head), page[:200]
for c in f["checks"]:
    line = re.search("^%s +(\\S+) +(\\S+) +(\\S+) +(.*)$" % c["name"], page, re.M)
    number = lambda x: "-" if x is None else "%.3g" % x
    assert line.groups() == (c["level"], number(c["value"]), number(c["threshold"]), c["message"]), c
one = next(c for c in f["checks"] if c["name"] == "one_phi")
assert "\nCaution, one_phi: %s. What to do: %s.\n" % (one["message"], one["advice"]) in page
P

# The interval of the headline can be chosen, and so can its level.
for interval in cells runs budgets profile; do
    "$fit" fit examples/paper_baseline.csv "${quick[@]}" --level 0.8 --interval $interval --json >"$work/$interval.json"
done
"$fit" fit examples/paper_baseline.csv "${quick[@]}" --level 0.8 --interval profile >"$work/page"
grep -q '^phi = 0.458   80 % interval \[0.43., 0.47.\] .*(profile)$' "$work/page" || fail "$(head -n 1 "$work/page")"
python3 - "$work" <<'P' || fail "--interval and --level"
import json, sys
wide = json.load(open(sys.argv[1] + "/one.json"))
narrow = {k: json.load(open(f"{sys.argv[1]}/{k}.json")) for k in ["cells", "runs", "budgets", "profile"]}
by_block = {b["block"] + "s": b["phi_interval"] for b in narrow["cells"]["intervals"]["bootstrap"]}
for k, f in narrow.items():
    assert f["interval"] == k and f["level"] == 0.8, k
    expected = f["intervals"]["profile"]["phi_interval"] if k == "profile" else by_block[k]
    assert f["phi_interval"] == expected, k
low, high = narrow["cells"]["phi_interval"]
assert wide["phi_interval"][0] < low < high < wide["phi_interval"][1]
assert narrow["profile"]["phi_interval_mc"] == [0, 0]
P
# All laws side by side.
"$fit" fit examples/paper_baseline.csv --starts 20 --resamples 0 --laws --json >"$work/laws.json"
"$fit" fit examples/paper_baseline.csv --starts 20 --resamples 0 --laws >"$work/page"
python3 - "$work/laws.json" "$work/page" "$("$fit" help fit)" <<'P' || fail "--laws"
import json, re, sys
laws, page = json.load(open(sys.argv[1]))["laws"], open(sys.argv[2]).read()
assert all(list(l) == ["name", "parameters", "aic", "error_top_budget", "error_left_out_r"] for l in laws)
assert all(re.search(r"\b%s\b" % l["name"], sys.argv[3]) for l in laws)
number = lambda f, x: "-" if x is None else f % x
for l in laws:
    row = [l["name"], str(l["parameters"]), "%.1f" % l["aic"]] + [number("%.4f", l[k]) for k in list(l)[3:]]
    assert re.search("^" + " +".join(map(re.escape, row)) + "$", page, re.M), row
assert [l["aic"] for l in laws] == sorted(l["aic"] for l in laws)
P
# Without resampling there is still a profile, a jackknife and the other checks.
"$fit" fit examples/paper_baseline.csv --starts 20 --resamples 0 --json >"$work/none.json"
python3 - "$work/none.json" <<'P' || fail "--resamples 0 --json"
import json, sys
f = json.load(open(sys.argv[1]))
assert f["phi_interval"] is None and f["intervals"]["bootstrap"] == []
assert len(f["intervals"]["jackknife"]) == 34 and len(f["robustness"]["phi_per_r"]) == 3
assert f["intervals"]["profile"]["phi_interval"][0] < 0.458
assert all(p["plus_minus"] > p["std_error"] > 0 for p in f["diagnostics"]["parameters"])
P

"$fit" fit examples/paper_baseline.csv --law chinchilla --by r --starts 20 --resamples 0 --json >"$work/by_r.json"
python3 - "$work/by_r.json" <<'P' || fail "--by r"
import json, sys
fits = json.load(open(sys.argv[1]))["fits"]
assert [f["r"] for f in fits] == [1, 2, 4, 8]
assert [round(f["alpha"], 3) for f in fits] == [0.251, 0.216, 0.191, 0.235]
assert all(f["phi"] is None and f["phi_interval"] is None and f["n_runs"] == 29 for f in fits)
# 6 cells less 5 parameters: Student's t with one degree of freedom says nothing.
assert all(p["plus_minus"] is None for f in fits for p in f["diagnostics"]["parameters"])
P
"$fit" fit examples/paper_baseline.csv --law chinchilla --by r --starts 20 --resamples 0 >"$work/page"
grep -q '^r = 4  *23.2  0.191' "$work/page" || fail "--by r page"
grep -q '^a of r = 1  *[0-9.]*  *-  *-' "$work/page" || fail "± from one degree of freedom"
! grep -q 'what would make phi wrong' "$work/page" || fail "phi in a law without one"
if command -v gnuplot >/dev/null; then
    "$fit" fit examples/paper_baseline.csv --law chinchilla --by r --starts 20 --resamples 0 --out "$work/by_r" >/dev/null
    for r in 1 2 4 8; do
        [ -s "$work/by_r/r$r/figures/isoflops.svg" ] || fail "--by r --out: no figures of r = $r"
    done
fi

"$fit" fit examples/paper_baseline.csv --phi 1 --starts 20 --resamples 0 | grep -q 'phi = 1.000   (held fixed)' ||
    fail "--phi 1"
"$fit" fit examples/paper_baseline.csv --phi 1 --starts 20 --resamples 0 | grep -q 'φ was given, not measured\.$' ||
    fail "a held phi passes for a measurement"
# On a terminal the page fits its width; in a pipe a sentence is one line.
COLUMNS=80 python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' \
    "$fit" fit examples/paper_baseline.csv --starts 20 --resamples 40 </dev/null >"$work/screen"
python3 - "$work/screen" <<'P' || fail "the page on a terminal"
import re, sys
lines = re.sub("\x1b\\[[0-9;]*[A-Za-z]", "", open(sys.argv[1], encoding="utf8", newline="\n").read()).splitlines()
assert any(line.startswith("Caution, one_phi") for line in lines), lines[:9]
wide = [line for line in lines if len(line) > 80]
assert len(lines) > 80 and not wide, wide
P
"$fit" fit examples/paper_baseline.csv --law parcae --starts 20 --resamples 0 | grep -q '^Law parcae' || fail "parcae"
! "$fit" version -v | grep -q '^nlopt *yes' ||
    "$fit" fit examples/paper_baseline.csv --solver lbfgs --starts 100 --resamples 0 | grep -q '^phi = 0.458' ||
    fail "lbfgs"
"$fit" fit examples/chinchilla.csv --law chinchilla --starts 20 --resamples 0 --json | grep -q '"n_runs": 245' ||
    fail "chinchilla.csv"

"$fit" fit examples/paper_baseline.csv "${quick[@]}" --out "$work/out" --latex >"$work/latex"
grep -q '\\toprule' "$work/latex" || fail "--latex"
for f in fit.json runs.csv tables/law.tex tables/intervals.tex tables/frontier.tex; do
    [ -s "$work/out/$f" ] || fail "--out did not write $f"
done
# What was written is a table again, and a directory stands for its runs.csv.
"$fit" fit "$work/out" --starts 20 --resamples 0 | grep -q '^phi = 0.458' || fail "a directory as input"
head -n 60 "$work/out/runs.csv" >"$work/a.csv"
{ head -n 1 "$work/out/runs.csv"; tail -n +61 "$work/out/runs.csv"; } |
    "$fit" fit "$work/a.csv" - --starts 20 --resamples 0 | grep -q '^116 runs' || fail "several files and -"

# Runs that do not determine phi: it is said, and no interval is made up.
for keep in '$1 + 0 == 1e18' '$3 == 4'; do
    awk -F, "/^#/ {next} \$1 == \"budget\" || $keep" examples/paper_baseline.csv >"$work/part.csv"
    "$fit" fit "$work/part.csv" --starts 20 >"$work/page"
    head -n 1 "$work/page" | grep -q '^phi is not determined   trust: undetermined$' || fail "undetermined, $keep"
    grep -q '^These runs do not determine φ (anchor)' "$work/page" || fail "no verdict, $keep"
    grep -q '^Fail, anchor: all runs have one ' "$work/page" || fail "no reason, $keep"
    ! grep -q 'φ = [01]' "$work/page" || fail "a sentence about what is not determined, $keep"
    "$fit" fit "$work/part.csv" --starts 20 --json |
        grep -q '"phi_interval": null' || fail "an interval of what is not determined, $keep"
done

# FLOPs as counted instead of nominal budgets: no two runs share a cell, and one budget stays one.
awk -F, -v OFS=, '/^#/ {next} $1 != "budget" {$1 = sprintf("%.6e", $1 * (1 + 0.002 * (NR * 7 % 11) / 11))} {print}' \
    examples/paper_baseline.csv >"$work/counted.csv"
"$fit" fit "$work/counted.csv" "${quick[@]}" >"$work/page"
grep -q '^Caution, cells: budgets nearly coincide' "$work/page" || fail "no caution of scattered budgets"
awk -F, '$1 == "budget" || ($1 > 0.99e18 && $1 < 1.01e18)' "$work/counted.csv" >"$work/part.csv"
"$fit" fit "$work/part.csv" --starts 20 >"$work/page"
grep -q '^Fail, anchor: all runs have one budget' "$work/page" || fail "one counted budget"
"$fit" fit examples/paper_baseline.csv "${quick[@]}" >"$work/page"
! grep -q '^Caution, cells' "$work/page" || fail "a caution of nominal budgets"

# Repeated seeds, a diverged run, a run that is given twice.
{
    echo run,seed,status,budget,r,n_once,n_rec,n_inject,tokens,loss
    grep -v '^#' examples/paper_baseline.csv | awk -F, 'NR > 1 {
        for (s = 0; s < 2; s++)
            printf "run%d_%d,%d,done,%s,%s,%s,%s,%s,%s,%.6f\n", NR, s, s, $1, $3, $5, $6, $7, $8, $9 * (1 + 0.001 * (s - 0.5))}'
    echo bad,0,diverged,1e18,2,1e7,1e7,1e5,1e9,nan
} >"$work/seeds.csv"
"$fit" fit "$work/seeds.csv" "$work/seeds.csv" "${quick[@]}" >"$work/page"
grep -q 'Repeated seeds at 116 points: noise 7.0.e-04' "$work/page" || fail "pure error: $(grep Repeated "$work/page")"
grep -q 'bootstrap over points' "$work/page" || fail "cluster bootstrap"
grep -q '234 rows were left out' "$work/page" || fail "left out: $(grep 'left out' "$work/page")"
grep -q 'status diverged' "$work/page" || fail "the reason is not listed"
"$fit" fit "$work/seeds.csv" --resamples 0 >"$work/page"
grep -q '; 1 row was left out' "$work/page" || fail "one left out: $(grep 'left out' "$work/page")"

# Errors: exit code and words.
expect() { # CODE WORDS ARGUMENTS...
    local code=$1 words=$2 status=0
    shift 2
    "$fit" "$@" >"$work/stdout" 2>"$work/stderr" || status=$?
    [ $status = "$code" ] || fail "exit $status for: $*"
    grep -q -- "$words" "$work/stderr" || fail "'$*' says: $(cat "$work/stderr")"
}
expect 2 'Did you mean joint' fit examples/paper_baseline.csv --law jiont
expect 2 'expected .*, found "twice"' fit examples/paper_baseline.csv --injection twice
expect 2 'use --law chinchilla' fit examples/paper_baseline.csv --by r
expect 1 'grids: a directory without runs.csv' fit grids
expect 2 'law chinchilla has no phi' fit examples/paper_baseline.csv --law chinchilla --phi 1
expect 2 'needs at least 40 refits, found 1;' fit examples/paper_baseline.csv --resamples 1
expect 1 'no-such-file.csv' fit no-such-file.csv
expect 1 'too few for law joint' fit <(head -n 7 examples/paper_baseline.csv)
expect 1 'no run has r above 1' fit examples/chinchilla.csv
expect 1 'column n_embed: --embeddings needs it' fit examples/paper_baseline.csv --embeddings
expect 2 'RUNS... is missing' fit
mkdir "$work/study"
grep -v '^#' examples/paper_baseline.csv >"$work/study/runs.csv"
cp "$work/study/runs.csv" "$work/before.csv"
expect 2 'would overwrite its input' fit "$work/study" --starts 5 --resamples 0 --out "$work/study"
cmp "$work/study/runs.csv" "$work/before.csv" || fail "--out overwrote the input"
printf 'budget,r,n_once,tokens,loss\n1e18,x,1e8,1e9,3\n' >"$work/broken.csv"
expect 1 'broken.csv:2: column r: "x" is not a number' fit "$work/broken.csv"
