"""The extractors of `isodepth corpus debian`: from an unpacked Debian package to clean documents.

Every extract_<source>(root) yields documents, in a fixed order, as lists of paragraphs; a paragraph is one
line, however it was wrapped.  clean_document() turns such a list into the document's text.  What is
thrown away is what no reader would call the text: pronunciations, cross-reference braces, addresses,
dates of edits, drawings, tables, menus.  What an extractor raises on damaged input is listed in DAMAGE.
"""
import glob
import gzip
import html.parser
import os
import re
import struct
import subprocess
import unicodedata
import zlib

DAMAGE = (OSError, EOFError, ValueError, KeyError, IndexError, AttributeError, TypeError, RecursionError,
          struct.error, zlib.error, subprocess.CalledProcessError)


# ---------------------------------------------------------------- text

def decode(data):
    """UTF-8, or cp1252 for the few old entries that never were converted."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace").replace("\ufffd", "")


BEFORE_STOP = re.compile(r" +([,;.](?=\s|$)|[)\]])")
AFTER_BRACKET = re.compile(r"([(\[]) +")


def squeeze(text):
    """One space for any run of white space, none before a stop or inside of a bracket."""
    text = " ".join(text.split())
    if " ," in text or " ;" in text or " ." in text or " )" in text or " ]" in text:
        text = BEFORE_STOP.sub(r"\1", text)
    return AFTER_BRACKET.sub(r"\1", text) if "( " in text or "[ " in text else text


def indent(line):
    return len(line) - len(line.lstrip())


def unwrap(lines, width, verse=False):
    """Joins lines that a formatter broke, keeps breaks that an author made; yields paragraphs.

    A formatter breaks only where the next word does not fit into the width.  Where it would have
    fitted the break was meant (verse, list, heading), unless a sentence plainly runs on: a long
    line without a stop, and the next one as far from the margin.  Where verse is likely, a deeper
    indent or a capital letter is reason enough to keep a break.
    """
    paragraph, last = "", ""
    for line in lines:
        line = line.expandtabs().rstrip()
        joins = bool(line and last)
        if joins:
            full = len(last) + 1 + len(line.split()[0]) > width
            runs_on = len(last) > width * 0.6 and last[-1] not in ".:;?!)]" and indent(line) == indent(last)
            lower = line.lstrip(" {(\"'")[:1].islower()
            joins = full and (lower or indent(line) <= indent(last)) or runs_on and lower if verse \
                else full or runs_on
        if joins:
            compound = paragraph[-1] == "-" and re.search(r"\w-$", paragraph)   # a line may end after a hyphen
            paragraph += ("" if compound else " ") + line.strip()
        else:
            if paragraph:
                yield paragraph
            paragraph = line.strip()
        last = line
    if paragraph:
        yield paragraph


# A line of a drawing or a table: box characters, long rules and leaders, several wide gaps.
DRAWN = re.compile(r"[\u2500-\u257f]|([-=_.*~^#|])\1{4,}|\S {4,}\S.* {4,}\S")


def without_drawings(lines):
    """Blanks such lines, and those with more marks than letters."""
    for line in lines:
        marks = "".join(line.split())
        sparse = len(marks) > 8 and sum(map(str.isalnum, marks)) < 0.4 * len(marks)
        yield "" if sparse or DRAWN.search(line) else line


INVISIBLE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028\u2029\ufeff\ufffd]")

READABLE = re.compile(r"[^\W_]|[{}():;]")


def clean_document(paragraphs):
    """The document's text: no control characters, no blank lines, no lines of mere dashes."""
    text = INVISIBLE.sub("", "\n".join(paragraphs).expandtabs().replace("\xa0", " "))
    lines = (line.rstrip() for line in text.split("\n"))
    return "\n".join(line for line in lines if READABLE.search(line))


# ---------------------------------------------------------------- dictd dictionaries

