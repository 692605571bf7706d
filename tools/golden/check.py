"""Checks reference.py against second writings of the same mathematics, then the golden files against an fp32 run. Exit code 1 on failure.

 1. r = 1 equals a plain stack of layers, written again with complex-number RoPE, one head at a time.
 2. A looped model equals the unrolled one whose iterations own copies of the shared weights: the loss, and each gradient as the sum
    over the copies of the last `window` iterations. This is what truncated BPTT means; window = r is the full gradient.
    The unshared control equals a second writing with each iteration's own weights.
 3. Central differences along a random direction of each tensor.
 4. Polar Express in fp32 maps singular values >= 1e-3 of its normalised input into [0.858, 1.142]; MuonH keeps the norm of a matrix.
 5. The speed peer (bench/torch_train.py) is the same model: gradients, and weights after three steps.
 6. The fp32 reference agrees with the committed float64 numbers; the largest errors are printed; the tolerances of
    README.md come from here.
"""
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

import make
from hashed import tokens, uniform
from reference import Config, Optimizer, POLAR, group, logits, loss_and_grads, polar_express, token_losses

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "golden" / "data"
failures = 0


def report(what, error, limit):
    global failures
    bad = not error <= limit
    failures += bad
    print(f"{'FAIL' if bad else 'ok  '} {what}: {error:.2e} (limit {limit:.0e})")


def distance(a, b):
    return float((a - b).norm() / (b.norm() + 1e-30)) if float((a - b).norm()) else 0.0


# ---- a second writing of the model ------------------------------------------------------------------------------------------------------

def norm2(x, scale):
    return F.normalize(x, dim=-1, eps=0) * x.shape[-1] ** 0.5 * scale / (1 + 1e-6 / x.pow(2).mean(-1, keepdim=True)).sqrt()


def turn(x):
    """Rotary embedding of (B, T, head): the pair (x1, x2) times exp(-i t f)."""
    T, half = x.shape[1], x.shape[2] // 2
    angle = torch.outer(torch.arange(T), 1.0 / 10000.0 ** (torch.arange(0, 2 * half, 2, dtype=x.dtype) / (2 * half)))
    y = torch.complex(x[..., :half], x[..., half:]) * torch.polar(torch.ones_like(angle), -angle)
    return norm2(torch.cat((y.real, y.imag), -1), 1.0)


def block2(w, x, head):
    """One layer; w maps the short names to tensors."""
    a, heads = norm2(x, w["n1"]), []
    for i in range(0, x.shape[-1], head):
        q, k, v = (F.linear(a, w["attn." + n][i:i + head]) for n in ("c_q", "c_k", "c_v"))
        score = turn(q) @ turn(k).transpose(1, 2) * head ** -0.5
        weight = score.exp().tril()
        heads.append(weight @ v / weight.sum(-1, keepdim=True))
    x = x + F.linear(torch.cat(heads, -1), w["attn.c_proj"])
    up = F.linear(norm2(x, w["n3"]), w["mlp.c_fc"])
    return x + F.linear(torch.where(up > 0, up * up, torch.zeros_like(up)), w["mlp.c_proj"])


def part2(p, c, part, x):
    for i in range(getattr(c, part)):
        prefix = f"transformer.{part}.{i}."
        x = block2({n[len(prefix):-len(".weight")]: w for n, w in p.items() if n.startswith(prefix)}, x, c.head)
    return x


def tail2(p, c, h, rows):
    z = F.linear(norm2(part2(p, c, "coda", h), p["norm_final.weight"]), p["lm_head.weight"][:c.vocab])
    return F.cross_entropy((15 * torch.tanh(z / 15)).reshape(-1, c.vocab), rows[:, 1:].reshape(-1))


def iterate2(p, c, e, state, i):
    """One iteration with its own copies p and e; the state is a list of lanes (one, but for hyper)."""
    h = state[0]
    if c.loop == "linear":
        u = F.linear(e, p["inject.weight"][:, :c.d]) + F.linear(h, p["inject.weight"][:, c.d:])
    elif c.loop == "additive":
        u = e if i == 0 else e + h
    elif c.loop == "hyper":
        u = sum(a * lane for a, lane in zip(p["lane_alpha"][i], state))
    elif c.loop == "diagonal":
        delta = torch.log1p(p["inject.delta"].exp())
        u = h * torch.exp(-delta * p["inject.a"].exp()) + delta * (F.linear(e, p["inject.B"]) if c.learned_b else e)
    else:
        u = h
    s = norm2(part2(p, c, "recur", u), p["norm_recur.weight"])
    if c.loop != "hyper":
        return [s]
    K = range(c.lanes)
    return [sum(p["lane_mixing"][i, k, j] * state[j] for j in K) + p["lane_beta"][i, k] * s for k in K]


