#!/usr/bin/env bash
# Help, man pages and completion: all from the command tables, whatever is in them.
set -u
. "$(dirname "$0")/top.bash"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
iso=$(realpath "$B/isodepth")

# Every command that the overview lists has pages that look right at any width.
unset COLUMNS
"$iso" help > "$tmp/overview" || fail "overview"
sed -n 's/^  \([a-z]\+\( [a-z]\+\)\?\)  .*/\1/p' "$tmp/overview" > "$tmp/commands"
[ "$(wc -l < "$tmp/commands")" -ge 20 ] || fail "the overview lists $(wc -l < "$tmp/commands") commands"
for screen in 60 80 100 120; do
    width=$((screen < 100 ? screen : 100)) # longer lines are hard to read
    COLUMNS=$screen "$iso" > "$tmp/pages"
    while read -r command; do
        echo
        # shellcheck disable=SC2086 # a command may be two words
        COLUMNS=$screen "$iso" help $command || fail "help $command"
    done < "$tmp/commands" >> "$tmp/pages"
    python3 tests/cli/help_layout.py $width < "$tmp/pages" || fail "the layout at $screen columns"
done
COLUMNS=80 "$iso" help fit > "$tmp/80"
"$iso" help fit | cmp - "$tmp/80" || fail "a pipe has 80 columns"
[ "$("$iso" fit --help)" = "$("$iso" help fit)" ] || fail "--help is help"
"$iso" help fit | grep -q 'usage: isodepth fit' || fail "usage"
printf 'Head\n  a  one\n     two\n' | python3 tests/cli/help_layout.py 60 || fail "a list of two entries"
for bad in 'short line\nthat ends early' 'Head\n  a   text that\n          ends early'; do
    printf "$bad\n" | python3 tests/cli/help_layout.py 60 >/dev/null && fail "the layout check found nothing"
done

# The default is the value of the struct that the command starts with.
for words in '--delta X .*(default: 0.001)' '--starts N .*(default: 500)' '--threads N .*(default: all cores)'; do
    COLUMNS=100 "$iso" help fit | grep -q -- "$words" || fail "help fit lacks $words"
done

# The names that an option accepts: the help lists them, a wrong one is answered with them, the
# completion offers them.  Lines: command|option|names.
"$iso" completion > "$tmp/completion"
bash -n "$tmp/completion" || fail "completion script"
. "$tmp/completion"
sed -n 's/^        "\([a-z ]*\)".*; case \$before in\( .*\) esac ;;/\1|\2/p' "$tmp/completion" |
    while IFS='|' read -r command rest; do
        echo "$rest" | grep -o -- '--[a-z-]*) names="[^"]*"' |
            sed "s/--\([a-z-]*\)) names=\"\(.*\)\"/$command|\1|\2/"
    done > "$tmp/choices"
complete_line() { # WORD...: what is offered for the last word
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _isodepth
    echo "${COMPREPLY[*]}"
}
[ "$(wc -l < "$tmp/choices")" -ge 8 ] || fail "only $(wc -l < "$tmp/choices") choices"
while IFS='|' read -r command option names; do
    # shellcheck disable=SC2086 # a command may be two words
    words=$("$iso" help $command | tr -s ' \n' '  ')
    list=$(echo "$names" | sed 's/ /, /g; s/\(.*\), /\1 or /')
    case $words in *"--$option "*": $list"*) ;; *) fail "help $command: --$option lacks $list" ;; esac
    # shellcheck disable=SC2086
    "$iso" $command --$option nonsense 2>"$tmp/err"
    [ $? = 2 ] && grep -q -- "--$option: expected $list, found \"nonsense\"" "$tmp/err" ||
        fail "$command --$option nonsense: $(cat "$tmp/err")"
    # shellcheck disable=SC2086
    [ "$(complete_line isodepth $command --$option '')" = "$names" ] || fail "completion of --$option"
    # shellcheck disable=SC2086
    [ "$(complete_line isodepth $command --$option = '')" = "$names" ] || fail "completion of --$option="
done < "$tmp/choices"
"$iso" fit runs.csv --law jont 2>"$tmp/err"
[ $? = 2 ] && grep -q 'found "jont". Did you mean joint?$' "$tmp/err" || fail "nearest name"
"$iso" fit runs.csv --law 2>"$tmp/err"
[ $? = 2 ] && grep -q -- '--law needs a value: --law NAME' "$tmp/err" || fail "no value"

[ "$(complete_line isodepth tok)" = tokenizer ] || fail "completion of a first word"
[ "$(complete_line isodepth -q pl)" = plan ] || fail "completion behind -q"
[ "$(complete_line isodepth tokenizer tr)" = train ] || fail "completion of a second word"
[ "$(complete_line isodepth tokenizer train --voc)" = --vocab ] || fail "completion of an option"
[ "$(cd grids && complete_line isodepth plan dem)" = demo.yaml ] || fail "completion of a file"

# Man pages: one for each command, clean, with what the help says.
"$iso" man "$tmp/man" || fail "man"
while read -r command; do
    [ -s "$tmp/man/isodepth-${command// /-}.1" ] || fail "no man page of $command"
done < "$tmp/commands"
if command -v mandoc >/dev/null; then
    mandoc -T lint -W error "$tmp"/man/*.1 || fail "man pages are not clean"
    mandoc -T utf8 -O width=80 "$tmp/man/isodepth-fit.1" | col -b | tr -s ' \n' '  ' > "$tmp/fit.txt"
    for words in 'random starts of every fit (default: 500)' 'LAWS\|Laws'; do
        grep -q -- "$words" "$tmp/fit.txt" || fail "the man page of fit lacks $words"
    done
fi
echo ok
