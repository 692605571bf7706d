#!/usr/bin/env bash
# The figures of a report say what its JSON says: marks, curves and exponents are read back out of
# the SVGs, by the axes' own texts, and compared with fit-by-r.json and compare.json.
set -eu
. "$(dirname "$0")/top.bash"
for tool in gnuplot python3; do
    command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "report_figures: $1" >&2; exit 1; }

runs=examples/paper_baseline.csv
awk -F, -v OFS=, '/^#/ {next} $1 == "budget" || ($3 > 1 && $1 < 6e18) {
    if ($1 != "budget") $9 = sprintf("%.5f", $9 - 0.015 * log($3) / log(2)); print }' \
    "$runs" >"$dir/better_loops.csv"
"$B/isodepth" -q report "$runs" --compare "$dir/better_loops.csv" --starts 60 --resamples 40 --out "$dir/r" >/dev/null
"$B/isodepth" -q fit "$runs" --law chinchilla --by r --resamples 0 --json >"$dir/by-r.json"

python3 - "$dir" <<'EOF' || fail "the figures and the JSON differ"
import json, math, re, sys
dir = sys.argv[1]
fits = json.load(open(f'{dir}/r/fit-by-r.json'))['fits']
compare = json.load(open(f'{dir}/r/compare.json'))
problems = []
def near(what, a, b, tolerance):
    if not abs(a - b) <= tolerance:
        problems.append(f'{what}: {a} instead of {b}')

# The laws of each r: those of the command, and the exponents that the paper prints.
own = json.load(open(f'{dir}/by-r.json'))['fits']
for a, b in zip(fits, own, strict=True):
    for key in ('r', 'A', 'alpha', 'B', 'beta', 'E'):
        near(f"{key} of r = {b['r']}", a[key], b[key], 1e-6 * abs(b[key]))
exponents = [f['derived']['frontier_exponents'][0]['n_exponent'] for f in fits]
for got, published in zip(exponents, (0.495, 0.623, 0.668, 0.599), strict=True):
    near('exponent of N*', got, published, 0.0006)
top = fits[0]['derived']
near('N* of r = 1 on the line, in millions', top['frontier'][-1]['n'] / 1e6, 545, 45)
near('N* of r = 1 at the mark, in millions', top['parabolas'][-1]['n'] / 1e6, 545, 1)

units = {'K': 1e3, 'M': 1e6, 'B': 1e9}
def number(text):
    text = text.replace('−', '-')
    m = re.fullmatch(r'(?:([\d.]+)·)?10\^(\d+)', text)
    if m:
        return float(m[1] or 1) * 10 ** int(m[2])
    m = re.fullmatch(r'(-?[\d.]+)([KMB]?)', text)
    return float(m[1]) * units.get(m[2], 1) if m else None

class Drawing:
    """Texts, marks and titles of an SVG, in pixels."""
    def __init__(self, name):
        svg = open(f'{dir}/r/figures/{name}.svg', encoding='utf-8').read()
        self.texts = []
        for x, y, turn, body in re.findall(
                r'<g transform="translate\(([-\d.]+),([-\d.]+)\)( rotate[^"]*)?"[^>]*>\s*'
                r'<text[^>]*>(.*?)</text>', svg, re.S):
            body = re.sub(r'<tspan[^>]*dy="-[^>]*>(.*?)</tspan>', r'^\1', body)
            text = re.sub(r'<[^>]*>', '', body).strip()
            if text and not turn:
                self.texts.append((float(x), float(y), text))
        self.marks = [(float(x), float(y), (int(r), int(g), int(b))) for x, y, r, g, b in re.findall(
            r"<use xlink:href='#gpPt\d+' transform='translate\(([-\d.]+),([-\d.]+)\)[^']*' "
            r"color='rgb\(\s*(\d+),\s*(\d+),\s*(\d+)\)'", svg)]
        self.titles = re.findall(r'<circle [^>]*><title>(.*?)</title>', svg, re.S)
    def ticks(self, axis, x0, x1, y0, y1):
        """Where numbers stand on an axis, from the texts in a box."""
        return sorted((x if axis == 'x' else y - 3.9, number(t)) for x, y, t in self.texts
                      if x0 <= x <= x1 and y0 <= y <= y1 and number(t) is not None)

def scale(ticks, log):
    """Pixels to values, by the two outermost ticks; the others must agree."""
    f, g = (math.log, math.exp) if log else (float, float)
    (p0, v0), (p1, v1) = ticks[0], ticks[-1]
    value = lambda p: g(f(v0) + (f(v1) - f(v0)) * (p - p0) / (p1 - p0))
    for p, v in ticks:
        near('a tick', value(p), v, 0.02 * abs(v) if log else 0.02 * abs(v1 - v0))
    return value

