#!/usr/bin/env bash
# Studies from the outside, with a stand-in for the trainer: planning, resuming, refusing, reusing,
# rebuilding, and what each kind of trouble says.
set -u
. "$(dirname "$0")/top.bash"
. tests/cli/sweep_lib.bash
cleanup() { umount "$tmp/small" 2>/dev/null; rm -rf "$tmp"; }
trap cleanup EXIT
export ISO_TRAIN_PROGRAM
ISO_TRAIN_PROGRAM=$standin
export STANDIN_SLEEP=0.002 STANDIN_STEPS=7
make_data
cd "$tmp" || exit 1
make_grid toy.yaml
sweep() { "$iso" sweep toy.yaml --no-fit --data data --out "$@"; }

# End to end, then again.
sweep st > out 2> log || fail "the study"
want "12 runs: 12 done" out "counts"
[ "$(ls st/runs | wc -l)" = 12 ] || fail "one folder per run"
first=$(grep -m 1 started log)
case $first in *6e10*) ;; *) fail "the largest runs come first: $first" ;; esac
results st > st.results
sweep st > out 2> log || fail "the study again"
want "nothing is left to do" out "nothing left"
results st | cmp -s - st.results || fail "the second start changed something"

sweep other --set steps=3 2> log && fail "--set of what the grid plans"
want 'the grid plans it for each run' log "--set of what the grid plans"

# status and runs; the table that fit reads.
"$iso" runs st --csv | cmp -s - st/runs.csv || fail "runs.csv"
"$iso" status st > out || fail "status"
grep -q '^\[=*\] 100%' out && grep -q '^12 runs: 12 done' out || { cat out; fail "status"; }
# phi so far is not judged: some checks need refits.
cp -r st "st '1" && "$iso" status "st '1" > out || fail "status of a name with a blank"
grep -q '^so far phi = [0-9.]*   (12 runs, R2 = ' out || { cat out; fail "status: phi so far"; }
grep -q "trust: \(good\|caution\|undetermined\)" out && { cat out; fail "status: trust before all checks"; }
want "isodepth fit 'st '\''1')" out "status: a command to type"
"$iso" status st --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["done"] == 12' ||
    fail "status --json"
"$iso" runs st --json > runs.json || fail "runs --json"
python3 - st/runs.csv runs.json <<'END' || fail "runs --json differs from runs.csv"
import csv, json, sys
table = list(csv.DictReader(open(sys.argv[1])))
told = json.load(open(sys.argv[2]))
assert told["n_runs"] == len(table) == len(told["runs"])
for row, run in zip(table, told["runs"]):
    assert list(row) == list(run) and row["run"] == run["run"] and row["status"] == run["status"]
    assert float(row["loss"]) == run["loss"] and run["wanted"] is True and run["bits_per_byte"] is None
END
# A table that lacks a finished run, or calls it something else, is not believed.
run=$(sed -n '3s/,.*//p' st/runs.csv)
for edit in 3d '3s/,done,/,donex,/'; do
    rm -rf edited && cp -r st edited && sed -i "$edit" edited/runs.csv
    "$iso" fit edited --starts 5 --resamples 0 > out 2> log && fail "fit after $edit"
    want "run $run" log "fit after $edit"
    want 'isodepth sweep --rebuild --out STUDY' log "fit after $edit"
    "$iso" status edited > out 2> log || fail "status after $edit"
    want "run $run" log "status after $edit"
    grep -q '^so far' out && fail "status after $edit: phi"
    "$iso" sweep --rebuild --out edited > out 2>&1 || fail "--rebuild after $edit"
    "$iso" runs edited --csv | cut -d, -f1-32 | sort > rebuilt
    "$iso" runs st --csv | cut -d, -f1-32 | sort | cmp -s - rebuilt ||
        fail "--rebuild after $edit: another table"
done
rm edited/runs.csv
"$iso" fit edited 2> log && fail "fit without runs.csv"
want 'directory without runs.csv; isodepth sweep --rebuild --out' log "fit without runs.csv"
cp st/runs.csv edited && rm -r edited/runs
"$iso" fit edited --starts 5 --resamples 0 > out 2> log || fail "fit of a table alone"
for two in '--csv --json' '--csv --means'; do
    # shellcheck disable=SC2086
    "$iso" runs st $two > out 2> log
    [ $? = 2 ] || fail "runs $two: exit"
    want 'choose one' log "runs $two"
