"""Checkpoints: safetensors files as numpy arrays."""

from __future__ import annotations

import json
import pathlib
import struct
from typing import Any, Dict

from ._call import IsodepthError


def load(path: Any) -> Dict[str, Any]:
    """The tensors of a checkpoint, or of a run's folder, as numpy arrays by name."""
    try:
        import numpy
    except ImportError as error:
        raise IsodepthError("load needs numpy: pip install numpy") from error
    path = pathlib.Path(path)
    if path.is_dir():
        path = path / "model.safetensors"
    raw = path.read_bytes()
    if len(raw) < 8 or struct.unpack("<Q", raw[:8])[0] > len(raw) - 8:
        raise IsodepthError(f"{path}: not a safetensors file")
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + size])
    kinds = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1"}
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        piece = raw[8 + size + begin : 8 + size + end]
        if entry["dtype"] == "BF16":
            words = numpy.frombuffer(piece, "<u2").astype("<u4") << 16
            array = words.view("<f4")
        elif entry["dtype"] in kinds:
            array = numpy.frombuffer(piece, kinds[entry["dtype"]])
        else:
            raise IsodepthError(f"{path}: tensor {name} has the type {entry['dtype']}")
        tensors[name] = array.reshape(entry["shape"])
    return tensors
