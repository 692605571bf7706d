#!/usr/bin/env bash
# isodepth report: the files it writes, and the page in a real browser (headless Chromium):
# nothing from the network, no script errors, sortable tables, hover values, light and dark.
set -eu
. "$(dirname "$0")/top.bash"
. tests/cli/report_lib.bash
need gnuplot chromium python3
isodepth=$B/isodepth
runs=examples/paper_baseline.csv

# A second recipe: the looped runs of the lower budgets, each a little better.
awk -F, -v OFS=, '/^#/ {next} $1 == "budget" || ($3 > 1 && $1 < 6e18) {
    if ($1 != "budget") $9 = sprintf("%.5f", $9 - 0.015 * log($3) / log(2)); print }' \
    "$runs" >"$dir/better_loops.csv"

out=$("$isodepth" -q report "$runs" --compare "$dir/better_loops.csv" --starts 30 --resamples 40 \
    --out "$dir/r")
page=$dir/r/report.html
[ "$out" = "$page" ] || fail "printed '$out' instead of the path"

# 1. Files: all there, none half-written, each figure twice.
for f in fit.json compare.json runs.csv; do
    [ -s "$dir/r/$f" ] || fail "$f is missing"
done
python3 -m json.tool "$dir/r/fit.json" >/dev/null || fail "fit.json is not JSON"
figures="worth frontier isoflops allocation quality residuals phi forest compare-delta
compare-isoflops compare-quality"
for f in $figures; do
    head -c 5 "$dir/r/figures/$f.pdf" | grep -q '%PDF-' || fail "figures/$f.pdf is no PDF"
    python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' \
        "$dir/r/figures/$f.svg" || fail "figures/$f.svg is no XML"
    grep -q "id=\"fig-$f\"" "$page" || fail "figure $f is not on the page"
done
for t in law residuals runs compare; do
    grep -q toprule "$dir/r/tables/$t.tex" || fail "tables/$t.tex is missing"
done
[ -z "$(find "$dir/r" -name '*tmp*' -o -name '*.gnuplot*')" ] || fail "temporary files remain"
grep -q 'Compute-optimal frontier (law joint)' "$page" || fail "a frontier without the name of its law"
for id in worth checks compare frontier isoflops allocation phi quality runs method provenance; do
    grep -q "<section id=\"$id\">" "$page" || fail "section $id is missing"
    grep -q "href=\"#$id\"" "$page" || fail "section $id is not in the contents"
done
! grep -oE '(src|href)="[a-z]+:[^"]|https?:|url\(|@import' "$page" | grep -v 'href="data:,' ||
    fail "the page refers to the network"
# Published (SciPy agrees): phi = 0.458 on this file.
grep -q 'class="phi">φ = 0.45[78]' "$page" || fail "the headline is not phi = 0.458"
# The words and numbers of `fit`: verdict, word of trust, checks.
"$isodepth" -q fit "$runs" --starts 30 --resamples 40 >"$dir/fit.page"
grep -qF "<p class=\"verdict\">$(sed -n 2p "$dir/fit.page")</p>" "$page" || fail "another verdict than the fit's"
grep -q "class=\"phi\">.*trust: <b>$(sed -n '1s/.*trust: \([a-z]*\).*/\1/p' "$dir/fit.page")</b>" "$page" ||
    fail "the word of trust is not on the first screen"
while read -r line; do
    grep -qF "<p class=\"verdict\">$line</p>" "$page" || fail "the page lacks '$line'"
done < <(grep '^Caution, ' "$dir/fit.page")

