"""The model and the optimiser of isodepth in plain PyTorch: the oracle of the C trainer.

Written from the specification alone, for reading and not for speed. Parameters are a dict {checkpoint name: tensor}, so the dtype of the
dict is the dtype of the computation; golden numbers are made in float64 from weights that fp32 holds exactly. Runs on torch 1.13 and later.

    x = norm_emb(wte[tokens]);  e = prelude(x)
    S = start(e);  r times: u = inject(e, S), s = norm_recur(recur(u)), S = update(S, s);  h = pool(S)
    logits = 15 tanh(lm_head(norm_final(coda(h))) / 15)

What the specification leaves open is decided here:
 1. RMSNorm is x / sqrt(mean(x^2) + 1e-6) * scale everywhere; the QK norm is the same without the scale.
 2. RoPE: position t = 0.. of the row, angle t * 10000^(-2j/head) for the pair (j, j + head/2); no position offset between recurrences.
 3. wte and lm_head both have vocab_padded rows. Padded rows of wte are never read, padded rows of lm_head stay out of the softmax, so both
    have an exact zero gradient and are left alone by AdamW.
 4. The loss is the mean negative log-likelihood (nats) over all batch*T targets.
 5. "none" has every layer under `recur`, prelude = coda = 0, r = 1. The other mechanisms are defined at r = 1 too (one injection, one
    iteration); such a case is the test-time depth 1 of a looped model.
 6. hyper: lane_k <- sum_j M[i,k,j] lane_j + beta[i,k] s, the old lanes on the right. A window below r is an error.
 7. diagonal: `inject.a` (d), `inject.delta` (d), optional `inject.B` (d,d, out x in). Start: a = 0 (A = 1), delta = 0 (Delta = softplus(0)
    = ln 2 = 0.693), B = I, hence decay exp(-Delta A) = 1/2 and u = h/2 + 0.693 e. Without B the product B e is e.
 8. Schedule: the rate at step t of S is base * (1 - 0.9 t/S), t = 0..S-1.
 9. MuonH takes every matrix inside the blocks, inject.weight and inject.B, each by itself (q, k and v are three matrices). Its norm is that
    of the weights the run starts from: sqrt(d) for inject.weight = [I|0] and for inject.B = I. A zero gradient history (norm of the
    orthogonalised matrix exactly 0) leaves the matrix unchanged.
10. AdamW is the usual one with bias correction: m/(1-b1^t) / (sqrt(v/(1-b2^t)) + eps), t from 1. Rates: wte "embed", lm_head "head", every norm
    scale "norm", lane_* and inject.a, inject.delta "scalar".
11. Transfer: "executed parameters" of the reference counts matrices and norm scales alike as often as they are run, with the injection inside
    the recurrent part: r=1: 20*12d^2 + 43d; r=4 linear: 4*12d^2 + 8d + 2d + 4*(4*12d^2 + 8d + d + 2d^2).
12. The unshared control (share = 0): layer l of iteration i is recur.(i*recur + l), its injection inject.i.weight, inject.i.a, inject.i.delta.
    What runs once, or has a row for each iteration anyway, is there once: inject.B, lane_*, norm_recur.
"""
import math
from dataclasses import dataclass

import torch

EPS = 1e-6
SOFTCAP = 15.0
LOOPS = ("none", "linear", "additive", "passthrough", "hyper", "diagonal")
POLAR = ((8.156554524902461, -22.48329292557795, 15.878769915207462),
         (4.042929935166739, -2.808917465908714, 0.5000178451051316),
         (3.8916678022926607, -2.772484153217685, 0.5060648178503393),
         (3.285753657755655, -2.3681294933425376, 0.46449024233003106),
         (2.3465413258596377, -1.7097828382687081, 0.42323551169305323))


@dataclass(frozen=True)
class Config:
    loop: str
    d: int = 32
    head: int = 16
    prelude: int = 2
    recur: int = 8           # layers inside the recurrent block
    coda: int = 2
    r: int = 1
    window: int = 1          # iterations that are differentiated
    lanes: int = 0           # hyper: K
    learned_b: int = 0       # diagonal: 1 when inject.B exists
    vocab: int = 50
    vocab_padded: int = 64
    share: int = 1           # 0: every iteration has its own layers and injection (the unshared control)

    def __post_init__(self):
        assert self.loop in LOOPS and self.d % self.head == 0 and 1 <= self.window <= self.r
        assert self.loop != "none" or (self.r == 1 and self.prelude == self.coda == 0)
        assert self.share or (self.loop != "none" and self.window == self.r), "the unshared control needs full BPTT"
        assert self.loop != "hyper" or (self.window == self.r and self.lanes >= 2), "hyper needs full BPTT and K >= 2"


def inject_name(c, name, i):
    """The injection's parameter `name` of iteration i (decision 12)."""
    return f"inject.{name}" if c.share else f"inject.{i}.{name}"


