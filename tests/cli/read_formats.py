"""read_formats.py RUN: reads the event files and the .safetensors files of a finished run as their
formats are published, with nothing of isodepth, and holds them against metrics.jsonl."""
import glob
import json
import math
import os
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    """The records of a TFRecord file."""
    data, at = open(path, "rb").read(), 0
    while at < len(data):
        length, length_crc = struct.unpack_from("<QI", data, at)
        assert masked(data[at:at + 8]) == length_crc, "CRC of a length at byte %d" % at
        body = data[at + 12:at + 12 + length]
        at += 12 + length
        assert struct.unpack_from("<I", data, at)[0] == masked(body), "CRC of the record before %d" % at
        at += 4
        yield body


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """A protocol-buffer message as {number: [values]}."""
    out, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif wire == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            assert wire == 2, wire
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            assert len(value) == length
        out.setdefault(key >> 3, []).append(value)
    return out


def check_events(run):
    """Event: 1 wall_time, 2 step, 3 file_version, 5 summary; Summary: 1 value; Value: 1 tag,
    2 simple_value."""
    found = {}
    for path in sorted(glob.glob(run + "/events.out.tfevents.*")):
        events = [fields(body) for body in records(path)]
        assert events[0][3] == [b"brain.Event:2"], events[0]
        for event in events:
            assert event[1][0] > 1.6e9, "time"
            for value in fields(event[5][0])[1] if 5 in event else []:
                scalar = fields(value)
                found[event[2][0], scalar[1][0].decode()] = scalar[2][0]
    wanted = {}
    for line in open(run + "/metrics.jsonl"):
        line = json.loads(line)
        for key in line.keys() - {"step", "tokens", "flops", "seconds"}:
            wanted[line["step"], key] = line[key]
    assert found.keys() == wanted.keys(), found.keys() ^ wanted.keys()
    assert any(tag == "loss" for _, tag in found)
    for key, value in wanted.items():
        assert math.isclose(found[key], value, rel_tol=1e-6), (key, found[key], value)


def check_safetensors(path):
    size = os.path.getsize(path)
    with open(path, "rb") as f:
        length = struct.unpack("<Q", f.read(8))[0]
        header = json.loads(f.read(length).decode("utf-8"))
    metadata = header.pop("__metadata__")
    assert all(isinstance(v, str) for v in metadata.values()), "metadata is text"
    at = 0
    for name, t in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        first, end = t["data_offsets"]
        assert t["dtype"] == "F32" and first == at, name
        assert end - first == 4 * math.prod(t["shape"]), name
        at = end
    assert 8 + length + at == size, "bytes behind the last tensor"
    assert length % 8 == 0, "tensors are aligned"
    check_with_library(path, header)


def check_with_library(path, header):
    """The reference reader, where it is installed (Debian: python3-safetensors)."""
    try:
        from safetensors import safe_open
    except ImportError:
        return
    with safe_open(path, "numpy") as f:
        assert set(f.keys()) == set(header)
        for name in f.keys():
            assert list(f.get_slice(name).get_shape()) == header[name]["shape"], name


assert crc32c(b"123456789") == 0xE3069283  # the catalogue's check value
check_events(sys.argv[1])
for file in ("model", "optimiser"):
    check_safetensors("%s/%s.safetensors" % (sys.argv[1], file))
