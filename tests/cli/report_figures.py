"""report_figures.py REPORT DATA: reads the numbers of every figure of a report back out of its SVG
and compares them with fit.json, fit-by-r.json, compare.json, the tables and rates.json."""
import csv, glob, json, math, os, re, statistics, sys
from drawing import Drawing, misses, number, on_line

report, data = sys.argv[1:]
load = lambda path: json.load(open(path))
fit, by_r = load(f'{report}/fit.json'), load(f'{report}/fit-by-r.json')['fits']
compare, rates = load(f'{report}/compare.json'), load(f'{data}/rates.json')
problems, seen = [], set()

def read(path):
    rows = list(csv.DictReader(l for l in open(path) if l[0] != '#'))
    for row in rows:
        for key in set(row) - {'run', 'axis', 'task'}:
            try:
                row[key] = float(row[key])
            except ValueError:
                pass
    return rows
runs, scores = read(f'{report}/runs.csv'), read(f'{data}/study/eval.csv')
size = lambda run: run['n_once'] + run['n_rec'] + run['n_inject']

def figure(name, folder='figures'):
    seen.add(f'{folder}/{name}.svg')
    return Drawing(f'{report}/{folder}/{name}.svg')

def problem(panel, what):
    problems.append(f'{panel.drawing.name}: {panel.title}: {what}')

def place(panel, points, log_x=False, log_y=False):
    x, y = panel.scale('x', log_x), panel.scale('y', log_y)
    return [(x(a), y(b)) for a, b in points]

def marks(panel, points, log_x=False, log_y=False):
    """The marks of a panel are these points, and no others."""
    wanted = place(panel, points, log_x, log_y)
    if len(panel.marks) != len(wanted):
        problem(panel, f'{len(panel.marks)} marks instead of {len(wanted)}')
    for at in misses(panel.marks, wanted):
        problem(panel, f'no mark at {points[wanted.index(at)]}')

def lines(panel, points, log_x=False, log_y=False):
    """A line passes through each of these points."""
    for value, at in zip(points, place(panel, points, log_x, log_y)):
        if not on_line(panel.lines, at):
            problem(panel, f'no line through {value}')

def stars(panel, points):
    centres = [(sum(p[0] for p in s[:10:2]) / 5, sum(p[1] for p in s[:10:2]) / 5) for s in panel.stars]
    wanted = place(panel, points, log_x=True)
    if len(centres) != len(wanted) or misses(centres, wanted):
        problem(panel, f'stars are at {centres} instead of {wanted}')

# --- what a recurrence is worth, and the frontier

def sizes(panel):
    d = number(panel.title.split('= ')[1].rstrip(')'))
    per_token = {r: statistics.mean(x['budget'] / x['tokens'] for x in runs if x['r'] == r and x['d_model'] == d)
                 for r in {x['r'] for x in runs}}
    points = [(e['r'], 100 * value) for e in fit['derived']['equivalents']
              for value in (e['unique'], e['effective'], per_token[e['r']] / per_token[1])]
    marks(panel, points, log_x=True)
    lines(panel, points, log_x=True)

def frontier(panel, key):
    looped = [p for p in fit['derived']['parabolas'] if key == 'loss' or p['r'] > 1]
    marks(panel, [(p['budget'], p[key]) for p in looped], log_x=True)
    lines(panel, [(p['budget'], p[key]) for p in fit['derived']['frontier'] if key == 'loss' or p['r'] > 1],
          log_x=True)

worth = figure('worth').panels
sizes(worth[0])
blocks = [(e['r'], e['blocks']) for e in fit['derived']['equivalents']]
marks(worth[1], blocks, True, True)
lines(worth[1], blocks, True, True)
for name, folder in (('frontier', 'figures'), ('frontier', 'paper')):
    losses, gaps = figure(name, folder).panels
    frontier(losses, 'loss')
    frontier(gaps, 'gap')
left, right = figure('teaser', 'paper').panels
sizes(left)
frontier(right, 'loss')

# --- iso-FLOPs curves, allocation, quality: the law of each r

for name in ('figures/isoflops', 'paper/isoflops'):
    d = figure(os.path.basename(name), os.path.dirname(name))
    for f in by_r:
        panel = d.panel(f"r = {f['r']:g}")
        optima = [(p['n'], p['loss']) for p in f['derived']['parabolas'] if p['inside']]
        marks(panel, [(size(x), x['loss']) for x in runs if x['r'] == f['r']], log_x=True)
        stars(panel, optima)
        lines(panel, optima, log_x=True)
