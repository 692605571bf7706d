"""The commands of the program as functions.

Every keyword is a long option of the command with underscores for dashes; `isodepth help COMMAND`
lists them.  A table is a path, a pandas DataFrame, a list of rows or a dict of columns.
"""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any, Mapping, Optional

from ._call import HERE, Progress, as_input, call
from ._results import Comparison, Fit, Result


def example(name: str) -> str:
    """The path of a table that comes with the package: "paper_baseline" or "chinchilla".

    >>> import os, isodepth
    >>> os.path.exists(isodepth.example("paper_baseline"))
    True
    """
    folder = pathlib.Path(os.environ.get("ISODEPTH_EXAMPLES", HERE / "examples"))
    path = folder / f"{name}.csv"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in folder.glob("*.csv")))
        raise FileNotFoundError(f"no example {name}; there are {known}")
    return str(path)


def fit(table: Any, *, progress: Optional[Progress] = None, **options: Any) -> Fit:
    """Measures phi: fits a scaling law to a table of runs.

    >>> import isodepth
    >>> r1 = isodepth.fit(isodepth.example("paper_baseline"), law="chinchilla", where="r=1",
    ...                   resamples=0)
    >>> round(r1["alpha"], 2), round(r1["E"], 2)
    (0.25, 1.56)
    """
    inputs = [as_input(table, "table")]
    return Fit(call("fit", inputs, options, progress), "fit", inputs, options)


def compare(
    base: Any, variants: Mapping[str, Any], *, progress: Optional[Progress] = None, **options: Any
) -> Comparison:
    """Measures the change of phi between recipes; `variants` maps a name to a table.

    >>> import isodepth
    >>> table = isodepth.example("paper_baseline")
    >>> same = isodepth.compare(table, {"same": table}, resamples=0)
    >>> round(same["same"]["delta_phi"], 6)
    0.0
    """
    inputs = [as_input(base, "base"), *(as_input(t, name) for name, t in variants.items())]
    answer = call("compare", inputs, options, progress)
    for variant, name in zip(answer["variants"], variants):
        variant["name"] = name
    return Comparison(answer, "compare", inputs, options)


def predict(fitted: Any, points: Any = None, **options: Any) -> Result:
    """The loss that a law gives models: predict(fit, n=7e9, tokens=2e12), or a table of points.

    >>> import isodepth
    >>> fit = isodepth.fit(isodepth.example("paper_baseline"), resamples=40)
    >>> point = isodepth.predict(fit, n=1e9, tokens=2e10)["points"][0]
    >>> round(point["loss"], 2)
    2.16
    """
    if isinstance(fitted, Fit):
        fitted = {"name": "fit.json", "text": json.dumps(fitted.to_dict())}
    else:
        fitted = os.fspath(fitted)
    inputs = [fitted] if points is None else [fitted, as_input(points, "points")]
    return Result(call("predict", inputs, options), "predict", inputs, options)


def plan(grid: Any, **options: Any) -> Result:
    """The runs that a grid file plans: parameters, FLOPs, tokens, steps and learning rates."""
    return Result(call("plan", [os.fspath(grid)], options), "plan", [os.fspath(grid)], options)


def power(
    grid: Any, from_: Any = None, *, progress: Optional[Progress] = None, **options: Any
) -> Result:
    """How well a grid (or a table of planned runs) would measure phi; `from_` is a pilot."""
    options = dict(options, **{"from": None if from_ is None else os.fspath(from_)})
    inputs = [as_input(grid, "grid")]
    return Result(call("power", inputs, options, progress), "power", inputs, options)


def rates(table: Any, **options: Any) -> Result:
    """Judges a sweep over learning rates: best rates, regret, transfer."""
    inputs = [as_input(table, "table")]
    return Result(call("rates", inputs, options), "rates", inputs, options)


def report(table: Any, out: Any, *, progress: Optional[Progress] = None, **options: Any) -> Result:
    """Writes a page with figures and tables into the folder `out`; see .files of the result."""
    inputs = [as_input(table, "table")]
    options = dict(options, out=os.fspath(out))
    return Result(call("report", inputs, options, progress), "report", inputs, options)
