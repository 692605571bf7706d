"""Checks the layout of help pages: help_layout.py WIDTH < PAGES

No line is longer than WIDTH, and none ends early: the first word of the next line of the same
paragraph would not have fitted.  That finds line ends in the middle of a paragraph's text."""
import re
import sys

width = int(sys.argv[1])
problems = []


def check_pair(line, after):
    if len(line) + 1 + len(after.split()[0]) <= width:
        problems.append(f"ends early: {line!r}, then {after!r}")


def check_list(lines):
    """Entries begin at two spaces or six; their text continues further to the right.  Names that
    explain themselves are one paragraph, with commas."""
    names = re.match(r"  \w+, \w", lines[0])
    for line, after in zip(lines, lines[1:]):
        continues = names or after.startswith(" " * 10)
        bare_label = not line.startswith(" " * 10) and not re.search(r"\S\s\s+\S", line)
        if continues and (names or not bare_label):
            check_pair(line, after)


for block in re.split(r"\n\n+", sys.stdin.read().strip("\n")):
    lines = block.split("\n")
    problems += [f"longer than {width}: {line!r}" for line in lines if len(line) > width]
    if len(lines) > 1 and not lines[0].startswith(" ") and lines[1].startswith("  "):
        check_list(lines[1:])
    else:
        for pair in zip(lines, lines[1:]):
            check_pair(*pair)
for problem in problems:
    print(problem)
sys.exit(bool(problems))
