#!/usr/bin/env bash
# The same runs in every format that pandas writes (tools/golden/tables.py) give the same digits.
set -eu
. "$(dirname "$0")/top.bash"
isodepth=$B/isodepth
dir=tests/data/tables
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fit() { "$isodepth" fit "$1" --resamples 0 --starts 40 --json "${@:2}"; }
# Names of files and what pandas calls its index are not digits.
digits() { grep -v '"file":\|column 1' "$1"; }

fit $dir/plain.csv >"$work/plain.json"
for table in index.csv tabs.tsv semicolons.csv packed.csv.gz utf16.csv lines.jsonl records.json \
    columns.json index.json lists.json snappy.parquet zstd.parquet v2.parquet \
    decimals.parquet; do
    fit $dir/$table >"$work/other.json" || fail "$table"
    diff <(digits "$work/plain.json") <(digits "$work/other.json") || fail "$table gives other digits"
done
fit $dir/decimals.parquet --where stamp=3000000000 >"$work/other.json" || fail "unsigned integers"
if command -v zstd >/dev/null; then
    zstd -q $dir/plain.csv -o "$work/packed.csv.zst"
    fit "$work/packed.csv.zst" >"$work/other.json" || fail "zstd"
    diff <(digits "$work/plain.json") <(digits "$work/other.json") || fail "zstd gives other digits"
fi
fit - <$dir/packed.csv.gz >"$work/other.json" || fail "standard input"

! fit $dir/frame.pickle 2>"$work/err" || fail "a pickle is accepted"
grep -q 'a Python pickle; write the table with to_csv' "$work/err" || fail "$(cat "$work/err")"

# A table as W&B exports it: what was understood is said, and is in the JSON.
awk -F, 'NR == 1 { print "Name,State,params_active,throughput/total_tokens,train/loss,val/loss,c" }
    NR > 1 && $3 == 1 { print "run-" NR ",finished," $5 "," $8 ",9.9," $9 "," $1 }' \
    $dir/plain.csv >"$work/wandb.csv"
"$isodepth" fit "$work/wandb.csv" --law chinchilla --resamples 0 --starts 40 >"$work/page"
grep -q '^Columns: budget ← c, n ← params_active, tokens ← throughput/total_tokens, loss ← val/loss' \
    "$work/page" || fail "$(cat "$work/page")"
fit "$work/wandb.csv" --law chinchilla >"$work/wandb.json"
grep -q '"n": "params_active"' "$work/wandb.json" || fail "columns are not in the JSON"
fit $dir/plain.csv --law chinchilla --where r=1 >"$work/plain.json"
for key in A alpha B beta E huber_sum; do
    diff <(grep -m1 "\"$key\"" "$work/plain.json") <(grep -m1 "\"$key\"" "$work/wandb.json") ||
        fail "the renamed table gives another $key"
done

! fit "$work/wandb.csv" --columns loss=nothing 2>"$work/err" || fail "a column that is not there"
grep -q 'there is no column nothing. Found: Name, State' "$work/err" || fail "$(cat "$work/err")"

# An export of the pocket study under W&B's names gives the digits of the study's own table.
export=examples/wandb_export.csv
layers="--arch depth=10,prelude=1,coda=1"
fit docs/results/pocket/base.csv >"$work/own.json"
fit $export $layers --where recipe=base >"$work/export.json"
python3 - "$work/own.json" "$work/export.json" <<'P' || fail "the export gives another fit"
import json, sys
own, export = (json.load(open(name)) for name in sys.argv[1:])
for key in ("A", "alpha", "B", "beta", "E", "phi", "huber_sum"):
    assert abs(own[key] / export[key] - 1) < 1e-10, key  # n is split by a division
P

# --by: each value as --where would have it; the page has a table of them.
fit $export $layers --by recipe >"$work/by.json"
python3 - "$work/by.json" "$work/export.json" <<'P' || fail "--by"
import json, sys
by, own = (json.load(open(name)) for name in sys.argv[1:])
assert by["by"] == "recipe" and [f["value"] for f in by["fits"]] == ["base", "truncated"]
assert by["fits"][0]["phi"] == own["phi"] and by["fits"][0]["n_runs"] == 100
assert by["columns"]["loss"] == "val/loss" == by["fits"][0]["columns"]["loss"]
assert by["fits"][1]["trust"] == "undetermined"  # no runs of r = 1
P
"$isodepth" fit $export $layers --by recipe --resamples 0 --starts 40 --out "$work/by" >"$work/page"
grep -q '^base  *100  0.913  ' "$work/page" && grep -q '^truncated  *42  *-  *-  *-  *undetermined' "$work/page" ||
    fail "$(cat "$work/page")"
