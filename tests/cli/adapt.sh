#!/usr/bin/env bash
# sweep --adapt: the widths of a budget follow the optima of those below it; the study keeps every
# decision, and resuming repeats it.
set -u
. "$(dirname "$0")/top.bash"
. tests/cli/sweep_lib.bash
export ISO_TRAIN_PROGRAM=$standin STANDIN_STEPS=4 STANDIN_BEST=64
make_data
make_grid "$tmp/grid.yaml"
sed -i 's/^budgets.*/budgets: [2e10, 6e10, 2e11]/' "$tmp/grid.yaml"
sweep() { "$iso" sweep "$@" --data "$tmp/data" --adapt --no-fit >"$tmp/log" 2>&1; }
runs() { "$iso" runs "$1" --csv | cut -d, -f1,2; }

# The stand-in's losses are a parabola over ln d around 64: the decisions follow on paper.
sweep "$tmp/grid.yaml" --out "$tmp/study" || fail "sweep: $(cat "$tmp/log")"
grep -q 'adapt: 6e+10 FLOPs, r = 1: optimum about 84.2 (from 1 budget); 16 32 48 moved to 48 96 144' "$tmp/log" ||
    fail "what was decided is not said: $(cat "$tmp/log")"
python3 - "$tmp/study/adapt.json" <<'P' || fail "decisions: $(cat "$tmp/study/adapt.json")"
import json, math, sys
found = json.load(open(sys.argv[1]))
assert [(a["budget"], a["r"]) for a in found] == [(6e10, 1), (6e10, 2), (2e11, 1), (2e11, 2)]
for a in found:
    below = [b for b in (2e10, 6e10) if b < a["budget"]]
    best = math.exp(sum(math.log(64 * (a["budget"] / b) ** 0.25) for b in below) / len(below))
    assert abs(a["optimum"] - best) < 0.01, (a, best)
    factor = best / (16 * 32 * 48) ** (1 / 3)
    assert a["planned"] == [16, 32, 48]
    assert a["chosen"] == [16 * round(d * factor / 16) for d in (16, 32, 48)], (a, factor)
P
[ "$(runs "$tmp/study" | wc -l)" = 19 ] || fail "runs: $(runs "$tmp/study")"
if "$iso" runs "$tmp/study" | grep -v '^r.*done' | grep '^r[0-9]'; then fail "a run is not done"; fi
grep -q 'r2-d144-6e10' <(runs "$tmp/study") || fail "the moved widths were not trained"

# The report tells it.
"$iso" -q report "$tmp/study" --starts 5 --resamples 0 --out "$tmp/report" >/dev/null || fail "report"
grep -q '4 of 4 cells were moved' "$tmp/report/report.html" || fail "the report does not say it"

# Stopped in the middle and resumed without the grid: the same decisions, the same runs.
STANDIN_SLEEP=0.1 "$iso" sweep "$tmp/grid.yaml" --out "$tmp/other" --data "$tmp/data" --adapt --no-fit -j1 \
    >"$tmp/log" 2>&1 &
for _ in $(seq 300); do
    [ -s "$tmp/other/adapt.json" ] && ls "$tmp"/other/runs/*6e10* >/dev/null 2>&1 && break
    sleep 0.1
done
kill -INT $!
wait $!
[ $? = 3 ] || fail "stopping: $(cat "$tmp/log")"
STANDIN_BEST=64 "$iso" sweep --out "$tmp/other" --no-fit >"$tmp/log" 2>&1 || fail "resuming: $(cat "$tmp/log")"
"$iso" sweep --out "$tmp/other" --no-fit >>"$tmp/log" 2>&1 || fail "a finished one: $(cat "$tmp/log")"
grep -q 'not the grid' "$tmp/log" && fail "resuming: $(cat "$tmp/log")"
cmp "$tmp/other/adapt.json" "$tmp/study/adapt.json" || fail "resuming decided otherwise"
[ "$(runs "$tmp/other")" = "$(runs "$tmp/study")" ] || fail "resuming trained other runs"

# Started over from the folders and the file alone, nothing is decided or trained anew.
"$iso" sweep --rebuild --out "$tmp/study" >/dev/null 2>&1 || fail "rebuild"
sweep "$tmp/grid.yaml" --out "$tmp/study" || fail "after the rebuild: $(cat "$tmp/log")"
grep -q 'nothing is left to do' "$tmp/log" || fail "after the rebuild: $(cat "$tmp/log")"
cmp "$tmp/other/adapt.json" "$tmp/study/adapt.json" || fail "the rebuild lost decisions"

# Widths that hold the optimum stay.
STANDIN_BEST=28 sweep "$tmp/grid.yaml" --out "$tmp/held" --set budgets=[2e10,3e10] || fail "held: $(cat "$tmp/log")"
grep -q '16 32 48 stay' "$tmp/log" || fail "held: $(cat "$tmp/log")"

# Misuse is named.
refused() { # WORDS OPTION...
    local words=$1
    shift
    "$iso" sweep "$@" --data "$tmp/data" >"$tmp/log" 2>&1 && fail "$words: not refused"
    grep -q -- "$words" "$tmp/log" || fail "$words: $(cat "$tmp/log")"
}
refused 'give it again' "$tmp/grid.yaml" --out "$tmp/study"
refused 'must have budgets' "$tmp/grid.yaml" --out "$tmp/new" --adapt --set matrix_rates=[0.01,0.02]
refused 'must have budgets' "$tmp/grid.yaml" --out "$tmp/new" --adapt --set share=false
refused 'repeat cells' "$tmp/grid.yaml" --out "$tmp/new" --adapt --seeds 2 --cells r=1
cp -r "$tmp/other" "$tmp/edited"
sed -i '0,/"chosen": .*/s//"chosen": [16, 32, 336]/' "$tmp/edited/adapt.json"
refused 'adapt.json: not what the study decided' "$tmp/grid.yaml" --out "$tmp/edited" --adapt
echo '[{"budget": 6e10}]' >"$tmp/study/adapt.json"
refused 'decision 1 is damaged' "$tmp/grid.yaml" --out "$tmp/study" --adapt
