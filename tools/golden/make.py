"""Writes the golden files of tests/golden/data from reference.py in float64. Usage: python3 make.py [output folder].

The formats are described in README.md beside this file. Every run writes the same bytes (same torch and CPU).
"""
import dataclasses
import pathlib
import sys

import torch

from hashed import RECIPE, save_safetensors, summary, tokens, uniform, weight
from reference import Config, Optimizer, generate, loss_and_grads, parameter_shapes, polar_express, transfer

MECHANISMS = (("linear", {}), ("additive", {}), ("passthrough", {}), ("hyper", {"lanes": 2}), ("diagonal", {}),
              ("diagonal", {"learned_b": 1}))
RATES = {"muon": 0.014, "embed": 0.3, "head": 0.004, "norm": 0.005, "scalar": 0.01}
STEPS = 10
COLD = (("lm_head.weight", "zero", 2**-10),)    # about the specified start: losses begin at ln(vocab), and bf16 stays near fp32


def weights(c, extra=()):
    return {n: weight(n, s, extra) for n, s in parameter_shapes(c).items()}


def label(c):
    parts = [c.loop + ("B" if c.learned_b else "") + (str(c.lanes) if c.lanes else ""), f"{'r' if c.share else 'u'}{c.r}"]
    return "-".join(parts + ([f"k{c.window}"] if c.window < c.r else []))