def parameter_shapes(c):
    """{name: shape} in checkpoint names, in a fixed order."""
    d, shapes = c.d, {"transformer.wte.weight": (c.vocab_padded, c.d)}
    for part, count in (("prelude", c.prelude), ("recur", c.recur * (1 if c.share else c.r)), ("coda", c.coda)):
        for i in range(count):
            layer = f"transformer.{part}.{i}."
            for name in ("attn.c_q", "attn.c_k", "attn.c_v", "attn.c_proj"):
                shapes[f"{layer}{name}.weight"] = (d, d)
            shapes[f"{layer}mlp.c_fc.weight"] = (4 * d, d)
            shapes[f"{layer}mlp.c_proj.weight"] = (d, 4 * d)
            shapes[f"{layer}n1.weight"] = shapes[f"{layer}n3.weight"] = (d,)
    if c.loop == "linear":
        shapes.update({inject_name(c, "weight", i): (d, 2 * d) for i in range(c.r)})
    if c.loop == "hyper":
        shapes.update(lane_alpha=(c.r, c.lanes), lane_mixing=(c.r, c.lanes, c.lanes), lane_beta=(c.r, c.lanes))
    if c.loop == "diagonal":
        shapes.update({inject_name(c, n, i): (d,) for i in range(c.r) for n in ("a", "delta")})
        if c.learned_b:
            shapes["inject.B"] = (d, d)
    shapes.update({"norm_emb.weight": (d,), "norm_recur.weight": (d,), "norm_final.weight": (d,)})
    shapes["lm_head.weight"] = (c.vocab_padded, d)
    return shapes


# ---- forward ----------------------------------------------------------------------------------------------------------------------------

def rms_norm(x, scale=None):
    y = x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + EPS)
    return y if scale is None else y * scale


def rope(x):
    """x: (B, T, H, head)."""
    T, half = x.shape[1], x.shape[-1] // 2
    freq = 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = torch.arange(T, dtype=torch.float64)[:, None] * freq
    cos, sin = (f(angle).to(x.dtype)[:, None, :] for f in (torch.cos, torch.sin))
    x1, x2 = x[..., :half], x[..., half:]
    return torch.cat((x1 * cos + x2 * sin, -x1 * sin + x2 * cos), -1)


def attention(p, layer, x, head):
    B, T, d = x.shape
    q, k, v = (torch.matmul(x, p[f"{layer}attn.{n}.weight"].t()).view(B, T, d // head, head) for n in ("c_q", "c_k", "c_v"))
    q, k = rms_norm(rope(q)), rms_norm(rope(k))
    score = torch.einsum("bthc,bshc->bhts", q, k) / math.sqrt(head)
    score = score.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), -math.inf)
    y = torch.einsum("bhts,bshc->bthc", torch.softmax(score, -1), v)
    return torch.matmul(y.reshape(B, T, d), p[layer + "attn.c_proj.weight"].t())


def mlp(p, layer, x):
    return torch.matmul(torch.relu(torch.matmul(x, p[layer + "mlp.c_fc.weight"].t())).pow(2), p[layer + "mlp.c_proj.weight"].t())


def layers(p, c, part, x, first=0):
    for i in range(first, first + getattr(c, part)):
        layer = f"transformer.{part}.{i}."
        x = x + attention(p, layer, rms_norm(x, p[layer + "n1.weight"]), c.head)
        x = x + mlp(p, layer, rms_norm(x, p[layer + "n3.weight"]))
    return x


def loop(p, c, e):
    """The recurrent part: e (B, T, d) to the coda's input (B, T, d). hyper's state is (K, B, T, d)."""
    if c.loop == "hyper":
        h = torch.stack([e] * c.lanes)
    else:
        h = torch.zeros_like(e) if c.loop == "additive" else e
    drive = torch.matmul(e, p["inject.B"].t()) if c.learned_b else e
    for i in range(c.r):
        if c.loop == "linear":
            u = torch.matmul(torch.cat((e, h), -1), p[inject_name(c, "weight", i)].t())
        elif c.loop == "additive":
            u = h + e
        elif c.loop == "hyper":
            u = torch.einsum("k,kbtd->btd", p["lane_alpha"][i], h)
        elif c.loop == "diagonal":
            delta = torch.nn.functional.softplus(p[inject_name(c, "delta", i)])
            u = torch.exp(-delta * torch.exp(p[inject_name(c, "a", i)])) * h + delta * drive
        else:
            u = h
        s = rms_norm(layers(p, c, "recur", u, 0 if c.share else i * c.recur), p["norm_recur.weight"])
        if c.loop == "hyper":
            h = torch.einsum("kj,jbtd->kbtd", p["lane_mixing"][i], h) + torch.einsum("k,btd->kbtd", p["lane_beta"][i], s)
        else:
            h = s
        if i < c.r - c.window:
            h = h.detach()
    return h.sum(0) if c.loop == "hyper" else h


