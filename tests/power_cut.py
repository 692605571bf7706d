"""power_cut.py ROOT RECORD OUT SEED: what a disk holds after a power cut.

RECORD has what was synced (tests/power_cut_shim.c), ROOT the tree as the programs saw it last.  What
differs was on its way: with an odd SEED all of it is lost, with an even one each entry and each
file is old, new or, for a file, cut off somewhere."""
import os
import random
import subprocess
import sys

root, record, out, seed = sys.argv[1:5]
draw = random.Random(int(seed))
lose_all = int(seed) % 2 == 1


live = {}     # id of a file or directory: its path
entries = {}  # id of a directory: {name: id}


def look():
    """All ids of the tree; returns that of the root."""
    ids = {}
    paths = [root] + [os.path.join(at, name) for at, dirs, files in os.walk(root) for name in dirs + files]
    listed = subprocess.run(["stat", "--printf=%i %W %w %n\\0", "--"] + paths, capture_output=True, check=True)
    for line in listed.stdout.decode().split("\0")[:-1]:
        inode, born, _, clock, _, path = line.split(" ", 5)
        ids[path] = "%s-%s.%s" % (inode, born, clock.split(".")[1])
        live[ids[path]] = path
        if os.path.isdir(path):
            entries[ids[path]] = {}
        if path != root:
            entries[ids[os.path.dirname(path)]][os.path.basename(path)] = ids[path]
    return ids[root]


def recorded(kind, name):
    path = os.path.join(record, kind + "-" + name)
    return open(path, "rb").read() if os.path.exists(path) else None


def content(name):
    safe, now = recorded("f", name) or b"", live.get(name)
    now = open(now, "rb").read() if now else safe
    if safe == now or lose_all:
        return safe
    return draw.choice([safe, now, now[:draw.randrange(len(now) + 1)]])


def listing(name):
    lines = (recorded("d", name) or b"").decode().splitlines()
    safe, now = dict(reversed(line.split(" ", 1)) for line in lines), entries.get(name, {})
    found = {}
    for key in sorted(set(safe) | set(now)):
        both = [safe.get(key), now.get(key)]
        found[key] = both[0] if lose_all else draw.choice(both)
    return {key: value for key, value in found.items() if value}


def is_directory(name):
    return name in entries or os.path.exists(os.path.join(record, "d-" + name))


def build(name, path):
    os.mkdir(path)
    for key, child in listing(name).items():
        target = os.path.join(path, key)
        if is_directory(child):
            build(child, target)
        else:
            open(target, "wb").write(content(child))


build(look(), out)
