#!/usr/bin/env bash
# Power cuts, as near as a test can get: a shim remembers what was synced and kills at a random sync;
# what was not synced is lost, wholly or in part.  Nothing that was reported done may be lost, and what
# is repeated ends with the same bytes.  POINTS: how many cuts of a study, and of `pack`.
set -u
. "$(dirname "$0")/top.bash"
points=${POINTS:-12}
. tests/cli/sweep_lib.bash
tests=$PWD/tests
"${CC:-cc}" -shared -fPIC -O1 -D_GNU_SOURCE -o "$tmp/shim.so" tests/power_cut_shim.c || fail "the shim"
LD_PRELOAD=$tmp/shim.so "$iso" version >/dev/null 2>&1 ||
    skip "this build cannot be preloaded into"
make_data
cd "$tmp" || exit 1
make_grid toy.yaml '[1, 2]' '[1e9]' '[1, 2]'
study() { "$iso" sweep toy.yaml --set save_every=2 --data "$tmp/data" --out "$1"; }
pack() { "$iso" pack "$tmp/text.txt" --tokenizer bytes --seq-len 32 --val 10% --out "$1"; }
outcomes() { # STUDY
    for d in "$1"/runs/*/; do
        echo "$(basename "$d") $(grep -E '"(loss|steps|flops|status)"' "$d/result.json") $(cksum < "$d/model.safetensors")"
    done
}
checksum() { "$iso" data "$1" --verify --json 2>/dev/null | grep '"checksum"'; }

# Runs a command whose files are in disk/ until its fsync number $1; then disk/ holds what survived.
# The exit code is that of the command.
until_cut() { # AT SEED COMMAND...
    local at=$1 seed=$2 code; shift 2
    rm -rf disk record after; mkdir disk record
    (   export POWER_CUT_ROOT=$tmp/disk POWER_CUT_RECORD=$tmp/record POWER_CUT_AT=$at
        POWER_CUT_PID=$BASHPID LD_PRELOAD=$tmp/shim.so "$@"
    ) > out 2> log
    code=$?
    while pgrep -f "$tmp/disk" >/dev/null; do sleep 0.02; done # trainers on their way out
    python3 "$tests/power_cut.py" disk record after "$seed" || fail "what is on the disk"
    rm -rf disk && mv after disk
    return $code
}
syncs() { od -An -t d8 record/count | tr -d ' '; }
as_a_program() { exec "$iso" "$@"; }

study whole > /dev/null 2>&1 || fail "the study"
outcomes whole > wanted
[ "$(grep -c '"done"' wanted)" = 4 ] || fail "$(cat wanted)"
until_cut 0 1 as_a_program sweep toy.yaml --set save_every=2 --data "$tmp/data" --out disk/study || fail "$(cat log)"
total=$(syncs)
cuts=0
for i in $(seq "$points"); do
    at=$((1 + (RANDOM * 32768 + RANDOM) % (total + total / 10)))
    until_cut $at "$i" as_a_program sweep toy.yaml --set save_every=2 --data "$tmp/data" --out disk/study &&
        grep -q '4 runs: 4 done' out && [ $at -le "$total" ] && echo "note: no cut at $at of $total"
    cp log said; cuts=$((cuts + 1))
    for run in $(grep -oE '[^ ]+ done: loss' log | cut -d' ' -f1); do
        grep -q '"status": "done"' "disk/study/runs/$run/result.json" ||
            fail "cut at sync $at of $total, seed $i: $run was reported done and is lost: $(cat said)"
        "$iso" inspect "disk/study/runs/$run" >/dev/null || fail "cut at $at, seed $i: the model of $run is lost"
    done
    study disk/study > out 2> log || fail "cut at sync $at of $total, seed $i: resuming: $(cat log)"
    outcomes disk/study | cmp -s - wanted ||
        fail "cut at sync $at of $total, seed $i: other results: $(outcomes disk/study | diff - wanted) $(cat log)"
done

pack packed > /dev/null 2>&1 || fail "pack"
wanted=$(checksum packed)
until_cut 0 1 as_a_program pack "$tmp/text.txt" --tokenizer bytes --seq-len 32 --val 10% --out disk/data ||
    fail "$(cat log)"
total=$(syncs)
[ "$(checksum disk/data)" = "$wanted" ] || fail "a packing that was reported done is lost: $(ls -R disk)"
for i in $(seq "$points"); do
    at=$((1 + RANDOM % (total + 1)))
    if until_cut $at "$i" as_a_program pack "$tmp/text.txt" --tokenizer bytes --seq-len 32 --val 10% \
        --out disk/data; then
        [ "$(checksum disk/data)" = "$wanted" ] || fail "pack, cut at $at of $total, seed $i: reported done, but lost"
    elif [ -e disk/data/meta.json ]; then # whoever reads it must be able to rely on it
        [ "$(checksum disk/data)" = "$wanted" ] || fail "pack, cut at $at of $total, seed $i: damaged data"
    fi
    pack disk/data > out 2> log || fail "pack, cut at $at of $total, seed $i: again: $(cat log)"
    [ "$(checksum disk/data)" = "$wanted" ] || fail "pack, cut at $at of $total, seed $i: other data"
done
echo "power_cut: $points cuts of a study, $points of pack; nothing that was reported done was lost"
