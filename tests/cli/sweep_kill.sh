#!/usr/bin/env bash
# kill -9 at random points, twenty times, now the scheduler and now a run: the study's results are
# bit for bit those of a study that nobody disturbed, and two trainers never meet in one folder.
set -u
. "$(dirname "$0")/top.bash"
. tests/cli/sweep_lib.bash
make_data
cd "$tmp" || exit 1
make_grid toy.yaml

# The processes that train study $1.
children() { pgrep -f "train $tmp/$1/grid.yaml"; }

# disturb STUDY FLAGS...: kills until there were twenty, then lets it finish.
disturb() {
    local study=$1 kills=0 schedulers=0 tries=0 scheduler victim
    shift
    while [ $kills -lt 20 ]; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || fail "only $kills kills"
        "$iso" sweep toy.yaml --no-fit --data data --out "$study" --retries 100 "$@" \
            >/dev/null 2>>log &
        scheduler=$!
        while [ $kills -lt 20 ]; do
            sleep "0.$((10 + RANDOM % 40))"
            kill -0 $scheduler 2>/dev/null || break
            if [ $((RANDOM % 3)) = 0 ]; then
                kill -9 $scheduler && kills=$((kills + 1)) schedulers=$((schedulers + 1))
                break
            fi
            victim=$(children "$study" | shuf -n 1 --random-source=<(yes "$RANDOM"))
            [ -n "$victim" ] && kill -9 "$victim" 2>/dev/null && kills=$((kills + 1))
        done
        wait $scheduler 2>/dev/null
        # Finished before the twentieth kill: one run is removed, and it resumes.
        if [ "$(find "$study/runs" -name result.json | wc -l)" = 12 ]; then
            rm -r "$study/runs/$(ls "$study/runs" | shuf -n 1 --random-source=<(yes "$RANDOM"))"
        fi
    done
    "$iso" sweep toy.yaml --no-fit --data data --out "$study" --retries 100 "$@" > out 2>>log ||
        fail "$study: after 20 kills"
    grep -q '12 runs: 12 done' out || fail "$study: all done"
    [ -z "$(children "$study")" ] || fail "$study: orphans are left"
    [ $schedulers -ge 3 ] && [ $((kills - schedulers)) -ge 3 ] || fail "one-sided: $schedulers"
    echo "$study: $schedulers schedulers and $((kills - schedulers)) runs killed, $tries starts"
}

RANDOM=20261115
# With the stand-in, which notices a second trainer in its folder.
export STANDIN_STEPS=40 STANDIN_SLEEP=0.005
ISO_TRAIN_PROGRAM=$standin
export ISO_TRAIN_PROGRAM
"$iso" sweep toy.yaml --no-fit --data data --out quiet >/dev/null 2>&1 || fail "undisturbed"
disturb loud
diff <(results quiet) <(results loud) || fail "the results differ"
[ ! -e loud/races ] || fail "two trainers in one folder: $(cat loud/races)"

# With the trainer itself: losses and weights to the last bit.
unset ISO_TRAIN_PROGRAM
learned() {
    for d in "$1"/runs/*/; do
        echo "$(basename "$d") $(grep '"loss"' "$d/result.json") $(sha256sum < "$d/model.safetensors")"
    done
}
short="budgets=[4e9, 1.2e10]" # 9 to 180 steps
"$iso" sweep toy.yaml --no-fit --data data --out quiet2 --set "$short" >/dev/null 2>&1 ||
    fail "undisturbed"
disturb loud2 --set "$short" --set save_every=5
diff <(learned quiet2) <(learned loud2) || fail "the trained models differ"
echo ok
