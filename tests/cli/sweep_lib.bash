# Shared by the tests of studies: a toy corpus, a toy grid of 12 runs, the stand-in trainer.
# Sourced after top.bash.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
iso=$(realpath "$B/isodepth")
standin=$(realpath tests/standin_trainer)

# want TEXT FILE WHAT: the file holds the text.
want() { grep -qF -- "$1" "$2" || { cat "$2"; fail "$3"; }; }

# A packed corpus of a few hundred rows in $tmp/data.
make_data() {
    for i in $(seq 300); do
        echo "Document $i says that $((i * i)) is the square of $i, and $((i * 7)) is seven times it."
        echo
    done > "$tmp/text.txt"
    "$iso" pack "$tmp/text.txt" --out "$tmp/data" --tokenizer bytes --seq-len 32 --val 10% \
        >/dev/null 2>&1 || fail "pack"
}

make_grid() { # FILE [R [BUDGETS WIDTHS]]: 12 runs, or one for each r, budget and width
    cat > "$1" <<END
name: toy
budgets: ${3:-[2e10, 6e10]}
r: ${2:-[1, 2]}
width_unit: 16
widths: ${4:-[1, 2, 3]}
depth: 4
prelude: 1
coda: 1
head: 16
seq_len: 32
vocab: 257
batch_tokens: 512
transfer: {looped_r: 2}
END
}

# The results of a study as text that is equal when they are: one line per run.
results() {
    for d in "$1"/runs/*/; do
        echo "$(basename "$d") $(cat "$d/result.json") $(cksum < "$d/metrics.jsonl")"
    done
}
