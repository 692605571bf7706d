"""What the commands return: the JSON of the program with names for what people ask first."""

from __future__ import annotations

import html
import pathlib
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ._call import IsodepthError
from ._figure import Figure, choose, draw


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


def _paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>"


def _show(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return "[" + ", ".join(_show(x) for x in value) + "]"
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
        self._figures: Optional[Dict[str, Figure]] = None

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
        """The answer's own table: its runs, conditions, parts or plan; a DataFrame with pandas."""
        for key in ("points", "runs", "conditions", "designs", "parts", "plan", "variants"):
            if isinstance(self._answer.get(key), list):
                return _as_table(self._answer[key])
        return _as_table([{"name": k, "value": v} for k, v in self._scalars()])

    def _drawn(self, inputs: Sequence[Any], options: Mapping) -> Dict[str, Figure]:
        """The figures of its report, which is written once."""
        if self._figures is None:
            self._figures = draw(inputs, options)
        return self._figures

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

    def figure(self, name: str = "worth") -> Figure:
        """A figure of the report: isoflops, worth, residuals, ...; needs gnuplot."""
        return choose(self._drawn(self._inputs, self._options), name)

    def _headline(self) -> str:
        trust = f"trust: {self.trust}"
        if self["unchecked"] and self.trust != "undetermined":
            trust += f" (not checked: {', '.join(self['unchecked'])})"
        runs = f"{self['n_runs']} runs, law {self['law']}"
        if self["phi"] is None:
            alpha, beta, floor = (self[key] for key in ("alpha", "beta", "E"))
            return f"alpha = {alpha:.3f}, beta = {beta:.3f}, E = {floor:.3f}, {trust}, {runs}"
        if self.trust == "undetermined":
            return f"phi is not determined, {trust}, {runs}"
        interval = self.interval
        shown = f" [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else ""
        return f"phi = {self.phi:.3f}{shown}, {trust}, {runs}"

    def __repr__(self) -> str:
        return f"<isodepth fit: {self._headline()}>"

    def _repr_html_(self) -> str:
        parts = [f"<p><b>{html.escape(self._headline())}</b></p>"]
        for c in self["checks"]:
            if c["level"] != "ok":
                found = f"{c['level'].capitalize()}, {c['name']}: {c['message']}."
                parts.append(_paragraph(f"{found} What to do: {c['advice']}."))
        columns = ", ".join(f"{role} ← {name}" for role, name in self["columns"].items())
        parts += [_paragraph(f"Columns: {columns}.")] if columns else []
        parts += [_paragraph(f"Note: {note}.") for note in self["notes"]]
        keep = ("name", "value", "plus_minus", "std_error")
        rows = [{k: p[k] for k in keep} for p in self["diagnostics"]["parameters"]]
        parts.append(_html_table(rows))
        parts.append(_shown_figure(self, "worth" if self["phi"] is not None else "isoflops"))
        return "".join(parts)


def _shown_figure(result: Any, name: str) -> str:
    """A figure as HTML; a table that allows none, or no gnuplot, still shows its numbers."""
    try:
        return result.figure(name)._repr_html_()
    except IsodepthError as error:
        return _paragraph(str(error))


class Fits(Result):
    """One fit for each value of a column: fits["comma"] is a Fit."""

    @property
    def fits(self) -> Dict[Any, Fit]:
        """The fits by value."""
        return {fit["value"]: self._one(fit) for fit in self._answer["fits"]}

    def __getitem__(self, key: Any) -> Any:
        return self._answer[key] if key in self._answer else self.fits[key]

    def _one(self, answer: Dict[str, Any]) -> Fit:
        """A fit that can be drawn: its rows are those of its value."""
        column = answer["columns"].get(self["by"], self["by"])
        rows = f"{_quoted(column)} = {_quoted(str(answer['value']))}"
        given = self._options.get("where")
        options = dict(self._options, by=None, where=f"({given}) and {rows}" if given else rows)
        return Fit(answer, "fit", self._inputs, options)

    def table(self) -> Any:
        """A row for each value: phi, its interval, trust and the law."""
        keys = ("n_runs", "phi", "phi_interval", "trust", "A", "alpha", "B", "beta", "E", "r2")
        return _as_table(
            [{self["by"]: f["value"], **{k: f[k] for k in keys}} for f in self._answer["fits"]]
        )

    def __repr__(self) -> str:
        values = ", ".join(str(f["value"]) for f in self._answer["fits"])
        return f"<isodepth fits by {self['by']}: {values}>"

    def _repr_html_(self) -> str:
        keys = ("n_runs", "phi", "phi_interval", "trust", "alpha", "beta", "E", "r2")
        rows = [{self["by"]: f["value"], **{k: f[k] for k in keys}} for f in self._answer["fits"]]
        missing = [_paragraph(f"{p['value']}: {p['message']}") for p in self["not_fitted"]]
        return _html_table(rows) + "".join(missing)


def _quoted(text: str) -> str:
    """A word of a condition."""
    for quote in ('"', "'"):
        if quote not in text:
            return quote + text + quote
    raise IsodepthError(f"{text}: a name with both kinds of quotes cannot be in a condition")


class Comparison(Result):
    """Recipes compared with a base: one entry for each variant."""

    @property
    def variants(self) -> Dict[str, Dict[str, Any]]:
        """What was found about each variant."""
        return {v["name"]: v for v in self._answer["variants"]}

    def __getitem__(self, key: str) -> Any:
        return self._answer[key] if key in self._answer else self.variants[key]

    @property
    def trust(self) -> str:
        """good, caution or undetermined: that of the variant which deserves least."""
        order = ("good", "caution", "undetermined")
        return max((v["trust"] for v in self._answer["variants"]), key=order.index)

    @property
    def checks(self) -> Any:
        """The checks of all recipes: recipe, name, level, value, threshold, message."""
        rows = [c for v in self._answer["variants"] for c in v["checks"]]
        return _as_table([c for i, c in enumerate(rows) if c not in rows[:i]])

    def table(self) -> Any:
        """delta phi, its interval and the verdict of each variant."""
        keys = ("name", "phi", "phi_base", "delta_phi", "delta_phi_interval")
        keys += ("estimator", "verdict", "trust")
        return _as_table([{k: v.get(k) for k in keys} for v in self._answer["variants"]])

    def figure(self, name: str = "compare-delta") -> Figure:
        """A figure of the report: compare-delta, compare-isoflops, ...; needs gnuplot."""
        variants = [
            f"{v['name']}={given}" if isinstance(given, str) else given
            for v, given in zip(self._answer["variants"], self._inputs[1:])
        ]
        options = dict(self._options, compare=variants)
        return choose(self._drawn(self._inputs[:1], options), name)

    def __repr__(self) -> str:
        return "<isodepth compare: " + "; ".join(
            f"{v['name']}: delta phi = {_show(v.get('delta_phi'))}, {v['verdict']}"
            for v in self._answer["variants"]
        ) + ">"

    def _repr_html_(self) -> str:
        keys = ("name", "delta_phi", "delta_phi_interval", "verdict", "trust")
        rows = [{k: v.get(k) for k in keys} for v in self._answer["variants"]]
        sentences = "".join(_paragraph(v["sentence"]) for v in self._answer["variants"])
        return sentences + _html_table(rows) + _shown_figure(self, "compare-delta")
