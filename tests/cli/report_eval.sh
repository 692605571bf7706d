#!/usr/bin/env bash
# The report's section on downstream tasks: a small study is evaluated at several depths, and the
# page of `isodepth report` and that of `isodepth sweep` itself show what is in eval.csv.
set -u
. "$(dirname "$0")/top.bash"
command -v gnuplot >/dev/null || skip "gnuplot is not installed"
. tests/cli/sweep_lib.bash

make_data
make_grid "$tmp/grid.yaml"
sed -i 's/budgets: .*/budgets: [6e9, 1.2e10, 2.4e10]/; s/widths: .*/widths: [1, 2]/' "$tmp/grid.yaml"
sweep() { "$iso" sweep "$tmp/grid.yaml" --data "$tmp/data" --out "$tmp/study" --jobs 2 2>&1; }
sweep > "$tmp/swept" || fail "sweep: $(cat "$tmp/swept")"
grep -q 'report: .*report.html' "$tmp/swept" || fail "no fit: $(cat "$tmp/swept")"
! grep -q 'id="eval"' "$tmp/study/report/report.html" || fail "a section without an evaluation"

"$iso" probes --out "$tmp/probes" >/dev/null || fail "probes"
"$iso" eval "$tmp/study" --suite suites/probes.yaml --tasks "$tmp/probes" --max-per-task 6 \
    --recur 1,2,4 >/dev/null 2>"$tmp/log" || fail "eval: $(cat "$tmp/log")"
"$iso" -q report "$tmp/study" --starts 20 --resamples 0 --out "$tmp/r" >/dev/null || fail "report"

for f in eval-budget eval-loss eval-accuracy; do
    grep -q "id=\"fig-$f\"" "$tmp/r/report.html" || fail "figure $f is not on the page"
    head -c 5 "$tmp/r/figures/$f.pdf" | grep -q '%PDF-' || fail "figures/$f.pdf is no PDF"
    [ -s "$tmp/r/figures/$f.svg" ] || fail "figures/$f.svg"
done
cat > "$tmp/check.py" <<'PY'
import csv, html, re, sys
page, rows = open(sys.argv[1], encoding="utf-8").read(), list(csv.DictReader(open(sys.argv[2])))
assert page.count('<section id="eval">') == 1 and 'href="#eval"' in page
section = page[page.index('<section id="eval">'):]
section = section[:section.index("</section>")]

def table(name):
    body = section[section.index(f'id="table-{name}"'):]
    body = body[:body.index("</table>")]
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.S)
             for row in re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.S)]
    bold = [["<b>" in c or "<strong>" in c for c in row] for row in cells]
    plain = [[html.unescape(re.sub(r"<[^>]*>", "", c)).strip() for c in row] for row in cells]
    return plain[0], plain[1:], bold[1:]

# The run of lowest validation loss of each r at the largest budget, at its trained depth.
C = max(float(x["budget"]) for x in rows)
best = {}
for x in rows:
    r = float(x["r"])
    if float(x["budget"]) == C and float(x["recur"]) == r:
        if r not in best or float(x["val_loss"]) < float(best[r]["val_loss"]):
            best[r] = x
assert sorted(best) == [1, 2]
want = {(x["task"], float(x["r"])): x for x in rows
        if x["recur"] == x["r"] and x["run"] == best[float(x["r"])]["run"]}
head, body, bold = table("eval-tasks")
assert head == ["axis", "task", "loss, r = 1", "loss, r = 2", "accuracy, r = 1", "accuracy, r = 2"], head
assert len(body) == 10 and len(want) == 20, (len(body), len(want))
for row, heavy in zip(body, bold):
    x = [want[row[1], r] for r in (1, 2)]
    assert row[0] == x[0]["axis"], row
    assert row[2:4] == ["%.4f" % float(y["loss"]) for y in x], (row, x)
    assert row[4:6] == ["%.1f%%" % (100 * float(y["accuracy"])) for y in x], (row, x)
    low = min(float(y["loss"]) for y in x)
    assert heavy[2:4] == [float(y["loss"]) == low for y in x], (row, heavy)