def logits(p, c, tokens):
    """Softcapped logits (B, T, vocab): the padded columns are cut off."""
    e = layers(p, c, "prelude", rms_norm(p["transformer.wte.weight"][tokens], p["norm_emb.weight"]))
    x = rms_norm(layers(p, c, "coda", loop(p, c, e)), p["norm_final.weight"])
    z = torch.matmul(x, p["lm_head.weight"].t())[..., :c.vocab]
    return SOFTCAP * torch.tanh(z / SOFTCAP)


def token_losses(z, targets):
    return torch.logsumexp(z, -1) - z.gather(-1, targets[..., None])[..., 0]


def loss_and_grads(p, c, rows):
    """rows (B, T+1) -> loss, logits (B,T,vocab), nll (B,T), {name: gradient}; what the loss does not depend on has gradient 0."""
    p = {n: w.detach().requires_grad_() for n, w in p.items()}
    z = logits(p, c, rows[:, :-1])
    nll = token_losses(z, rows[:, 1:])
    loss = nll.mean()
    grads = torch.autograd.grad(loss, list(p.values()), allow_unused=True)
    grads = {n: torch.zeros_like(w) if g is None else g for (n, w), g in zip(p.items(), grads)}
    return loss.detach(), z.detach(), nll.detach(), grads


def generate(p, c, prompt, count):
    """Greedy continuation; also the smallest gap between the best and the second-best logit met on the way."""
    row, gap = list(prompt), math.inf
    for _ in range(count):
        best = logits(p, c, torch.tensor([row]))[0, -1].topk(2)
        gap = min(gap, float(best.values[0] - best.values[1]))
        row.append(int(best.indices[0]))
    return row[len(prompt):], gap


# ---- optimiser --------------------------------------------------------------------------------------------------------------------------

def polar_express(g):
    x = g / (1.02 * g.norm() + 1e-6)
    wide = g.shape[0] <= g.shape[1]
    for a, b, c in POLAR:
        A = x @ x.t() if wide else x.t() @ x
        P = b * A + c * (A @ A)
        x = a * x + (P @ x if wide else x @ P)
    return x


def group(name):
    """Which rate a tensor uses; "muon" means MuonH, every other group AdamW."""
    if name == "transformer.wte.weight":
        return "embed"
    if name == "lm_head.weight":
        return "head"
    if name.startswith("norm_") or name.endswith((".n1.weight", ".n3.weight")):
        return "norm"
    if name.startswith("lane_") or (name.startswith("inject.") and name.endswith((".a", ".delta"))):
        return "scalar"
    return "muon"


class Optimizer:
    MU, BETA1, BETA2, ADAM_EPS = 0.95, 0.8, 0.95, 1e-10

    def __init__(self, p, rates, steps):
        self.p, self.rates, self.steps, self.t = p, rates, steps, 0
        self.m = {n: torch.zeros_like(w) for n, w in p.items()}
        self.v = {n: torch.zeros_like(w) for n, w in p.items() if group(n) != "muon"}
        self.norm0 = {n: w.norm() for n, w in p.items() if group(n) == "muon"}

    def step(self, grads):
        decay = 1.0 - 0.9 * self.t / self.steps
        self.t += 1
        for n, g in grads.items():
            rate = self.rates[group(n)] * decay
            (self.muonh if group(n) == "muon" else self.adamw)(n, g, rate)

    def muonh(self, n, g, rate):
        w, m = self.p[n], self.m[n]
        m += (1 - self.MU) * (g - m)
        o = polar_express(g + self.MU * (m - g))
        if o.norm() == 0:
            return
        w -= rate * o * (self.norm0[n] / o.norm())
        w *= self.norm0[n] / w.norm()

    def adamw(self, n, g, rate):
        m, v = self.m[n], self.v[n]
        m += (1 - self.BETA1) * (g - m)
        v += (1 - self.BETA2) * (g * g - v)
        mhat, vhat = m / (1 - self.BETA1 ** self.t), v / (1 - self.BETA2 ** self.t)
        self.p[n] -= rate * mhat / (vhat.sqrt() + self.ADAM_EPS)


def reference_executed(looped, d=640):
    """Executed parameters of the reference model (decision 11)."""
    nb, layer_norms = 12 * d * d, 2 * d
    if not looped:
        return 20 * (nb + layer_norms) + 3 * d
    return 4 * (nb + layer_norms) + 2 * d + 4 * (4 * (nb + layer_norms) + d + 2 * d * d)


def transfer(looped, d, batch_tokens, tokens):
    """Peak rates {group: rate} of a run of `tokens` tokens with batches of `batch_tokens`."""
    batch = (batch_tokens / 262144) ** 0.558
    rates = {"muon": 0.014 * batch * (tokens / (10 * reference_executed(looped))) ** -0.32}
    for name, base in (("embed", 0.3 * batch), ("head", 0.004 * batch), ("norm", 0.005), ("scalar", 0.01)):
        rates[name] = base * (d / 640) ** -0.5
    return rates