BASE64 = {c: i for i, c in enumerate(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}


def dictd_number(digits):
    value = 0
    for digit in digits:
        value = value * 64 + BASE64[digit]
    return value


def dictd_entries(root, name):
    """Every entry once, in file order; the index has one line (word, offset, length) per headword."""
    base = os.path.join(root, "usr/share/dictd", name)
    with gzip.open(base + ".dict.dz") as f:
        data = f.read()
    spans = set()
    with open(base + ".index", encoding="utf-8") as f:
        for line in f:
            word, offset, length = line.rstrip("\n").split("\t")[:3]
            if not word.startswith("00-"):   # the database's own notices
                spans.add((dictd_number(offset), dictd_number(length)))
    for offset, length in sorted(spans):
        if offset + length > len(data):
            raise ValueError(f"{name}.index: an entry lies beyond the end of {name}.dict.dz")
        yield decode(data[offset:offset + length])


# GCIDE spells characters outside ASCII as [codes]: a letter with a mark before or after it, or a name.
GCIDE_MARK = {"'": "\u0301", "`": "\u0300", "=": "\u0304", "-": "\u0304", "~": "\u0303",
              '"': "\u0308", ",": "\u0327", "^": "\u0302", ".": "\u0307", "*": "\u030a"}
GCIDE_BREVE = "\u0306"   # the one mark that follows its letter: [a^]
GCIDE_NAME = {
    "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "imac": "ī", "aum": "ä", "eth": "ð", "thorn": "þ",
    "yogh": "ȝ", "ng": "ŋ", "th": "th", "add": "ạ", "udd": "ụ", "asl": "a", "dsdot": "ḍ", "tsdo": "ṭ",
    "lsdot": "ḷ", "zdot": "ż", "mdot": "ṃ", "deg": "°", "sect": "§", "para": "¶", "pounds": "£",
    "times": "×", "div": "÷", "divby": "÷", "rarr": "→", "middot": "·", "nbsp": " ", "frac12": "½",
    "root": "√", "cuberoot": "∛", "sharp": "♯", "flat": "♭", "natural": "♮", "dagger": "†", "dag": "†",
    "ldqo": '"', "rdqo": '"', "bprime": "′", "min": "′", "sec": "″", "bar": "|", "filig": "fi",
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eta": "η", "theta": "θ",
    "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "omicron": "ο",
    "pi": "π", "rho": "ρ", "sigma": "σ", "sigmat": "ς", "tau": "τ", "upsilon": "υ", "phi": "φ",
    "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Lambda": "Λ", "Pi": "Π",
    "Sigma": "Σ", "Upsilon": "Υ", "Phi": "Φ", "Chi": "Χ", "Omega": "Ω"}
GCIDE_WIDTH = 64
GCIDE_SENSE = re.compile(r"\s*(?:\d+\.|\([a-z]\)) ")
GCIDE_SOURCE_NOTE = re.compile(
    r"\[(?:(?:1913 Webster|Webster 1913 Suppl\.?|WordNet(?: sense)?(?: [\d.,]+)?|Century Dict\. ?\d*|"
    r"PJC|AS|RDH|RP|GG|JC|PC|CW|RHUD|MW10|MI11|WE1|Stedman|wns?\d*=?\d*|\d)[\s+.,&]*)+\]|"
    r"(?:WordNet [\d.]+|PJC|1913 Webster)\]")
GCIDE_NEXT_WORD = re.compile(r"(?:" + GCIDE_SOURCE_NOTE.pattern + r")[^\[\]\n]*\s*\Z")   # the converter's slip
GCIDE_SPOKEN = re.compile(
    r"\\[^\\]*\\(?:,?\s*\((?:[a-z\-][^(){}]*|[^(){}]*[\[*`?\"][^(){}]*)\))?|"     # \Ben"e*fit\ (b[e^]n"...)
    r"\s*\([^(){}]*(?:\w[*?]\w|\w\"\w|\?\?)[^(){}]*\)|"                           # (r?-m??v"?d-n?s)
    r"(?<=\})\s*\((?:[^(){}\s]*(?:[*`]|\[[^\]\s]{2,5}\])[^(){}]*|\?)\)")          # {Beamed} (b[=e]md)


def gcide_character(match):
    code = match.group(1)
    if code in GCIDE_NAME:
        return GCIDE_NAME[code]
    if code[-1] == "^":
        letters, mark = code[:-1], GCIDE_BREVE
    else:
        letters, mark = code[1:], GCIDE_MARK.get(code[0])
    if not mark or not letters.isalpha() or len(letters) > 1 and letters not in ("ae", "oo"):
        return match.group(0)
    return unicodedata.normalize("NFC", GCIDE_NAME.get(letters, letters) + mark)


def gcide_cross_reference(match):
    """{Ben`e*fi"cial} carries syllables and stresses: the word itself is meant."""
    return re.sub(r'[*`]|(?<=\w)"', "", match.group(1))


def gcide_paragraph(text, is_head):
    """Most paragraphs have none of the marks, so looking for a character first halves the time."""
    if "\\" in text or "(" in text:
        text = GCIDE_SPOKEN.sub("", text)
    if "]" in text:
        text = GCIDE_SOURCE_NOTE.sub("", text)
    if "[" in text:
        text = re.sub(r'\[a\s+href="[^>]*>|\[root\]\d+\.?', "", text, flags=re.I)
        text = re.sub(r"\[([^\[\]\s]{2,8})\]", gcide_character, text)
    if "{" in text:
        text = re.sub(r"\{([^{}]*)\}", gcide_cross_reference, text)
    if is_head and "?" in text:   # an etymology with "?" has lost its Greek words
        text = re.sub(r"\[[^\[\]]*\?[^\[\]]*\]", "", text)
    if re.search(r"[\[?{}]", text):
        text = re.sub(r"\(\?\)|\[\?\]|(?<=\w)\[\d\w?\]|[{}]", "", text)
    if re.search(r"[A-Za-z][`^]", text):   # Greek words are spelt in Latin letters: ba`ptein
        words = (re.sub(r"[`^'\"~]", "", w) if re.search(r"[A-Za-z][`^]", w) else w for w in text.split())
        text = " ".join(words)
    return squeeze(text)


def extract_gcide(root):
    for entry in dictd_entries(root, "gcide"):
        entry = GCIDE_NEXT_WORD.sub("", entry)
        lines = []
        for line in entry.split("\n"):
            if DRAWN.search(line):
                continue
            if lines and line.strip() and indent(line) > 40:   # an author's name, set flush right
                lines[-1] += " " + line.strip()
                continue
            if GCIDE_SENSE.match(line):   # a sense starts a paragraph
                lines.append("")
            lines.append(re.sub(r"\s{3,}(?=--)", " ", line) if "--" in line else line)
        yield [gcide_paragraph(p, i == 0) for i, p in enumerate(unwrap(lines, GCIDE_WIDTH))]


FOLDOC_WIDTH = 66


def foldoc_reference(match):
    """{term}, {words (target)} or {(address)}: what a reader of plain text needs is the words."""
    words = re.sub(r"\s*\((?:[^()]|\([^()]*\))*\)$", "", match.group(1).strip())
    return "" if "://" in words else words


def foldoc_paragraph(text):
    if re.fullmatch(r"\(\d{4}(-\d\d){0,2}\)|\[\{?Jargon File\}?\]\.?|\[[^\]]*\?\]", text):
        return ""   # date, origin, editor's question
    if "://" in text and re.fullmatch(r"(?:[\w ]+:)?\s*(?:\{[^{}]*\}[\s.,:]*)+", text):
        return ""   # nothing but links
    text = re.sub(r"^((?:\d+\. )?)<[a-z][a-z ,/&.-]*>\s*", r"\1", text)               # <subject, subject>
    text = re.sub(r"(?<!\S)<[a-z][a-z ,/&.-]*>\s+(?=[A-Z(\"/{])", "", text)
    text = re.sub(r"^(\d+\. )?(?:(?:or )?/[^/]+/(?:[,;]\s*|\s+))+", r"\1", text)   # /pronunciation/
    short = re.sub(r"\s*<[^<>\s]+@[^<>\s]+>", "", text)
    short = squeeze(re.sub(r"\{([^{}]*)\}", foldoc_reference, short))
    if short != text and re.fullmatch(r"[\w\- ]+:[\s.,;]*", short):
        return ""   # "E-mail:" and no address left
    return re.sub(r"__(\S.*?)__", r"\1", short)


def extract_foldoc(root):
    for entry in dictd_entries(root, "foldoc"):
        head, _, body = entry.strip("\n").partition("\n\n")
        names = [squeeze(name) for name in re.split(r"%%%|\n", head)]
        body = re.sub(r"\{[^{}]*\}", lambda m: squeeze(m.group(0)), body)   # a reference on one line
        lines = without_drawings(body.split("\n"))
        yield [", ".join(names)] + [foldoc_paragraph(p) for p in unwrap(lines, FOLDOC_WIDTH)]


JARGON_WIDTH = 79


def extract_jargon(root):
    for entry in dictd_entries(root, "jargon"):
        head, _, body = entry.strip("\n").partition("\n\n")
        word, _, grammar = head.partition("\n")
        grammar = squeeze(re.sub(r"(?:\bor\b)?\s*/[^/]*/\s*,?", "", grammar)).strip(" ,;")
        paragraphs = [word + ", " + grammar if grammar else word]
        for paragraph in unwrap(without_drawings(body.split("\n")), JARGON_WIDTH):
            paragraphs.append(squeeze(re.sub(r"\{(?! and \})\s*([^{}]*?)\s*\}", r"\1", paragraph)))
        yield paragraphs


# ---------------------------------------------------------------- WordNet

WORDNET_PARTS = (("noun", "noun"), ("verb", "verb"), ("adj", "adjective"), ("adv", "adverb"))


def extract_wordnet(root):
    """A line of data.* is: offset file type count (word id)*count ... | gloss; count is hexadecimal."""
    for suffix, part in WORDNET_PARTS:
        with open(os.path.join(root, "usr/share/wordnet/data." + suffix), encoding="utf-8") as f:
            for line in f:
                if line.startswith(" "):   # the licence, at the head of the file
                    continue
                fields, _, gloss = line.partition(" | ")
                fields = fields.split()
                words = fields[4:4 + 2 * int(fields[3], 16):2]
                words = [re.sub(r"\((a|p|ip)\)$", "", w).replace("_", " ") for w in words]
                yield [f"{', '.join(words)} ({part}): {squeeze(gloss)}"]


# ---------------------------------------------------------------- the King James Bible

BIBLE_BOOKS = dict(pair.split("=") for pair in """\
Ge=Genesis|Exo=Exodus|Lev=Leviticus|Num=Numbers|Deu=Deuteronomy|Josh=Joshua|Jdgs=Judges|Ruth=Ruth|\
1Sm=1 Samuel|2Sm=2 Samuel|1Ki=1 Kings|2Ki=2 Kings|1Chr=1 Chronicles|2Chr=2 Chronicles|Ezra=Ezra|\
Neh=Nehemiah|Est=Esther|Job=Job|Psa=Psalms|Prv=Proverbs|Eccl=Ecclesiastes|SSol=Song of Solomon|\
Isa=Isaiah|Jer=Jeremiah|Lam=Lamentations|Eze=Ezekiel|Dan=Daniel|Hos=Hosea|Joel=Joel|Amos=Amos|\
Obad=Obadiah|Jonah=Jonah|Mic=Micah|Nahum=Nahum|Hab=Habakkuk|Zep=Zephaniah|Hag=Haggai|Zec=Zechariah|\
Mal=Malachi|Mat=Matthew|Mark=Mark|Luke=Luke|John=John|Acts=Acts|Rom=Romans|1Cor=1 Corinthians|\
2Cor=2 Corinthians|Gal=Galatians|Eph=Ephesians|Phi=Philippians|Col=Colossians|1Th=1 Thessalonians|\
2Th=2 Thessalonians|1Tim=1 Timothy|2Tim=2 Timothy|Titus=Titus|Phmn=Philemon|Heb=Hebrews|Jas=James|\
1Pet=1 Peter|2Pet=2 Peter|1Jn=1 John|2Jn=2 John|3Jn=3 John|Jude=Jude|Rev=Revelation""".split("|"))


def extract_bible(root):
    """bible.data is an index of big-endian words, then one stream of `compress`, which gzip reads.

    The word at 0x5c says where the first window begins, just after the three bytes of the stream's head.
    """
    with open(os.path.join(root, "usr/lib/bible.data"), "rb") as f:
        data = f.read()
    start = struct.unpack_from(">I", data, 0x5c)[0] - 3
    if data[start:start + 2] != b"\x1f\x9d":
        raise ValueError("usr/lib/bible.data: no compressed stream where the index says")
    run = subprocess.run(["gzip", "-dc"], input=data[start:], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=True)
    chapter, verses = None, []
    for line in decode(run.stdout).split("\n"):
        match = re.match(r"(\d?[A-Za-z]+)(\d+):\d+ (.*)", line)
        if not match:
            continue
        book, number, verse = match.groups()
        if (book, number) != chapter:
            if verses:
                yield verses
            chapter, verses = (book, number), [f"{BIBLE_BOOKS[book]} {number}"]
        verses.append(squeeze(verse))
    if verses:
        yield verses


# ---------------------------------------------------------------- Jane Austen, out of R's files

R_SYMBOL, R_PAIRLIST, R_CHARS, R_LOGICALS, R_INTEGERS, R_REALS, R_STRINGS, R_LIST, R_NIL, R_REFERENCE = \
    1, 2, 9, 10, 13, 14, 16, 19, 254, 255


class RReader:
    """Reads the part of R's serialisation (XDR, versions 2 and 3) that data packages use.

    An item is a word of flags (type in the low byte, 0x200 has attributes, 0x400 has a tag), then
    its content.  See "Serialization Formats" in the R Internals manual.
    """

    def __init__(self, data):
        if data[:2] != b"X\n":
            raise ValueError("not an R serialisation in XDR format")
        self.data, self.at, self.references = data, 2, []
        version, _, _ = self.words(3)
        if version == 3:   # the name of the writer's character set follows
            self.take(self.word())

    def take(self, size):
        if size < 0 or self.at + size > len(self.data):
            raise ValueError("R serialisation ends early")
        self.at += size
        return self.data[self.at - size:self.at]

    def words(self, count):
        return struct.unpack(f">{count}i", self.take(4 * count))

    def word(self):
        return self.words(1)[0]

    def item(self):
        flags = self.word()
        kind = flags & 255
        if kind == R_NIL:
            return None
        if kind == R_REFERENCE:
            return self.references[(flags >> 8) - 1]
        if kind == R_SYMBOL:
            self.references.append(self.item())
            return self.references[-1]
        if kind == R_CHARS:
            size = self.word()
            return decode(self.take(size)) if size >= 0 else ""
        if kind == R_PAIRLIST:
            return self.pairlist(flags)
        if kind in (R_LOGICALS, R_INTEGERS):
            value = self.words(self.word())
        elif kind == R_REALS:
            count = self.word()
            value = struct.unpack(f">{count}d", self.take(8 * count))
        elif kind in (R_STRINGS, R_LIST):
            value = [self.item() for _ in range(self.word())]
        else:
            raise ValueError(f"R type {kind} is not one a data package should hold")
        attributes = self.item() if flags & 0x200 else None
        if kind == R_LIST and attributes and "names" in attributes:
            return dict(zip(attributes["names"], value))
        return value

    def pairlist(self, flags):
        pairs = {}
        while flags & 255 == R_PAIRLIST:
            if flags & 0x200:
                self.item()
            tag = self.item() if flags & 0x400 else None
            pairs[tag] = self.item()
            flags = self.word()
        return pairs


def r_lazy_load(base):
    """A lazy-load database: base.rdx maps names to (offset, length) in base.rdb, where each object is
    a big-endian length and a zlib stream; yields (name, object) in order of name."""
    with gzip.open(base + ".rdx") as f:
        index = RReader(f.read()).item()["variables"]
    with open(base + ".rdb", "rb") as f:
        data = f.read()
    for name, (offset, length) in sorted(index.items()):
        content = zlib.decompress(data[offset + 4:offset + length])
        if struct.unpack_from(">I", data, offset)[0] != len(content):
            raise ValueError(f"Rdata.rdb: the object {name} is not as long as it should be")
        yield name, RReader(content).item()


AUSTEN_WIDTH = 74
AUSTEN_BREAK = re.compile(r"CHAPTER ([IVXLC]+|\d+)|A NOTE ON THE TEXT|VOLUME ([IVX]+)", re.I)


def extract_austen(root):
    """A novel is a vector of lines; its first line is the title, which heads every chapter."""
    for _, lines in r_lazy_load(os.path.join(root, "usr/lib/R/site-library/janeaustenr/data/Rdata")):
        title, volume, chapter = lines[0].title().replace(" And ", " and "), "", []
        for line in lines + ["CHAPTER 0"]:
            match = AUSTEN_BREAK.fullmatch(line.strip())
            if not match:
                if chapter and not re.fullmatch("(?i)finis|the end", line.strip()):
                    chapter.append(line)
                continue
            if chapter:   # what precedes the first one is the title page
                yield chapter[:1] + [squeeze(p.replace("_", "")) for p in unwrap(chapter[1:], AUSTEN_WIDTH)]
                chapter = []
            if match.group(2):
                volume = f", Volume {match.group(2)}"
            else:
                part = f"Chapter {match.group(1)}" if match.group(1) else "A Note on the Text"
                chapter = [f"{title}{volume}, {part}"]


# ---------------------------------------------------------------- the rest

class HtmlSections(html.parser.HTMLParser):
    """Cuts a page at its headings into sections: lists of paragraphs, with a count of linked letters."""

    BLOCKS = {"p", "li", "blockquote", "br", "div", "ul", "ol", "dt", "dd", "center", "hr"}
    HEADINGS = {"h1", "h2", "h3"}
    SKIPPED = {"head", "table", "script", "style"}

    def __init__(self):
        super().__init__()
        self.sections, self.linked, self.letters = [[""]], [0], [0]
        self.skipping, self.in_link = 0, False

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag in self.SKIPPED or self.skipping and tag == "div" \
                or "book-navigation" in (attrs.get("class") or "").split():
            self.skipping += 1
        elif tag in self.HEADINGS and any(self.sections[-1]):
            self.sections.append([""])
            self.linked.append(0)
            self.letters.append(0)
        elif tag in self.BLOCKS:
            self.sections[-1].append("")
        elif tag == "a":
            self.in_link = "href" in attrs

    def handle_endtag(self, tag):
        if self.skipping and (tag in self.SKIPPED or tag == "div"):
            self.skipping -= 1
        elif tag in self.BLOCKS or tag in self.HEADINGS:
            self.sections[-1].append("")
        elif tag == "a":
            self.in_link = False

    def handle_data(self, data):
        if not self.skipping:
            self.sections[-1][-1] += data
            self.letters[-1] += len(data.strip())
            self.linked[-1] += len(data.strip()) if self.in_link else 0


ANARCHISM_LISTS = {"alinks", "arlinks", "biblio", "book", "contact", "index", "links", "new", "pdf", "translations"}


def extract_anarchism(root):
    """The HTML pages, since the package's markdown has lost every line that held a web address."""
    for path in sorted(glob.glob(os.path.join(root, "usr/share/doc/anarchism/html/*.html"))):
        if os.path.basename(path)[:-len(".html")] in ANARCHISM_LISTS:
            continue
        page = HtmlSections()
        with open(path, encoding="utf-8") as f:
            page.feed(f.read())
        page.close()
        for paragraphs, linked, letters in zip(page.sections, page.linked, page.letters):
            paragraphs = list(filter(None, map(squeeze, paragraphs)))
            if len(paragraphs) > 1 and linked < 0.3 * letters:   # a heading alone or a menu is not a document
                yield paragraphs


FORTUNE_WIDTH = 60   # the least width at which a full line counts as wrapped


def fortune_is_prose(text):
    """Drawings and tables have few letters among their marks."""
    marks = re.sub(r"\s", "", text)
    return sum(c.isalpha() for c in marks) >= 0.75 * len(marks)


def fortune_paragraphs(lines):
    body = [line.strip() for line in lines if line.strip() and not re.match(r"\s*--", line)]
    capitals = sum(line[:1].isupper() for line in body)
    if len(body) > 3 and capitals > 0.8 * len(body):   # verse
        return lines
    width = max([FORTUNE_WIDTH] + [len(line.rstrip()) for line in lines if not re.match(r"\s*--", line)])
    return unwrap(lines, width, verse=True)


def extract_fortunes(root):
    for path in sorted(glob.glob(os.path.join(root, "usr/share/games/fortunes/*"))):
        if path.endswith((".dat", ".u8")):
            continue
        with open(path, "rb") as f:
            text = re.sub(r".\x08", "", decode(f.read())).expandtabs()   # \x08: overstriking
        for quip in re.split(r"(?m)^%$", text):
            quip = re.sub(r"(?m)^( *)(-- .*)\n\1 +(?=\S)", r"\1\2 ", quip)   # a source on two lines
            if fortune_is_prose(quip):
                yield [squeeze(p) for p in fortune_paragraphs(quip.split("\n"))]


CPP_HEADING = re.compile(r"(?:Chapter )?\d+(?:\.\d+)*: \S")
CPP_FIGURE = re.compile(r"-{20,}Insert Figure.*?-{20,}", re.S)
CPP_ITEM = re.compile(r"\s*o\s+\S")
CPP_CODE = re.compile(r"[;{}\\]\s*$|^\s*(?://|#\s*\w|\*|/\*|[{}%]|template <)|::\w|->|<<|>>|==|&&")
CPP_SENTENCE = re.compile(r"^(?!\s*(?://|/?\*)).*(?:\b[A-Za-z']+,? ){6}")   # six words on end, not in a comment


def is_code(lines, in_code):
    """Whether a run of lines is an example, given that one may be going on before it."""
    wordy = sum(CPP_SENTENCE.search(line) is not None for line in lines) / len(lines)
    coded = sum(CPP_CODE.search(line) is not None for line in lines) / len(lines)
    indented = indent(lines[0]) >= 4
    return wordy < 0.4 and (coded > 0.6 or indented and (coded > 0.3 or in_code))


def cpp_runs(lines):
    """Cuts at blank lines, at list items and where an example's indent begins: (lines, after a blank)."""
    run, fresh = [], True
    for line in lines:
        starts = CPP_ITEM.match(line) or run and indent(line) >= 4 and (indent(run[-1]) < 4 or run[-1].endswith(":"))
        if run and (starts or not line.strip()):
            yield run, fresh
            run, fresh = [], False
        if line.strip():
            run.append(line.rstrip())
        else:
            fresh = True
    if run:
        yield run, fresh


def cpp_paragraphs(lines):
    """Prose is joined, code keeps its lines and its indent; a run of lines is one or the other."""
    paragraph, code = "", []
    for run, fresh in cpp_runs(lines):
        item = CPP_ITEM.match(run[0])
        if not item and is_code(run, bool(code)):
            code += run
            continue
        if fresh or item or code:
            yield paragraph
            yield from cpp_code(code)
            paragraph, code = "", []
        paragraph = squeeze(" ".join([paragraph] + run))
        paragraph = re.sub(r"^o ", "- ", paragraph)
    yield paragraph
    yield from cpp_code(code)


def cpp_code(lines):
    """The converter shifted the first line of every example to the right."""
    if len(lines) > 1 and indent(lines[0]) > indent(lines[1]):
        lines[0] = " " * indent(lines[1]) + lines[0].lstrip()
    margin = min(map(indent, lines), default=0)
    return [line[margin:] for line in lines]


def extract_cpp(root):
    with gzip.open(os.path.join(root, "usr/share/doc/c++-annotations/cplusplus.txt.gz")) as f:
        text = CPP_FIGURE.sub("", decode(f.read()).expandtabs())
    section = [""]   # the contents repeat every heading, with nothing below it
    for line in text.split("\n") + ["0: end"]:
        if not CPP_HEADING.match(line):
            section.append(line)
            continue
        if section[0] and any(s.strip() for s in section[1:]):
            yield section[:1] + list(cpp_paragraphs(section[1:]))
        section = [line]
