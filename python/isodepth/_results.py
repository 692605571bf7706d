"""What the commands return: the JSON of the program with names for what people ask first."""

from __future__ import annotations

import html
import pathlib
import shutil
import tempfile
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ._call import IsodepthError, call


def _as_table(rows: List[Dict[str, Any]]) -> Any:
    """A DataFrame where pandas is installed, else the rows."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def _html_table(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{html.escape(key)}</th>" for key in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_show(v))}</td>" for v in row.values()) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _show(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class Result(Mapping):
    """An answer of the program.  It is a mapping of the members of its JSON."""

    def __init__(
        self, answer: Dict[str, Any], command: str, inputs: Sequence[Any], options: Mapping
    ) -> None:
        self._answer = answer
        self._command = command
        self._inputs = list(inputs)
        self._options = dict(options)

    def __getitem__(self, key: str) -> Any:
        return self._answer[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._answer)

    def __len__(self) -> int:
        return len(self._answer)

    def to_dict(self) -> Dict[str, Any]:
        """Everything, in full precision, as `isodepth COMMAND --json` prints it."""
        return self._answer

    @property
    def files(self) -> List[str]:
        """The files that were written (of a report)."""
        return [str(pathlib.Path(self["out"]) / name) for name in self["files"]]

    def table(self) -> Any:
        """The answer's own table: its runs, conditions or parts; a DataFrame with pandas."""
        for key in ("points", "runs", "conditions", "designs", "parts", "variants"):
            if isinstance(self._answer.get(key), list):
                return _as_table(self._answer[key])
        return _as_table([{"name": k, "value": v} for k, v in self._scalars()])

    def _scalars(self) -> List[Tuple[str, Any]]:
        return [(k, v) for k, v in self._answer.items() if not isinstance(v, (dict, list))]

    def __repr__(self) -> str:
        return f"<isodepth {self._command}: " + ", ".join(
            f"{k} = {_show(v)}" for k, v in self._scalars()[:6]
        ) + ">"

    def _repr_html_(self) -> str:
        return _html_table([{"name": k, "value": v} for k, v in self._scalars()])


class Fit(Result):
    """A fitted law."""

    @property
    def phi(self) -> float:
        """The worth of a recurrence; NaN in laws without one."""
        value = self["phi"]
        return float("nan") if value is None else value

    @property
    def interval(self) -> Optional[Tuple[float, float]]:
        """The interval of phi, or None."""
        pair = self._answer.get("phi_interval")
        return None if pair is None else (pair[0], pair[1])

    @property
    def trust(self) -> str:
        """good, caution or undetermined: whether phi may be believed."""
        return self._answer.get("trust", "undetermined")

    @property
    def checks(self) -> Any:
        """The checks behind `trust`: name, level, value, threshold, message."""
        return _as_table(self._answer.get("checks", []))

    def table(self) -> Any:
        """The parameters of the law with their errors."""
        return _as_table(self["diagnostics"]["parameters"])

    def figure(self, name: str = "worth") -> "Figure":
        """A figure of the report: isoflops, worth, residuals, ...; needs gnuplot."""
        return _draw(self, name)

    def __repr__(self) -> str:
        interval = self.interval
        shown = f" [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else ""
        return (
            f"<isodepth fit: phi = {self.phi:.3f}{shown}, trust: {self.trust}, "
            f"{self['n_runs']} runs, law {self['law']}>"
        )

    def _repr_html_(self) -> str:
        parts = [f"<p><b>{html.escape(repr(self)[15:-1])}</b></p>"]
        troubles = [c for c in self._answer.get("checks", []) if c["level"] != "ok"]
        parts += [
            f"<p>{html.escape(c['name'])} ({html.escape(c['level'])}): {html.escape(c['message'])}</p>"
            for c in troubles
        ]
        keep = ("name", "value", "plus_minus", "std_error", "lower", "upper")
        parts.append(
            _html_table(
                [{k: p[k] for k in keep if k in p} for p in self["diagnostics"]["parameters"]]
            )
        )
        if shutil.which("gnuplot"):
            try:
                parts.append(self.figure()._repr_html_())
            except IsodepthError:
                pass  # a table that allows no such figure still shows its numbers
        return "".join(parts)


class Comparison(Result):
    """Recipes compared with a base: one entry for each variant."""

    @property
    def variants(self) -> Dict[str, Dict[str, Any]]:
        return {v["name"]: v for v in self._answer["variants"]}

    def __getitem__(self, key: str) -> Any:
        return self._answer[key] if key in self._answer else self.variants[key]

    def table(self) -> Any:
        """delta phi, its interval and the verdict of each variant."""
        keys = ("name", "phi", "phi_base", "delta_phi", "delta_phi_interval", "estimator", "verdict")
        return _as_table([{k: v.get(k) for k in keys} for v in self._answer["variants"]])

    def __repr__(self) -> str:
        return "<isodepth compare: " + "; ".join(
            f"{v['name']}: delta phi = {_show(v.get('delta_phi'))}, {v['verdict']}"
            for v in self._answer["variants"]
        ) + ">"

    def _repr_html_(self) -> str:
        keys = ("name", "delta_phi", "delta_phi_interval", "verdict")
        rows = [{k: v.get(k) for k in keys} for v in self._answer["variants"]]
        return _html_table(rows)


class Figure:
    """A figure as SVG text; its colours follow the page it is shown on."""

    def __init__(self, name: str, svg: str) -> None:
        self.name = name
        self.svg = svg

    def save(self, path: Any) -> None:
        """Writes the SVG to a file."""
        pathlib.Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_html_(self) -> str:
        start = self.svg.find("<svg")
        return f'<div style="max-width: 48em; background: white">{self.svg[start:]}</div>'


def _draw(fit: Fit, name: str) -> Figure:
    if not shutil.which("gnuplot"):
        raise IsodepthError("figures need gnuplot: install it (Debian: apt install gnuplot-nox)")
    with tempfile.TemporaryDirectory() as folder:
        options = dict(fit._options, out=folder)
        call("report", fit._inputs, options)
        found = pathlib.Path(folder) / "figures" / f"{name}.svg"
        if not found.exists():
            names = sorted(p.stem for p in found.parent.glob("*.svg"))
            raise IsodepthError(f"no figure {name}; this table has {', '.join(names)}")
        return Figure(name, found.read_text(encoding="utf-8"))
