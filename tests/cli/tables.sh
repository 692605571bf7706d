#!/usr/bin/env bash
# The same runs in every format that pandas writes (tools/golden/tables.py) give the same digits.
set -eu
. "$(dirname "$0")/top.bash"
isodepth=$B/isodepth
dir=tests/data/tables
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
die() { echo "FAILED: $*"; exit 1; }
fit() { "$isodepth" fit "$1" --resamples 0 --starts 40 --json "${@:2}"; }
# Names of files and what pandas calls its index are not digits.
digits() { grep -v '"file":\|column 1' "$1"; }

fit $dir/plain.csv >"$work/plain.json"
for table in index.csv tabs.tsv semicolons.csv packed.csv.gz utf16.csv lines.jsonl records.json \
    columns.json index.json lists.json snappy.parquet zstd.parquet v2.parquet; do
    fit $dir/$table >"$work/other.json" || die "$table"
    diff <(digits "$work/plain.json") <(digits "$work/other.json") || die "$table gives other digits"
done
fit - <$dir/packed.csv.gz >"$work/other.json" || die "standard input"

! fit $dir/frame.pickle 2>"$work/err" || die "a pickle is accepted"
grep -q 'a Python pickle; write the table with to_csv' "$work/err" || die "$(cat "$work/err")"

# A table as W&B exports it: what was understood is said, and is in the JSON.
awk -F, 'NR == 1 { print "Name,State,params_active,throughput/total_tokens,train/loss,val/loss,c" }
    NR > 1 && $3 == 1 { print "run-" NR ",finished," $5 "," $8 ",9.9," $9 "," $1 }' \
    $dir/plain.csv >"$work/wandb.csv"
"$isodepth" fit "$work/wandb.csv" --law chinchilla --resamples 0 --starts 40 >"$work/page"
grep -q '^Columns: budget ← c, n ← params_active, tokens ← throughput/total_tokens, loss ← val/loss' \
    "$work/page" || die "$(cat "$work/page")"
fit "$work/wandb.csv" --law chinchilla >"$work/wandb.json"
grep -q '"n": "params_active"' "$work/wandb.json" || die "columns are not in the JSON"
fit $dir/plain.csv --law chinchilla --where r=1 >"$work/plain.json"
for key in A alpha B beta E huber_sum; do
    diff <(grep -m1 "\"$key\"" "$work/plain.json") <(grep -m1 "\"$key\"" "$work/wandb.json") ||
        die "the renamed table gives another $key"
done

! fit "$work/wandb.csv" --columns loss=nothing 2>"$work/err" || die "a column that is not there"
grep -q 'there is no column nothing. Found: Name, State' "$work/err" || die "$(cat "$work/err")"

# A parameter that is held stays where it is, by its own name or as E.
fit $dir/plain.csv --fix E=1.69 --fix alpha=0.3 >"$work/fixed.json"
grep -q '"E": 1.69' "$work/fixed.json" && grep -q '"alpha": 0.3,' "$work/fixed.json" || die "--fix"
! fit $dir/plain.csv --fix Q=1 2>"$work/err" || die "a parameter that is not there"
grep -q 'law joint has no parameter Q' "$work/err" || die "$(cat "$work/err")"
echo ok
