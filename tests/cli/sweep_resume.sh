#!/usr/bin/env bash
# `sweep --out STUDY` alone resumes a study as it was started; status knows what it resumes from;
# eval and generate find the tokenizer of the data.
set -u
. "$(dirname "$0")/top.bash"
. tests/cli/sweep_lib.bash
suite=$(realpath tests/golden/data/eval)
make_data
cd "$tmp" || exit 1
make_grid toy.yaml

# A grid that --seeds and --cells widened, a setting of the trainer, r = 1 from elsewhere.
export ISO_TRAIN_PROGRAM=$standin STANDIN_STEPS=40 STANDIN_SLEEP=0.001
make_grid base.yaml '[1]'
make_grid case.yaml '[2]'
"$iso" sweep base.yaml --no-fit --data data --out base >/dev/null 2>&1 || fail "the baseline"
STANDIN_SLEEP=0.05 "$iso" sweep case.yaml --no-fit --data data --out case --reuse base --seeds 2 \
    --cells 'budget=2e10' --set save_every=7 --threads-per-run 2 --ranks-from 2.5e15 > out 2> log &
scheduler=$!
for _ in $(seq 200); do grep -qs checkpoint case/runs/*/latest && break; sleep 0.05; done
kill -INT $scheduler
wait $scheduler
[ $? = 3 ] || { cat log; fail "Ctrl-C"; }
"$iso" status case > out
want '15 runs: 6 done, 9 planned' out "status after Ctrl-C"
want 'stopped, resumes at step' out "status after Ctrl-C: progress"
"$iso" status case --json | python3 -c '
import json, sys
s = json.load(sys.stdin)
assert s["begun"] and all(r["saved"] > 0 and r["status"] == "planned" for r in s["begun"]), s
' || fail "status --json"
mv case.yaml gone.yaml
"$iso" sweep --out case --no-fit > out 2> log || { cat log; fail "resuming"; }
want '15 runs: 15 done' out "resuming: the same runs"
want 'from its checkpoint' log "resuming: where it was"
python3 - <<'PY' || fail "the options of the start"
import json, sqlite3
o = json.loads(sqlite3.connect("case/study.db").execute(
    "SELECT value FROM fact WHERE key = 'options'").fetchone()[0])
assert o == {"threads-per-run": 2, "ranks-from": 2.5e15, "set": ["save_every=7"]}, o
PY
"$iso" sweep --out case --no-fit > out 2> log || fail "resuming a finished study"
want 'nothing is left to do' out "resuming a finished study"
grep -q '^# case.yaml' case/grid.yaml || fail "the grid was written again"

# A rebuilt store knows what the old one knew about the start; without it, what the runs know.
fact() { # WHAT SQL: changes the store of case
    python3 - "$2" <<'PY' || fail "$1"
import sqlite3, sys
db = sqlite3.connect("case/study.db"); db.execute(sys.argv[1]); db.commit()
PY
}
options() {
    python3 -c 'import sqlite3
print(sqlite3.connect("case/study.db").execute("SELECT value FROM fact WHERE key = \"options\"").fetchone()[0])'
}
before=$(options)
"$iso" sweep --rebuild --out case > out 2> log || { cat log; fail "--rebuild"; }
grep -q 'last start (.*) are lost' log && fail "--rebuild forgot the options"
"$iso" sweep --out case --no-fit > out 2> log || { cat log; fail "resuming a rebuilt study"; }
want 'nothing is left to do' out "resuming a rebuilt study"
[ "$(options)" = "$before" ] || fail "a rebuilt study has other options"
fact "another option" "UPDATE fact SET value = replace(value, '2', '3') WHERE key = 'options'"
"$iso" sweep --out case --no-fit > out 2> log && fail "another option"
want 'case/study.db: what it says of the study (data, options, ...) does not match its checksum' log \
    "another option"
fact "damaging the options" "UPDATE fact SET value = 'bogus' WHERE key = 'options'"
fact "no checksum, as of an older version" "DELETE FROM fact WHERE key = 'facts'"
"$iso" sweep --out case --no-fit > out 2> log && fail "damaged options"
want 'case/study.db: the options of its last start are damaged; isodepth sweep --rebuild' log "damaged options"
"$iso" sweep --rebuild --out case > out 2> log || { cat log; fail "--rebuild of damaged options"; }
want 'the options of its last start (--threads-per-run, --set, ...) are lost' log "--rebuild of damaged options"
"$iso" sweep --out case --no-fit > out 2> log || { cat log; fail "resuming without options"; }
for run in case/runs/*/; do echo "data: $(realpath data)" > "$run"/config.yaml; done
: > case/study.db
"$iso" status case 2> log && fail "an empty store"
want 'isodepth sweep --rebuild --out STUDY restores' log "an empty store"
"$iso" sweep --rebuild --out case > out 2> log || { cat log; fail "--rebuild of an empty store"; }
"$iso" sweep --out case --no-fit > out 2> log || { cat log; fail "resuming after an empty store"; }
want '15 runs: 15 done' out "resuming after an empty store"

