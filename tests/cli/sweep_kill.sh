#!/usr/bin/env bash
# kill -9 at random points, twenty times, now the scheduler and now a run: the study's results are
# bit for bit those of a study that nobody disturbed, and two trainers never meet in one folder.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
iso=$(realpath "$B/isodepth")
here=$(dirname "$0")
# shellcheck source=/dev/null
. "$here/sweep_lib.bash"
export ISO_TRAIN_PROGRAM
ISO_TRAIN_PROGRAM=$(realpath "$here/../standin_trainer")
export STANDIN_STEPS=40 STANDIN_SLEEP=0.005
make_data
cd "$tmp" || exit 1
make_grid toy.yaml
"$iso" sweep toy.yaml --no-fit --data data --out quiet >/dev/null 2>&1 || fail "the undisturbed study"
results quiet > want

RANDOM=20261115
kills=0
schedulers=0
tries=0
children() { pgrep -f "standin_trainer train $tmp/loud/"; }
while [ $kills -lt 20 ]; do
    tries=$((tries + 1))
    [ $tries -lt 200 ] || fail "only $kills kills"
    "$iso" sweep toy.yaml --no-fit --data data --out loud --retries 100 >/dev/null 2>>log &
    scheduler=$!
    while [ $kills -lt 20 ]; do
        sleep "0.$((10 + RANDOM % 40))"
        kill -0 $scheduler 2>/dev/null || break
        if [ $((RANDOM % 3)) = 0 ]; then
            kill -9 $scheduler && kills=$((kills + 1)) schedulers=$((schedulers + 1))
            break
        fi
        victim=$(children | shuf -n 1 --random-source=<(yes "$RANDOM"))
        [ -n "$victim" ] && kill -9 "$victim" 2>/dev/null && kills=$((kills + 1))
    done
    wait $scheduler 2>/dev/null
    # Finished before the twentieth kill: a few results go, and it goes on.
    if [ "$(ls loud/runs/*/result.json 2>/dev/null | wc -l)" = 12 ]; then
        rm -r "loud/runs/$(ls loud/runs | shuf -n 1 --random-source=<(yes "$RANDOM"))"
    fi
done
"$iso" sweep toy.yaml --no-fit --data data --out loud --retries 100 > out 2>>log || fail "after 20 kills"
grep -q '12 runs: 12 done' out || fail "all done"
results loud | diff - want || fail "the results differ"
[ ! -e loud/races ] || fail "two trainers in one folder: $(cat loud/races)"
sleep 0.1
[ -z "$(children)" ] || fail "orphans are left"
[ $schedulers -ge 5 ] && [ $((kills - schedulers)) -ge 5 ] || fail "one-sided: $schedulers schedulers"
echo "ok: $schedulers schedulers and $((kills - schedulers)) runs killed in $tries starts"
