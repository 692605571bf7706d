#!/usr/bin/env python3
"""Writes tests/golden/data/eval/model.safetensors and tests/golden/data/eval_scores.txt: a tiny model and what it scores on a tiny suite.

Rendering, draws and scoring are written here a second time, in Python and from the specification; the model is that of reference.py, in
float64. Each line: task, iterations, line of the item in its file, nats, scored tokens, right (0 or 1), cut (0 or 1).
"""
import json
import pathlib
import random

import torch

import hashed
import reference

DATA = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "data"
BOS, SEQ_LEN = 256, 24
LONGEST = 10 * SEQ_LEN  # tokens of a prompt
ARCH = {"loop": "linear", "r": 2, "depth": 4, "prelude": 1, "coda": 1, "bptt": 2, "d_model": 16, "head": 8, "seq_len": SEQ_LEN, "vocab": 257}
TASKS = (("facts", "lm", 2, " "), ("choose", "choice", 1, "\nAnswer: "), ("refer", "schema", 1, " "))  # name, type, shots, delimiter


def config(r):
    return reference.Config(loop="linear", d=16, head=8, prelude=1, recur=1, coda=1, r=r, window=r, vocab=257, vocab_padded=320)


def weights():
    """A head and an embedding large enough that the losses differ from item to item."""
    extra = (("lm_head.weight", "zero", 2.0),)
    return {n: hashed.weight(n, s, extra) for n, s in reference.parameter_shapes(config(2)).items()}


def tokens(text):
    return [BOS] + list(text.encode())


def rendered(kind, row, delimiter, option):
    """(question with delimiter, answer) of one option."""
    if kind == "lm":
        return row["context"].strip() + delimiter, row["continuation"]
    if kind == "choice":
        return row["query"] + delimiter, row["choices"][option]
    return row["context_options"][option] + delimiter, row["continuation"]


def common(lists):
    n = 0
    while all(n < len(x) and x[n] == lists[0][n] for x in lists):
        n += 1
    return n


def prompts(kind, rows, i, shots, delimiter):
    """[(tokens, first scored one)], one per option."""
    others = [k for k in range(len(rows)) if k != i]
    front = ""
    for k in random.Random(1234 + i).sample(others, shots):
        front += "".join(rendered(kind, rows[k], delimiter, rows[k].get("gold"))) + "\n\n"
    row = rows[i]
    options = range(len(row.get("choices") or row.get("context_options") or [None]))
    texts = [rendered(kind, row, delimiter, o) for o in options]
    whole = [tokens(front + q + a) for q, a in texts]
    if kind == "lm":
        prefix = tokens((front + texts[0][0]).rstrip())
        assert whole[0][:len(prefix)] == prefix
        return [(whole[0], len(prefix))]
    if kind == "choice":
        first = min(common(whole), min(map(len, whole)) - 1)  # a choice that begins another one keeps a token
        return [(w, first) for w in whole]
    same = common([w[::-1] for w in whole])
    return [(w, len(w) - same) for w in whole]


def score(p, c, row, first):
    """nats, count and whether every scored token is the most likely one; the left end is cut where the row is too long."""
    gone = max(0, len(row) - LONGEST)
    row, first = torch.tensor([row[gone:]]), first - gone
    with torch.no_grad():
        z = reference.logits(p, c, row[:, :-1])
        loss = reference.token_losses(z, row[:, 1:])[0, first - 1:]
        hit = (z.argmax(-1) == row[:, 1:])[0, first - 1:]
    return float(loss.sum()), len(loss), bool(hit.all()), gone > 0


def lines(p, r):
    for name, kind, shots, delimiter in TASKS:
        rows = [dict(json.loads(text), line=n + 1) for n, text in enumerate(open(DATA / "eval" / f"{name}.jsonl", encoding="utf-8"))]
        random.Random(1337).shuffle(rows)
        for i, row in enumerate(rows):
            scores = [score(p, config(r), *x) for x in prompts(kind, rows, i, shots, delimiter)]
            gold = row.get("gold", 0)
            nats, count, right, _ = scores[gold]
            if kind != "lm":
                means = [n / k for n, k, _, _ in scores]
                right = means.index(min(means)) == gold
            yield f"{name} {r} {row['line']} {nats:.9f} {count} {right:d} {any(s[3] for s in scores):d}"


def main():
    p = weights()
    hashed.save_safetensors(DATA / "eval" / "model.safetensors", p, {"format": "pt", "isodepth": json.dumps(ARCH)})
    text = "# task, iterations, line, nats, tokens, right, cut; made by tools/golden/eval_scores.py\n"
    (DATA / "eval_scores.txt").write_text(text + "".join(line + "\n" for r in (2, 3) for line in lines(p, r)))


if __name__ == "__main__":
    main()