for name, folder in (('allocation', 'figures'), ('optimal-alloc', 'paper')):
    d = figure(name, folder)
    for panel, key in zip(d.panels, 'nd', strict=True):
        marks(panel, [(p['budget'], p[key]) for f in by_r for p in f['derived']['parabolas'] if p['inside']],
              True, True)
        lines(panel, [(p['budget'], p[key]) for f in by_r for p in f['derived']['frontier']], True, True)
        for f in by_r:
            want = f"r = {f['r']:g}: C^ {f['derived']['frontier_exponents'][0][key + '_exponent']:.3f}"
            if not any(t == want for _, _, t, _ in d.texts):
                problem(panel, f'no curve is called {want}')
for name, folder in (('quality', 'figures'), ('fit-quality', 'paper')):
    d = figure(name, folder)
    for f in by_r:
        actual = [x['loss'] for x in runs if x['r'] == f['r']]
        marks(d.panel(f"r = {f['r']:g}"), list(zip(actual, f['derived']['predicted'], strict=True)))
for name, folder in (('residuals', 'figures'), ('fit-residuals', 'paper')):
    panels = figure(name, folder).panels
    for i, f in enumerate(by_r):
        of = [x for x in runs if x['r'] == f['r']]
        residual = [x['loss'] - p for x, p in zip(of, f['derived']['predicted'], strict=True)]
        marks(panels[2 * i], list(zip(map(size, of), residual)), log_x=True)
        marks(panels[2 * i + 1], list(zip((x['tokens'] for x in of), residual)), log_x=True)

# --- how well phi is known

histogram, profile = figure('phi').panels
phi, x, y = fit['intervals']['bootstrap'][0]['phi'], histogram.scale('x', False), histogram.scale('y', False)
floor = max(p[1] for b, _ in histogram.bars for p in b)
counted = 0
for corners, colour in histogram.bars:
    left, right = min(p[0] for p in corners), max(p[0] for p in corners)
    top = min(p[1] for p in corners)
    if top <= histogram.top + 1: # the band of the interval
        continue
    inside = sum(left - 0.2 < x(v) < right + 0.2 for v in phi)
    sure = sum(left + 0.2 < x(v) < right - 0.2 for v in phi)
    counted += round((floor - top) / (y(0) - y(1)))
    if not sure <= round((floor - top) / (y(0) - y(1))) <= inside:
        problem(histogram, f'a bar of {(floor - top) / (y(0) - y(1)):.2f} over {inside} refits')
if counted != len(phi):
    problem(histogram, f'{counted} refits instead of {len(phi)}')
marks(profile, list(zip(fit['intervals']['profile']['phi'], fit['intervals']['profile']['statistic'])))

def ranges(panel, rows):
    """(pixel of y, value, low, high): a mark, and a line from low to high where it fits the axis."""
    x = panel.scale('x', False)
    if misses(panel.marks, [(x(value), y) for y, value, _, _ in rows]) or len(rows) != len(panel.marks):
        problem(panel, f'marks at {panel.marks} instead of {[(x(v), y) for y, v, _, _ in rows]}')
    for y, _, low, high in rows:
        ends = [min(max(x(v), panel.left), panel.right) for v in (low, high) if v is not None]
        if ends and not any(abs(l[0][1] - y) < 0.8 and abs(l[0][0] - ends[0]) < 0.8 and
                            abs(l[-1][0] - ends[1]) < 0.8 for l in panel.lines):
            problem(panel, f'no interval from {low} to {high}')
        # An arrow where it leaves the axis: two strokes back from the end.
        for end, value in zip(ends, (low, high)):
            arrow = any(len(l) == 3 and math.dist(l[1], (end, y)) < 0.8 and abs(l[0][0] - l[2][0]) < 0.1
                        for l in panel.lines)
            if arrow != (abs(end - x(value)) > 0.8):
                problem(panel, f'an arrow at {value}' if arrow else f'no arrow at {value}')

