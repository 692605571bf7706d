#!/usr/bin/env bash
# isodepth report --paper: files named after the paper's labels, tables with the numbers of the
# JSON, and an all.tex that names what was written.  tests/long/paper_tex.sh compiles it.
set -eu
. "$(dirname "$0")/top.bash"
for tool in gnuplot python3; do
    command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "report_paper: $1" >&2; exit 1; }

. tests/cli/paper_recipes.bash
paper_recipes "$dir"
"$B/isodepth" -q report examples/paper_baseline.csv --starts 100 --resamples 0 --paper --out "$dir/r" \
    --compare "Truncated_BPTT=$dir/truncated.csv" --compare "Hyper=$dir/hyper.csv" >/dev/null
p=$dir/r/paper

# 1. The files, and all.tex names each.
for f in teaser frontier isoflops optimal-alloc trunc-hc-isoflops arch-schematic fit-quality \
    fit-residuals probing-fit-quality; do
    [ -s "$p/$f.pdf" ] && [ -s "$p/$f.svg" ] || fail "$f is missing"
    grep -q "{$f}" "$p/all.tex" || fail "all.tex does not include $f"
done
for t in fit-params joint-3d joint-residuals-per-r probe-fits token-ratio gap-change equiv-sizes; do
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
for row, variant in zip([r for r in table('probe-fits')[1:] if 'without' not in r[0]], compare['variants']):
    near('phi of ' + row[0], row[4], variant['separate']['phi'], 0.02)
key = lambda r: (float(r['budget']), float(r['r']), float(r['d_model']))
read = lambda path: list(csv.DictReader(l for l in open(path) if l[0] != '#'))
base = {key(r): float(r['tokens']) for r in read('examples/paper_baseline.csv')}
ratio = [float(r['tokens']) / base[key(r)] for r in read(f'{dir}/truncated.csv') if key(r) in base]
near('ratio of tokens', table('token-ratio')[0][2], statistics.median(ratio), 0.0005001)
near('ratio of tokens, published', table('token-ratio')[0][2], 1.315, 0.002)
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
python3 - "$dir" <<'EOF'
import csv, math, os, sys
dir = sys.argv[1]
lines = [l for l in open('examples/paper_baseline.csv') if l[0] != '#']
runs = list(csv.DictReader(lines))
os.makedirs(f'{dir}/study')
open(f'{dir}/study/runs.csv', 'w').writelines(lines)
with open(f'{dir}/study/eval.csv', 'w') as f:
    w = csv.writer(f)
    w.writerow('run budget r val_loss recur axis task loss accuracy'.split())
    for i, x in enumerate(runs):
        for a, t in ((a, t) for a in range(5) for t in range(2)):
            loss = float(x['loss']) * (0.4 + 0.15 * a) + 0.05 * t + 0.01 * math.sin(i + 3 * a + t)
            w.writerow([f'run{i}', x['budget'], x['r'], x['loss'], x['r'], f'axis_{a}', f'task {a}{t}',
                        f'{loss:.5f}', f'{math.exp(-loss):.4f}'])
with open(f'{dir}/rates.csv', 'w') as f:
    w = csv.writer(f)
    w.writerow('budget r d_model n_once n_rec n_inject tokens loss lr_base'.split())
    for x in runs[:3] + runs[4:7]:
        for rate in (0.004, 0.008, 0.014, 0.028, 0.056):
            loss = float(x['loss']) + 0.02 * math.log(rate / 0.014) ** 2
            w.writerow([x[k] for k in 'budget r d_model n_once n_rec n_inject tokens'.split()] + [loss, rate])
# s = 34 on 47 billion tokens, losses as published.
d = 34 * 64
with open(f'{dir}/pair.csv', 'w') as f:
    f.write('budget,r,d_model,n_once,n_rec,n_inject,tokens,loss\n')
    f.write(f'4e20,1,{d},{240 * d * d},0,0,4.7e10,2.047\n')
    f.write(f'4e20,4,{d},{48 * d * d},{48 * d * d},{2 * d * d},4.7e10,2.108\n')
EOF
"$B/isodepth" -q report "$dir/study" --starts 100 --resamples 0 --paper --out "$dir/all" \
    --rates "$dir/rates.csv" --beyond "$dir/pair.csv" >/dev/null
for f in lr-sweep transfer downstream-scaling downstream-vs-valloss acc-vs-loss; do
    [ -s "$dir/all/paper/$f.pdf" ] || fail "$f is missing"
done
grep -q '^axis\\_4 & task 41' "$dir/all/paper/tab-per-task-acc.tex" || fail "no losses of tasks"
# Published: 0.061 nats.
grep -q '^$r = 4$ & .* & $2.108$ & $+0.061$ & ' "$dir/all/paper/tab-extrapolation.tex" ||
    fail "no pair: $(cat "$dir/all/paper/tab-extrapolation.tex")"
echo "report_paper: all checks passed"