done
[ "$("$iso" runs st --csv --where 'r=2 and budget>3e10' | wc -l)" = 4 ] || fail "--where"
[ "$("$iso" runs st --csv --where 'not (r=1 or s>=2) and status=done' | wc -l)" = 3 ] ||
    fail "--where with not and parentheses"
"$iso" runs st --csv | head -n 1 | grep -q '^run,budget,s,r,loop,bptt,d_model,' || fail "columns"
"$iso" runs st --where 'budgt>1' 2> log
[ $? = 2 ] || fail "unknown column: exit"
want 'unknown column budgt. Did you mean budget?' log "unknown column"
"$iso" runs st --where 'r=2 and' 2> log && fail "half a condition"
want 'place 8: expected a column, found the end' log "half a condition"
"$iso" runs nowhere 2> log && fail "no study"
want 'is this a study' log "no study"

# A changed grid adds runs and keeps the old ones.
sed -i 's/widths: .*/widths: [2, 3, 4]/' toy.yaml
"$iso" sweep toy.yaml --data data --out st --dry-run | grep -q '^4 of 12 runs to train' ||
    fail "--dry-run counts what is missing"
sweep st > out 2>/dev/null || fail "the changed grid"
[ "$(ls st/runs | wc -l)" = 16 ] || fail "old runs are kept"
[ "$("$iso" runs st --csv | wc -l)" = 17 ] || fail "the table has old and new runs"
make_grid toy.yaml

# Other data, other settings: refused, nothing touched.
"$iso" pack text.txt --out data2 --tokenizer bytes --seq-len 32 --val 10% --seed 2 >/dev/null 2>&1
"$iso" sweep toy.yaml --data data2 --out st 2> log && fail "other data"
want 'this study was begun with the data' log "other data"
"$iso" pack text.txt --out data3 --tokenizer bytes --seq-len 16 --val 10% >/dev/null 2>&1
"$iso" sweep toy.yaml --data data3 --out st 2> log && fail "other rows"
want 'toy.yaml says seq_len: 32' log "other rows"
run=$(ls st/runs | head -n 1)
cp st/runs/"$run"/run.json keep.json
cp st/study.db keep.db
sed -i 's/"steps": [0-9]*/"steps": 12345/' st/runs/"$run"/run.json
sweep st 2> log && fail "other settings in the folder"
want "holds a run with steps 12345, the grid says" log "other settings in the folder"
mv keep.json st/runs/"$run"/run.json

# Two schedulers.
(STANDIN_STEPS=60 STANDIN_SLEEP=0.05 sweep two > out1 2> log1) &
for _ in $(seq 100); do [ -e two/study.db ] && break; sleep 0.05; done
sleep 0.3
sweep two > out 2> log && fail "a second scheduler"
want 'another scheduler is at work on this study' log "a second scheduler"
"$iso" status two | grep -q 'a scheduler is at work' || fail "status sees the scheduler"
"$iso" status two | grep -q 'loss 3.* step [0-9]* of ' || fail "status shows the running runs"
# Ctrl-C: saved, resumable.
kill -INT "$(pgrep -f "sweep toy.yaml --no-fit --data data --out two" | head -n 1)"
wait
want 'stopped; start it again to resume' log1 "SIGINT"
pgrep -f "$tmp/two" > /dev/null && fail "children are left behind"
sweep two > out 2> log || fail "resuming after SIGINT"
want 'from its checkpoint' log "resuming from checkpoints"

# Failures, retries, divergence.
STANDIN_FAIL='r2-d16-2e10*' sweep bad --retries 1 > out 2> log
[ $? = 1 ] || fail "a failed run: exit"
want 'is retried: exit 1: no luck with r2-d16-2e10' log "a retry"
want '1 of 12 runs failed, the first is r2-d16-2e10' log "a failed run"
[ "$("$iso" runs bad --csv --where 'status=failed and attempts=2' | wc -l)" = 2 ] || fail "attempts"
sweep bad > out 2> log || fail "failed runs are done in the next start"
STANDIN_FAIL_ONCE='r2*' STANDIN_DIVERGE='r1-d48-6e10*' sweep bad2 > out 2> log || fail "retries"
want '12 runs: 11 done, 1 diverged' out "divergence is kept"
want 'diverged, kept, and left out of the fit: r1-d48-6e10' out "divergence is reported"
STANDIN_SILENT='r2-d16-2e10*' sweep bad3 --retries 0 > out 2> log && fail "no result"
want 'ended without a result' log "no result"
ISO_TRAIN_PROGRAM=/no/such sweep bad4 --retries 0 > out 2> log && fail "no trainer"
want 'cannot start /no/such: No such file or directory' log "no trainer"

