#!/usr/bin/env bash
# isodepth eval against PyTorch: every item of tests/golden/data/eval_scores.txt
# (tools/golden/eval_scores.py), the trained depth and another one, to 1e-4 nats.
set -u
. "$(dirname "$0")/top.bash"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
data=tests/golden/data
# PyTorch's scores are fp32; a machine whose best products are in bf16 has AVX2, too.
case $("$B/isodepth" version -v | grep kernels:) in *': avx512bf16'* | *': amx'*) export ISO_CPU=avx2 ;; esac
"$B/isodepth" eval -c $data/eval/model.safetensors --suite $data/eval/suite.yaml --tasks $data/eval \
    --recur 2,3 --out "$tmp" >/dev/null || fail "eval"
python3 - "$tmp" $data/eval_scores.txt <<'PY' || fail "scores"
import json, sys
out, golden = sys.argv[1:]
rows = [line.split() for line in open(golden) if line[0] != "#"]
got = {}
for task in {row[0] for row in rows}:
    for r, name in (("2", "eval"), ("3", "eval@r3")):
        for line in open(f"{out}/{name}/{task}.jsonl").readlines()[1:]:
            item = json.loads(line)
            got[task, r, item["line"]] = item
assert len(got) == len(rows) == 32, (len(got), len(rows))
assert {row[6] for row in rows} == {"0", "1"}, "whole prompts and cut ones"
worst = 0
for task, r, line, nats, tokens, right, cut in rows:
    item = got[task, r, int(line)]
    worst = max(worst, abs(item["nats"] - float(nats)))
    assert abs(item["nats"] - float(nats)) < 1e-4, (task, r, line, nats, item)
    assert item["tokens"] == int(tokens) and item["right"] == (right == "1"), (task, line, item)
    assert item["cut"] == (cut == "1"), (task, line, item)
print(f"largest difference {worst:.1e} nats")
PY
echo ok