panel = figure('forest').panels[0]
known = {f"bootstrap over {b['block']}s": (fit['phi'], *b['phi_interval']) for b in fit['intervals']['bootstrap']}
known['profile'] = fit['phi'], *fit['intervals']['profile']['phi_interval']
left_out = [j['phi'] for j in fit['intervals']['jackknife'] if j['phi'] is not None]
known['range when one budget, r or cell is left out'] = fit['phi'], min(left_out), max(left_out)
def drawn(name):
    """C <= 2.15e+18 as figures write it: C ≤ 2.15·10¹⁸."""
    def power(m):
        mantissa, exponent = float(m[2]), m[3].lstrip('+').translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))
        return ('C ≤ ' if m[1] == '<=' else 'C ≥ ') + (f'{mantissa:g}·' if mantissa != 1 else '') + '10' + exponent
    return re.sub(r'C (<=|>=) ([0-9.]+)e(\+\d+)', power, name)

known |= {drawn(f"{v['choice']}: {v['variant']}"): (v['phi'], None, None) for v in fit['robustness']['variants']}
known |= {f"own exponent of r = {v['r']:g}": (v['phi'], v['phi'] - v['plus_minus'], v['phi'] + v['plus_minus'])
          for v in fit['robustness']['phi_per_r']}
rows = panel.texts('y')
if len(rows) != len(known) or not any(known[t][1] is not None for _, t in rows):
    problem(panel, f'{len(rows)} rows instead of {len(known)}')
ranges(panel, [(y, *known[text]) for y, text in rows])

# --- recipes

def joint(law, x):
    n = x['n_once'] + x['n_inject'] + x['r'] ** law['phi'] * x['n_rec']
    return law['E'] + law['A'] * n ** -law['alpha'] + law['B'] * x['tokens'] ** -law['beta']

panel = figure('compare-delta').panels[0]
rows = []
for y, text in panel.texts('y'):
    v = next(v for v in compare['variants'] if v['name'] == text)
    # Both estimators stand beside the row's middle, which is between them; each mark has its own y.
    for kind in ('joint', 'separate'):
        x = panel.scale('x', False)(v[kind]['delta_phi'])
        at = [m for m in panel.marks if abs(m[0] - x) < 0.8 and abs(m[1] - y) < 20]
        rows.append((at[0][1] if at else y, v[kind]['delta_phi'], *v[kind]['delta_phi_interval']))
ranges(panel, rows)

shared = {x['budget'] for x in read(f'{data}/truncated.csv')}
base = [x for x in runs if x['budget'] in shared]
recipe = {'study': base}
for v, table in zip(compare['variants'], ('truncated', 'hyper'), strict=True):
    recipe[v['name']] = [x for x in base if x['r'] == 1] + read(f'{data}/{table}.csv')
for name, folder in (('compare-isoflops', 'figures'), ('trunc-hc-isoflops', 'paper')):
    d = figure(name, folder)
    for name, phi in [('study', compare['variants'][0]['phi_base'])] + [(v['name'], v['phi']) for v in compare['variants']]:
        marks(d.panel(f'{name}: φ = {phi:.2f}'), [(size(x), x['loss']) for x in recipe[name]], log_x=True)
for name, folder in (('compare-quality', 'figures'), ('probing-fit-quality', 'paper')):
    d = figure(name, folder)
    for v, table in zip(compare['variants'], ('truncated', 'hyper'), strict=True):
        law = load(f'{data}/{table}.json') # isodepth fit of the same runs
        marks(d.panel(v['name']), [(x['loss'], joint(law, x)) for x in recipe[v['name']]])

# --- downstream tasks: means of the table of scores

models = {}
for row in scores:
    m = models.setdefault(row['run'], dict(budget=row['budget'], r=row['r'], val_loss=row['val_loss'], loss={}, accuracy={}))
    for key in ('loss', 'accuracy'):
        m[key].setdefault(row['axis'], []).append(row[key])
def mean(m, key, axis):
    axes = m[key].values() if axis == 'Mean of the axes' else [m[key][axis]]
    return statistics.mean(statistics.mean(v) for v in axes)
best = {}
for m in models.values():
    cell = m['budget'], m['r']
    if cell not in best or m['val_loss'] < best[cell]['val_loss']:
        best[cell] = m
axes = list(next(iter(models.values()))['loss']) + ['Mean of the axes']
every = lambda axis, x, y: [(x(m), mean(m, y, axis)) for m in models.values()]
val_loss = lambda m: m['val_loss']
for budget, loss in ((('eval-budget', 'figures'), ('eval-loss', 'figures')),
                     (('downstream-scaling', 'paper'), ('downstream-vs-valloss', 'paper'))):
    d, e = figure(*budget), figure(*loss)
    for axis in axes:
        points = [(m['budget'], mean(m, 'loss', axis)) for m in best.values()]
        marks(d.panel(axis), points, log_x=True)
        lines(d.panel(axis), points, log_x=True)
        marks(e.panel(axis), every(axis, val_loss, 'loss'))