# Reuse: a study, a table, and the r = 1 runs of a baseline.
"$iso" runs st --csv > st.csv
ISO_TRAIN_PROGRAM=/no/such sweep re1 --reuse st > out 2> log || fail "--reuse STUDY"
want 'reused 12 runs of st' log "--reuse STUDY"
ISO_TRAIN_PROGRAM=/no/such sweep re2 --reuse st.csv > out 2> log || fail "--reuse RUNS.csv"
[ "$("$iso" runs re2 --csv | cut -d, -f1,26 | sort)" = \
    "$("$iso" runs st --csv --where 's<4' | cut -d, -f1,26 | sort)" ] || fail "--reuse: losses"
make_grid case.yaml '[2]'
"$iso" sweep case.yaml --no-fit --data data --out case --set bptt=half --reuse st > out 2> log ||
    fail "a case study"
[ "$("$iso" runs case --csv --where 'r=1 and source=st' | wc -l)" = 9 ] ||
    fail "a case study shares the r = 1 runs"
[ "$("$iso" runs case --csv --where 'r=2 and bptt=1' | wc -l)" = 7 ] || fail "--set reaches the plan"
"$iso" sweep toy.yaml --no-fit --data data2 --out re4 --reuse st > out 2> log && fail "reuse: other data"
want 'was trained on the data' log "--reuse of other data"
[ -z "$(ls re4/runs)" ] || fail "--reuse of other data left folders"
echo 'budget,r' > bare.csv
sweep re3 --reuse bare.csv 2> log && fail "a table without ids"
want 'bare.csv: column run is missing' log "a table without ids"
id=$(sed -n '2s/,.*//p' st.csv)
(cat st.csv; sed -n '2s/,done,[0-9.]*,/,done,1.5,/p' st.csv) > twice.csv
sweep re5 --reuse twice.csv > out 2> log && fail "a table with two results of one run"
want "twice.csv: run $id is there twice, with loss " log "a table with two results of one run"
sed '1s/data_checksum/their_data/' st.csv > silent.csv
sweep re6 --reuse silent.csv > out 2> log || fail "a table that does not name its data"
want 'silent.csv: 16 finished runs do not name the data' log "a table that does not name its data"

# A result of other data, in a folder that was copied here; data packed anew while runs are trained.
sweep mine > out 2> log && "$iso" sweep toy.yaml --no-fit --data data2 --out theirs > out 2> log ||
    fail "two studies"
run=$(ls mine/runs | head -n 1)
cp mine/runs/"$run"/result.json keep.json
cp theirs/runs/"$run"/result.json mine/runs/"$run"/
sweep mine > out 2> log && fail "a result of other data"
want "runs/$run: trained on the data" log "a result of other data"
mv keep.json mine/runs/"$run"/result.json
cp -r data now
STANDIN_SLEEP=0.1 "$iso" sweep toy.yaml --no-fit --data now --out anew --jobs 1 > out 2> log &
scheduler=$!
for _ in $(seq 100); do grep -qs started log && break; sleep 0.05; done
rm -r now && cp -r data2 now
wait $scheduler && fail "data packed anew"
want 'move the folder away' log "data packed anew"
[ "$("$iso" runs anew --csv --where status=failed | wc -l)" = 2 ] || fail "data packed anew: other runs go on"
[ "$("$iso" runs anew --csv --where status=done | wc -l)" -le 2 ] || fail "data packed anew: a run counts"

# Seeds for chosen cells.
sweep st --seeds 3 --cells 'r=2,budget=6e10; r=1,budget=2e10' > out 2>/dev/null || fail "--seeds"
want '24 runs: 24 done' out "--seeds with --cells"
[ "$("$iso" runs st --csv --where 'seed=3 and r=2 and budget=6e10' | wc -l)" = 4 ] || fail "seeds"
"$iso" runs st --means > means || fail "--means"
"$iso" runs st --csv > table.csv
"$iso" runs st --means --json > means.json || fail "--means --json"
python3 - table.csv means means.json <<'END' || { cat means; fail "means over seeds"; }
import csv, json, sys
from collections import defaultdict
groups = defaultdict(list)
for run in csv.DictReader(open(sys.argv[1])):
    key = tuple(float(run[c]) for c in ("budget", "r", "d_model"))
    groups[key].append(float(run["loss"]))
