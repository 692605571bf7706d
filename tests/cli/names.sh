#!/usr/bin/env bash
# Names and texts from outside: none is run by a tool, none reaches a terminal as a command to it.
set -eu
. "$(dirname "$0")/top.bash"
I=$(realpath "$B/isodepth")
runs=$PWD/examples/paper_baseline.csv
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
esc=$'\033'

# A path that is a gnuplot command, were it in a script: quotes, line ends, shell escapes.
if command -v gnuplot >/dev/null; then
    for out in $'a\n!touch x #' "it's" $'b\'\nsystem "touch x"\n#' $'%s`touch x`$(touch x)'; do
        "$I" -q report "$runs" --starts 5 --resamples 0 --out "$out" >/dev/null 2>log ||
            fail "report --out $out: $(cat log)"
        [ ! -e x ] || fail "the name of a folder was run: $out"
        [ -s "$out/figures/worth.pdf" ] && [ -s "$out/figures/worth.svg" ] || fail "no figures in $out"
        [ -z "$(find "$out" -name '*.tmp')" ] || fail "left over: $(find "$out" -name '*.tmp')"
    done
    # A run's name is a text in the figures.
    grep -v '^#' "$runs" | awk '{ print NR == 1 ? "run," $0 : "\"it'"'"'s\n!touch x #" NR "\"," $0 }' >named.csv
    "$I" -q report named.csv --starts 5 --resamples 0 --out named >/dev/null 2>log || fail "$(cat log)"
    [ ! -e x ] || fail "the name of a run was run"
fi

# Metadata, tensor names, run names, messages.
python3 - <<'PY'
import json, struct
head = json.dumps({"__metadata__": {"k\x1b[2J": "v\x1b]0;title\x07 \u009b31m é"},
                   "t\x1b[31m": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
open("evil.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + b"\0\0\0\0")
PY
"$I" inspect evil.safetensors >out 2>&1 || fail "inspect: $(cat -v out)"
! grep -q "$esc\|"$'\302\233' out || fail "inspect lets escapes through: $(cat -v out)"
grep -qF 'k\x1b[2J: v\x1b]0;title\x07 \xc2\x9b31m é' out || fail "inspect says: $(cat -v out)"
grep -qF 't\x1b[31m' out || fail "inspect says: $(cat -v out)"
"$I" inspect "no${esc}[2Jfile" >out 2>&1 && fail "no file"
! grep -q "$esc" out && grep -qF 'no\x1b[2Jfile' out || fail "an error lets escapes through: $(cat -v out)"
"$I" inspect $'no\nisodepth: all is well' >out 2>&1 && fail "no file"
[ "$(grep -c '^isodepth: ' out)" = 1 ] || fail "a name forges a message: $(cat out)"
awk -F, -v OFS=, '/^#/ {next} {print (NR == 1 || $1 == "budget" ? "run" : "n\033[31m" NR), $0}' "$runs" >ansi.csv
"$I" fit ansi.csv --starts 5 --resamples 0 >out 2>&1 || fail "fit: $(cat -v out)"
! grep -q "$esc" out || fail "fit lets escapes through: $(grep "$esc" out | head -3 | cat -v)"

# A column and its values, in the pages and in JSON; a fit's own word about itself.
awk -F, -v OFS=, '/^#/ {next} {print ($1 == "budget" ? "g\033]0;x\007" : NR % 2 ? "a\033[31m" : "b\302\233"), $0}' \
    "$runs" >group.csv
group=$'g\033]0;x\007'
shown() { # COMMAND...: prints no sequence but bold, which is off here
    "$I" "$@" >out 2>&1 || fail "$1: $(cat -v out)"
    ! grep -q "$esc\|"$'\302\233' out || fail "$1 lets escapes through: $(grep "$esc" out | head -3 | cat -v)"
}
shown fit group.csv --by "$group" --starts 5 --resamples 0
grep -qF 'for each g\x1b]0;x\x07' out || fail "fit --by says: $(cat -v out)"
shown compare group.csv --group "$group" --starts 5
shown compare group.csv --group "$group" --starts 5 --json
grep -qF 'b\u009b' out || fail "compare --json says: $(cat -v out)"
"$I" fit "$runs" --starts 5 --resamples 0 --json | sed 's/"trust": "[a-z]*"/"trust": "\\u001b[31mgood"/' >fit.json
"$I" predict fit.json "$runs" >out 2>&1 || fail "predict: $(cat -v out)"
grep -qF 'checks of the fit say: \x1b[31mgood' out || fail "predict says: $(cat -v out)"

# A grid whose name has a line end: its study can be read.
echo 'a few words to pack and to plan with, twice and more than twice' >text.txt
"$I" -q pack text.txt --out data --tokenizer bytes --seq-len 8 --val 20% >out 2>&1 || fail "pack: $(cat out)"
cat >$'grid\nvocab: 3' <<'END'
{budgets: [1e8], r: [1], widths: [1], width_unit: 16, depth: 4, prelude: 1, coda: 1, head: 16, seq_len: 8,
 vocab: 257, batch_tokens: 16}
END
ISO_TRAIN_PROGRAM=/no/such "$I" -q sweep $'grid\nvocab: 3' --data data --out study >out 2>&1 && fail "no trainer"
"$I" plan study/grid.yaml >out 2>&1 || fail "a line end in the grid's name: $(cat out)"
echo "names: none was obeyed"