# 2. In the browser.  A copy gets two scripts: one that collects errors before everything else,
# one that uses the page as a reader would and writes down what happened.
cat >"$dir/first.html" <<'EOF'
<script>window.problems = []; addEventListener('error', e => problems.push(e.message));</script>
EOF
cat >"$dir/last.html" <<'EOF'
<script>
(function () {
  const said = [];
  function check(name, ok) { if (!ok) problems.push(name); said.push(name); }
  const table = document.querySelector('#table-runs table');
  const loss = Array.from(table.tHead.rows[0].cells).findIndex(c => /^loss/.test(c.textContent));
  const column = () => Array.from(table.tBodies[0].rows).map(r => Number(r.cells[loss].textContent));
  const sorted = (x, sign) => x.every((v, i) => i === 0 || sign * (v - x[i - 1]) >= 0);
  check('unsorted at first', !sorted(column(), 1));
  const button = table.tHead.rows[0].cells[loss].querySelector('button');
  button.click();
  check('sorted up', sorted(column(), 1) && column().length === 116);
  button.click();
  check('sorted down', sorted(column(), -1));
  const big = Array.from(table.tHead.rows[0].cells).findIndex(c => /^tokens/.test(c.textContent));
  table.tHead.rows[0].cells[big].querySelector('button').click();
  const text = Array.from(table.tBodies[0].rows).map(r => r.cells[big].textContent);
  check('units count', /M$/.test(text[0]) && /B$/.test(text[text.length - 1]));

  const tip = document.getElementById('tip');
  const circle = Array.from(document.querySelectorAll('#fig-isoflops .hover circle'))
    .find(c => c.getBoundingClientRect().width > 0); // of the drawing that this window shows
  const box = circle.getBoundingClientRect();
  circle.ownerSVGElement.dispatchEvent(new PointerEvent('pointermove', {bubbles: true,
    clientX: box.left + box.width / 2, clientY: box.top + box.height / 2}));
  check('hover shows a value', tip.style.display === 'block' && /[0-9.]+ nats/.test(tip.textContent));
  circle.ownerSVGElement.dispatchEvent(new PointerEvent('pointerleave'));
  check('hover ends', tip.style.display === 'none');
  document.querySelectorAll('.drawing svg').forEach(s => check('drawn ' + s.getAttribute('aria-label'),
    s.querySelectorAll('path').length > 4 && s.querySelector('text')));

  const colour = () => getComputedStyle(document.body).backgroundColor;
  const ink = () => getComputedStyle(document.querySelector('#fig-phi svg polygon, #fig-phi svg path')).stroke +
    getComputedStyle(document.querySelector('#fig-isoflops svg use')).color;
  const before = colour(), inkBefore = ink();
  document.getElementById('theme').click();
  check('theme changes the page', colour() !== before);
  check('theme changes the drawings', ink() !== inkBefore);
  document.getElementById('theme').click();
  check('theme changes back', colour() === before && ink() === inkBefore);
  check('fits the window', document.documentElement.scrollWidth <= innerWidth);
  const ids = Array.from(document.querySelectorAll('[id]')).map(e => e.id);
  check('ids are unique', new Set(ids).size === ids.length);
  const pre = document.createElement('pre');
  pre.id = 'outcome';
  pre.textContent = said.length + ' checks, problems: ' + (problems.join('; ') || 'none');
  document.body.append(pre);
})();
</script>
EOF
python3 - "$page" "$dir" <<'EOF'
import sys
page, tmp = open(sys.argv[1], encoding='utf-8').read(), sys.argv[2]
first, last = (open(f'{tmp}/{n}.html').read() for n in ('first', 'last'))
open(f'{tmp}/r/test.html', 'w', encoding='utf-8').write(
    page.replace('<head>', '<head>' + first, 1).replace('</body>', last + '</body>', 1))
EOF
for width in 1100 500; do
    browse --window-size=$width,900 --virtual-time-budget=5000 --dump-dom \
        "file://$dir/r/test.html" >"$dir/dom.html"
    outcome=$(sed -n 's/.*<pre id="outcome">\(.*\)<\/pre>.*/\1/p' "$dir/dom.html")
    case $outcome in
    *"checks, problems: none") ;;
    *) fail "in a window $width wide: ${outcome:-the test script did not finish}" ;;
    esac
done

# 3. Light and dark, as the system asks: mean brightness of the screenshots.
browse --window-size=500,400 --screenshot="$dir/light.png" "file://$page" >/dev/null
browse --window-size=500,400 --force-dark-mode --blink-settings=preferredColorScheme=0 \
    --screenshot="$dir/dark.png" "file://$page" >/dev/null
