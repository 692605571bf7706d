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
from ._results import Comparison, Fit, Fits, Result


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
    >>> paper = isodepth.example("paper_baseline")
    >>> r1 = isodepth.fit(paper, law="chinchilla", where="r=1", resamples=0)
    >>> round(r1["alpha"], 2), round(r1["E"], 2)
    (0.25, 1.56)

    With by= there is a fit for each value of a column:

    >>> each = isodepth.fit(paper, law="chinchilla", by="r", resamples=0)
    >>> [round(each[r]["alpha"], 3) for r in (1, 2, 4, 8)]
    [0.251, 0.216, 0.191, 0.235]
    """
    inputs = [as_input(table, "table")]
    answer = call("fit", inputs, options, progress)
    kind = Fits if "fits" in answer else Fit
    return kind(answer, "fit", inputs, options)


def compare(
    table: Any,
    variants: Optional[Mapping[str, Any]] = None,
    /,
    *,
    progress: Optional[Progress] = None,
    **options: Any,
) -> Comparison:
    """Measures the change of phi between recipes.  `table` is the base and `variants` maps a name
    to a table; or all are in one table, and group= names the column that says which (base= the
    value of the base, else that of the first row).

    >>> import isodepth
    >>> table = isodepth.example("paper_baseline")
    >>> same = isodepth.compare(table, {"same": table}, resamples=0)
    >>> round(same["same"]["delta_phi"], 6)
    0.0
    """
    variants = variants or {}
    inputs = [as_input(table, "base"), *(as_input(t, name) for name, t in variants.items())]
    answer = call("compare", inputs, options, progress)
    for variant, name in zip(answer["variants"], variants):
        for check in variant["checks"]:
            check["recipe"] = name if check["recipe"] == variant["name"] else check["recipe"]
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


def plan(grid: Any = None, **options: Any) -> Result:
    """The runs that a grid file plans: parameters, FLOPs, tokens, steps and learning rates; or,
    with shape=, one architecture.

    >>> import isodepth
    >>> shape = isodepth.plan(shape="r=4,s=10")
    >>> round(shape["n_rec"] / 1e6, 1), round(shape["n_effective"] / 1e6, 1)
    (19.7, 56.9)
    """
    inputs = [] if grid is None else [os.fspath(grid)]
    return Result(call("plan", inputs, options), "plan", inputs, options)


def power(
    grid: Any, from_: Any = None, *, progress: Optional[Progress] = None, **options: Any
) -> Result:
    """How well a grid (or a table of planned runs) would measure phi; `from_` is a pilot.

    >>> import isodepth
    >>> paper = isodepth.example("paper_baseline")
    >>> planned = isodepth.power(paper, from_=paper, repetitions=20, seed=1)
    >>> 0.01 < planned["half_width"] < 0.1
    True
    """
    pilot = None if from_ is None else as_input(from_, "pilot")
    options = dict(options, **{"from": pilot})
    inputs = [as_input(grid, "grid")]
    return Result(call("power", inputs, options, progress), "power", inputs, options)


def design(
    data: Any,
    hours: float,
    from_: Any = None,
    *,
    progress: Optional[Progress] = None,
    **options: Any,
) -> Result:
    """The grid that measures phi best in the given hours, for the packed data in the folder `data`;
    `from_` is a pilot.  With out= the grid is written there; ["grids"] of the result names it.

    Measures this machine for some seconds, unless tflops= gives its speed.

    >>> import isodepth
    >>> isodepth.design("no-such-folder", hours=1)
    Traceback (most recent call last):
    isodepth._call.IsodepthError: no-such-folder: no such directory; isodepth pack makes one
    """
    pilot = None if from_ is None else as_input(from_, "pilot")
    options = dict(options, data=os.fspath(data), hours=hours, **{"from": pilot})
    return Result(call("design", [], options, progress), "design", [], options)


def rates(table: Any, **options: Any) -> Result:
    """Judges a sweep over learning rates: best rates, regret, transfer."""
    inputs = [as_input(table, "table")]
    return Result(call("rates", inputs, options), "rates", inputs, options)


def report(
    table: Any,
    out: Any,
    compare: Optional[Mapping[str, Any]] = None,
    *,
    progress: Optional[Progress] = None,
    **options: Any,
) -> Result:
    """Writes a page with figures and tables into the folder `out`; see .files of the result.
    `compare` maps the names of other recipes to their tables.

    >>> import isodepth, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paper = isodepth.example("paper_baseline")
    ...     written = isodepth.report(paper, folder, resamples=0, starts=20)
    >>> sorted(f.rsplit("/")[-1] for f in written.files if f.endswith((".html", ".csv")))
    ['report.html', 'runs.csv']
    """
    inputs = [as_input(table, "table")]
    recipes = [named_input(t, name) for name, t in (compare or {}).items()]
    options = dict(options, out=os.fspath(out), compare=recipes)
    return Result(call("report", inputs, options, progress), "report", inputs, options)


def named_input(table: Any, name: str) -> Any:
    """What report's option compare takes: NAME=PATH, or a table as text."""
    given = as_input(table, name)
    return f"{name}={given}" if isinstance(given, str) else given