# Runs that an edited grid adds, or that had no folder when the store was rebuilt, are named.  One r:
# no phi so far, whose fit would take most of the time.
"$iso" sweep toy.yaml --set 'r=[1]' --set 'widths=[1, 2]' --data data --no-fit --out edited > out 2> log ||
    { cat log; fail "the study to edit"; }
"$iso" sweep --out edited --no-fit 2>&1 | grep -q 'left out' && fail "nothing was edited"
sed -i 's/^widths: .*/widths: [1, 2, 3]/' edited/grid.yaml
for again in 1 2; do
    "$iso" sweep --out edited --no-fit > out 2> log || { cat log; fail "an edited grid $again"; }
    want 'edited/grid.yaml: 2 of its runs are not among those that the study was planned with' log \
        "an edited grid $again"
done
"$iso" sweep edited/grid.yaml --data data --out edited --no-fit > out 2> log || fail "the remedy"
want '6 runs: 6 done' out "the remedy"
sed -i 's/^widths: .*/widths: [1, 2]/' edited/grid.yaml
for again in 1 2; do
    "$iso" sweep --out edited --no-fit > out 2> log || { cat log; fail "a grid with less $again"; }
    want 'edited/grid.yaml: not the grid that the study was planned with' log "a grid with less $again"
    want '6 runs: 6 done' out "a grid with less $again"
done
sed -i 's/^widths: .*/widths: [1, 2, 3]/' edited/grid.yaml
"$iso" sweep --out edited --no-fit 2>&1 | grep -q 'not the grid' && fail "the grid as it was"
rm -r edited/runs/r1-d16-2e10*
"$iso" sweep --rebuild --out edited > out 2> log || fail "--rebuild with fewer folders"
"$iso" sweep --out edited --no-fit > out 2> log || fail "resuming with fewer folders"
want '1 of its runs are not among' log "resuming with fewer folders"

# Nothing to resume; data that moved.
"$iso" sweep --out nowhere 2> log
[ $? = 2 ] || fail "nothing to resume: exit"
want 'nowhere has none to resume' log "nothing to resume"
mv data moved
"$iso" sweep --out case --no-fit 2> log && fail "data that moved"
want 'data' log "data that moved"
"$iso" sweep --out case --no-fit --data moved > out 2> log || { cat log; fail "data elsewhere"; }
mv moved data
unset ISO_TRAIN_PROGRAM

# The tokenizer of the data: eval and generate need not be told.
"$iso" tokenizer train --vocab 300 --out tok.model text.txt >/dev/null 2>&1 || fail "tokenizer"
"$iso" pack text.txt --out pieces --tokenizer tok.model --seq-len 32 --val 10% >/dev/null 2>&1 ||
    fail "pack"
"$iso" sweep toy.yaml --set vocab=300 --set 'budgets=[4e9]' --set 'widths=[1]' --no-fit \
    --data pieces --out spm >/dev/null 2> log || { cat log; fail "a study with a tokenizer"; }
run=spm/runs/$(ls spm/runs | head -n 1)
for file in "$run" "$run/model.safetensors"; do
    "$iso" generate -c "$file" --prompt "Document 7" -n 8 > found 2> log || { cat log; fail "generate"; }
    "$iso" generate -c "$file" --prompt "Document 7" -n 8 --tokenizer tok.model > told || fail "generate"
    cmp -s found told || fail "generate: another tokenizer"
done
"$iso" eval spm --suite "$suite/suite.yaml" --tasks "$suite" > found 2> log || { cat log; fail "eval"; }
rm -r spm/eval spm/eval.csv
"$iso" eval spm --suite "$suite/suite.yaml" --tasks "$suite" --tokenizer tok.model > told || fail "eval"
cmp -s found told || fail "eval: another tokenizer"
mv pieces away
"$iso" generate -c "$run" --prompt "Document 7" 2> log && fail "no data any more"
want 'give its tokenizer with --tokenizer' log "no data any more"

# A trainer finds its run in the study's grid: what is still to train must be there.
export ISO_TRAIN_PROGRAM=$standin
STANDIN_FAIL='*' "$iso" sweep toy.yaml --set 'r=[1]' --set 'widths=[1, 2]' --data data --no-fit --retries 0 --out gone > out 2> log
want '4 of 4 runs failed' log "runs that fail"
sed -i.before 's/^widths: .*/widths: [1]/' gone/grid.yaml
"$iso" sweep --out gone --no-fit > out 2> log && fail "a grid that lacks planned runs"
want 'gone/grid.yaml: 2 planned runs are not in it (the first: r1-d32-' log "a grid that lacks planned runs"
mv gone/grid.yaml.before gone/grid.yaml
"$iso" sweep --out gone --no-fit > out 2> log || { cat log; fail "the grid as it was again"; }
want '4 runs: 4 done' out "the grid as it was again"
rm gone/study.db
"$iso" sweep --out gone --no-fit > out 2> log && fail "without a store"
want 'gone: its study.db is missing' log "without a store"
echo ok