grep -q '^Columns: budget ← compute_budget' "$work/page" || fail "--by does not say what was understood"
grep -q 'truncated & 42' "$work/by/tables/by.tex" || fail "--by --out: no table"
! command -v gnuplot >/dev/null || [ -s "$work/by/by-base/figures/isoflops.svg" ] ||
    fail "--by --out: no figures"
! fit $export $layers --by recipes 2>"$work/err" || fail "a column that is not there"
grep -q 'there is no column recipes. Found: Name, State, recipe' "$work/err" || fail "$(cat "$work/err")"
! "$isodepth" predict "$work/by.json" --n 1e6 --tokens 1e8 2>"$work/err" || fail "predict from several"
grep -q 'it holds several fits' "$work/err" || fail "$(cat "$work/err")"

# --group: what two tables give, one gives.
awk -F, 'NR == 1 || $3 == "base"' $export >"$work/base.csv"
awk -F, 'NR == 1 || $3 == "truncated"' $export >"$work/truncated.csv"
compare() { "$isodepth" compare "$@" $layers --resamples 0 --starts 40; }
compare "$work/base.csv" "$work/truncated.csv" >"$work/two"
compare $export --group recipe >"$work/one"
diff "$work/two" "$work/one" || fail "--group differs from two tables"
compare $export --group recipe --base truncated --json >"$work/turned.json"
grep -q '"base": "truncated"' "$work/turned.json" || fail "--base"
fails() { # words of the message, then the command
    ! "$isodepth" "${@:2}" >/dev/null 2>"$work/err" || fail "accepted: ${*:2}"
    grep -q -- "$1" "$work/err" || fail "$(cat "$work/err")"
}
fails 'column recipe has base, truncated' compare $export $layers --group recipe --base x
fails 'VARIANT is missing.*--group COLUMN' compare $export
fails 'so there is nothing to compare' compare $export $layers --group State
fails '--base is for --group' compare $export $export --base x
fails '--group and --compare exclude' report $export --group recipe --compare $export -o "$work/r"

# --cluster: checkpoints of one run, here two, are one measurement.
awk -F, -v OFS=, 'NR == 1 { print; next } { print; $8 /= 2; $7 /= 2; $10 += 0.1; print }' \
    "$work/base.csv" >"$work/checkpoints.csv"
"$isodepth" fit "$work/checkpoints.csv" $layers --resamples 40 --starts 40 --cluster Name >"$work/page"
grep -q '(bootstrap over 100 clusters, 40 refits' "$work/page" || fail "$(head -1 "$work/page")"
grep -q 'run ← Name\|cluster ← Name' "$work/page" || fail "the cluster is not said"
"$isodepth" fit "$work/checkpoints.csv" $layers --resamples 0 --starts 40 >"$work/page"
grep -q 'Note: rows with the same Name count as independent runs' "$work/page" ||
    fail "checkpoints pass for runs without a word"
fails '--interval runs takes the rows of a --cluster' \
    fit "$work/checkpoints.csv" $layers --cluster Name --interval runs

# What needs refits is not claimed without them.
"$isodepth" fit $dir/plain.csv --resamples 0 --starts 40 >"$work/page"
head -n 1 "$work/page" | grep -q 'trust: [a-z]* as far as it was checked' || fail "trust without refits"
grep -q '^Not checked to the end, because nothing was resampled: bounds, heavy_tail' "$work/page" ||
    fail "checks without refits"

echo '[]' >"$work/empty.json"
fails 'empty.json: an empty table' fit "$work/empty.json"
head -n 1 $dir/plain.csv >"$work/header.csv"
fails 'header.csv: the table has no rows$' fit "$work/header.csv"
fails 'plain.csv: no row meets --where$' fit $dir/plain.csv --where 'r=16'
fails 'cannot be measured; use --law chinchilla$' fit $dir/plain.csv --where 'r=1'

# A parameter that is held stays where it is, by its own name or as E.
fit $dir/plain.csv --fix E=1.69 --fix alpha=0.3 >"$work/fixed.json"
grep -q '"E": 1.69' "$work/fixed.json" && grep -q '"alpha": 0.3,' "$work/fixed.json" || fail "--fix"
! fit $dir/plain.csv --fix Q=1 2>"$work/err" || fail "a parameter that is not there"
grep -q 'law joint has no parameter Q; it has A, alpha, B, beta, E, phi$' "$work/err" || fail "$(cat "$work/err")"
echo ok
