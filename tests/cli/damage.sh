#!/usr/bin/env bash
# damage: a bit flipped, or a piece cut off, in any file of an unfinished run is never resumed
# silently; the run ends with the same bytes as one that was never touched, or is rejected.
set -eu
. "$(dirname "$0")/top.bash"
. tests/cli/train_lib.bash
small_text 300
small_run 512 40 64
echo "save_every: 6" >>run.yaml
flip() { # FILE SHARE: flips bit 4 of the byte at SHARE percent of the file
    python3 - "$@" <<'PY'
import sys
path, share = sys.argv[1], int(sys.argv[2])
data = bytearray(open(path, "rb").read())
data[(len(data) - 1) * share // 100] ^= 16
open(path, "wb").write(data)
PY
}

"$I" -q train run.yaml --out whole --threads 2
"$I" -q train run.yaml --out cut --threads 2 & pid=$!
until [ -e cut/checkpoint-000000012/optimiser.safetensors ] && [ -s cut/latest ] ||
    ! kill -0 $pid 2>/dev/null; do sleep 0.002; done
kill -TERM $pid && { wait $pid || true; }
[ ! -e cut/result.json ] || fail "the run was done before it was stopped"
new=$(cat cut/latest)
old=$(cd cut && printf '%s\n' checkpoint-* | grep -v "$new")
states=(cut/checkpoint-*)
[ ${#states[@]} = 2 ] || fail "not two states: $(ls cut)"

same() { # WHAT: the run that was resumed is the whole one
    cmp -s whole/model.safetensors hurt/model.safetensors || fail "$1: other weights: $(cat log)"
    [ "$(grep '"loss"' whole/result.json)" = "$(grep '"loss"' hurt/result.json)" ] || fail "$1: loss"
}
resume() { # MESSAGE WHAT: resumes the copy that was damaged; it must say MESSAGE
    "$I" train run.yaml --out hurt --threads 2 >log 2>&1 || fail "$2: $(cat log)"
    grep -q "$1" log || fail "$2 says: $(cat log)"
    same "$2"
}
fresh() { rm -rf hurt; cp -r cut hurt; }
n=0
for share in 0 3 30 60 100; do
    for file in model optimiser; do
        fresh; flip "hurt/$new/$file.safetensors" $share
        resume "$new/$file.safetensors.*not resuming from it" "$file at $share %"
        grep -q "resuming at step $((10#${old#checkpoint-}))" log || fail "$file at $share %: $(cat log)"
        [ "$(losses whole/metrics.jsonl)" = "$(losses hurt/metrics.jsonl)" ] || fail "metrics"
        n=$((n + 1))
    done
done
fresh; truncate -s -1000 "hurt/$new/model.safetensors"; flip "hurt/$old/optimiser.safetensors" 50
resume 'no undamaged checkpoint is left; starting again from step 0' "both states"
for share in 20 70; do
    fresh; flip hurt/metrics.jsonl $share
    resume 'metrics.jsonl is damaged' "metrics at $share %"
done
fresh; truncate -s 700 hurt/metrics.jsonl
resume 'metrics.jsonl is damaged: [0-9]* of the lines up to step [0-9]* are lost' "metrics cut off"
fresh; flip hurt/latest 50
resume "resuming at step $((10#${new#checkpoint-}))" "latest"
fresh; flip hurt/config.yaml 90
resume "resuming at step $((10#${new#checkpoint-}))" "the settings, which are written again"
fresh; flip hurt/config.yaml 3
if "$I" train run.yaml --out hurt --threads 2 2>log; then fail "another identity"; fi
grep -q 'other settings' log || fail "another identity says: $(cat log)"

# Sound files in the wrong place: halves of two states, a state of another run; the latter also where
# config.yaml, which says whose directory it is, was lost.
"$I" -q train run.yaml --set seed=2 --out other --keep --threads 2
at=checkpoint-000000012
mixed() { # KEY WHAT: the newest state is passed over, since its halves differ in KEY
    resume "$new: model.safetensors has $1 .*optimiser.safetensors has .*; not resuming" "$2"
    grep -q "resuming at step $((10#${old#checkpoint-}))" log || fail "$2: $(cat log)"
}
foreign() { # MESSAGE WHAT ARGS...: is rejected with MESSAGE, and leaves the directory as it is
    local message=$1 what=$2
    shift 2
    rm -rf before; cp -r hurt before
    if "$I" train run.yaml --out hurt --threads 2 "$@" 2>log; then fail "$what: accepted"; fi
    grep -q "$message" log || fail "$what says: $(cat log)"
    diff -r before hurt >&2 || fail "$what: changed"
}
fresh; cp "hurt/$old/optimiser.safetensors" "hurt/$new/"; mixed step "an older optimiser"
for file in model optimiser; do
    fresh; mv "hurt/$new" hurt/checkpoint-000000018; new=checkpoint-000000018
    cp other/$new/* "hurt/$new/"; cp "cut/$(cat cut/latest)/$file.safetensors" "hurt/$new/"
    resume "$new: .* not resuming from it" "the other half of $file"
    new=$(cat cut/latest)
done
fresh; rm -r hurt/checkpoint-*; cp -r other/$at hurt/
foreign "$at: a state of another run (run .*), where this one is run" "a state of another run"
for lost in "rm hurt/config.yaml" "cp /dev/null hurt/config.yaml"; do
    fresh; $lost; resume "resuming at step $((10#${new#checkpoint-}))" "$lost"
    fresh; $lost; foreign "$new: a state of another run" "$lost, another seed" --set seed=2
    rm -rf hurt; cp -r whole hurt; $lost
    foreign "holds a run with other settings" "$lost, another seed, done" --set seed=2
done

# The result: a digit of the loss, a brace.  The run is finished once more, from its last state.
for share in 6 30 60 99; do
    rm -rf hurt; cp -r whole hurt; flip hurt/result.json $share
    resume 'result.json is damaged; kept as result.json.damaged' "the result at $share %"
    grep -q 'resuming at step 40' log || fail "the result at $share %: $(cat log)"
done
python3 - <<'PY' || fail "the checksum of a result"
import json
r = json.load(open("whole/result.json"))
assert len(r["xxh64"]) == 16 and list(r)[-1] == "xxh64", r
PY

# The finished model: every reader rejects it.
rm -rf hurt; cp -r whole hurt; flip hurt/model.safetensors 80
for command in "loss -c hurt -d data" "generate -c hurt -p The -n 3" "inspect hurt"; do
    # shellcheck disable=SC2086
    if "$I" $command >/dev/null 2>log; then fail "$command: accepted"; fi
    grep -q 'hurt/model.safetensors: its contents do not match its checksum' log || fail "$command: $(cat log)"
done

# So do they with a sound model of another run.
rm -rf hurt; cp -r whole hurt; cp other/model.safetensors hurt/
for command in "loss -c hurt -d data" "loss -c hurt/model.safetensors -d data" "generate -c hurt -p The -n 3"; do
    # shellcheck disable=SC2086
    if "$I" $command >/dev/null 2>log; then fail "$command: accepted another run's model"; fi
    grep -q 'the model of another run (run .*) in the directory of this one (run ' log || fail "$command: $(cat log)"
done

# init replaces what init wrote, never trained weights.
init() { "$I" init --set d_model=32 --set head=16 --set r=2 --set vocab=257 --set seq_len=64 --out "$1" >log 2>&1; }
if init hurt/model.safetensors; then fail "init wrote over a trained model"; fi
grep -q 'hurt/model.safetensors: it exists, and is not an untrained checkpoint' log || fail "init says: $(cat log)"
cmp -s hurt/model.safetensors other/model.safetensors || fail "init changed a trained model"
init new.safetensors && init new.safetensors || fail "init twice: $(cat log)"

# Data that are written to under a run: its rows are read once more before anything is saved.
meanwhile() { # COMMAND: trains on a copy of the data, runs COMMAND after the first state
    rm -rf hurt under; cp -r data under
    "$I" -q train run.yaml --data under --out hurt --threads 2 2>log & pid=$!
    until [ -e hurt/latest ] || ! kill -0 $pid 2>/dev/null; do sleep 0.002; done
    $1
    wait $pid
}
over() { dd if=/dev/zero of=under/val-00000.shard bs=64 seek=9 count=1 conv=notrunc status=none; } # in its place
if meanwhile over; then fail "data that changed under a run"; fi
grep -q 'written to while in use: under/val-00000.shard' log || fail "data that changed under a run: $(cat log)"
[ ! -e hurt/result.json ] || fail "data that changed under a run left a result"
meanwhile "touch under/val-00000.shard" || fail "data that were only touched: $(cat log)"

# The data: rows that are scored, and what meta.json says about them.
rejected() { # WHAT MESSAGE
    if "$I" loss -c whole -d hurt >/dev/null 2>log; then fail "$1: accepted"; fi
    grep -q "$2" log || fail "$1: $(cat log)"
}
rm -rf hurt; cp -r data hurt; flip hurt/val-00000.shard 60
rejected "a row" "val-00000.shard: damaged"
python3 - <<'PY'
import re
text = open("data/meta.json").read()
changed = re.sub(r'("bytes_per_token": 0\.9)(\d)', lambda m: m[1] + str(int(m[2]) ^ 1), text)
assert changed != text
open("hurt/meta.json", "w").write(changed)
PY
cp data/val-00000.shard hurt/
rejected "bytes per token" "meta.json: its contents do not match its checksum"
"$I" -q pack text.txt -t bytes -T 64 --val 5% --force -o hurt >/dev/null 2>log || fail "pack again: $(cat log)"
cmp -s data/meta.json hurt/meta.json || fail "packing again does not repair"
grep -v xxh64 data/meta.json | tr -d '\n' | sed 's/, *}$/}/' >hurt/meta.json # of an older version
"$I" -q loss -c whole -d hurt >/dev/null 2>log || fail "meta.json of an older version: $(cat log)"
echo "damage: $n flips in states, all noticed"
