#!/usr/bin/env bash
# isodepth design: from packed data and hours to a grid that plan, power and sweep read.
set -u
. "$(dirname "$0")/top.bash"
. tests/cli/sweep_lib.bash
make_data # 32 tokens a row, 257 in the vocabulary
pilot=docs/results/desk/pilot.csv
given=(--data "$tmp/data" --tflops 0.05 -j 2 --epochs 1000)

# The grid is what the JSON says, and power predicts for it what design has predicted.
"$iso" design "${given[@]}" --hours 1 --from "$pilot" --out "$tmp/grid.yaml" --json >"$tmp/design.json" ||
    fail "design"
"$iso" plan "$tmp/grid.yaml" --json >"$tmp/plan.json" || fail "plan"
"$iso" power "$tmp/grid.yaml" --from "$pilot" --json >"$tmp/power.json" || fail "power"
"$iso" sweep "$tmp/grid.yaml" --data "$tmp/data" --dry-run --tflops 0.05 >"$tmp/dry" || fail "sweep --dry-run"
tokens=$("$iso" data "$tmp/data" --json | python3 -c '
import json, sys
train = json.load(sys.stdin)["splits"]["train"]
print(train["rows"] * 32)') || fail "data"
python3 - "$tmp/design.json" "$tmp/plan.json" "$tmp/power.json" "$tokens" <<'P' || fail "the grid is not the plan"
import json, sys
design, plan, power = (json.load(open(f)) for f in sys.argv[1:4])
tokens = int(sys.argv[4])
assert design["data"] == {"tokens": tokens, "bytes_per_token": design["data"]["bytes_per_token"],
                          "seq_len": 32, "vocab": 257}
runs = plan["runs"]
assert len(runs) == design["n_runs"]
want = sorted((b["budget"], float(r), d) for b in design["plan"] for r, list_ in b["widths"].items() for d in list_)
assert want == sorted((q["budget"], q["r"], q["d_model"]) for q in runs), (want, runs[0])
assert all(q["tokens"] <= 1000 * tokens for q in runs)
assert all(q["batch_tokens"] == design["batch_tokens"] and q["n_prelude"] == (q["r"] > 1) for q in runs)
budgets = [b["budget"] for b in design["plan"]]
assert len(budgets) >= 4 and budgets[-1] >= 24 * budgets[0]
# 50 GFLOP/s on two cores, a validation beside the training, within the hour.
hours = sum(q["tokens"] * q["flops_per_token"] for q in runs) / 100e9 / 3600
assert 0.85 < hours <= sum(b["hours"] for b in design["plan"]) + 0.01 <= 1.01
assert design["hours_planned"] <= 1
for key in "half_width", "spread", "half_width_linear", "smallest_delta_phi", "cells_not_bracketed":
    assert design[key] == power[key], (key, design[key], power[key])
assert design["assumed"]["phi"] == power["assumed"]["phi"] and design["cells_not_bracketed"] == 0
assert design["answers"] == (design["half_width"] <= 0.25)
assert design["longer"][0]["hours"] == 2
P
"$iso" design "${given[@]}" --hours 1 --from "$pilot" --out "$tmp/again.yaml" >"$tmp/page" || fail "again"
sed 's/^name: again$/name: grid/' "$tmp/again.yaml" | cmp - "$tmp/grid.yaml" || fail "another grid the second time"
grep -q '^phi would come out within +-0\.[0-9]* (95 %)$' "$tmp/page" || fail "page: $(cat "$tmp/page")"
grep -q "from a fit to the runs given ($pilot)" "$tmp/page" || fail "what it rests on: $(cat "$tmp/page")"
"$iso" design "${given[@]}" --hours 1 --from examples/wandb_export.csv 2>"$tmp/err" && fail "no architecture"
grep -q 'the architecture, --arch depth' "$tmp/err" || fail "$(cat "$tmp/err")"
grep -q '^# Made by: isodepth design --data DIR --hours 1 ' "$tmp/grid.yaml" || fail "the comment"

# More values of r, a better phi; a second recipe shares the hours and has a grid of its own.
half() { "$iso" design "${given[@]}" --json "$@" | python3 -c 'import json, sys; print(json.load(sys.stdin)["half_width"])'; }
awk "BEGIN { exit !($(half --hours 1) < $(half --hours 1 --r 1,2)) }" || fail "fewer r are better"
"$iso" design "${given[@]}" --hours 1 --compare hyper --out "$tmp/pair.yaml" >/dev/null || fail "--compare"
"$iso" plan "$tmp/pair_hyper.yaml" --csv >"$tmp/variant.csv" || fail "the variant's grid"
"$iso" plan "$tmp/pair.yaml" --csv >"$tmp/base.csv" || fail "the base's grid"
python3 - "$tmp/base.csv" "$tmp/variant.csv" <<'P' || fail "the variant"
import csv, sys
base, variant = (list(csv.DictReader(open(f))) for f in sys.argv[1:])
cells = lambda rows: sorted((q["budget"], q["r"], q["d_model"]) for q in rows if q["r"] != "1")
assert cells(base) == cells(variant) and all(q["loop"] == "hyper" for q in variant)
assert any(q["r"] == "1" for q in base) and not any(q["r"] == "1" for q in variant)
flops = sum(float(q["tokens"]) * float(q["flops_per_token"]) for q in base + variant)
assert flops / 100e9 <= 3600
P
"$iso" design "${given[@]}" --hours 1 --compare truncated --out "$tmp/pair.yaml" >/dev/null || fail "--compare truncated"
grep -q '^bptt: half' "$tmp/pair_truncated.yaml" || fail "truncated"
# The control has the cells of the looped runs, and the page says how to fit against it.
"$iso" design "${given[@]}" --hours 1 --compare unshared --out "$tmp/pair.yaml" >"$tmp/page" || fail "--compare unshared"
"$iso" plan "$tmp/pair_unshared.yaml" --csv >"$tmp/control.csv" || fail "the control's grid"
"$iso" plan "$tmp/pair.yaml" --csv >"$tmp/base.csv" || fail "the grid beside the control"
python3 - "$tmp/base.csv" "$tmp/control.csv" <<'P' || fail "the control"
import csv, sys
base, control = (list(csv.DictReader(open(f))) for f in sys.argv[1:])
cells = lambda rows: sorted((q["budget"], q["iterations"], q["d_model"]) for q in rows if q["iterations"] != "1")
assert cells(base) == cells(control) and all(q["share"] == "0" and q["r"] == "1" for q in control)
P
grep -q '^and:  isodepth fit STUDY STUDY_unshared --anchor unshared$' "$tmp/page" || fail "how to fit: $(cat "$tmp/page")"
# Other r, other depths: every r divides the looped layers.
"$iso" design "${given[@]}" --hours 1 --r 1,3 --out "$tmp/three.yaml" >/dev/null && "$iso" plan "$tmp/three.yaml" >/dev/null ||
    fail "r = 3"

# This machine, measured.
"$iso" -q design --data "$tmp/data" --epochs 1000 --hours 10 -j 1 --r 1,2 --json >"$tmp/measured" || fail "measuring"
python3 - "$tmp/measured" <<'P' || fail "speeds"
import json, sys
machine = json.load(open(sys.argv[1]))["machine"]
assert machine["measured"] and len(machine["speed"]) == 8
assert all(1e7 < s["flops_per_second"] < 1e14 for s in machine["speed"])
P

# What cannot be done is said, with what can.
refused() { # STATUS WORDS OPTION...
    local status=$1 words=$2 got=0
    shift 2
    "$iso" design "$@" >"$tmp/log" 2>&1 || got=$?
    [ $got = "$status" ] || fail "$*: exit $got"
    grep -q -- "$words" "$tmp/log" || fail "$*: $(cat "$tmp/log")"
}
refused 1 '0.001 hours are too few .* hours allow a first grid' "${given[@]}" --hours 0.001
hours=$(sed -n 's/.*; \([0-9.]*\) hours allow.*/\1/p' "$tmp/log")
"$iso" design "${given[@]}" --hours "$hours" >/dev/null || fail "--hours $hours, as it said"
refused 1 'too few' "${given[@]}" --hours "$(awk "BEGIN { print 0.9 * $hours }")"
refused 1 'pack more text, or allow more --epochs' --data "$tmp/data" --tflops 0.05 --hours 8
refused 2 'phi needs r = 1' "${given[@]}" --hours 1 --r 2,4
refused 2 'multiple of every r' "${given[@]}" --hours 1 --r 1,7,11
refused 2 '--hours H is missing' --data "$tmp/data"
refused 2 '--data DIR is missing' --hours 1
refused 1 'no-such' --data no-such --hours 1
"$iso" design "${given[@]}" --hours 0.3 --r 1,8 >"$tmp/page" || fail "few hours"
tr '\n' ' ' <"$tmp/page" | grep -q ' That is no answer: .* About [0-9.]* hours give it\.' ||
    fail "few hours: $(cat "$tmp/page")"
! grep -E '.{81}' "$tmp/page" || fail "lines of more than 80 columns"
