#!/usr/bin/env bash
# tools/desk from its beginning to its end on grids a thousand times smaller; then again on "another
# machine", which has half of one table and nothing else, and ends with the same numbers.
set -eu
. "$(dirname "$0")/../cli/top.bash"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

mkdir "$dir/grids" "$dir/text"
for page in README.md docs/*.md; do # a few lines are a document: some are for validation
    split -l 8 -a 3 --additional-suffix=.txt "$page" "$dir/text/$(basename "$page" .md)-"
done
for grid in grids/desk*.yaml; do
    sed -e 's/e12/e9/g; s/e13/e10/g; s/^batch_tokens:.*/batch_tokens: 256/' \
        -e 's/^\(  [0-9.]*e[0-9]*\): \[.*/\1: [1, 2]/' "$grid" >"$dir/grids/$(basename "$grid")"
done
export DESK_GRIDS=$dir/grids DESK_CORPUS=$dir/text DESK_BEYOND="2.7e10 2.834e10"
run() { # NAME
    DESK_DIR=$dir/$1 DESK_OUT=$dir/$1.out tools/desk >"$dir/log" 2>&1 || { tail -n 30 "$dir/log"; fail "$1"; }
}
losses() { # TABLE
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { print $at["run"], $at["loss"] }' "$1" | sort
}

run first
for table in rates rates_truncated rates_hyper base truncated hyper unshared hyper_unshared beyond; do
    [ "$(wc -l <"$dir/first.out/$table.csv")" -gt 2 ] || fail "no runs in $table.csv"
    ! cut -d, -f1-60 "$dir/first.out/$table.csv" | grep -q ',failed,' || fail "failed runs in $table.csv"
    ! grep -q "$dir" "$dir/first.out/$table.csv" || fail "a path of this machine in $table.csv"
done
for file in fit.txt fit_unshared.txt compare.txt compare_controlled.txt fit.json compare.json probes.txt figures/isoflops.svg; do
    [ -s "$dir/first.out/$file" ] || fail "no $file"
done
mkdir "$dir/second.out"
head -n 20 "$dir/first.out/base.csv" >"$dir/second.out/base.csv"
run second
trained() { find "$dir/$1/base/runs" -name model.safetensors | wc -l; }
[ $(($(trained first) - $(trained second))) = 19 ] || fail "$(trained second) of $(trained first) runs were trained again"
head -n 20 "$dir/first.out/base.csv" | while IFS= read -r row; do
    grep -qxF "$row" "$dir/second.out/base.csv" || fail "a row of the table changed: $row"
done
for table in base truncated hyper unshared; do
    [ "$(losses "$dir/first.out/$table.csv")" = "$(losses "$dir/second.out/$table.csv")" ] || fail "other numbers in $table.csv"
done
echo "desk: $(wc -l <"$dir/first.out/base.csv") lines in base.csv, continued from 20 of them"
