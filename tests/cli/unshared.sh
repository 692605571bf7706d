#!/usr/bin/env bash
# The unshared control from the outside: plan, train, resume, loss, generate, inspect, the study and
# its tables; and seeds that decide the order of the rows.
set -eu
. "$(dirname "$0")/top.bash"
top=$PWD
. tests/cli/train_lib.bash
small_text 400
small_run 512 40 64
echo "save_every: 7" >>run.yaml
small_grid '[4e9]' '[2]' 512

# The plan: r = 1 for the law, everything in N_once, the looped run's FLOPs; r = 1 is the plain stack.
"$I" plan grid.yaml --csv >looped.csv
"$I" plan grid.yaml --set share=false --csv >control.csv
python3 - <<'PY' || fail "the plan"
import csv
plain, looped = csv.DictReader(open("looped.csv"))
same, control = csv.DictReader(open("control.csv"))
assert plain == same and plain["share"] == "1" and plain["iterations"] == "1", (plain, same)
assert looped["share"] == "1" and looped["iterations"] == looped["r"] == "2", looped
assert control["run"].startswith("u2-") and control["r"] == "1", control
assert control["share"] == "0" and control["iterations"] == "2" and control["bptt"] == "2", control
d2 = 32 * 32
assert float(control["n_once"]) == 4 * 12 * d2 and control["n_rec"] == "0", control
assert float(control["n_inject"]) == 2 * 2 * d2, control
for key in ("flops_per_token", "tokens", "lr_matrix", "lr_embed", "n_recur"):
    assert control[key] == looped[key], key
PY
code=0; "$I" plan grid.yaml --set share=false --set bptt=1 >out 2>log || code=$?
[ $code = 1 ] && grep -q 'bptt: unshared iterations (share: false) need full backpropagation' log ||
    fail "a window: $code $(cat log)"
"$I" plan --shape r=4,s=10,share=false | grep -q 'x 4, each with its own weights' || fail "--shape"

# A run that is stopped again and again ends with the bytes of one that was not.
"$I" -q train run.yaml --set share=false --out whole --threads 2
stopped_run cut --threads 1 --set share=false
cmp whole/model.safetensors cut/model.safetensors || fail "weights differ after SIGTERM"
"$I" -q train whole/config.yaml --out again
cmp whole/model.safetensors again/model.safetensors || fail "config.yaml gives another run"
"$I" inspect whole >tensors
for name in inject.0.weight inject.1.weight transformer.recur.1.attn.c_q.weight norm_recur.weight; do
    grep -q "$name" tensors || fail "no $name in $(cat tensors)"
done
if grep -q 'recur.2\|inject.weight' tensors; then fail "too many tensors: $(cat tensors)"; fi

# What reads the checkpoint: the same loss, text from the cache, no other depth.
"$I" loss -c whole -d data --json >loss.json
python3 -c '
import json
a, b = json.load(open("loss.json")), json.load(open("whole/result.json"))
assert abs(a["loss"] - b["loss"]) < 1e-5 * b["loss"], (a, b)
assert b["r"] == 1 and b["iterations"] == 2 and b["share"] == 0, b' || fail "loss"
"$I" generate -c whole --ids 256,76 -n 8 --temperature 0 >at-once
"$I" generate -c whole --ids 256,76 -n 8 --temperature 0 --sequential-prefill >one-by-one
cmp at-once one-by-one || fail "generate"
for wrong in '--recur 3' '--kv-budget 1'; do
    # shellcheck disable=SC2086
    if "$I" generate -c whole --ids 256 $wrong >out 2>log; then fail "$wrong was accepted"; fi
    grep -q 'own weights for each of its 2 iterations' log || fail "$wrong: $(cat log)"
done
if "$I" loss -c whole -d data --recur 4 >out 2>log; then fail "another depth"; fi
grep -q 'cannot run at 4' log || fail "another depth says: $(cat log)"

# A study of the control takes the plain runs of the base, and of a control's study nothing else.
"$I" sweep grid.yaml --data data --out base >out 2>log || fail "base: $(cat log)"
"$I" sweep grid.yaml --set 'r=[2]' --set share=false --data data --out control --reuse base >out 2>log ||
    fail "control: $(cat log)"
"$I" runs control --csv >runs.csv
python3 - <<'PY' || fail "the study's table: $(cat runs.csv)"
import csv
runs = sorted((r["run"][:3], r["r"], r["share"], r["iterations"], r["status"]) for r in csv.DictReader(open("runs.csv")))
assert runs == [("r1-", "1", "1", "1", "done"), ("u2-", "1", "0", "2", "done")], runs
PY
"$I" runs control --where 'share == 0' --csv | tail -n +2 | cut -d, -f1 | grep -q '^u2-' || fail "--where share"
"$I" sweep grid.yaml --set 'r=[2]' --set bptt=1 --data data --out other --reuse control >out 2>log || fail "other"
if compgen -G 'other/runs/u*' >out; then fail "an unshared run was taken for the plain stack"; fi

# Tasks: the study's run at its iterations alone, though --recur asks for more.
"$I" probes --out probes
"$I" eval control --suite "$top/suites/probes.yaml" --tasks probes --max-per-task 2 --recur 1,3 >out 2>log ||
    fail "eval: $(cat log)"
