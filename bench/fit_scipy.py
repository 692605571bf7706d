"""The peer of bench_fit: the same fits with SciPy's L-BFGS-B, as one would write them in Python.

    fit_scipy.py joint N            N starts: seconds of CPU, Huber sum, phi
    fit_scipy.py bootstrap N K      K resamples of N starts each: seconds of CPU per resample

Objective summed and in units of delta^2, analytic gradient, arrays instead of loops.
"""
import csv
import sys
import time

import numpy as np
from scipy.optimize import minimize

DELTA = 1e-3
BOX = [(-5, 35), (0, 2.5), (-5, 35), (0, 2.5), (-3, 2), (-3, 3)]


def read(path):
    lines = [line for line in open(path) if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    column = lambda name: np.array([float(row[name]) for row in rows])
    return {
        "once": column("n_once") + column("n_inject"),
        "rec": column("n_rec"),
        "log_r": np.log(column("r")),
        "log_d": np.log(column("tokens")),
        "log_l": np.log(column("loss")),
        "cell": np.unique(np.stack([column("budget"), column("r")]), axis=1, return_inverse=True)[1],
    }


def objective(p, x):
    a, alpha, b, beta, e, phi = p
    looped = np.exp(phi * x["log_r"]) * x["rec"]
    n_eff = x["once"] + looped
    ln_n = np.log(n_eff)
    t1, t2, t3 = np.exp(a - alpha * ln_n), np.exp(b - beta * x["log_d"]), np.exp(e)
    s = t1 + t2 + t3
    z = (np.log(s) - x["log_l"]) / DELTA
    psi = np.clip(z, -1, 1)
    value = np.sum(psi * (z - 0.5 * psi))
    k = psi / (DELTA * s)
    k1, k2 = k * t1, k * t2
    gradient = np.array([k1.sum(), -(k1 * ln_n).sum(), k2.sum(), -(k2 * x["log_d"]).sum(),
                         t3 * k.sum(), -alpha * (k1 * x["log_r"] * looped / n_eff).sum()])
    return value, gradient


def fit(x, starts, rng):
    low, high = np.array(BOX).T
    best = None
    for _ in range(starts):
        r = minimize(objective, rng.uniform(low, high), args=(x,), jac=True, method="L-BFGS-B",
                     bounds=BOX, options={"maxiter": 10000, "maxfun": 100000})
        if best is None or r.fun < best.fun:
            best = r
    return best


def resample(x, rng):
    cells = np.unique(x["cell"])
    rows = np.concatenate([np.flatnonzero(x["cell"] == c) for c in rng.choice(cells, len(cells))])
    return {name: values[rows] for name, values in x.items()}


def main():
    x = read("examples/paper_baseline.csv")
    rng = np.random.default_rng(1)
    starts = int(sys.argv[2])
    begin = time.process_time()
    if sys.argv[1] == "joint":
        best = fit(x, starts, rng)
        print(f"{time.process_time() - begin:.6f} {best.fun * DELTA**2:.12e} {best.x[5]:.9f}")
    else:
        repeats = int(sys.argv[3])
        for _ in range(repeats):
            fit(resample(x, rng), starts, rng)
        print(f"{(time.process_time() - begin) / repeats:.6f}")


main()
