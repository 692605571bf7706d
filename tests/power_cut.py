"""power_cut.py ROOT RECORD OUT SEED: what a disk holds after a power cut.

RECORD has what was synced (tests/power_cut_shim.c), ROOT the tree as the programs saw it last.  What
differs was on its way: with an odd SEED all of it is lost, with an even one each entry and each
file is old, new or, for a file, some of both."""
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


def torn(safe, now):
    """Some blocks of either: what was synced is not lost by writing on."""
    size, block = max(len(safe), draw.randrange(len(now) + 1)), 4096
    safe, now = safe.ljust(size, b"\0"), now.ljust(size, b"\0")
    return b"".join(draw.choice([safe, now])[at:at + block] for at in range(0, size, block))[:size]


def content(name):
    safe, now = recorded("f", name) or b"", live.get(name)
    now = open(now, "rb").read() if now else safe
    if safe == now or lose_all:
        return safe
    return draw.choice([safe, now, torn(safe, now)])


def synced(name):
    lines = (recorded("d", name) or b"").decode().splitlines()
    return dict(reversed(line.split(" ", 1)) for line in lines)


def chosen(name):
    """The entries of a directory: where the synced and the last ones differ, either."""
    safe, now = synced(name), entries.get(name, {})
    both = {key: [safe.get(key), now.get(key)] for key in sorted(set(safe) | set(now))}
    found = {key: pair[0] if lose_all else draw.choice(pair) for key, pair in both.items()}
    return {key: value for key, value in found.items() if value}


def is_directory(name):
    return name in entries or os.path.exists(os.path.join(record, "d-" + name))


def choose_all(top):
    """The entries of all directories.  A rename from one to another is one step of the file system:
    a file whose name was synced, and that has a name still, has one of the two."""
    tree, todo = {}, [top]
    while todo:
        name = todo.pop()
        tree[name] = chosen(name)
        todo += [child for child in tree[name].values() if is_directory(child) and child not in tree]
    named = {child for names in tree.values() for child in names.values()}
    for name in list(tree):
        for key, child in synced(name).items():
            if child in live and child not in named and not is_directory(child):
                tree[name][key] = child
    return tree


def build(tree, name, path):
    os.mkdir(path)
    for key, child in tree[name].items():
        target = os.path.join(path, key)
        if is_directory(child):
            build(tree, child, target)
        else:
            open(target, "wb").write(content(child))


top = look()
build(choose_all(top), top, out)
