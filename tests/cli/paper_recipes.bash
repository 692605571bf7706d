# paper_recipes DIR: the planned runs of the paper's case studies as truncated.csv and hyper.csv, with
# losses of a joint law whose phi is 0.38 and 0.65, and some noise.
paper_recipes() {
    local name phi
    for name in truncated:0.38 hyper:0.65; do
        phi=${name#*:} name=${name%:*}
        "$B/isodepth" plan "grids/paper_$name.yaml" --csv | python3 -c '
import csv, math, sys
keep = "budget s r d_model n_once n_rec n_inject tokens".split()
out = csv.writer(sys.stdout)
out.writerow(keep + ["loss"])
for i, run in enumerate(csv.DictReader(sys.stdin)):
    once, rec, inject, d, r = (float(run[k]) for k in "n_once n_rec n_inject tokens r".split())
    n = once + inject + r ** float(sys.argv[1]) * rec
    loss = 1.57 + 26.2 * n ** -0.199 + 942 * d ** -0.369
    if r > 1 and float(run["budget"]) < 6e18:
        out.writerow([run[k] for k in keep] + [f"{loss * (1 + 0.002 * math.sin(7.7 * i)):.5f}"])
' "$phi" >"$1/$name.csv"
    done
}
