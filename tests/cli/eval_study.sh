#!/usr/bin/env bash
# isodepth eval STUDY: the finished runs of a study, its records and its table.
set -u
. "$(dirname "$0")/top.bash"
. tests/cli/sweep_lib.bash

make_data
make_grid "$tmp/grid.yaml"
sed -i 's/widths: .*/widths: [1]/' "$tmp/grid.yaml" # four runs
"$iso" sweep "$tmp/grid.yaml" --data "$tmp/data" --out "$tmp/study" --jobs 2 >/dev/null 2>&1 ||
    fail "sweep"
score() { "$iso" eval "$tmp/study" --suite tests/golden/data/eval/suite.yaml \
    --tasks tests/golden/data/eval "$@"; }
score > "$tmp/text" || fail "eval"
[ "$(wc -l < "$tmp/study/eval.csv")" = 13 ] || fail "four runs on three tasks: $(cat "$tmp/study/eval.csv")"
[ "$(find "$tmp/study/eval" -name '*.jsonl' | wc -l)" = 12 ] || fail "records"
head -1 "$tmp/text" | grep -q 'Words.*Sense' || fail "axes: $(cat "$tmp/text")"

# Again: nothing is scored anew, the table is the same; other depths only where the loop allows.
find "$tmp/study/eval" -name '*.jsonl' -exec touch -d 2000-01-01 {} +
cp "$tmp/study/eval.csv" "$tmp/before.csv"
score > /dev/null || fail "again"
cmp -s "$tmp/before.csv" "$tmp/study/eval.csv" || fail "another table"
[ -z "$(find "$tmp/study/eval" -name '*.jsonl' -newermt 2001-01-01)" ] || fail "scored again"
score --recur 1,2,4 > /dev/null || fail "recur"
python3 - "$tmp/study/eval.csv" <<'PY' || fail "depths"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
depths = {(float(x["r"]), float(x["recur"])) for x in rows}
assert depths == {(1, 1), (2, 2), (2, 1), (2, 4)}, depths
PY

# Another suite adds its rows; those of the first stay as they are, and are replaced when scored again.
printf 'groups: {m: More}\ntasks: [{name: more, file: facts.jsonl, group: m, task_type: language_modeling}]\n' \
    > "$tmp/more.yaml"
sort "$tmp/study/eval.csv" > "$tmp/before.csv"
score --suite "$tmp/more.yaml" > /dev/null || fail "another suite"
[ "$(wc -l < "$tmp/study/eval.csv")" = 29 ] || fail "24 rows and 4: $(cat "$tmp/study/eval.csv")"
[ "$(grep -c ',More,more,' "$tmp/study/eval.csv")" = 4 ] || fail "rows of the other suite"
grep -v ',More,more,' "$tmp/study/eval.csv" | sort | cmp -s - "$tmp/before.csv" || fail "lost rows"
sort "$tmp/study/eval.csv" > "$tmp/before.csv"
score > /dev/null || fail "the first suite again"
sort "$tmp/study/eval.csv" | cmp -s - "$tmp/before.csv" || fail "not the same rows"
cp "$tmp/study/eval.csv" "$tmp/kept.csv"
echo "mine" > "$tmp/study/eval.csv"
score > /dev/null 2> "$tmp/err" && fail "another's table was replaced"
grep -q "eval.csv: .*move it away" "$tmp/err" || fail "not said: $(cat "$tmp/err")"
# A digit that changed is neither kept nor shown; a table of an older version had no checksums.
sed '2s/,0\./,1./' "$tmp/kept.csv" > "$tmp/study/eval.csv"
cmp -s "$tmp/kept.csv" "$tmp/study/eval.csv" && fail "no digit was changed"
for command in "score" "$iso report $tmp/study --out $tmp/r"; do
    $command > /dev/null 2> "$tmp/err" && fail "a changed digit: $command"
    grep -q "eval.csv:2: the row does not match its checksum" "$tmp/err" || fail "$command: $(cat "$tmp/err")"
done
sed 's/,[^,]*$//' "$tmp/kept.csv" > "$tmp/study/eval.csv"
score > /dev/null || fail "a table without checksums"
sort "$tmp/study/eval.csv" | cmp -s - "$tmp/before.csv" || fail "a table without checksums gets them"
mv "$tmp/kept.csv" "$tmp/study/eval.csv"

# A run without weights is left out, and said; what is known of it stays.
victim=$(find "$tmp/study/runs" -name model.safetensors | head -1)
rm "$victim"
rm -rf "$(dirname "$victim")/latest" "$(dirname "$victim")"/step*
score > "$tmp/text" 2> "$tmp/err" || fail "without one"
grep -q "1 finished runs of .* have no weights" "$tmp/err" || fail "not said: $(cat "$tmp/err")"
[ "$(wc -l < "$tmp/text")" = 4 ] || fail "three runs: $(cat "$tmp/text")"
sort "$tmp/study/eval.csv" | cmp -s - "$tmp/before.csv" || fail "lost rows of the run without weights"
"$iso" eval "$tmp/study" -c x --suite a --tasks b 2>"$tmp/err" && fail "both"
grep -q "needed:" "$tmp/err" || fail "usage"
echo ok
