#!/usr/bin/env python3
"""Writes tests/golden/data/python_draws.txt: draws of Python's random module, as checksums.

Each line: kind seed n k checksum, where checksum = sum of (position + 1) * value, modulo 2^64.
kinds: shuffle (of range(n)), sample (of range(n), k), randrange (k draws below n), choices
(k draws of choices(range(n)), one at a time).
"""
import random

MASK = (1 << 64) - 1


def checksum(values):
    return sum((i + 1) * v for i, v in enumerate(values)) & MASK


def lines():
    for n in (1, 2, 5, 20, 21, 22, 1000, 20321):
        for seed in (1337, 0, 2**32 + 5):
            x = list(range(n))
            random.Random(seed).shuffle(x)
            yield "shuffle", seed, n, n, checksum(x)
    for n in (1, 2, 5, 20, 21, 22, 37, 38, 84, 85, 86, 277, 278, 999, 10000, 20320):
        for k in (0, 1, 2, 3, 5, 6, 7, 10, 21, 22, 85):
            if k <= n:
                yield "sample", 1234 + n, n, k, checksum(random.Random(1234 + n).sample(range(n), k))
    for n in (1, 2, 3, 8, 25, 26, 1000, 2**31):
        r = random.Random(42)
        yield "randrange", 42, n, 1000, checksum([r.randrange(n) for _ in range(1000)])
    r = random.Random(1337)
    yield "choices", 1337, 26, 2000, checksum([r.choices(range(26))[0] for _ in range(2000)])


with open("tests/golden/data/python_draws.txt", "w") as f:
    f.write("# Python's draws; made by tools/golden/python_draws.py\n")
    for row in lines():
        f.write(" ".join(map(str, row)) + "\n")
