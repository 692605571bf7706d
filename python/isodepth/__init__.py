"""isodepth: how much is one recurrence of a looped language model worth?

>>> import isodepth
>>> fit = isodepth.fit(isodepth.example("paper_baseline"), resamples=0)
>>> round(fit.phi, 3)
0.458
"""

from ._call import IsodepthError, Stopped, version
from ._checkpoint import load
from ._commands import compare, design, example, fit, plan, power, predict, rates, report
from ._results import Comparison, Figure, Fit, Fits, Result
from ._study import Study, study, sweep

__all__ = [
    "Comparison",
    "Figure",
    "Fit",
    "Fits",
    "IsodepthError",
    "Result",
    "Stopped",
    "Study",
    "compare",
    "design",
    "example",
    "fit",
    "load",
    "plan",
    "power",
    "predict",
    "rates",
    "report",
    "study",
    "sweep",
    "version",
]
__version__ = version()
