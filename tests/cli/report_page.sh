#!/usr/bin/env bash
# The report's page in Chromium, 1280 and 420 pixels wide, light and dark: nothing is wider than its
# place, tables are whole where there is room, texts of figures stay readable; on paper no page but
# the last is half empty, and a table that continues has its head again.
set -eu
. "$(dirname "$0")/top.bash"
. tests/cli/report_lib.bash
need gnuplot chromium pdftoppm python3
paper_data
"$B/isodepth" -q report "$dir/study" --starts 60 --resamples 40 --rates "$dir/rates.csv" --out "$dir/r" \
    --compare "Truncated BPTT=$dir/truncated.csv" --compare "Hyperconnections=$dir/hyper.csv" >/dev/null

# A window is never narrower than 500 pixels, a frame may be.
python3 - "$dir" <<'EOF'
import sys
dir = sys.argv[1]
probe = '''<script>addEventListener('load', function () {
  if (location.hash === '#dark') document.documentElement.classList.add('dark');
  const problems = [];
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) problems.push('the page is ' + wide + ' wide');
  document.querySelectorAll('.scroll, .drawing, table, p, dl, h1, h2, figcaption').forEach(function (e) {
    if (e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)
      problems.push((e.closest('[id]') || e).id + ' ' + e.tagName + ': ' + e.scrollWidth + ' in ' + e.clientWidth);
  });
  document.querySelectorAll('.scroll').forEach(function (e) {
    if (innerWidth > 640 && e.scrollHeight > e.clientHeight + 1)
      problems.push(e.closest('[id]').id + ': ' + e.clientHeight + ' of ' + e.scrollHeight + ' pixels are seen');
  });
  let drawn = 0;
  document.querySelectorAll('.drawing svg').forEach(function (s) {
    const box = s.getBoundingClientRect();
    if (box.width === 0) return;
    drawn++;
    const font = 12 * box.width / s.viewBox.baseVal.width;
    if (font < 8.5) problems.push(s.getAttribute('aria-label') + ': texts of ' + font.toFixed(1) + ' pixels');
  });
  if (drawn !== document.querySelectorAll('figure .drawing').length) problems.push(drawn + ' figures drawn');
  const dark = getComputedStyle(document.body).backgroundColor;
  parent.postMessage(innerWidth + ' wide, page ' + dark + ': ' + (problems.join('; ') || 'none'), '*');
});</script>'''
page = open(f'{dir}/r/report.html', encoding='utf-8').read()
open(f'{dir}/r/probe.html', 'w', encoding='utf-8').write(page.replace('</body>', probe + '</body>', 1))
for width in (1280, 420):
    for theme in ('light', 'dark'):
        open(f'{dir}/r/{width}-{theme}.html', 'w').write(
            f'<body style="margin:0"><pre id="outcome"></pre><script>onmessage = e => '
            f'outcome.textContent += e.data;</script>'
            f'<iframe src="probe.html#{theme}" width="{width}" height="900" style="border:0"></iframe>')
EOF
for width in 1280 420; do
    for theme in light dark; do
        browse --window-size=1400,1000 --virtual-time-budget=5000 --dump-dom \
            "file://$dir/r/$width-$theme.html" >"$dir/dom.html"
        outcome=$(sed -n 's/.*<pre id="outcome">\(.*\)<\/pre>.*/\1/p' "$dir/dom.html")
        case $outcome in
        "$width wide, page rgb("*": none") ;;
        *) fail "$width $theme: ${outcome:-no answer}" ;;
        esac
        echo "$outcome" >>"$dir/outcomes"
    done
done
[ "$(sort -u "$dir/outcomes" | wc -l)" = 4 ] || fail "light and dark are the same"

# On paper: how far down the ink of each page reaches.
browse --no-pdf-header-footer --print-to-pdf="$dir/page.pdf" "file://$dir/r/report.html" >/dev/null
pdftoppm -r 20 -gray "$dir/page.pdf" "$dir/print"
python3 - "$dir"/print-*.pgm <<'EOF' || fail "half-empty printed pages"
import sys
for path in sorted(sys.argv[1:])[:-1]:
    head, size, depth, pixels = open(path, 'rb').read().split(b'\n', 3)
    width, height = map(int, size.split())
    last = max((i // width for i, p in enumerate(pixels) if p < 200), default=0)
    print(f'{path[-8:-4]} filled to {100 * last // height} %')
    if last < height / 2:
        sys.exit(1)
EOF
# The 116 runs take three pages at least: each begins with the names of the columns.
heads=$(pdftotext -layout "$dir/page.pdf" - | grep -c 'budget .* predicted  *residual  *source')
[ "$heads" -ge 3 ] || fail "the table of runs has its head $heads times on paper"
passed
