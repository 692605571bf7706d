"""Tables like those behind the paper, for the tests of reports: paper_data.py ISODEPTH DIR

truncated.csv, hyper.csv   the case studies: planned looped runs, with losses of the published laws
control.csv                the paper's runs and an unshared control, worse by 0.004 nats an iteration
study/                     the paper's grid with scores on five axes of two tasks each
rates.csv                  a sweep over learning rates: two r, three widths, three training lengths
beyond/                    the pair of runs beyond the grid, losses and axes as published
"""
import csv, math, os, subprocess, sys

isodepth, dir = sys.argv[1:]
LAW = ('budget', 'r', 'd_model', 'n_once', 'n_rec', 'n_inject', 'tokens')
lines = [l for l in open('examples/paper_baseline.csv') if l[0] != '#']
base = list(csv.DictReader(lines))

def write(path, columns, rows):
    os.makedirs(os.path.dirname(f'{dir}/{path}'), exist_ok=True)
    with open(f'{dir}/{path}', 'w') as f:
        csv.writer(f).writerows([columns, *rows])

def amplitudes(alpha, beta, e):
    """A and B, which are not published: least squares on the r = 1 runs that all recipes share."""
    runs = [r for r in base if r['r'] == '1' and float(r['budget']) < 6e18]
    x = [((float(r['n_once']) + float(r['n_rec'])) ** -alpha, float(r['tokens']) ** -beta) for r in runs]
    y = [float(r['loss']) - e for r in runs]
    aa, ab, bb = (sum(u[i] * u[j] for u in x) for i, j in ((0, 0), (0, 1), (1, 1)))
    ya, yb = (sum(v * u[i] for u, v in zip(x, y)) for i in (0, 1))
    return (ya * bb - yb * ab) / (aa * bb - ab * ab), (yb * aa - ya * ab) / (aa * bb - ab * ab)

# Published (tab:probe_fits): alpha, beta, E, phi.  Under truncation r = 2 lies above the law.
for name, (alpha, beta, e, phi), above in (('truncated', (0.265, 0.492, 1.89, 0.373), 0.034),
                                           ('hyper', (0.308, 0.464, 1.93, 0.646), 0)):
    A, B = amplitudes(alpha, beta, e)
    plan = subprocess.run([isodepth, 'plan', f'grids/paper_{name}.yaml', '--csv'], check=True,
                          capture_output=True, text=True).stdout
    rows = []
    for i, run in enumerate(csv.DictReader(plan.splitlines())):
        once, rec, inject, d, r = (float(run[k]) for k in ('n_once', 'n_rec', 'n_inject', 'tokens', 'r'))
        loss = e + A * (once + inject + r ** phi * rec) ** -alpha + B * d ** -beta
        if r > 1 and float(run['budget']) < 6e18:
            loss += (above if r == 2 else 0) + 0.003 * math.sin(7.7 * i)
            rows.append([run[k] for k in LAW] + [f'{loss:.5f}'])
    write(f'{name}.csv', LAW + ('loss',), rows)

plain = {(float(r['budget']), r['d_model']): float(r['loss']) for r in base if r['r'] == '1'}
plan = subprocess.run([isodepth, 'plan', 'grids/paper.yaml', '--set', 'share=false', '--csv'], check=True,
                      capture_output=True, text=True).stdout
write('control.csv', LAW + ('share', 'iterations', 'loss'),
      [[r[k] for k in LAW] + [1, r['r'], r['loss']] for r in base] +
      [[r[k] for k in LAW] + [0, r['iterations'],
                              plain[float(r['budget']), r['d_model']] + 0.004 * float(r['iterations'])]
       for r in csv.DictReader(plan.splitlines()) if r['share'] == '0'])

SCORES = ('run', 'budget', 'r', 'val_loss', 'recur', 'axis', 'task', 'items', 'cut', 'loss', 'accuracy')
def scores(i, run):
    for axis in range(5):
        for task in range(2):
            loss = float(run['loss']) * (0.4 + 0.15 * axis) + 0.05 * task + 0.01 * math.sin(i + 3 * axis + task)
            yield [f'run{i}', run['budget'], run['r'], run['loss'], run['r'], f'axis_{axis}',
                   f'task {axis}{task}', 100, 0, f'{loss:.5f}', f'{math.exp(-loss):.4f}']
write('study/eval.csv', SCORES, [row for i, run in enumerate(base) for row in scores(i, run)])
open(f'{dir}/study/runs.csv', 'w').writelines(lines)

rows = []
for run in base:
    d, ratio = float(run['d_model']), float(run['tokens']) / (float(run['n_once']) + float(run['n_rec']))
    if run['r'] in '14' and (d == 640 or float(run['budget']) == 1e18 and d in (512, 896)):
        best = math.log(0.014) + 0.1 * math.sin(d + ratio) # a little beside the base rate
        for rate in (0.008, 0.010, 0.014, 0.018, 0.024):
            loss = float(run['loss']) + 0.08 * (math.log(rate) - best) ** 2
            rows.append([run[k] for k in LAW] + [f'{loss:.5f}', rate])
write('rates.csv', LAW + ('loss', 'lr_base'), rows)

# tab:extrapolation: s = 34 on 47 billion tokens.
d = 34 * 64
axes = ('Parametric knowledge', 'Reading comprehension', 'Math word problems', 'Reasoning primitives',
        'Compositional symbolic')
pair = (('1', (240 * d * d, 0, 0), '2.047', (2.585, 0.980, 1.494, 0.873, 1.546)),
        ('4', (48 * d * d, 48 * d * d, 2 * d * d), '2.108', (2.693, 1.030, 1.522, 0.968, 1.542)))
write('beyond/runs.csv', LAW + ('loss',), [['4e20', r, d, *sizes, '4.7e10', loss] for r, sizes, loss, _ in pair])
write('beyond/eval.csv', SCORES, [[f'r{r}', '4e20', r, loss, r, axis, axis, 100, 0, value, 0.5]
                                  for r, _, loss, values in pair for axis, value in zip(axes, values)])
