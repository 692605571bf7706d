#!/usr/bin/env bash
# all.tex of isodepth report --paper compiles with pdflatex as it is, with no reference or file missing.
set -eu
. "$(dirname "$0")/../cli/top.bash"
. tests/cli/report_lib.bash
need gnuplot python3 pdflatex
kpsewhich booktabs.sty >/dev/null || skip "texlive-latex-recommended is not installed"
paper_data
"$B/isodepth" -q report "$dir/study" --starts 100 --resamples 40 --paper --out "$dir/r" \
    --rates "$dir/rates.csv" --beyond "$dir/beyond" \
    --compare "Truncated_BPTT 100%=$dir/truncated.csv" --compare "Hyper & {lanes}=$dir/hyper.csv" >/dev/null
# The tables of the page compile, too.
for t in "$dir/r/tables"/*.tex; do
    printf '\\clearpage\\noindent\\resizebox{\\textwidth}{!}{\\input{%s}}\n' "$t"
done >"$dir/tables"
cd "$dir/r/paper"
sed -i "/begin{document}/r $dir/tables" all.tex
for pass in 1 2; do
    pdflatex -halt-on-error -interaction=nonstopmode all.tex >"$dir/log" || { tail -n 20 "$dir/log"; fail "pass $pass"; }
done
! grep -E 'Overfull .hbox|undefined|Missing|not found' all.log || fail "see above"
pages=$(sed -n 's/^Output written on all.pdf (\([0-9]*\) pages.*/\1/p' "$dir/log")
[ "$pages" -ge 8 ] || fail "$pages pages"
echo "paper_tex: $pages pages"