python3 - "$dir/light.png" "$dir/dark.png" <<'EOF' || fail "light and dark look wrong"
import struct, sys, zlib
def brightness(path):
    data, at, idat = open(path, 'rb').read(), 8, b''
    while at < len(data):
        size, kind = struct.unpack('>I4s', data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        if kind == b'IHDR':
            width, height, depth, colour = struct.unpack('>IIBB', body[:10])
        if kind == b'IDAT':
            idat += body
        at += 12 + size
    bpp = {2: 3, 6: 4}[colour]
    raw, stride, total = zlib.decompress(idat), width * bpp, 0
    row = bytearray(stride)
    for y in range(height):
        how, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for x in range(stride):
            a = line[x - bpp] if x >= bpp else 0
            b, c = row[x], row[x - bpp] if x >= bpp else 0
            if how == 1: line[x] = (line[x] + a) & 255
            elif how == 2: line[x] = (line[x] + b) & 255
            elif how == 3: line[x] = (line[x] + (a + b) // 2) & 255
            elif how == 4:
                p = a + b - c
                pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
                line[x] = (line[x] + (a if pa <= pb and pa <= pc else b if pb <= pc else c)) & 255
        row = line
        total += sum(row[0::bpp]) + sum(row[1::bpp]) + sum(row[2::bpp])
    return total / (3 * width * height)
light, dark = brightness(sys.argv[1]), brightness(sys.argv[2])
print(f'brightness {light:.0f} light, {dark:.0f} dark')
sys.exit(not (light > 220 and dark < 60))
EOF

# 4. Same input, same bytes.
"$isodepth" -q report "$runs" --compare "$dir/better_loops.csv" --starts 30 --resamples 40 --threads 1 \
    --out "$dir/again" >/dev/null
for f in fit.json compare.json runs.csv tables figures; do
    diff -rq "$dir/r/$f" "$dir/again/$f" || fail "$f differs from run to run"
done

# 5. Without gnuplot: a warning with the remedy, and the report with its tables.
mkdir "$dir/bin"
PATH=$dir/bin "$isodepth" report "$runs" --starts 30 --resamples 0 --out "$dir/bare" >/dev/null \
    2>"$dir/warning" || fail "without gnuplot it fails"
grep -q 'apt-get install gnuplot-nox' "$dir/warning" || fail "no remedy for a missing gnuplot"
[ "$(grep -c gnuplot "$dir/warning")" = 1 ] || fail "the warning is repeated"
grep -q 'class="missing" id="fig-isoflops"' "$dir/bare/report.html" || fail "missing figure unsaid"
grep -q 'id="table-runs"' "$dir/bare/report.html" || fail "no tables without gnuplot"

# 6. One budget: neither phi nor its change is determined, and no verdict is given.
awk -F, '/^#/ {next} $1 == "budget" || $1 + 0 == 1e18' "$runs" >"$dir/one.csv"
awk -F, -v OFS=, '$3 > 1 && NR > 1 {$9 *= 0.98} {print}' "$dir/one.csv" >"$dir/one_better.csv"
"$isodepth" -q report "$dir/one.csv" --compare "$dir/one_better.csv" --starts 30 --out "$dir/one" >/dev/null
grep -q 'class="phi">φ is not determined' "$dir/one/report.html" || fail "one budget gives a phi"
grep -q 'one_better: undecided, phi is not determined' "$dir/one/report.html" || fail "one budget gives a verdict"
! grep -qw 'nan' "$dir/one/report.html" || fail "nan on the page"

# 7. A study with a slash behind it has its name as the title.
mkdir "$dir/study"
cp "$runs" "$dir/study/runs.csv"
"$isodepth" -q report "$dir/study/" --starts 30 --resamples 0 --out "$dir/slash" >/dev/null
grep -q '<h1>study · ' "$dir/slash/report.html" || fail "the title of study/"

# 8. Mistakes.
expect() { # CODE TEXT ARGS...
    local code=$1 text=$2 got=0
    shift 2
    "$isodepth" report "$@" >/dev/null 2>"$dir/said" || got=$?
    [ "$got" = "$code" ] || fail "report $*: exit $got instead of $code"
    grep -qF -- "$text" "$dir/said" || fail "report $*: said '$(cat "$dir/said")'"
}
expect 2 "--out DIR" "$runs"
expect 2 "found \"jont\". Did you mean joint?" "$runs" --out "$dir/x" --law jont
expect 2 "--injection: expected" "$runs" --out "$dir/x" --injection twice
expect 2 "would overwrite its input" "$dir/study" --out "$dir/study/../study"
expect 2 "would overwrite its input" "$runs" --rates "$dir/study" --out "$dir/study"
expect 2 "would overwrite its input" "$runs" --beyond "$dir/study" --paper --out "$dir/study"
cmp "$runs" "$dir/study/runs.csv" || fail "the input was overwritten"
expect 1 "column n_embed: --embeddings needs it" "$runs" --out "$dir/x" --embeddings
expect 1 "no-such.csv" "$dir/no-such.csv" --out "$dir/x"
expect 1 "$dir/said: cannot make the directory" "$runs" --starts 30 --resamples 0 --out "$dir/said/x"
passed