python3 - <<'PY' || fail "eval: $(head -n 3 control/eval.csv)"
import csv
rows = list(csv.DictReader(open("control/eval.csv")))
assert {(r["run"][:2], r["r"], r["recur"]) for r in rows} == {("u2", "2", "2")}, rows[0]
PY

# What r = 1 means: losses by a law with phi = 0.5 and a step of 0.05 nats between the plain stack and
# the loop's graph, on the runs that the desk grids plan.  Against the control phi is exact.
for g in desk desk_unshared; do "$I" plan "$top/grids/$g.yaml" --csv >"$g.plan"; done
python3 - <<'PY'
import csv
for name in ("desk", "desk_unshared"):
    rows = list(csv.DictReader(open(name + ".plan")))
    for row in rows:
        r, k = int(row["r"]), int(row["iterations"])
        n = float(row["n_once"]) + float(row["n_inject"]) + r ** 0.5 * float(row["n_rec"])
        row["loss"] = 1.5 + 60 * n ** -0.4 + 300 * float(row["tokens"]) ** -0.4 + 0.05 * (k > 1)
    with open(name + ".csv", "w") as f:
        out = csv.DictWriter(f, list(rows[0]))
        out.writeheader()
        out.writerows(rows)
PY
fit() { "$I" fit desk.csv desk_unshared.csv --resamples 0 --starts 50 "$@"; }
fit >plain.txt
grep -q '^Note: the r = 1 runs are the [0-9]* plain runs; the [0-9]* of the unshared control are left out (anchor plain)\.$' plain.txt &&
    grep -q 'of the unshared control, and the anchor is plain' plain.txt || fail "the default: $(cat plain.txt)"
[ "$(head -n 1 plain.txt)" = "$(fit --anchor plain | head -n 1)" ] || fail "plain"
"$I" fit desk.csv --resamples 0 --starts 50 --json >base.json
fit --json >plain.json
fit --anchor unshared --json >unshared.json
fit --anchor both --json >both.json
python3 - <<'PY' || fail "anchors"
import csv, json
base, plain, unshared, both = (json.load(open(f + ".json")) for f in ("base", "plain", "unshared", "both"))
assert base["phi"] == plain["phi"] and base["anchor"] == plain["anchor"] == "plain" and not base["notes"]
assert abs(unshared["phi"] - 0.5) < 1e-6 and unshared["anchor"] == "unshared", unshared["phi"]
assert abs(plain["phi"] - 0.5) > 0.02 and plain["phi"] != both["phi"] != 0.5, (plain["phi"], both["phi"])
looped = list(csv.DictReader(open("desk.plan")))
n, control = len(looped), len(list(csv.DictReader(open("desk_unshared.plan"))))
n_plain = sum(r["r"] == "1" for r in looped)
assert [x["n_runs"] for x in (base, plain, unshared, both)] == [n, n, n - n_plain + control, n + control]
assert len(plain["left_out"]) == control and len(unshared["left_out"]) == n_plain and not both["left_out"]
PY
code=0; fit --anchor looped 2>log || code=$?
[ $code = 2 ] && grep -q 'anchor' log || fail "an unknown anchor: $code $(cat log)"
"$I" report desk.csv desk_unshared.csv --anchor both --out report --resamples 0 >out 2>log || fail "report: $(cat log)"

# Seeds: start weights alone, or the order of the rows, too; ids tell them apart.
"$I" plan grid.yaml --set 'seeds=[1, 2]' --csv >seeds.csv
"$I" plan grid.yaml --set 'seeds=[1, 2]' --set shuffle=true --csv >shuffled.csv
python3 - <<'PY' || fail "seeds"
import csv
seeds, shuffled = (list(csv.DictReader(open(f))) for f in ("seeds.csv", "shuffled.csv"))
assert [r["data_seed"] for r in seeds] == ["0"] * 4, seeds
assert [r["data_seed"] for r in shuffled] == ["1", "2", "1", "2"], shuffled
assert not {r["run"] for r in seeds} & {r["run"] for r in shuffled}
PY
short=(run.yaml --set steps=3 --set seed=5)
"$I" -q train "${short[@]}" --set shuffle=true --out shuffled
"$I" -q train "${short[@]}" --set data_seed=5 --out ordered
"$I" -q train "${short[@]}" --out packed
weights() { tail -c 100000 "$1/model.safetensors" | cksum; }
[ "$(weights shuffled)" = "$(weights ordered)" ] || fail "shuffle is not data_seed = seed"
[ "$(weights shuffled)" != "$(weights packed)" ] || fail "shuffle changes nothing"
"$I" -q train shuffled/config.yaml --out shuffled-again
cmp shuffled/model.safetensors shuffled-again/model.safetensors || fail "config.yaml loses shuffle"
if "$I" train "${short[@]}" --set shuffle=true --set data_seed=3 --out x 2>log; then fail "both orders"; fi
grep -q 'both data_seed and shuffle' log || fail "both orders: $(cat log)"
if "$I" plan grid.yaml --set 'seeds=[0]' --set shuffle=true 2>log; then fail "seed 0"; fi
grep -q 'seed 0 keeps the order' log || fail "seed 0: $(cat log)"
echo ok
