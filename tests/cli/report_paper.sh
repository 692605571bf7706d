#!/usr/bin/env bash
# isodepth report --paper: files named after the paper's labels, tables with the numbers of the
# JSON, and an all.tex that names what was written.  tests/long/paper_tex.sh compiles it.
set -eu
. "$(dirname "$0")/top.bash"
. tests/cli/report_lib.bash
need gnuplot python3
paper_data
"$B/isodepth" -q report examples/paper_baseline.csv --starts 100 --resamples 0 --paper --out "$dir/r" \
    --compare "Truncated_BPTT=$dir/truncated.csv" --compare "Hyper=$dir/hyper.csv" >/dev/null
p=$dir/r/paper

# 1. The files, and all.tex names each.
for f in teaser frontier isoflops optimal-alloc trunc-hc-isoflops arch-schematic fit-quality \
    fit-residuals probing-fit-quality; do
    [ -s "$p/$f.pdf" ] && [ -s "$p/$f.svg" ] || fail "$f is missing"
    grep -q "{$f}" "$p/all.tex" || fail "all.tex does not include $f"
done
for t in fit-params joint-3d joint-residuals-per-r probe-fits token-ratio gap-change equiv-sizes grid; do
    grep -q '\\toprule' "$p/tab-$t.tex" || fail "tab-$t.tex is missing"
    grep -q "input{tab-$t}" "$p/all.tex" || fail "all.tex does not include tab-$t"