# Test-time depth: a line for every looped run and axis, which says so where the law does not hold.
depths = {}
for x in rows:
    depths.setdefault((x["run"], x["axis"]), {}).setdefault(float(x["recur"]), []).append(float(x["loss"]))
looped = {k: v for k, v in depths.items() if len(v) > 1}
assert looped and all(sorted(v) == [1, 2, 4] for v in looped.values())
head, body, _ = table("eval-depth")
assert {(row[0], row[1]) for row in body} == set(looped), body
for row in body:
    mean = [(T, sum(v) / len(v)) for T, v in sorted(looped[row[0], row[1]].items())]
    rises = ["rises from T = %g to %g" % (a[0], b[0]) for a, b in zip(mean, mean[1:]) if b[1] > a[1]]
    assert row[2:4] == ["2", "3"], row
    assert row[-1] == (rises[0] if rises else "fewer than 4 depths"), (row, mean)
print(len(rows), "rows of eval.csv,", len(looped), "curves over depth")
PY
python3 "$tmp/check.py" "$tmp/r/report.html" "$tmp/study/eval.csv" || fail "the page of report"

# The sweep's own report: made again when there are new scores, and then with the same section.
sweep > "$tmp/again" || fail "sweep again"
python3 "$tmp/check.py" "$tmp/study/report/report.html" "$tmp/study/eval.csv" ||
    fail "the page of sweep"
for f in figures/eval-budget.svg figures/eval-loss.svg figures/eval-accuracy.svg \
    tables/eval-tasks.tex tables/eval-depth.tex; do
    cmp "$tmp/r/$f" "$tmp/study/report/$f" || fail "report and sweep write different $f"
done
touch -d 2000-01-01 "$tmp/study/report/report.html"
sweep > "$tmp/again" || fail "sweep once more"
[ -z "$(find "$tmp/study/report" -name report.html -newermt 2001-01-01)" ] || fail "rebuilt for nothing"
# A suite scored at the trained depth alone has tasks, and no curve over depth.
printf 'groups: {m: More}\ntasks: [{name: more, file: facts.jsonl, group: m, task_type: language_modeling}]\n' \
    > "$tmp/more.yaml"
"$iso" eval "$tmp/study" --suite "$tmp/more.yaml" --tasks tests/golden/data/eval >/dev/null || fail "more"
"$iso" -q report "$tmp/study" --starts 20 --resamples 0 --out "$tmp/r" >/dev/null || fail "report"
grep -q More "$tmp/r/tables/eval-tasks.tex" || fail "the other suite's task is not in the table"
grep -qi 'nan\|More' "$tmp/r/tables/eval-depth.tex" && fail "$(cat "$tmp/r/tables/eval-depth.tex")"
# Runs that are not fitted are not shown either.
grep -q 'Tasks at C = 2.4·10¹⁰' "$tmp/r/report.html" || fail "the largest budget"
"$iso" report "$tmp/study" --starts 20 --resamples 0 --where 'budget < 2e10' --out "$tmp/r" \
    >/dev/null 2>"$tmp/log" || fail "report of some runs: $(cat "$tmp/log")"
grep -q 'Tasks at C = 1.2·10¹⁰' "$tmp/r/report.html" || fail "scores of a run that was not fitted"
grep -q 'eval.csv: .* scored models are of runs that were not fitted' "$tmp/log" || fail "said: $(cat "$tmp/log")"
echo "spoilt" > "$tmp/study/eval.csv"
"$iso" report "$tmp/study" --starts 20 --resamples 0 --out "$tmp/r" >/dev/null 2>"$tmp/log" &&
    fail "a broken table was accepted"
grep -q 'eval.csv: column run is missing' "$tmp/log" || fail "broken: $(cat "$tmp/log")"
echo ok