def unrolled(p, c, rows):
    """Loss and gradients by the sum over copies."""
    p = {n: w.clone().requires_grad_() for n, w in p.items()}
    shared = [n for n in p if ".recur." in n or n.startswith(("inject", "lane_", "norm_recur"))]
    copies = [{n: p[n].detach().clone().requires_grad_() for n in shared} for _ in range(c.r)]
    e = part2(p, c, "prelude", norm2(F.embedding(rows[:, :-1], p["transformer.wte.weight"]), p["norm_emb.weight"]))
    es = [e.detach().clone().requires_grad_() for _ in range(c.r + 1)]     # the last one is the start state
    state = [es[c.r]] * max(c.lanes, 1)
    for i in range(c.r):
        state = iterate2(copies[i], c, es[i], state, i)
    loss = tail2(p, c, sum(state), rows)
    loss.backward()
    live = range(c.r - c.window, c.r)
    zero = torch.zeros_like(e)
    from_loop = [es[i].grad for i in live] + ([es[c.r].grad] if c.window == c.r else [])
    e.backward(sum((g for g in from_loop if g is not None), zero))
    grads = {n: w.grad if w.grad is not None else torch.zeros_like(w) for n, w in p.items()}
    for n in shared:
        grads[n] = sum(copies[i][n].grad for i in live)
    return loss.detach(), grads


def check_unrolled():
    rows, worst = tokens("tokens", (2, 13), 50), {}
    for c in make.grid():
        p = make.weights(c)
        loss, _, _, grads = loss_and_grads(p, c, rows)
        loss2, grads2 = unrolled(p, c, rows)
        name = "r = 1 equals the plain stack" if c.loop == "none" else f"{make.label(c).split('-')[0]} equals its unrolled copies"
        worst[name] = max([worst.get(name, 0.0), abs(float(loss - loss2))] + [distance(grads[n], grads2[n]) for n in grads])
    for name, error in worst.items():
        report(name, error, 1e-10)


def own2(p, c, i):
    """What iteration i of the unshared control uses, under the names of a shared one."""
    mine = {n: w for n, w in p.items() if ".recur." not in n and not n.startswith("inject.")}
    for n, w in p.items():
        parts = n.split(".")
        if parts[1:2] == ["recur"] and int(parts[2]) // c.recur == i:
            mine[".".join(parts[:2] + [str(int(parts[2]) % c.recur)] + parts[3:])] = w
        if parts[0] == "inject" and parts[1] in (str(i), "B"):
            mine["inject." + parts[-1]] = w
    return mine


def check_unshared():
    rows, worst = tokens("tokens", (2, 13), 50), 0.0
    for c in make.unshared():
        p = make.weights(c, make.own_recipe(c))
        loss, _, _, grads = loss_and_grads(p, c, rows)
        q = {n: w.clone().requires_grad_() for n, w in p.items()}
        e = part2(q, c, "prelude", norm2(F.embedding(rows[:, :-1], q["transformer.wte.weight"]), q["norm_emb.weight"]))
        state = [e] * max(c.lanes, 1)
        for i in range(c.r):
            state = iterate2(own2(q, c, i), c, e, state, i)
        loss2 = tail2(q, c, sum(state), rows)
        loss2.backward()
        worst = max([worst, abs(float(loss - loss2.detach()))] + [distance(grads[n], q[n].grad) for n in grads])
    report("the unshared control equals a second writing", worst, 1e-10)


def loss_only(p, c, rows):
    with torch.no_grad():
        return token_losses(logits(p, c, rows[:, :-1]), rows[:, 1:]).mean()


