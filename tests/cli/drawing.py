"""Reads a figure back out of its SVG: panels, what is drawn in them, and by the texts at their axes
the values that the drawing stands for."""
import html, math, re

UNITS = {'K': 1e3, 'M': 1e6, 'B': 1e9, '': 1}
NEAR = 0.8 # pixels

def number(text):
    """What a text at an axis says, or None."""
    text = text.replace('−', '-')
    power = re.fullmatch(r'(?:([\d.]+)·)?10\^(\d+)', text)
    if power:
        return float(power[1] or 1) * 10 ** int(power[2])
    plain = re.fullmatch(r'(-?[\d.]+)([KMB]?)', text)
    return float(plain[1]) * UNITS[plain[2]] if plain else None

def pairs(text):
    return [(float(x), float(y)) for x, y in re.findall(r'(-?[\d.]+),(-?[\d.]+)', text)]

class Panel:
    def __init__(self, corners, drawing):
        (self.left, self.top), (_, self.bottom), (self.right, _) = corners
        self.drawing = drawing
        inside = lambda p: (self.left - 1 <= p[0] <= self.right + 1 and
                            self.top - 1 <= p[1] <= self.bottom + 1)
        self.marks = [m for m in drawing.marks if inside(m)]
        lines = [l for l in drawing.lines if len(l) > 1 and all(inside(p) for p in l)]
        self.stars = [l for l in lines if len(l) == 11 and math.dist(l[0], l[10]) < 0.1]
        self.lines = [l for l in lines if l not in self.stars]
        self.bars = [(b, c) for b, c in drawing.polygons if all(inside(p) for p in b)]
        titles = [t for x, y, t, anchor in drawing.texts
                  if anchor == 'start' and abs(x - self.left) < 2 and 0 < self.top - y < 12]
        self.title = titles[0] if titles else ''

    def texts(self, axis):
        """(pixel, text) at an axis; a panel without shows those of its neighbour."""
        found = []
        for x, y, text, anchor in self.drawing.texts:
            if axis == 'x' and anchor == 'middle' and self.left - 3 <= x <= self.right + 3 and \
                    0 < y - self.bottom < 24:
                found.append((x, text))
            if axis == 'y' and anchor == 'end' and self.left - 12 < x <= self.left and \
                    self.top - 3 <= y - 3.9 <= self.bottom + 3:
                found.append((y - 3.9, text))
        others = [p for p in self.drawing.panels
                  if (p.left == self.left and p.bottom > self.bottom if axis == 'x' else
                      p.top == self.top and p.left < self.left)]
        return found or not others and [] or others[-1 if axis == 'x' else 0].texts(axis)

    def scale(self, axis, log):
        """The function from values to pixels; all texts must agree with the outermost two."""
        f = math.log if log else float
        ticks = sorted((number(t), p) for p, t in self.texts(axis) if number(t) is not None)
        assert len(ticks) > 1, (self.drawing.name, self.title, axis, self.texts(axis))
        (v0, p0), (v1, p1) = ticks[0], ticks[-1]
        pixel = lambda v: p0 + (p1 - p0) * (f(v) - f(v0)) / (f(v1) - f(v0))
        for v, p in ticks:
            assert abs(pixel(v) - p) < NEAR, (self.drawing.name, self.title, axis, v, p, pixel(v))
        return pixel

class Drawing:
    def __init__(self, path):
        self.name = path
        svg = open(path, encoding='utf-8').read()
        self.texts = []
        for x, y, anchor, body in re.findall(
                r'<g transform="translate\(([-\d.]+),([-\d.]+)\)"[^>]*text-anchor="(\w+)">\s*'
                r'<text[^>]*>(.*?)</text>', svg, re.S):
            body = re.sub(r'<tspan[^>]*dy="-[^>]*>(.*?)</tspan>', r'^\1', body)
            text = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", "", body))).strip()
            if text:
                self.texts.append((float(x), float(y), text, anchor))
        self.marks = [(float(x), float(y), (int(r), int(g), int(b))) for x, y, r, g, b in re.findall(
            r"<use xlink:href='#gpPt\d+' transform='translate\(([-\d.]+),([-\d.]+)\)[^']*' "
            r"color='rgb\(\s*(\d+),\s*(\d+),\s*(\d+)\)'", svg)]
        paths = re.findall(r"<path stroke='rgb\([^)]*\)'\s+(?:stroke-dasharray='[^']*'\s+)?d='([^']*)'", svg)
        self.lines = [pairs(piece) for path in paths for piece in path.split('M')]
        self.polygons = [(pairs(points), colour) for colour, points in re.findall(
            r"<polygon fill = '([^']*)' points = '([^']*)'", svg)]
        self.titles = re.findall(r'<circle [^>]*><title>(.*?)</title>', svg, re.S)
        borders = re.findall(r"d='M(\S+ L\S+ L\S+) M\S+ M\S+\s+'", svg)
        self.panels = [Panel(pairs(b), self) for b in dict.fromkeys(borders)] # drawn twice each

    def panel(self, title):
        return next(p for p in self.panels if p.title == title)

def misses(points, targets):
    """Targets that no point lies on, each point taken once."""
    left, out = list(points), []
    for t in targets:
        best = min(left, key=lambda p: math.dist(p[:2], t), default=None)
        if best is None or math.dist(best[:2], t) > NEAR:
            out.append(t)
        else:
            left.remove(best)
    return out

def on_line(lines, point):
    """Whether a line passes through a point."""
    for line in lines:
        for (x0, y0), (x1, y1) in zip(line, line[1:]):
            dx, dy = x1 - x0, y1 - y0
            along = ((point[0] - x0) * dx + (point[1] - y0) * dy) / (dx * dx + dy * dy or 1)
            along = min(1, max(0, along))
            if math.dist((x0 + along * dx, y0 + along * dy), point) < NEAR:
                return True
    return False