d = figure('eval-accuracy')
for axis in axes:
    marks(d.panel(axis), every(axis, lambda m: mean(m, 'loss', axis), 'accuracy'))
for name, folder in (('eval-all', 'figures'), ('acc-vs-loss', 'paper')):
    d = figure(name, folder)
    for key in ('accuracy', 'loss'):
        marks(d.panel(key.capitalize()), every('Mean of the axes', val_loss, key))

# --- learning rates

curves = rates['conditions']
points = lambda key, keep: [(p['rate'], p[key]) for c in curves if keep(c) for p in c['points']]
for name, folder in (('rates-loss', 'figures'), ('lr-sweep', 'paper')):
    panel = figure(name, folder).panels[0]
    marks(panel, points('loss', lambda c: True), log_x=True)
    lines(panel, points('loss', lambda c: True) + [(rates['rate'], curves[0]['points'][0]['loss'])], log_x=True)
for name, folder in (('rates-transfer', 'figures'), ('transfer', 'paper')):
    d = figure(name, folder)
    for r in (1, 4):
        # Over widths the condition of each width whose tokens per parameter are alike: one budget.
        marks(d.panel(f'r = {r}, over width'), points('regret', lambda c: c['r'] == r and c['budget'] == 1e18), log_x=True)
        marks(d.panel(f'r = {r}, over tokens'), points('regret', lambda c: c['r'] == r and c['d_model'] == 640), log_x=True)

# --- the stacks: layers from the sizes of the runs

panel = figure('arch-schematic', 'paper').panels[0]
y = panel.scale('y', False)
for middle, text in panel.texts('x'):
    r = float(text.split(':')[0][4:])
    run = next(x for x in runs if x['r'] == r)
    once, block = (round(run[k] / (12 * run['d_model'] ** 2)) for k in ('n_once', 'n_rec'))
    drawn = sorted((min(p[1] for p in c), max(p[1] for p in c), colour) for c, colour in panel.bars
                   if min(p[0] for p in c) < middle < max(p[0] for p in c))
    layers = [round((low - high) / (y(0) - y(1))) for high, low, _ in drawn]
    if once + r * block != sum(layers) or layers.count(1) != (once if block != 1 else once + r) or \
            len(layers) != once + (r if block else 0) or len({c for _, _, c in drawn}) != (3 if block else 1):
        problem(panel, f'r = {r:g}: layers {layers} instead of {once} and {r:g} times {block}')

# --- colours, titles, completeness

def budget_colours(d):
    top = min(p.top for p in d.panels)
    return {t: rgb for x, y, rgb in d.marks for tx, ty, t, _ in d.texts
            if y < top and (number(t) or 0) > 1e15 and abs(ty - 3.9 - y) < 6 and 0 < tx - x < 14}
everywhere = budget_colours(Drawing(f'{report}/figures/isoflops.svg'))
if len(everywhere) != 6:
    problems.append(f'{len(everywhere)} budgets in the legend')
for path in sorted(seen):
    d = Drawing(f'{report}/{path}')
    some = budget_colours(d)
    coloured = {m[2] for p in d.panels for m in p.marks} & set(everywhere.values())
    if any(everywhere[t] != rgb for t, rgb in some.items()) or coloured - set(some.values()):
        problems.append(f'{path}: budgets in other colours, or unexplained: {some} instead of {everywhere}')
    n = sum(len(p.marks) for p in d.panels)
    if len(d.titles) < n:
        problems.append(f'{path}: {len(d.titles)} titles for {n} marks')
named = sum('runs.csv:' in t for t in Drawing(f'{report}/figures/isoflops.svg').titles)
if named != len(runs):
    problems.append(f'{named} titles name their run')
unread = {os.path.relpath(p, report) for p in glob.glob(f'{report}/*/*.svg')} - seen
if unread:
    problems.append(f'not read: {unread}')
for p in problems[:30]:
    print(p, file=sys.stderr)
print(f'{len(seen)} figures, {len(problems)} problems')
sys.exit(bool(problems))
