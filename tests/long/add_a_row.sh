#!/usr/bin/env bash
# A reader adds a loop mechanism by the words of docs/adding-a-loop.md and a law with two shape
# parameters by those of docs/adding-a-law.md: a copy of the tree gets the pages' own examples, only
# the files that the pages name are touched, and everything is green.
set -eu
. "$(dirname "$0")/../cli/top.bash"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git ls-files -z | xargs -0 tar c | tar x -C "$work"
cd "$work"
git init -q
git add -A
git -c user.name=reader -c user.email=reader@example.org commit -qm before

example() { # PAGE: its first C file, which is indented by eight and begins with a comment
    awk '/^        \/\*/ { on = 1 } on && !/^(        |$)/ { exit } on { print substr($0, 9) }' "$1" |
        sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
}
after() { # FILE LINE TEXT: puts TEXT behind the first line that contains LINE
    awk -v line="$2" -v text="$3" '{ print } !done && index($0, line) { print text; done = 1 }' \
        "$1" >new
    mv new "$1"
}
touched() { # FILE...: these and no others
    [ "$(git status --porcelain -uall | cut -c4- | sort)" = "$(printf '%s\n' "$@" | sort)" ] ||
        fail "touched: $(git status --porcelain)"
}

example docs/adding-a-loop.md >src/loop/loop_gated.c
grep -q iso_loop_gated src/loop/loop_gated.c || fail "no example in docs/adding-a-loop.md"
after src/loop/loop.h 'extern const struct iso_loop_ops *const iso_loops' \
    'extern const struct iso_loop_ops iso_loop_gated;'
after src/loop/loop_table.c '&iso_loop_linear,' '    &iso_loop_gated,'

example docs/adding-a-law.md >src/fit/law_bent.c
grep -q iso_law_bent src/fit/law_bent.c || fail "no example in docs/adding-a-law.md"
after src/fit/law.h 'iso_law_looped_offset;' 'extern const struct iso_law iso_law_bent;'
sed -i 's/ NULL,$/ \&iso_law_bent, NULL,/' src/fit/law.c
touched src/loop/loop_gated.c src/loop/loop.h src/loop/loop_table.c src/fit/law_bent.c \
    src/fit/law.h src/fit/law.c
clang-format -i src/fit/law.c src/loop/loop_table.c # tables are set in columns

make -j2 all >log 2>&1 || fail "build: $(tail -20 log)"
git add -A # lint looks at the files that git knows
make lint >log 2>&1 || fail "lint: $(tail -20 log)"
for test in tests/grad/test_model_grad.c tests/unit/test_model.c tests/unit/test_law.c \
    tests/unit/test_fit.c; do
    make check-one T=$test >log 2>&1 || fail "$test: $(tail -20 log)"
done
build/isodepth plan --shape r=4,s=10,loop=gated >log || fail "plan --shape"
grep -q 'gated' log || fail "plan --shape says: $(cat log)"

# The worth is the new law's: the page, the JSON and the row's own formula agree.
runs=examples/paper_baseline.csv
build/isodepth fit $runs --law bent --resamples 0 >page || fail "fit --law bent"
build/isodepth fit $runs --law bent --resamples 0 --json >json || fail "fit --law bent --json"
python3 - <<'END' || fail "what a block is worth: $(head -3 page)"
import json, math, re
f = json.load(open("json"))
at = {p["name"]: p["value"] for p in f["diagnostics"]["parameters"]}
r, said = re.search(r"A block looped (\d+) times is worth ([\d.]+) unique blocks", open("page").read()).groups()
l = math.log(int(r))
worth = math.exp(at["phi"] * l + at["chi"] * l * l)
row = [e for e in f["derived"]["equivalents"] if e["r"] == int(r)][0]
assert abs(row["blocks"] - worth) < 1e-9, (row, worth)
assert said == f"{worth:.2f}", (said, worth)
END

# The law test can fail: a second derivative without its factor.
sed -i 's/d2\[0\]\[1\] = l \* l2/d2[0][1] = l2/' src/fit/law_bent.c
if make check-one T=tests/unit/test_law.c >log 2>&1; then fail "a wrong second derivative passed"; fi
grep -q 'law bent, r = .*second derivative' log || fail "a wrong law says: $(tail -20 log)"

# The gradient check can fail: a backward of something else.
sed -i 's/mul_rows(dS, p->w\[0\], du/mul_rows(dS, p->w[0], S/' src/loop/loop_gated.c
if make check-one T=tests/grad/test_model_grad.c >log 2>&1; then fail "a wrong gradient passed"; fi
grep -q 'gated, ' log || fail "a wrong gradient says: $(tail -20 log)"
echo "add_a_row: a loop mechanism and a law by the words of their pages"