squares = sum((x - sum(g) / len(g)) ** 2 for g in groups.values() for x in g)
df = sum(len(g) - 1 for g in groups.values())
lines = [l.split() for l in open(sys.argv[2]).read().split("\n\n")[0].splitlines()[1:]]
assert len(lines) == len(groups), (len(lines), len(groups))
for l in lines:
    g = groups[float(l[0]), float(l[1]), float(l[2])]
    assert int(l[7]) == len(g) and abs(float(l[8]) - sum(g) / len(g)) < 6e-5, (l, g)
words = open(sys.argv[2]).read().split("varies by ")[1].split()
assert abs(float(words[0]) - (squares / df) ** 0.5) < 6e-5 and f"{df} degrees" in " ".join(words)
told = json.load(open(sys.argv[3]))
assert told["degrees_of_freedom"] == df and abs(told["sd"] - (squares / df) ** 0.5) < 1e-9
for l, m in zip(lines, told["designs"], strict=True):
    g = groups[m["budget"], m["r"], m["d_model"]]
    assert m["seeds"] == len(g) and abs(m["mean_loss"] - sum(g) / len(g)) < 1e-9
    assert abs(float(l[9]) - m["error"]) < 6e-5
END
sweep st --cells 'r=2' 2> log && fail "--cells alone"

# Rebuilding from the folders.
"$iso" runs st --csv | cut -d, -f1-32 | sort > before
for damage in missing garbage; do
    if [ $damage = missing ]; then rm st/study.db; else echo garbage > st/study.db; fi
    if [ $damage = garbage ]; then
        sweep st 2> log && fail "a damaged store"
        want 'rebuild it from the run folders' log "a damaged store"
    fi
    "$iso" sweep --rebuild --out st > out 2> log || fail "--rebuild ($damage)"
    "$iso" runs st --csv | cut -d, -f1-32 | sort | cmp -s - before || fail "--rebuild: another table"
    "$iso" sweep toy.yaml --data data2 --out st 2> log && fail "other data after --rebuild"
    want 'this study was begun with the data' log "other data after --rebuild"
done
rm st/study.db
"$iso" sweep toy.yaml --data data2 --out st 2> log && fail "other data without a store"
want 'this study was begun with the data' log "other data without a store"
# A row that is lost, or one of nobody's, is noticed before runs.csv is written without it.
"$iso" sweep --rebuild --out st > out 2> log || fail "--rebuild"
cp st/runs.csv keep.csv
for sql in 'DELETE FROM run WHERE run = (SELECT max(run) FROM run)' \
    "INSERT INTO run(run) VALUES('r9')" "INSERT INTO run(run) VALUES('')"; do
    python3 - "$sql" <<'END'
import sqlite3, sys
db = sqlite3.connect("st/study.db"); db.execute(sys.argv[1]); db.commit()
END
    sweep st > out 2> log && fail "$sql: sweep"
    want 'rebuild it from the run folders: isodepth sweep --rebuild --out STUDY' log "$sql: sweep"
    "$iso" status st > out 2> log && fail "$sql: status"
    want 'rebuild it from the run folders' log "$sql: status"
    cmp -s st/runs.csv keep.csv || fail "$sql: runs.csv was written"
    "$iso" sweep --rebuild --out st > out 2> log || fail "$sql: --rebuild"
    cmp -s st/runs.csv keep.csv || fail "$sql: --rebuild gives another table"
done
run=$(ls st/runs | tail -n 1)
cp st/runs/"$run"/result.json keep.json
sed -i 's/"data_checksum": "[^"]*"/"data_checksum": "0123"/' st/runs/"$run"/result.json
cp st/study.db keep.db
"$iso" sweep --rebuild --out st 2> log && fail "--rebuild of two corpora"
want "run $run on 0123; move the folders" log "--rebuild of two corpora"
cmp -s st/study.db keep.db || fail "--rebuild of two corpora changed the store"
sweep st 2> log && fail "a study of two corpora"
want "run $run on 0123; move the folders" log "a study of two corpora"
mv keep.json st/runs/"$run"/result.json
# A rebuild that fails later puts the store back; one that was killed is not taken for an empty study.
cp st/runs/"$run"/run.json keep.json
cp st/study.db keep.db
sed -i 's/"r": [0-9]*/"r": 9/' st/runs/"$run"/run.json
"$iso" sweep --rebuild --out st > out 2> log && fail "--rebuild of a damaged plan"
cmp -s st/study.db keep.db || { cat log; fail "--rebuild of a damaged plan changed the store"; }
mv keep.json st/runs/"$run"/run.json
python3 -c "
import sqlite3; db = sqlite3.connect('st/study.db'); db.execute('DELETE FROM run')
db.execute('DELETE FROM fact WHERE key = \'rows\''); db.commit()"
cp st/runs.csv keep.csv
"$iso" sweep --out st --no-fit > out 2> log && fail "a store without runs"
cmp -s st/runs.csv keep.csv || fail "a store without runs emptied runs.csv"
"$iso" sweep --rebuild --out st > out 2> log || fail "--rebuild"
python3 -c "
import sqlite3; db = sqlite3.connect('st/study.db'); db.execute('PRAGMA user_version = 99')"
sweep st 2> log && fail "a store of another version"
want 'schema 99, this program knows' log "a store of another version"
"$iso" sweep --rebuild --out st > out 2> log || fail "--rebuild of another version"