def check_differences():
    rows, worst = tokens("tokens", (2, 13), 50), 0.0
    for c in [c for c in make.grid() if c.window == c.r and c.r in (1, 4)]:
        p = make.weights(c)
        grads = loss_and_grads(p, c, rows)[3]
        for n, g in grads.items():
            v = torch.from_numpy(uniform("direction", g.numel()).reshape(g.shape))
            v, h = v / v.norm(), 1e-5
            sides = [loss_only({**p, n: p[n] + sign * h * v}, c, rows) for sign in (1, -1)]
            worst = max(worst, abs(float((sides[0] - sides[1]) / (2 * h) - (g * v).sum())) / (float(g.norm()) + 1e-3))
    report("central differences", worst, 1e-7)


# ---- optimiser --------------------------------------------------------------------------------------------------------------------------

def scalar_polar(x):
    """The iteration as it acts on one singular value of the normalised input."""
    for a, b, c in POLAR:
        x = x * (a + b * x ** 2 + c * x ** 4)
    return x


def check_polar():
    for rows, cols in ((16, 16), (24, 8), (8, 24)):
        q1 = torch.linalg.qr(torch.from_numpy(uniform("q1", rows * rows).reshape(rows, rows)))[0]
        q2 = torch.linalg.qr(torch.from_numpy(uniform("q2", cols * cols).reshape(cols, cols)))[0]
        n = min(rows, cols)
        spectrum = torch.logspace(-2.7, 0, n, dtype=torch.float64)
        out = torch.linalg.svd(polar_express((q1[:, :n] @ torch.diag(spectrum) @ q2[:, :n].t()).float()).double())[1]
        expected = scalar_polar(spectrum / (1.02 * spectrum.norm() + 1e-6))
        report(f"polar {rows}x{cols} in fp32 against its scalar iteration", float((out.sort()[0] - expected.sort()[0]).abs().max()), 1e-4)
    files = make.polar()
    worst = max(distance(polar_express(x.float()).double(), files[n[:-1] + "y"]) for n, x in files.items() if n.endswith(".x"))
    report("polar.safetensors in fp32", worst, 1e-4)
    y = scalar_polar(torch.linspace(1e-3, 1 / 1.02, 1000001, dtype=torch.float64))
    print("     range of the scalar iteration:", float(y.min()), float(y.max()))
    report("polar range, distance outside [0.858, 1.142]", max(0.858 - float(y.min()), float(y.max()) - 1.142, 0.0), 0.0)


def check_muon_norm():
    c = Config("linear", prelude=1, recur=1, coda=1, r=2, window=2)
    p = make.weights(c)
    start = {n: float(w.norm()) for n, w in p.items()}
    optimizer = Optimizer(p, make.RATES, 3)
    for step in range(3):
        optimizer.step(loss_and_grads(p, c, tokens("tokens", (2, 13), 50))[3])
    report("MuonH keeps norms", max(abs(float(w.norm()) / start[n] - 1) for n, w in p.items() if group(n) == "muon"), 1e-12)


# ---- the speed peer ---------------------------------------------------------------------------------------------------------------------

def peer_names(c):
    """{parameter of bench/torch_train.py: (names here), stacked if three}."""
    names = {"wte": ["transformer.wte.weight"], "lm_head": ["lm_head.weight"]}
    names.update({n: [n + ".weight"] for n in ("norm_emb", "norm_recur", "norm_final")})
    if c.loop == "linear":
        names["inject"] = ["inject.weight"]
    for layer in (f"{part}.{i}." for part in ("prelude", "recur", "coda") for i in range(getattr(c, part))):
        names[layer + "qkv"] = [f"transformer.{layer}attn.{n}.weight" for n in ("c_q", "c_k", "c_v")]
        for theirs, ours in (("proj", "attn.c_proj"), ("fc", "mlp.c_fc"), ("out", "mlp.c_proj"), ("n1", "n1"), ("n3", "n3")):
            names[layer + theirs] = [f"transformer.{layer}{ours}.weight"]
    return names


