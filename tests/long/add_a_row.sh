#!/usr/bin/env bash
# A reader adds a loop mechanism by the words of docs/adding-a-loop.md: a copy of the tree gets the
# page's own example, only the files that the page names are touched, and everything is green.
set -eu
fail() { echo "FAIL: $*"; exit 1; }
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
touched src/loop/loop_gated.c src/loop/loop.h src/loop/loop_table.c

make -j2 all >log 2>&1 || fail "build: $(tail -20 log)"
git add -A # lint looks at the files that git knows
make lint >log 2>&1 || fail "lint: $(tail -20 log)"
for test in tests/grad/test_model_grad.c tests/unit/test_model.c; do
    make check-one T=$test >log 2>&1 || fail "$test: $(tail -20 log)"
done
build/isodepth plan --shape r=4,s=10,loop=gated >log || fail "plan --shape"
grep -q 'gated' log || fail "plan --shape says: $(cat log)"

# The gradient check can fail: a backward that forgets the gate.
sed -i '/p->kern->mul_rows(dS/d' src/loop/loop_gated.c
if make check-one T=tests/grad/test_model_grad.c >log 2>&1; then fail "a wrong gradient passed"; fi
grep -q 'gated, ' log || fail "a wrong gradient says: $(tail -20 log)"
echo "add_a_row: a loop mechanism by the words of its page"