done
[ ! -e "$p/lr-sweep.pdf" ] && ! grep -q lr-sweep "$p/all.tex" || fail "rates without --rates"
! grep -rnE 'nan|[0-9]e[+-][0-9]|[^\\]alpha|-0\.0+\$' "$p"/*.tex || fail "not LaTeX"

# 2. Numbers: those of the JSON, those published, and what the plan of the truncated runs gives.
python3 - "$dir" <<'EOF' || fail "tables and JSON differ"
import csv, json, re, statistics, sys
dir = sys.argv[1]
def table(name):
    rows = open(f'{dir}/r/paper/tab-{name}.tex').read().split('\\midrule\n')[1].split('\\bottomrule')[0]
    return [[c.strip().replace('$', '') for c in r.split('&')] for r in rows.split('\\\\\n') if r.strip()]
problems = []
def near(what, got, want, tolerance):
    if not abs(float(got) - want) <= tolerance:
        problems.append(f'{what}: {got} instead of {want}')
fits = json.load(open(f'{dir}/r/fit-by-r.json'))['fits']
# Table of the paper: alpha, beta, E, R2.
published = [(0.251, 0.267, 1.56, 0.9979), (0.216, 0.365, 1.60, 0.9983),
             (0.191, 0.388, 1.56, 0.9976), (0.235, 0.362, 1.69, 0.9980)]
for row, fit, paper in zip(table('fit-params'), fits, published, strict=True):
    near('alpha', row[2], fit['alpha'], 0.0005001)
    near('beta', row[4], fit['beta'], 0.0005001)
    for got, want, tolerance in zip((row[2], row[4], row[5], row[7]), paper, (0.003, 0.003, 0.011, 0.0002)):
        near(row[0], got, want, tolerance)
compare = json.load(open(f'{dir}/r/compare.json'))
names = [r[0] for r in table('probe-fits')]
if names != ['paper\\_baseline', 'Truncated\\_BPTT', 'Truncated\\_BPTT (without r = 2)', 'Hyper',
             'Hyper (without r = 2)']:
    problems.append(f'recipes: {names}')
# Published: alpha, beta, E, phi, R2 of the base, truncated with and without r = 2, hyperconnections.
# The first is fitted to the paper's runs; the others have the losses of the published laws beside
# r = 1 runs that are not on them, which moves the fit by this much.
rows = {r[0]: [float(x) for x in r[1:]] for r in table('probe-fits')}
for name, want, tolerance in (
        ('paper\\_baseline', (0.266, 0.457, 1.85, 0.453, 0.9959), (0.002, 0.002, 0.01, 0.002, 0.0002)),
        ('Truncated\\_BPTT (without r = 2)', (0.265, 0.492, 1.89, 0.373), (0.015, 0.015, 0.04, 0.01)),
        ('Truncated\\_BPTT', (0.255, 0.484, 1.87, 0.380, 0.9827), (0.015, 0.015, 0.04, 0.02, 0.004)),
        ('Hyper', (0.308, 0.464, 1.93, 0.646), (0.015, 0.015, 0.04, 0.01))):
    for got, x, t in zip(rows[name], want, tolerance):
        near(name, got, x, t)
for variant, name in zip(compare['variants'], ('Truncated\\_BPTT', 'Hyper'), strict=True):
    near('phi of ' + name, rows[name][3], variant['separate']['phi'], 0.0005001)
key = lambda r: (float(r['budget']), float(r['r']), float(r['d_model']))
read = lambda path: list(csv.DictReader(l for l in open(path) if l[0] != '#'))
base = {key(r): float(r['tokens']) for r in read('examples/paper_baseline.csv')}
ratio = [float(r['tokens']) / base[key(r)] for r in read(f'{dir}/truncated.csv') if key(r) in base]
near('ratio of tokens', table('token-ratio')[0][2], statistics.median(ratio), 0.0005001)
near('ratio of tokens, published', table('token-ratio')[0][2], 1.315, 0.002)
joint, without, equal = table('joint-3d') # published: 0.459, and R2 of all three
near('phi', joint[4].split()[0], 0.459, 0.002)
for row, r2 in zip((joint, without, equal), (0.9972, 0.9858, 0.9552)):
    near('R2 of ' + row[0], row[5], r2, 0.001)
fit = json.load(open(f'{dir}/r/fit.json'))
near('phi', joint[4].split()[0], fit['phi'], 0.0005001)
# Published: mean, max |residual| and RMSE.
for row, want in zip(table('joint-residuals-per-r'), ((-0.001, 0.018, 0.009), (0.004, 0.036, 0.011),
                                                      (-0.006, 0.023, 0.011), (0.001, 0.029, 0.010))):
    for got, x in zip(row[2:], want):
        near('residuals of ' + row[0], got, x, 0.0011)
for row, want in zip(table('joint-residuals-per-r'), fit['derived']['residuals'], strict=True):
    near('RMSE of ' + row[0], row[4], want['rmse'], 0.0005001)
# Published: N of r = 1, 2, 4, 8 (with norm scales, which these runs do not count) and tokens.
for row in table('grid'):
    if row[0] == '640':
        for got, want in zip(row[1:], (98.3, 59.8, 40.2, 30.3, 0.45, 0.97, 2.08, 4.49)):
            near('the grid at d = 640', got, want, 0.011 * want)
        if row[9:] != ['--', '--']:
            problems.append(f'runs that were not trained: {row}')
for row in table('gap-change'):
    near('change of the gap', row[3], 0, 0.006) # published: at most 0.006 nats
sizes = {r[0]: r for r in table('equiv-sizes')}
near('unique size at r = 4', re.match(r'\d+', sizes['r = 4'][3])[0], 410, 5)      # published
near('effective size at r = 4', re.match(r'\d+', sizes['r = 4'][4])[0], 580, 8)
for p in problems:
    print(p, file=sys.stderr)
sys.exit(bool(problems))
EOF
# 3. With scores on tasks, a sweep over rates and a pair beyond the grid: their figures and tables.
"$B/isodepth" -q report "$dir/study" --starts 100 --resamples 0 --paper --out "$dir/all" \
    --rates "$dir/rates.csv" --beyond "$dir/beyond" >/dev/null
for f in lr-sweep transfer downstream-scaling downstream-vs-valloss acc-vs-loss; do
    [ -s "$dir/all/paper/$f.pdf" ] || fail "$f is missing"
done
grep -q '^axis\\_4 & task 40' "$dir/all/paper/tab-per-task-acc.tex" || fail "no losses of tasks"
grep -q '^ & task 41' "$dir/all/paper/tab-per-task-acc.tex" || fail "an axis is named more than once"
# Published: the losses and the gaps of tab:extrapolation.
while read -r row; do
    grep -qF "$row" "$dir/all/paper/tab-extrapolation.tex" ||
        fail "not '$row': $(cat "$dir/all/paper/tab-extrapolation.tex")"
done <<'EOF'
& $r = 1$ & $r = 4$ & Gap
Training tokens & 47.0B & 47.0B
Validation loss (nats) & $2.047$ & $2.108$ & $+0.061$
Parametric knowledge (nats) & $2.585$ & $2.693$ & $+0.108$
Reading comprehension (nats) & $0.980$ & $1.030$ & $+0.050$
Math word problems (nats) & $1.494$ & $1.522$ & $+0.028$
Reasoning primitives (nats) & $0.873$ & $0.968$ & $+0.095$
Compositional symbolic (nats) & $1.546$ & $1.542$ & $-0.004$
EOF

# 4. Runs beyond the grid without scores, and without an r = 1 to compare with.
few() {
    "$B/isodepth" -q report examples/paper_baseline.csv --starts 30 --resamples 0 --paper --out "$dir/$1" \
        --beyond "$dir/beyond/runs.csv" >/dev/null
}
few pair
grep -q '^Validation' "$dir/pair/paper/tab-extrapolation.tex" || fail "no pair without scores"
! grep -q 'Parametric' "$dir/pair/paper/tab-extrapolation.tex" || fail "scores out of nowhere"
sed -i '/^4e20,1,/d' "$dir/beyond/runs.csv"
few one
[ ! -e "$dir/one/paper/tab-extrapolation.tex" ] || fail "a gap to nothing"

# 5. With an unshared control: plain runs are the anchor and nothing changes; where the control is it,
# the gap of r is to the control of r iterations, in the JSON, the table and the figure.
for anchor in plain unshared; do
    "$B/isodepth" -q report "$dir/control.csv" --anchor $anchor --starts 30 --resamples 0 --paper \
        --out "$dir/$anchor" >/dev/null
done
python3 - "$dir" <<'EOF' || fail "the unshared control"
import json, sys
sys.path.insert(0, 'tests/cli')
from drawing import Drawing, misses
dir = sys.argv[1]
cells = {anchor: {(p['budget'], p['r'], p.get('unshared', 0)): p
                  for p in json.load(open(f'{dir}/{anchor}/fit.json'))['derived']['parabolas']}
         for anchor in ('plain', 'unshared')}
assert len(cells['plain']) == 24 and len(cells['unshared']) == 36
for (budget, r, unshared), p in cells['unshared'].items():
    if r > 1: # the control of r iterations is worse than the plain runs by 0.004 r everywhere
        assert abs(p['gap'] - (cells['plain'][budget, r, 0]['gap'] - 0.004 * r)) < 1e-6, p
    else:
        assert p['gap'] == 0, p
rows = [l.split('&') for l in open(f'{dir}/unshared/paper/tab-gap-change.tex') if l.startswith('$r')]
for row, r in zip(rows, (2, 4, 8), strict=True):
    assert abs(float(row[2].strip(' $')) - cells['unshared'][2.15e19, r, 0]['gap']) < 0.0000501, row
panel = Drawing(f'{dir}/unshared/figures/frontier.svg').panels[1]
x, y = panel.scale('x', True), panel.scale('y', False)
wanted = [(x(b), y(p['gap'])) for (b, r, _), p in cells['unshared'].items() if r > 1]
assert len(panel.marks) == 18 and not misses(panel.marks, wanted)
EOF
cmp "$dir/plain/paper/tab-fit-params.tex" "$p/tab-fit-params.tex" || fail "the control changed the laws"
passed
