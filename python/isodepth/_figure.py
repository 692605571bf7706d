"""Figures: those of the report, drawn by gnuplot, for a notebook that is light or dark."""

from __future__ import annotations

import pathlib
import re
import shutil
import tempfile
from typing import Any, Dict, Mapping, Sequence

from ._call import IsodepthError, call

# Where a page says that it is dark, or light: the reader's system, JupyterLab, VS Code, Colab.
_DARK = ('[data-jp-theme-light="false"]', ".vscode-dark", "html[theme=dark]")
_LIGHT = ('[data-jp-theme-light="true"]', ".vscode-light", "html[theme=light]")
_BOX = "background:var(--iffffff);color:var(--i20242a);max-width:60em;padding:.6em;margin:.6em 0"


class Figure:
    """A figure.  A notebook shows it in its own theme; save() writes the light one."""

    def __init__(self, name: str, svg: str, drawing: str, caption: str, inks: Mapping) -> None:
        self.name = name
        self.svg = svg
        self.caption = caption
        self._drawing = drawing
        self._inks = inks

    def save(self, path: Any) -> None:
        """Writes the SVG to a file."""
        pathlib.Path(path).write_text(self.svg, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<isodepth figure {self.name}>"

    def _style(self) -> str:
        used = sorted(set(re.findall(r"var\(--i([0-9a-f]{6})", self._drawing + _BOX)))
        light = "".join(f"--i{ink}:#{ink};" for ink in used)
        dark = "".join(f"--i{ink}:{self._inks.get(ink, '#' + ink)};" for ink in used)
        box = ".isodepth-figure"

        def rule(themes: Sequence[str], inks: str) -> str:
            return ",".join(f"{theme} {box}" for theme in themes) + "{" + inks + "}"

        return (
            f"{box}{{{light}{_BOX}}}{box} svg{{display:block;width:100%;height:auto}}"
            f"@media (prefers-color-scheme:dark){{{box}{{{dark}}}}}"
            + rule(_LIGHT, light)
            + rule(_DARK, dark)
        )

    def _repr_html_(self) -> str:
        # A viewer that drops styles still has the light colours.
        drawing = re.sub(r"var\(--i([0-9a-f]{6})\)", r"var(--i\1,#\1)", self._drawing)
        return (
            f'<div class="isodepth-figure"><style>{self._style()}</style>\n{drawing}'
            f"<p>{self.caption}</p></div>"
        )


def _figure_of(page: str, name: str, svg: str) -> Figure:
    """The figure of a report, whose page holds it with names of colours instead of colours."""
    start = page.index(f'<figure id="fig-{name}">')
    part = page[start : page.index("</figure>", start)]
    drawing = part[part.index("<svg") : part.index("</svg>") + len("</svg>")]
    # The report's own script shows these texts; here the browser does.
    drawing = re.sub(
        r'<circle ([^>]*?) data-tip="([^"]*)"/>', r"<circle \1><title>\2</title></circle>", drawing
    )
    caption = re.search(r"<figcaption><b>Figure \d+\. (.*?) <span", part, re.S)
    dark = re.search(r":root\.dark\{([^}]*)\}", page)
    inks = dict(re.findall(r"--i([0-9a-f]{6}):(#[0-9a-f]{6});", dark.group(1) if dark else ""))
    return Figure(name, svg, drawing, "<b>" + caption.group(1) if caption else "", inks)


def draw(inputs: Sequence[Any], options: Mapping[str, Any]) -> Dict[str, Figure]:
    """All figures of a report, by name."""
    if not shutil.which("gnuplot"):
        raise IsodepthError("figures need gnuplot: install it (Debian: apt install gnuplot-nox)")
    with tempfile.TemporaryDirectory() as folder:
        call("report", inputs, dict(options, out=folder))
        page = (pathlib.Path(folder) / "report.html").read_text(encoding="utf-8")
        drawn = sorted((pathlib.Path(folder) / "figures").glob("*.svg"))
        return {p.stem: _figure_of(page, p.stem, p.read_text(encoding="utf-8")) for p in drawn}


def choose(figures: Mapping[str, Figure], name: str) -> Figure:
    """One of them; the error lists the others."""
    if name not in figures:
        raise IsodepthError(f"no figure {name}; this table has {', '.join(figures)}")
    return figures[name]