# Trouble: a deleted folder, a damaged result, a result of another run, a clock that jumps.
sweep st > out 2> log || fail "after --rebuild"
run=$("$iso" runs st --csv --where 'wanted=1' | sed -n '2s/,.*//p')
results st > before
rm -r st/runs/"$run"
ISO_TRAIN_PROGRAM=/no/such sweep st --retries 0 > /dev/null 2> log && fail "a deleted folder, no trainer"
want "$run: the result is gone; the run is planned again" log "a deleted folder, no trainer"
[ "$("$iso" runs st --csv --where "run='$run' and status=failed" | sed 1d | cut -d, -f27-33)" = ,,,,,, ] ||
    fail "a result that is gone leaves nothing in the table"
rm -r st/runs/"$run"
sweep st > out 2> log || fail "a deleted folder"
results st | cmp -s - before || fail "a deleted folder: another result"
for text in '{"status": "do' '' '{"status": "done", "loss": null}' '[]'; do
    printf '%s' "$text" > st/runs/"$run"/result.json
    sweep st > out 2> log || fail "a damaged result"
    want "kept as result.json.damaged, the run is finished again" log "a damaged result"
    results st | cmp -s - before || fail "a damaged result: another result"
done
# One that cannot be read now may be sound: it stays where it is.
mv st/runs/"$run"/result.json keep.json
ln -s /proc/self/mem st/runs/"$run"/result.json # gives an input/output error
sweep st > out 2> log && fail "a result that cannot be read"
want "$run/result.json: cannot read: Input/output error" log "a result that cannot be read"
[ -L st/runs/"$run"/result.json ] || fail "a result that cannot be read was moved"
mv keep.json st/runs/"$run"/result.json
cp st/runs/"$run"/result.json keep.json
sed -i 's/"run": "[^"]*"/"run": "r9-other"/' st/runs/"$run"/result.json
sweep st > out 2> log && fail "a foreign result"
want 'run is r9-other, the plan says' log "a foreign result"
mv keep.json st/runs/"$run"/result.json
python3 -c "
import sqlite3; db = sqlite3.connect('st/study.db')
db.execute('UPDATE fact SET value = value + 7260 WHERE key = \"last_opened\"')
db.execute('DELETE FROM fact WHERE key = \"facts\"'); db.commit()" # the checksum
sweep st > out 2> log || fail "a clock that went back"
want 'the clock was 2:0' log "a clock that went back"
sweep st 2>&1 | grep -q 'the clock was' && fail "the clock is fine again"

# A full disk and a read-only study, on a file system of 2 MB.
mkdir small
if mount -t tmpfs -o size=2m none small 2>/dev/null; then
    head -c 900k /dev/zero > small/ballast
    STANDIN_PAD=$(printf '%20000s' '') timeout 60 "$iso" sweep toy.yaml --no-fit --data data --out small/st \
        > out 2> log
    [ $? = 1 ] || fail "a full disk: exit"
    grep -qE 'the disk is full|disk is full; free some space' log || { cat log; fail "a full disk"; }
    mount -o remount,size=40m small || fail "remount"
    sweep small/st > out 2> log || { cat log; fail "after the full disk"; }
    want '12 done' out "after the full disk"
    mount -o remount,ro small
    sweep small/st 2> log && fail "a read-only study"
    want 'Read-only file system' log "a read-only study"
    "$iso" status small/st | grep -q '12 runs: 12 done' || fail "status of a read-only study"
    umount small
else
    echo "no permission to mount: full disk and read-only study were not tried"
fi
[ ! -e st/races ] && [ ! -e two/races ] || fail "two trainers in one folder"
echo ok
