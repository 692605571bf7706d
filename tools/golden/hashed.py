"""Numbers that C and Python derive alike, so that no weight file is needed, and the two file writers.

u(name, i) = (splitmix64 finaliser of fnv1a64(name) + (i+1) * 0x9E3779B97F4A7C15, top 24 bits) / 2^23 - 1, in [-1, 1): exact in fp32.
A weight is base + scale * u rounded once to fp32; scale is a power of two, so fused and separate multiply-add give the same bits.
"""
import json
import struct

import numpy as np
import torch

# (end of the tensor's name, base, scale); the first match counts. Base "eye" is 1 where row mod columns == column, the last
# dimension being the columns: [I|0] for inject.weight, one-hot(i mod K) for lane_alpha, I for each matrix of lane_mixing.
RECIPE = (("attn.c_q.weight", "zero", 2**-2), ("attn.c_k.weight", "zero", 2**-2), ("attn.c_v.weight", "zero", 2**-2),
          ("attn.c_proj.weight", "zero", 2**-2), ("mlp.c_fc.weight", "zero", 2**-2), ("mlp.c_proj.weight", "zero", 2**-3),
          ("wte.weight", "zero", 2.0), ("lm_head.weight", "zero", 2**-1),
          ("inject.weight", "eye", 2**-3), ("inject.B", "eye", 2**-3), ("inject.a", "zero", 2**-1), ("inject.delta", "zero", 2**-1),
          ("lane_alpha", "eye", 2**-2), ("lane_mixing", "eye", 2**-2), ("lane_beta", "one", 2**-2),
          ("weight", "one", 2**-2))  # every norm scale


def fnv1a(name):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return h


def bits(name, count):
    """count hashed uint64 of the stream `name`."""
    with np.errstate(over="ignore"):
        z = np.uint64(fnv1a(name)) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def uniform(name, count):
    return (bits(name, count) >> np.uint64(40)).astype(np.float64) / 2**23 - 1.0


def weight(name, shape, extra=()):
    """The hashed start value of a tensor: float64 holding fp32 numbers. Rows of `extra` come before those of RECIPE."""
    base, scale = next((b, s) for end, b, s in tuple(extra) + RECIPE if name.endswith(end))
    count, cols = int(np.prod(shape)), shape[-1]
    w = uniform(name, count) * scale
    if base == "one":
        w += 1.0
    if base == "eye":
        index = np.arange(count)
        w += (index // cols % cols == index % cols)
    return torch.from_numpy(w.astype(np.float32).astype(np.float64).reshape(shape))


def tokens(name, shape, vocab):
    return torch.from_numpy((bits(name, int(np.prod(shape))) % np.uint64(vocab)).astype(np.int64).reshape(shape))


def summary(name, t):
    """`tensor NAME COUNT NORM DOT (INDEX VALUE)x8`: the dot product is with uniform("dot", COUNT); samples are non-zero where possible."""
    x = t.detach().double().reshape(-1).numpy()
    drawn = [int(i) for i in bits("sample:" + name, 64) % np.uint64(x.size)]
    picks = list(dict.fromkeys([i for i in drawn if x[i] != 0.0] + drawn))[:8]
    picks = (picks * 8)[:8]
    fields = [f"{np.linalg.norm(x):.12g}", f"{x @ uniform('dot', x.size):.12g}"] + [f"{i} {x[i]:.12g}" for i in picks]
    return f"tensor {name} {x.size} " + " ".join(fields)


def save_safetensors(path, tensors, metadata):
    """A safetensors file of F32 tensors: u64 header length, JSON header padded with spaces to 8 bytes, then the data in order."""
    header, offset, blobs = {"__metadata__": metadata}, 0, []
    for name, t in tensors.items():
        blobs.append(np.ascontiguousarray(t.detach().numpy(), dtype="<f4").tobytes())
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [offset, offset + len(blobs[-1])]}
        offset += len(blobs[-1])
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))
