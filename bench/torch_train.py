"""The speed peer: isodepth's model in PyTorch as one would write it for speed, forward + backward + MuonH/AdamW on random tokens.

r = 1 is the plain stack; r > 1 has prelude 2, coda 2 and the linear injection. The residual stream has the compute dtype, weights are fp32 with
bf16 autocast on demand, q, k and v are one matmul, attention is the fused kernel where torch has it (2.0 and later), Muon runs on stacks of equal
matrices. Prints one JSON line; FLOPs are those of the plan, 6 per executed parameter and token + 12 d T per layer.
"""
import argparse
import ctypes
import json
import math
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn

POLAR = ((8.156554524902461, -22.48329292557795, 15.878769915207462), (4.042929935166739, -2.808917465908714, 0.5000178451051316),
         (3.8916678022926607, -2.772484153217685, 0.5060648178503393), (3.285753657755655, -2.3681294933425376, 0.46449024233003106),
         (2.3465413258596377, -1.7097828382687081, 0.42323551169305323))


def rms_norm(x, weight=None):
    if hasattr(F, "rms_norm"):
        return F.rms_norm(x, (x.shape[-1],), None if weight is None else weight.to(x.dtype), 1e-6)
    y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
    return y if weight is None else y * weight.to(x.dtype)


def attend(q, k, v):
    """(B, H, T, head) each."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    T = q.shape[2]
    score = q @ k.transpose(2, 3) * q.shape[-1] ** -0.5
    score = score.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), -math.inf)
    return torch.softmax(score.float(), -1).to(v.dtype) @ v


class Block(nn.Module):
    def __init__(self, d, head):
        super().__init__()
        self.head = head
        self.n1, self.n3 = nn.Parameter(torch.ones(d)), nn.Parameter(torch.ones(d))
        uniform = lambda *shape: nn.Parameter(torch.empty(shape).uniform_(-(3 / shape[-1]) ** 0.5, (3 / shape[-1]) ** 0.5))
        self.qkv, self.proj, self.fc, self.out = uniform(3, d, d), uniform(d, d), uniform(4 * d, d), uniform(d, 4 * d)

    def forward(self, x, cos, sin):
        B, T, d = x.shape
        qkv = F.linear(rms_norm(x, self.n1), self.qkv.view(3 * d, d)).view(B, T, 3, d // self.head, self.head)
        x1, x2 = qkv[:, :, :2].chunk(2, -1)
        q, k = rms_norm(torch.cat((x1 * cos + x2 * sin, x2 * cos - x1 * sin), -1)).unbind(2)
        y = attend(q.transpose(1, 2), k.transpose(1, 2), qkv[:, :, 2].transpose(1, 2))
        x = x + F.linear(y.transpose(1, 2).reshape(B, T, d), self.proj)
        return x + F.linear(F.relu(F.linear(rms_norm(x, self.n3), self.fc)).square(), self.out)


class Model(nn.Module):
    def __init__(self, d, head, layers, r, T, V, dtype):
        super().__init__()
        self.r, self.dtype = r, dtype
        ends = 0 if r == 1 else 2
        stack = lambda n: nn.ModuleList(Block(d, head) for _ in range(n))
        self.prelude, self.recur, self.coda = stack(ends), stack((layers - 2 * ends) // r), stack(ends)
        self.wte = nn.Parameter(torch.randn(V, d))
        self.lm_head = nn.Parameter(torch.randn(V, d) * 1e-3)
        self.norm_emb, self.norm_recur, self.norm_final = (nn.Parameter(torch.ones(d)) for _ in range(3))
        self.inject = nn.Parameter(torch.eye(d, 2 * d)) if r > 1 else None
        angle = torch.outer(torch.arange(T), 10000.0 ** (-torch.arange(0, head, 2) / head))
        self.register_buffer("cos", angle.cos()[:, None, None, :].to(dtype))
        self.register_buffer("sin", angle.sin()[:, None, None, :].to(dtype))

    def run(self, blocks, x):
        for block in blocks:
            x = block(x, self.cos, self.sin)
        return x

    def forward(self, tokens, targets):
        e = self.run(self.prelude, rms_norm(F.embedding(tokens, self.wte).to(self.dtype), self.norm_emb))
        h = e
        for _ in range(self.r):
            u = h if self.inject is None else F.linear(torch.cat((e, h), -1), self.inject)
            h = rms_norm(self.run(self.recur, u), self.norm_recur)
        z = F.linear(rms_norm(self.run(self.coda, h), self.norm_final), self.lm_head).float()
        return F.cross_entropy((15 * torch.tanh(z / 15)).flatten(0, 1), targets.flatten())


class MuonH:
    """Matrices of equal shape are stacked, so that each step is a few batched matmuls."""
    def __init__(self, params, dtype):
        self.dtype, groups = dtype, {}
        for p in params:
            for i, w in enumerate(p.view(-1, *p.shape[-2:]).unbind(0)):
                groups.setdefault(tuple(w.shape), []).append((p, i))
        self.groups = [(slots, self.gather(slots, lambda p: p.data)) for slots in groups.values()]
        self.state = [(torch.zeros_like(w), w.norm(dim=(1, 2), keepdim=True)) for _, w in self.groups]

    @staticmethod
    def gather(slots, pick):
        return torch.stack([pick(p).view(-1, *p.shape[-2:])[i] for p, i in slots])

    def polar(self, g):
        x = (g / (1.02 * g.norm(dim=(1, 2), keepdim=True) + 1e-6)).to(self.dtype)
        tall = x.shape[1] > x.shape[2]
        x = x.mT if tall else x
        for a, b, c in POLAR:
            A = x @ x.mT
            x = torch.baddbmm(x, torch.baddbmm(A, A, A, beta=b, alpha=c), x, beta=a)
        return (x.mT if tall else x).float()

    @torch.no_grad()
    def step(self, rate):
        for (slots, w), (m, norm0) in zip(self.groups, self.state):
            g = self.gather(slots, lambda p: p.grad)
            m.lerp_(g, 0.05)
            o = self.polar(g.lerp_(m, 0.95))
            w.sub_(o.mul_(rate * norm0 / o.norm(dim=(1, 2), keepdim=True)))
            w.mul_(norm0 / w.norm(dim=(1, 2), keepdim=True))
            for (p, i), new in zip(slots, w.unbind(0)):
                p.data.view(-1, *p.shape[-2:])[i].copy_(new)


def optimizers(model, dtype):
    ends = {"wte": 0.3, "lm_head": 0.004}
    matrices = [p for n, p in model.named_parameters() if p.dim() > 1 and n not in ends]
    groups = [{"params": [p], "lr": ends[n]} for n, p in model.named_parameters() if n in ends]
    groups.append({"params": [p for p in model.parameters() if p.dim() == 1], "lr": 0.005})
    options = {"betas": (0.8, 0.95), "eps": 1e-10, "weight_decay": 0.0}
    try:
        adam = torch.optim.AdamW(groups, fused=True, **options)
    except (TypeError, RuntimeError):
        adam = torch.optim.AdamW(groups, foreach=True, **options)
    for g in adam.param_groups:
        g["base"] = g["lr"]
    return MuonH(matrices, dtype), adam


def flops_per_token(d, layers, r, T, V):
    inject = 0 if r == 1 else r * 2 * d * d
    return 6 * (layers * 12 * d * d + inject) + layers * 12 * d * T + 6 * d * V


def arguments():
    parser = argparse.ArgumentParser(description="tokens per second of one training step in PyTorch")
    for name, value in (("d", 64), ("r", 1), ("layers", 20), ("T", 256), ("V", 4096), ("head", 64), ("batch-tokens", 16384), ("micro", 8),
                        ("threads", 2), ("steps", 5)):
        parser.add_argument(f"--{name}", type=int, default=value, help=f"default {value}")
    parser.add_argument("--dtype", choices=("fp32", "bf16"), default="bf16")
    parser.add_argument("--compile", action="store_true", help="torch.compile the model")
    return parser.parse_args()


def keep_memory():
    """Freed blocks stay in the process (no mmap, no trim): page faults cost 5 to 25 % of a step otherwise."""
    libc, trim_threshold, mmap_max = ctypes.CDLL(None), -1, -4
    libc.mallopt(mmap_max, 0)
    libc.mallopt(trim_threshold, 2**31 - 1)


def main():
    a = arguments()
    keep_memory()
    torch.set_num_threads(a.threads)
    torch.manual_seed(1)
    dtype = torch.bfloat16 if a.dtype == "bf16" else torch.float32
    model = Model(a.d, a.head, a.layers, a.r, a.T, a.V, dtype)
    muon, adam = optimizers(model, dtype)
    run = torch.compile(model) if a.compile else model
    rows = torch.randint(0, a.V, (a.batch_tokens // a.T, a.T + 1))
    parts = rows.split(a.micro)
    times, cpu = [], []
    for step in range(a.steps + 1):                # the first step is warm-up
        start, cpu_start, total = time.perf_counter(), time.process_time(), 0.0
        for part in parts:
            with torch.autocast("cpu", torch.bfloat16, enabled=a.dtype == "bf16"):
                loss = run(part[:, :-1], part[:, 1:]) * (len(part) / len(rows))
            loss.backward()
            total += loss.item()
        decay = 1 - 0.9 * step / (a.steps + 1)
        for group in adam.param_groups:
            group["lr"] = group["base"] * decay
        adam.step()
        muon.step(0.014 * decay)
        model.zero_grad(set_to_none=True)
        times.append(time.perf_counter() - start)
        cpu.append(time.process_time() - cpu_start)
    rate = rows.shape[0] * a.T / statistics.median(times[1:])
    gflops = rate * flops_per_token(a.d, a.layers, a.r, a.T, a.V) / 1e9
    per_cpu = rows.shape[0] * a.T / statistics.median(cpu[1:])
    print(json.dumps({"tokens_per_s": round(rate, 1), "tokens_per_cpu_s": round(per_cpu, 1), "gflops": round(gflops, 2), "dtype": a.dtype, "torch_version": torch.__version__, "d": a.d,
                      "r": a.r, "threads": a.threads, "compile": a.compile, "loss": round(total, 4)}))


if __name__ == "__main__":
    main()
