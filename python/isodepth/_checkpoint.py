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
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise IsodepthError(f"{path}: cannot read: {error.strerror}") from error
    size = struct.unpack("<Q", raw[:8])[0] if len(raw) >= 8 else len(raw)
    if size > len(raw) - 8:
        raise IsodepthError(f"{path}: not a safetensors file")
    try:
        header = json.loads(raw[8 : 8 + size])
        return {
            name: _array(numpy, entry, raw[8 + size :])
            for name, entry in header.items()
            if name != "__metadata__"
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise IsodepthError(f"{path}: a damaged safetensors file: {error}") from error


def _array(numpy: Any, entry: Any, data: bytes) -> Any:
    kinds = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1"}
    begin, end = entry["data_offsets"]
    if entry["dtype"] == "BF16":  # the upper half of a float of 32 bits
        flat = (numpy.frombuffer(data[begin:end], "<u2").astype("<u4") << 16).view("<f4")
    else:
        flat = numpy.frombuffer(data[begin:end], kinds[entry["dtype"]])
    return flat.reshape(entry["shape"])
