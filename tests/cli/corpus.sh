#!/usr/bin/env bash
# tools/corpus_debian without network: small packages with texts of our own, built here with dpkg-deb.
# Checks the cleaning of every source word for word, reruns, errors and remedies, and damaged files.
set -eu
. "$(dirname "$0")/top.bash"
command -v dpkg-deb >/dev/null || skip "needs dpkg-deb"
here=$PWD
iso=$(realpath "$B/isodepth")
python=$(python3 -c 'import sys; print(sys.executable)')
tool=("$python" "$here/tools/corpus_debian")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1 TMPDIR=$work/tmp
mkdir "$TMPDIR"
cd "$work"

# expect CODE TEXT COMMAND...: the exit code, and words that the message must hold
expect() {
    local code=$1 text=$2 got=0
    shift 2
    "$@" >stdout 2>stderr || got=$?
    [ "$got" = "$code" ] || fail "exit code $got, not $code: $*: $(cat stderr)"
    grep -qF -- "$text" stderr || fail "the message lacks '$text': $*: $(cat stderr)"
}

# ---- the packages' trees; every writer here is independent of the readers under test
cat >make_trees.py <<'PY'
import gzip, os, struct, zlib

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

def put(package, path, data):
    path = os.path.join("trees", package, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())

def base64_number(n):
    return (base64_number(n // 64) if n >= 64 else "") + DIGITS[n % 64]

def dictionary(package, name, entries):
    text, index = "00-database-info\nnot to be seen\n", "00-database-info\tA\te\n"
    for words, entry in entries:
        for word in words:
            index += f"{word}\t{base64_number(len(text.encode()))}\t{base64_number(len(entry.encode()))}\n"
        text += entry + "\n"
    put(package, f"usr/share/dictd/{name}.dict.dz", gzip.compress(text.encode(), mtime=0))
    put(package, f"usr/share/dictd/{name}.index", index)

def lzw(data):
    """The format of `compress` with literals only: nine-bit codes, a clear code after every 199."""
    bits, count = 0, 0
    for start in range(0, len(data), 199):
        for code in list(data[start:start + 199]) + [256]:
            bits |= code << 9 * count
            count += 1
    return b"\x1f\x9d\x90" + bits.to_bytes((9 * count + 7) // 8, "little")

def r_chars(text):
    return struct.pack(">ii", 0x40009, len(text.encode())) + text.encode()

def r_strings(lines):
    return struct.pack(">ii", 16, len(lines)) + b"".join(map(r_chars, lines))

def r_list(items, names):
    symbol = struct.pack(">i", 1) + r_chars("names")
    return struct.pack(">ii", 0x213, len(items)) + b"".join(items) + \
        struct.pack(">i", 0x402) + symbol + r_strings(names) + struct.pack(">i", 254)

def r_file(content):
    return b"X\n" + struct.pack(">iii", 3, 0x40201, 0x30500) + struct.pack(">i", 5) + b"UTF-8" + content

dictionary("dict-gcide", "gcide", [
    (["lantern"], '''\
Lantern \\Lan"tern\\ (l[a^]n"t[~e]rn), n.; pl. {Lanterns}. [F.
   lanterne, fr. L. lanterna. See {Lamp}. [root]12.] (Naut.)
   1. A case that keeps the wind from a light; as, a ship's
      lantern of the caf['e], of horn or of gl[ae]ss. [Obs.]
      [1913 Webster]

            He hung his lantern on the oak, and waited there
            all night.                            --A. Porter
                                                  (Notes).
      [1913 Webster]

   2. -- {Lan"tern*ist} (?), n. One who carries it.
      [PJC] Lanthorn
'''),
    (["lanthorn", "horn light"], '''\
Lanthorn \\Lan"thorn\\, n. [Gr. ? to shine.]
   See {Lantern}.
   -----------------
   [1913 Webster +PJC]
''')])

dictionary("dict-foldoc", "foldoc", [
    (["loop cable", "lc"], '''\
loop cable%%%LC

   <hardware, jargon> /loop kay'b*l/ A cable that comes back to the
   machine it left, for use with __one__ {modem (serial modem)} and
   no {terminal
   (http://terminal.example/)}.

   {Home page (http://loop.example/)}.

   E-mail: <loop@example.org>.

   [{Jargon File}]

   (2001-02-03)
''')])

dictionary("dict-jargon", "jargon", [
    (["yak rope"], '''\
yak rope
 /yak rohp/, n.

    [common] What ties one chore to the next. When it is pulled, compare {
    bikeshed}, all of the chores move at once and none of them is done.

        pull(rope);
        rest();

    \u2502 a table \u2502 of no use \u2502
''')])

put("wordnet-base", "usr/share/wordnet/data.noun",
    "  1 This licence is not a gloss  \n"
    '00000100 03 n 02 boat_house 0 shed 1 001 @ 00000200 n 0000 | a house for boats; '
    '"he slept in the boat house"  \n')
put("wordnet-base", "usr/share/wordnet/data.verb",
    "00000100 30 v 01 row 0 000 01 + 02 00 | move a boat with oars  \n")
put("wordnet-base", "usr/share/wordnet/data.adj", "00000100 00 a 01 asleep(p) 0 000 | in a state of sleep  \n")
put("wordnet-base", "usr/share/wordnet/data.adv", "")

bible = ("A heading that is no verse\nGe1:1 The first line of a made-up chapter.\nGe1:2 The second line,  longer.\n"
         "Ge2:1 Another chapter.\n2Cor13:14 A book whose name begins with a digit.\n" +
         "".join(f"Rev1:{n} Line {n} of many.\n" for n in range(1, 30)))
put("bible-kjv-text", "usr/lib/bible.data", 
    bytes(0x54) + struct.pack(">IIII", 65536, 1, 0x67, 9) + lzw(bible.encode()))

novels = {"zeal": ["ZEAL AND PATIENCE", "", "by Nobody", "", "CHAPTER 1", "",
                   "A single line, which opens the story and is long enough to be wrapped _by_", "the printer.", "",
                   '"Indeed," said she.', "", "", "THE END"],
          "april": ["APRIL", "VOLUME II", "Chapter IV", "", "Rain."]}
rdb, where = b"", []
for name, lines in novels.items():
    content = r_file(r_strings(lines))
    chunk = struct.pack(">I", len(content)) + zlib.compress(content)
    where.append(struct.pack(">iiii", 13, 2, len(rdb), len(chunk)))
    rdb += chunk
base = "usr/lib/R/site-library/janeaustenr/data/Rdata"
put("r-cran-janeaustenr", base + ".rdb", rdb)
index = r_list([r_list(where, list(novels))], ["variables"])
put("r-cran-janeaustenr", base + ".rdx", gzip.compress(r_file(index), mtime=0))

put("anarchism", "usr/share/doc/anarchism/html/b.html", '''<html><head><title>no</title></head><body>
<h1>A page</h1><p>It starts with a <b>bold</b>   word
and <a href="x">a link</a> &amp; ends.</p><blockquote><p>Quoted.</p></blockquote>
<table><tr><td>cell</td></tr></table>
<h2>Menu</h2><ul><li><a href="1">One thing</a></li><li><a href="2">Another</a></li></ul>
<h2>Second</h2><p>Text.<br>More text.</p>
<div class="book-navigation"><div>up</div>next</div></body></html>''')
put("anarchism", "usr/share/doc/anarchism/html/links.html", "<h1>Links</h1><p>of no interest</p>")

put("fortunes", "usr/share/games/fortunes/zoo",
    "A keeper who counts his lions twice a day has either too few lions or too\n"
    "many days.\n\t\t-- Anon., \"The Zoo and How\n\t\t   to Leave It\"\n%\n"
    "The owl is up,\nThe lark is down,\nThe cat is king\nOf all the town.\n%\n"
    " /\\_/\\ ( o.o )\n > ^ <  |||||\n%\nu\bunderlined\n%\n")
put("fortunes", "usr/share/games/fortunes/zoo.dat", b"\x00\x01\x02")
put("fortunes-min", "usr/share/games/fortunes/air", "Na\u00efve is the wind.\n")

cpp = '''A title page
Table of Contents

Chapter 1: Boats
1.1: Oars


Chapter 1: Boats

        This chapter is about boats, which in this text are made of words and
are never
wet.
    o  the first kind of boat, which is long and needs to be wrapped to
the next line
    o  the second kind:
            struct Boat
    {
        int oars;

        Boat();
    };

All is said.
------------------------------Insert Figure 1(A boat)about here (file: boat)------------------------------

1.1: Oars

An oar.
'''
put("c++-annotations-txt", "usr/share/doc/c++-annotations/cplusplus.txt.gz", gzip.compress(cpp.encode(), mtime=0))

LICENCES = {
    "dict-gcide": "either version 2, or\n(at your option) any",
    "anarchism": "either version 2 of the License, or\n (at your option) any later",
    "wordnet-base": "License: WordNet3.0",
    "bible-kjv-text": "the King James Version text of the Bible is expired",
    "r-cran-janeaustenr": "License: MIT",
    "dict-foldoc": "Free Documentation License, Version 1.1 or any later",
    "fortunes": "falls under the BSD copyright",
    "fortunes-min": "all rights reserved",
    "c++-annotations-txt": "License: GPL-2+",
    "dict-jargon": "License: public-domain"}
for package, text in LICENCES.items():
    put(package, f"usr/share/doc/{package}/copyright", text + "\n")
    put(package, "DEBIAN/control", f"Package: {package}\nVersion: 1:2.5-1\nArchitecture: all\n"
        "Maintainer: Nobody <n@example.org>\nDescription: a test\n")
PY
"$python" make_trees.py
mkdir debs
for tree in trees/*; do
    dpkg-deb --root-owner-group -Znone -b "$tree" "debs/$(basename "$tree")_2.5-1_all.deb" >/dev/null
done

# ---- what the text must be, word for word
mkdir want
cat >want/gcide.txt <<'T'
Lantern, n.; pl. Lanterns. [F. lanterne, fr. L. lanterna. See Lamp.] (Naut.)
1. A case that keeps the wind from a light; as, a ship's lantern of the café, of horn or of glæss. [Obs.]
He hung his lantern on the oak, and waited there all night. --A. Porter (Notes).
2. -- Lanternist, n. One who carries it.

Lanthorn, n.
See Lantern.
T
cat >want/foldoc.txt <<'T'
loop cable, LC
A cable that comes back to the machine it left, for use with one modem and no terminal.
T
cat >want/jargon.txt <<'T'
yak rope, n.
[common] What ties one chore to the next. When it is pulled, compare bikeshed, all of the chores move at once and none of them is done.
pull(rope);
rest();
T
cat >want/wordnet.txt <<'T'
boat house, shed (noun): a house for boats; "he slept in the boat house"

row (verb): move a boat with oars

asleep (adjective): in a state of sleep
T
{
    printf 'Genesis 1\nThe first line of a made-up chapter.\nThe second line, longer.\n\nGenesis 2\nAnother chapter.\n\n'
    printf '2 Corinthians 13\nA book whose name begins with a digit.\n\nRevelation 1\n'
    seq -f 'Line %g of many.' 29
} >want/bible.txt
cat >want/austen.txt <<'T'
April, Volume II, Chapter IV
Rain.

Zeal and Patience, Chapter 1
A single line, which opens the story and is long enough to be wrapped by the printer.
"Indeed," said she.
T
cat >want/anarchism.txt <<'T'
A page
It starts with a bold word and a link & ends.
Quoted.

Second
Text.
More text.
T
cat >want/fortunes.txt <<'T'
Naïve is the wind.

A keeper who counts his lions twice a day has either too few lions or too many days.
-- Anon., "The Zoo and How to Leave It"

The owl is up,
The lark is down,
The cat is king
Of all the town.

underlined
T
cat >want/cpp.txt <<'T'
Chapter 1: Boats
This chapter is about boats, which in this text are made of words and are never wet.
- the first kind of boat, which is long and needs to be wrapped to the next line
- the second kind:
struct Boat
{
    int oars;
    Boat();
};
All is said.

1.1: Oars
An oar.
T

expect 0 "gcide: 2 documents" "${tool[@]}" --packages debs --out out
for want in want/*.txt; do
    diff -u "$want" "out/$(basename "$want")" || fail "$want differs"
done
(cd out && sha256sum --quiet -c ../stdout) || fail "the printed checksums are wrong"
[ "$(wc -l <stdout)" = 9 ] || fail "nine checksums were to be printed"
grep -q '| gcide.txt | dict-gcide | 1:2.5-1 | GPL-2+ | licences/dict-gcide.copyright | 2 |' out/SOURCES.md ||
    fail "SOURCES.md lacks the row of gcide"
cmp -s out/licences/dict-foldoc.copyright trees/dict-foldoc/usr/share/doc/dict-foldoc/copyright ||
    fail "the copyright file was not copied"
# The copyright file of fortunes-min (in this test) no longer says what the table expects.
grep -q "fortunes-min: its copyright file no longer says" stderr || fail "a changed licence goes unnoticed"
words=$(wc -w <want/fortunes.txt) "$python" - <<'PY' || fail "sources.json is wrong"
import hashlib, json, os
sources = {s["name"]: s for s in json.load(open("out/sources.json"))["sources"]}
assert len(sources) == 9
text = open("want/fortunes.txt", "rb").read()
row = sources["fortunes"]
assert (row["documents"], row["bytes"], row["words"]) == (4, len(text), int(os.environ["words"])), row
assert row["sha256"] == hashlib.sha256(text).hexdigest()
assert [p["licence"] for p in row["packages"]] == ["BSD-3-Clause", "unknown, see the file"]
PY

# ---- the folder packs as its texts do: nothing beside them is read as text
"$iso" -q pack out/*.txt --tokenizer bytes -T 15 --val 20% --out packed >/dev/null
"$iso" pack out --tokenizer bytes -T 15 --val 20% --out packed_folder >/dev/null 2>stderr
grep -qF "12 of 21 files skipped" stderr || fail "does not say what was skipped: $(cat stderr)"
for shard in packed/*.shard; do
    cmp "$shard" "packed_folder/$(basename "$shard")" || fail "the folder packs differently"
done
[ "$(cd packed && echo *)" = "$(cd packed_folder && echo *)" ] || fail "the folder has other shards"
# A changed list of sources does not change the text.
cp -r out edited
echo >>edited/SOURCES.md
"$iso" -q pack edited --tokenizer bytes -T 15 --val 20% --out packed_folder | grep -q "nothing to do" ||
    fail "a file that is not read makes another packing"

# ---- same input, same bytes; reruns
expect 0 "jargon: 1 documents" env LC_ALL=C TZ=Asia/Tokyo PYTHONHASHSEED=7 "${tool[@]}" --packages debs --out out2
diff -r out out2 || fail "a second build differs"
stat -c %y.%i out/*.txt >before
expect 0 "nothing to do" "${tool[@]}" --out out
stat -c %y.%i out/*.txt | cmp -s - before || fail "a rerun wrote files"
rm out/jargon.txt
echo scratch >>out/bible.txt
expect 0 "bible: 4 documents" "${tool[@]}" --packages debs --out out
[ "$(wc -l <stderr)" = 2 ] || fail "the rerun built more than the two broken sources: $(cat stderr)"
diff -r out out2 || fail "the repaired corpus differs"
echo '{"recipe": 1' >out/sources.json
expect 0 "rebuilding" "${tool[@]}" --packages debs --out out --only cpp
expect 0 "wordnet: 3 documents" "${tool[@]}" --packages debs --out only --only wordnet,bible
[ "$(cd only && echo *.txt)" = "bible.txt wordnet.txt" ] || fail "--only built something else"

# ---- errors name the place and the remedy
expect 2 "there are: gcide, anarchism" "${tool[@]}" --packages debs --out x --only gcide,none
[ -x "$here/tools/corpus_debian" ] || fail "the script is not executable"
expect 2 "--out" "${tool[@]}" --packages debs
expect 1 "nowhere: no dict-gcide_*.deb: fetch it there" "${tool[@]}" --packages nowhere --out x --only gcide
mkdir bad
cp debs/dict-jargon_2.5-1_all.deb bad/dict-jargon_2.5-1_all.deb
cp debs/dict-jargon_2.5-1_all.deb bad/dict-jargon_2.6-1_all.deb
expect 1 "2 versions of dict-jargon: keep one" "${tool[@]}" --packages bad --out x --only jargon
head -c 900 debs/dict-gcide_2.5-1_all.deb >bad/dict-gcide_2.5-1_all.deb
expect 1 "damaged? Delete it and download it again" "${tool[@]}" --packages bad --out x --only gcide
rm trees/wordnet-base/usr/share/wordnet/data.adj
dpkg-deb --root-owner-group -Znone -b trees/wordnet-base bad/wordnet-base_2.5-1_all.deb >/dev/null
expect 1 "wordnet-base: cannot read its text" "${tool[@]}" --packages bad --out x --only wordnet

mkdir bin
fake_apt() { printf '#!/bin/sh\n%s\n' "$1" >bin/apt-get; chmod +x bin/apt-get; }
with_apt() { env PATH="$work/bin:$PATH" "${tool[@]}" --out fetched --only bible; }
fake_apt 'echo "E: Unable to locate package bible-kjv-text" >&2; exit 100'
expect 1 "missing or stale package lists: run" with_apt
fake_apt 'echo "E: Failed to fetch http://mirror.example  Could not resolve host" >&2; exit 100'
expect 1 "no network?" with_apt
expect 1 "apt-get not found" env PATH="$work/none" "${tool[@]}" --out fetched --only bible
fake_apt ': >started; exec sleep 20'
env PATH="$work/bin:$PATH" "${tool[@]}" --out fetched --only bible 2>stderr &
job=$!
while [ -z "$(find "$TMPDIR" -name started)" ]; do sleep 0.02; done
kill -TERM "$job"
code=0
wait "$job" || code=$?
[ "$code" = 3 ] || fail "a terminated run must exit with 3, not $code: $(cat stderr)"
fake_apt "[ \"\$*\" = 'download bible-kjv-text' ] && cp '$work/debs/bible-kjv-text_2.5-1_all.deb' ."
expect 0 "bible: 4 documents" with_apt
cmp -s fetched/bible.txt want/bible.txt || fail "the fetched corpus differs"

[ -z "$(ls "$TMPDIR")" ] || fail "temporary folders are left behind: $(ls "$TMPDIR")"
[ -z "$(find . -name '*.partial')" ] || fail "partial files are left behind"

# ---- damaged files: an error that the driver turns into a message, or (where a checksum exists) the same text
"$python" make_trees.py
PYTHONPATH=$here/tools "$python" - <<'PY' || fail "damaged files are not handled"
import os, random
import corpus_text as t

CHECKED, UNCHECKED = True, False
FILES = (("dict-gcide", "usr/share/dictd/gcide.dict.dz", t.extract_gcide, CHECKED),
         ("dict-gcide", "usr/share/dictd/gcide.index", t.extract_gcide, UNCHECKED),
         ("bible-kjv-text", "usr/lib/bible.data", t.extract_bible, UNCHECKED),
         ("r-cran-janeaustenr", "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb", t.extract_austen, CHECKED),
         ("r-cran-janeaustenr", "usr/lib/R/site-library/janeaustenr/data/Rdata.rdx", t.extract_austen, CHECKED),
         ("c++-annotations-txt", "usr/share/doc/c++-annotations/cplusplus.txt.gz", t.extract_cpp, CHECKED),
         ("wordnet-base", "usr/share/wordnet/data.noun", t.extract_wordnet, UNCHECKED))
draw = random.Random(4)
errors = 0
for package, name, extract, checked in FILES:
    root = os.path.join("trees", package)
    path = os.path.join(root, name)
    good = open(path, "rb").read()
    text = [t.clean_document(d) for d in extract(root)]
    damaged = [good[:len(good) * n // 50] for n in range(50)]
    for _ in range(50):
        at = draw.randrange(len(good))
        damaged.append(good[:at] + bytes([good[at] ^ 1 << draw.randrange(8)]) + good[at + 1:])
    for data in damaged:
        with open(path, "wb") as f:
            f.write(data)
        try:
            found = [t.clean_document(d) for d in extract(root)]
        except t.DAMAGE:
            found = []
        if not found:   # the driver reports both
            errors += 1
            continue
        assert not checked or found == text, (name, found)
        assert all("\n\n" not in d for d in found)
        "".join(found).encode("utf-8")
    with open(path, "wb") as f:
        f.write(good)
assert errors > 200, errors
PY
echo "corpus.sh: ok"
