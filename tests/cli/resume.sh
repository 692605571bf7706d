#!/usr/bin/env bash
# resume: a run that is killed again and again, at any moment, ends with the same bytes as one
# that was never touched; a full disk leaves the last state whole.
set -eu
. "$(dirname "$0")/top.bash"
. tests/cli/train_lib.bash
small_text 400
small_run 512 120 64
echo "save_every: 7" >>run.yaml
echo "validate_every: 50" >>run.yaml

"$I" -q train run.yaml --out whole --threads 2

# kill -9 at random moments until it is done; a time limit prevents an endless loop.
kills=0
while [ ! -e cut/result.json ]; do
    "$I" -q train run.yaml --out cut --threads 2 &
    pid=$!
    sleep "0.$((RANDOM % 6 + 1))"
    if [ $kills -lt 8 ]; then
        if kill -9 $pid 2>/dev/null; then kills=$((kills + 1)); fi
    fi
    wait $pid 2>/dev/null || true
    [ $SECONDS -lt 120 ] || fail "not done after $kills kills"
done
cmp whole/model.safetensors cut/model.safetensors || fail "weights differ after $kills kills"
[ "$(losses whole/metrics.jsonl)" = "$(losses cut/metrics.jsonl)" ] || fail "losses differ"
for key in '"loss"' '"flops"' '"steps"'; do
    [ "$(grep "$key" whole/result.json)" = "$(grep "$key" cut/result.json)" ] || fail "$key differs"
done

# Ctrl-C is the same, with exit code 3.
stopped_run soft --threads 2 --set save_every=0
cmp whole/model.safetensors soft/model.safetensors || fail "weights differ after SIGTERM"

# A signal before the first step, and one in the last validation.
"$I" -q train run.yaml --out early --threads 2 2>log &
pid=$!
while [ ! -e early/.lock ]; do sleep 0.002; done
kill -TERM $pid
code=0; wait $pid || code=$?
[ $code = 3 ] || fail "a signal before the first step gave exit code $code: $(cat log)"
"$I" pack text.txt -t bytes -T 64 --val 60% -o much >/dev/null
"$I" train run.yaml --data much --out late --threads 1 --set steps=5 --set save_every=0 \
    --set validate_every=0 --set d_model=128 >log 2>&1 &
pid=$!
for _ in $(seq 2000); do [ "$(wc -l 2>/dev/null <late/metrics.jsonl)" = 5 ] && break; sleep 0.002; done
kill -TERM $pid
code=0; wait $pid || code=$?
[ $code = 3 ] || fail "a signal in the last validation gave exit code $code: $(cat log)"
grep -q 'stopped after step 5 of 5' log || fail "a signal in the last validation says: $(cat log)"
"$I" inspect late >/dev/null || fail "the steps were not saved"

# A full disk (here: a limit on file sizes) is a clear error; the last state stays.
"$I" -q train run.yaml --out disk --threads 2 --set steps=100000 --set save_every=20 2>/dev/null &
pid=$!
for _ in $(seq 200); do [ -s disk/latest ] && break; sleep 0.1; done
kill -TERM $pid
wait $pid || true
before=$(cat disk/latest) states=$(ls -d disk/checkpoint-*)
code=0
(ulimit -f 100; trap '' XFSZ
 exec "$I" -q train run.yaml --out disk --threads 2 --set steps=100000 --set save_every=20) 2>log || code=$?
[ $code = 1 ] || fail "a full disk gave exit code $code"
grep -q 'cannot write' log || fail "a full disk says: $(cat log)"
[ "$(cat disk/latest)" = "$before" ] || fail "latest moved"
[ "$(ls -d disk/checkpoint-*)" = "$states" ] || fail "half a state is left: $(ls disk)"
"$I" inspect disk >/dev/null || fail "the last state is damaged"
echo "resume: $kills kills, $stops stops, the same bytes"