# 1. Allocation: the names of the curves give the exponents, the marks are the optima.
d = Drawing('allocation')
for fit in fits:
    e = fit['derived']['frontier_exponents'][0]
    for key in ('n_exponent', 'd_exponent'):
        want = f'r = {fit["r"]:g}: C^ {e[key]:.3f}'
        if not any(re.sub(r'\s+', ' ', t) == want for _, _, t in d.texts):
            problems.append(f'allocation: no curve is called {want}')
bottom = max(y for _, y, t in d.texts if number(t)) # of the texts under the x axes
left = d.ticks('y', 0, 58, 0, bottom - 10)
n_of, c_of = scale(left, True), scale(d.ticks('x', 60, 265, bottom - 6, bottom + 2), True)
optima = [p for fit in fits for p in fit['derived']['parabolas'] if p['inside']]
marks = [m for m in d.marks if m[0] < 300 and m[1] > left[0][0] - 30]
found = [p for p in optima if any(abs(n_of(y) / p['n'] - 1) < 0.01 and
                                  abs(c_of(x) / p['budget'] - 1) < 0.01 for x, y, _ in marks)]
near('optima among the marks of N*', len(found), 24, 0)

# 2. Predicted against actual, r = 1: every run is where its law puts it.
d = Drawing('quality')
ticks = d.ticks('y', 0, 58, 0, 1e4)
first = ticks[:len(ticks) // 2] # of the upper left panel
bottom = max(y for _, y, t in d.texts if number(t))
x_of, y_of = scale(d.ticks('x', 60, 380, bottom - 2, bottom + 2), False), scale(first, False)
lines = [l.strip().split(',') for l in open(f'{dir}/r/runs.csv') if not l.startswith('#')]
loss, r = lines[0].index('loss'), lines[0].index('r')
actual = [float(l[loss]) for l in lines[1:] if float(l[r]) == 1]
panel = [(x_of(x), y_of(y)) for x, y, _ in d.marks if x < 380]
for a, p in zip(actual, top['predicted'], strict=True):
    if not any(abs(x - a) < 0.004 and abs(y - p) < 0.004 for x, y in panel):
        problems.append(f'quality: no mark at {a}, {p}')

# 3. A budget has one colour in all figures, also where a comparison has fewer of them.
def colours(name):
    d = Drawing(name)
    return {t: rgb for x, y, rgb in d.marks for tx, ty, t in d.texts
            if number(t) and number(t) > 1e15 and abs(ty - 3.9 - y) < 6 and 0 < tx - x < 14 and y < 75}
everywhere = colours('isoflops')
near('budgets in the legend', len(everywhere), 6, 0)
for name in ('allocation', 'frontier', 'quality', 'residuals', 'compare-isoflops'):
    some = colours(name)
    if len(some) < 4 or any(everywhere[t] != rgb for t, rgb in some.items()):
        problems.append(f'{name}: budgets in other colours: {some} instead of {everywhere}')

# 4. Every run has a title that names it; the panel of the base shows the headline's phi.
near('titled runs', sum('paper_baseline.csv:' in t for t in Drawing('isoflops').titles), 116, 0)
v = compare['variants'][0]
want = f"φ = {v['phi_base']:.2f}"
if not any(want in t for _, _, t in Drawing('compare-isoflops').texts):
    problems.append(f'compare-isoflops: no {want}')
for p in problems:
    print(p, file=sys.stderr)
sys.exit(bool(problems))
EOF

# An interval that leaves the axis ends in an arrow: that of r = 2's own phi does, on these runs.
python3 - "$dir/r/figures/forest.svg" <<'EOF' || fail "no arrow where an interval leaves the axis"
import re, sys
svg = open(sys.argv[1], encoding='utf-8').read()
# Three points: the ends 3.5 pixels above and below the tip.
for path in re.findall(r"d='M([^']*)'", svg):
    for piece in path.split('M'):
        p = [tuple(map(float, q.split(','))) for q in re.findall(r'-?[\d.]+,-?[\d.]+', piece)]
        if len(p) == 3 and abs(p[0][0] - p[2][0]) < 0.1 and abs(abs(p[0][1] - p[2][1]) - 7) < 0.2:
            sys.exit(0)
sys.exit(1)
EOF
echo "report_figures: all checks passed"