def grid():
    """Every mechanism x r x window at effective depth 12."""
    yield Config("none", prelude=0, recur=12, coda=0)
    for name, options in MECHANISMS:
        for r in (1, 2, 4, 8):
            windows = (r,) if name == "hyper" else sorted({r, (r + 1) // 2, 1}, reverse=True)
            for k in windows:
                yield Config(name, recur=8 // r, r=r, window=k, **options)


def odd():
    """Shapes off the beaten track: three lanes, uneven layer counts, other head sizes, widths and windows, no padding."""
    yield "odd-hyper3", Config("hyper", recur=1, coda=1, r=5, window=5, lanes=3), (2, 12)
    yield "odd-linear", Config("linear", d=48, head=24, prelude=1, recur=3, coda=0, r=3, window=2, vocab=65, vocab_padded=128), (3, 37)
    yield "odd-additive", Config("additive", d=64, head=64, prelude=0, recur=1, coda=1, r=6, window=5, vocab=64), (1, 70)
    yield "odd-none", Config("none", d=32, head=32, prelude=0, recur=1, coda=0, vocab=3), (5, 1)


def unshared():
    """The control of each mechanism: own weights for every iteration."""
    for name, options in MECHANISMS:
        for r in (2, 4):
            yield Config(name, prelude=1, recur=4 // r, coda=1, r=r, window=r, share=0, **options)


def own_recipe(c):
    """The injection of every iteration starts as the shared one."""
    names = {"linear": ("weight",), "diagonal": ("a", "delta")}.get(c.loop, ()) if not c.share else ()
    shared = {end: (base, scale) for end, base, scale in RECIPE}
    return tuple((f"inject.{i}.{n}", *shared[f"inject.{n}"]) for i in range(c.r) for n in names)


def small():
    """One three-layer case of each mechanism whose gradients are stored in full."""
    yield Config("none", prelude=0, recur=3, coda=0)
    for name, options in MECHANISMS:
        yield Config(name, prelude=1, recur=1, coda=1, r=4, window=4 if name == "hyper" else 2, **options)


def trained():
    yield Config("none", prelude=0, recur=4, coda=0)
    yield Config("linear", prelude=1, recur=1, coda=1, r=4, window=4)
    yield Config("linear", prelude=1, recur=1, coda=1, r=4, window=2)
    yield Config("hyper", prelude=1, recur=2, coda=1, r=2, window=2, lanes=2)
    yield Config("diagonal", prelude=1, recur=2, coda=1, r=2, window=2)
    yield Config("diagonal", prelude=1, recur=2, coda=1, r=2, window=2, learned_b=1)


def trained_unshared():
    yield Config("linear", prelude=1, recur=1, coda=1, r=4, window=4, share=0)
    yield Config("hyper", prelude=1, recur=2, coda=1, r=2, window=2, lanes=2, share=0)
    yield Config("diagonal", prelude=1, recur=2, coda=1, r=2, window=2, learned_b=1, share=0)


def head(name, c, batch, T):
    fields = [(k, v) for k, v in dataclasses.asdict(c).items() if k != "share" or not v]
    return [f"case {name}"] + [f"{k} {v}" for k, v in fields] + [f"batch {batch}", f"T {T}"]


def recipe_lines(recipe):
    return [f"recipe {end} {base} {scale:.12g}" for end, base, scale in recipe]


def numbers(key, values):
    return " ".join([key] + [f"{v:.12g}" for v in values])


def grad_case(name, c, batch=2, T=12):
    rows = tokens("tokens", (batch, T + 1), c.vocab)
    loss, z, nll, grads = loss_and_grads(weights(c, own_recipe(c)), c, rows)
    lines = head(name, c, batch, T) + recipe_lines(own_recipe(c)) + [numbers("tokens", rows.reshape(-1).tolist()), numbers("loss", [loss])]
    lines += [summary("logits", z), summary("nll", nll)] + [summary(n, g) for n, g in grads.items()]
    return lines + ["end"], {"logits": z, "nll": nll, **grads}


def train_case(c, extra=(), batch=4, T=12):
    rows = tokens("tokens", (STEPS, batch, T + 1), c.vocab)
    extra = extra + own_recipe(c)
    p = weights(c, extra)
    optimizer, losses, norms = Optimizer(p, RATES, STEPS), [], []
    for step in range(STEPS):
        loss, _, _, grads = loss_and_grads(p, c, rows[step])
        losses.append(float(loss))
        norms.append(float(torch.cat([g.reshape(-1) for g in grads.values()]).norm()))
        optimizer.step(grads)
    lines = head(label(c) + ("-cold" if extra[:1] == COLD else ""), c, batch, T) + recipe_lines(extra)
    lines += [f"steps {STEPS}"] + [f"rate_{k} {v}" for k, v in RATES.items()]
    lines += [numbers("tokens", rows.reshape(-1).tolist()), numbers("losses", losses), numbers("grad_norms", norms)]
    return lines + [summary(n, w) for n, w in p.items()] + ["end"]


def depth_case(c, r, batch=2, T=12, count=12):
    """Weights of a model made for c.r iterations, run at r: loss, logits and a greedy continuation."""
    p, c2 = weights(c, own_recipe(c)), dataclasses.replace(c, r=r, window=r)
    rows = tokens("tokens", (batch, T + 1), c.vocab)
    loss, z, nll, _ = loss_and_grads(p, c2, rows)
    prompt = rows[0, :5].tolist()
    text, gap = generate(p, c2, prompt, count)
    lines = head(f"{label(c)}-at-{r}", c2, batch, T) + recipe_lines(own_recipe(c)) + [f"r_trained {c.r}", numbers("tokens", rows.reshape(-1).tolist())]
    lines += [numbers("loss", [loss]), summary("logits", z), summary("nll", nll), numbers("prompt", prompt)]
    return lines + [numbers("greedy", text), numbers("greedy_gap", [gap]), "end"]


def depth():
    for name, options in MECHANISMS:
        c = Config(name, recur=4, r=2, window=2, **options)
        for r in ((2,) if name == "hyper" else (1, 2, 4)):
            yield depth_case(c, r)
    for name, options in MECHANISMS:
        yield depth_case(Config(name, recur=4, r=2, window=2, share=0, **options), 2)


def polar():
    """Inputs NAME.x and outputs NAME.y; "lowrank" has rank 4, "tiny" a norm where the 1e-6 counts."""
    inputs = {"square": (16, 16, 1.0), "tall": (24, 8, 1.0), "wide": (8, 24, 1.0), "big": (32, 128, 1.0), "row": (1, 7, 1.0),
              "tiny": (8, 12, 2.0**-22)}
    matrices = {n: torch.from_numpy(uniform("polar:" + n, a * b).reshape(a, b)) * s for n, (a, b, s) in inputs.items()}
    u, v = (torch.from_numpy(uniform("polar:" + n, 48).reshape(4, 12)) for n in ("u", "v"))
    matrices["lowrank"] = (u.t() @ v).float().double()
    return {f"{n}.{k}": t for n, x in matrices.items() for k, t in (("x", x), ("y", polar_express(x)))}


def rate_lines():
    for looped, d, batch, total in ((0, 640, 262144, 10 * 98331520), (1, 640, 262144, 955000000), (0, 384, 131072, 300000000),
                                    (1, 64, 16384, 20000000), (0, 2176, 524288, 47000000000)):
        rates = transfer(looped, d, batch, total)
        yield numbers("rates", [looped, d, batch, total] + [rates[k] for k in RATES])


def write(path, note, blocks):
    lines = [f"# {note} Made by tools/golden/make.py; format: tools/golden/README.md."]
    path.write_text("\n".join(lines + [line for block in blocks for line in block]) + "\n")


def main():
    here = pathlib.Path(__file__).resolve()
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here.parents[2] / "tests" / "golden" / "data"
    out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    write(out / "recipe.txt", "Start weights by the end of the name.", [recipe_lines(RECIPE)])
    cases = [grad_case(label(c), c)[0] for c in grid()] + [grad_case(n, c, *shape)[0] for n, c, shape in odd()]
    cases += [grad_case(label(c), c)[0] for c in unshared()]
    write(out / "grads.txt", "Loss, logits and gradients.", cases)
    full = []
    for c in small():
        name = "full-" + label(c)
        lines, tensors = grad_case(name, c)
        full.append(lines)
        save_safetensors(out / f"{name}.safetensors", tensors, {"case": name})
    write(out / "full.txt", "The cases whose gradients are stored in full.", full)
    c = Config("linear", prelude=1, recur=1, coda=1, r=4, window=2)
    save_safetensors(out / "weights-linear-r4.safetensors", weights(c), {"case": "full-" + label(c)})
    write(out / "train.txt", "Ten optimiser steps.", [train_case(c, extra) for extra in ((), COLD) for c in trained()] +
          [train_case(c) for c in trained_unshared()])
    write(out / "depth.txt", "Test-time depth and greedy generation.", depth())
    save_safetensors(out / "polar.safetensors", polar(), {"case": "polar"})
    write(out / "rates.txt", "looped d batch tokens -> muon embed head norm scalar.", [list(rate_lines())])


if __name__ == "__main__":
    main()
