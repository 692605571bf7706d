"""chain_model.py MODEL.safetensors ID ID ...: overwrites the weights so that each id is followed by
the next one.  All matrices of the blocks become 0, so only the token at hand counts; its embedding
is a direction of its own, and the head maps that to the follower.  The checksum is renamed away."""
import json
import struct
import sys

path, ids = sys.argv[1], [int(x) for x in sys.argv[2:]]
data = bytearray(open(path, "rb").read().replace(b'"xxh64"', b'"stale"', 1))
start = 8 + struct.unpack_from("<Q", data)[0]
tensors = json.loads(data[8:start])
tensors.pop("__metadata__")


def put(name, rows):
    """The tensor's entries: 0 but for (row, column)s, which are 1; None: all 1."""
    first, end = tensors[name]["data_offsets"]
    width = tensors[name]["shape"][-1]
    values = [0.0 if rows is not None else 1.0] * ((end - first) // 4)
    for row, column in rows or []:
        values[row * width + column] = 1.0
    struct.pack_into("<%df" % len(values), data, start + first, *values)


for name in tensors:
    put(name, None if "norm" in name or name.endswith((".n1.weight", ".n3.weight")) else [])
put("transformer.wte.weight", [(token, i) for i, token in enumerate(ids)])
put("lm_head.weight", [(token, i) for i, token in enumerate(ids[1:])])
open(path, "wb").write(data)