def check_peer():
    sys.path.insert(0, str(ROOT / "bench"))
    import torch_train
    rows = tokens("tokens", (3, 4, 13), 64)
    for c in (Config("none", prelude=0, recur=12, coda=0, vocab=64), Config("linear", recur=2, r=4, window=4, vocab=64)):
        p, names = single(c), peer_names(c)
        model = torch_train.Model(c.d, c.head, 12, c.r, 12, 64, torch.float32)
        theirs = dict(model.named_parameters())
        pick = lambda tensors, ours: torch.stack([tensors[n] for n in ours]) if len(ours) > 1 else tensors[ours[0]]
        for n, ours in names.items():
            theirs[n].data.copy_(pick(p, ours))
        muon, adam = torch_train.optimizers(model, torch.float32)
        optimizer = Optimizer(p, make.RATES, 10**9)             # so long a run that the rates stay constant
        worst_grad = 0.0
        for step in range(3):
            model(rows[step, :, :-1], rows[step, :, 1:]).backward()
            grads = loss_and_grads(p, c, rows[step])[3]
            worst_grad = max([worst_grad] + [distance(theirs[n].grad, pick(grads, ours)) for n, ours in names.items()])
            optimizer.step(grads)
            adam.step()
            muon.step(make.RATES["muon"])
            model.zero_grad(set_to_none=True)
        worst = max(distance(theirs[n].data, pick(p, ours)) for n, ours in names.items())
        report(f"speed peer {make.label(c)}, gradients of three steps", worst_grad, 1e-4)
        report(f"speed peer {make.label(c)}, weights after three steps", worst, 1e-5)


# ---- the files --------------------------------------------------------------------------------------------------------------------------

def read_cases(path):
    case = None
    for line in path.read_text().splitlines():
        key, *values = line.split()
        if key == "case":
            case = {"case": values[0], "tensors": {}, "recipe": []}
        elif key == "end":
            yield case
        elif key == "tensor":
            case["tensors"][values[0]] = [float(v) for v in values[1:]]
        elif key == "recipe":
            case["recipe"].append((values[0], values[1], float(values[2])))
        elif key != "#":
            case[key] = values[0] if key == "loop" else [float(v) for v in values]


def config(case):
    fields = {k: int(case[k][0]) for k in Config.__dataclass_fields__ if k in case and k != "loop"}
    return Config(case["loop"], **fields)


def summary_error(golden, t):
    """Largest error of norm, dot product and samples, relative to the norm."""
    x = t.double().reshape(-1).numpy()
    count, norm, dot, *samples = golden
    assert count == x.size
    errors = [np.linalg.norm(x) - norm, x @ uniform("dot", x.size) - dot] + [x[int(i)] - v for i, v in zip(samples[::2], samples[1::2])]
    return max(map(abs, errors)) / norm if norm else float(np.abs(x).max())


def single(c, extra=()):
    return {n: w.float() for n, w in make.weights(c, extra).items()}


def check_grad_files():
    worst = {"loss": 0.0, "logits": 0.0, "nll": 0.0, "gradients": 0.0}
    for case in [case for name in ("grads", "full") for case in read_cases(DATA / f"{name}.txt")]:
        c = config(case)
        rows = torch.tensor(case["tokens"], dtype=torch.int64).reshape(int(case["batch"][0]), -1)
        loss, z, nll, grads = loss_and_grads(single(c, case["recipe"]), c, rows)
        worst["loss"] = max(worst["loss"], abs(float(loss) / case["loss"][0] - 1))
        for n, t in {"logits": z, "nll": nll, **grads}.items():
            kind = n if n in worst else "gradients"
            worst[kind] = max(worst[kind], summary_error(case["tensors"][n], t))
    for kind, limit in (("loss", 1e-6), ("logits", 1e-5), ("nll", 1e-5), ("gradients", 3e-5)):
        report(f"fp32 against files, {kind}", worst[kind], limit)


def check_train_file():
    worst_loss, worst_weight = 0.0, 0.0
    for case in read_cases(DATA / "train.txt"):
        c, steps, batch = config(case), int(case["steps"][0]), int(case["batch"][0])
        rows = torch.tensor(case["tokens"], dtype=torch.int64).reshape(steps, batch, -1)
        p = single(c, case["recipe"])
        optimizer = Optimizer(p, {k: case["rate_" + k][0] for k in make.RATES}, steps)
        for step in range(steps):
            loss, _, _, grads = loss_and_grads(p, c, rows[step])
            worst_loss = max(worst_loss, abs(float(loss) / case["losses"][step] - 1))
            optimizer.step(grads)
        worst_weight = max([worst_weight] + [summary_error(case["tensors"][n], w) for n, w in p.items()])
    report("fp32 against files, ten losses", worst_loss, 1e-5)
    report("fp32 against files, weights after ten steps", worst_weight, 1e-4)


def main():
    torch.set_num_threads(1)
    check_unrolled()
    check_unshared()
    check_differences()
    check_polar()
    check_muon_norm()
    check_peer()
    check_grad_files()
    check_train_file()
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
