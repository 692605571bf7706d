"""Studies: the program trains them as a process of its own; this starts it and looks at it."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any, List, Optional

from ._call import HERE, IsodepthError, StudyLike, call
from ._commands import fit
from ._results import Fit, Result


def _program() -> str:
    return os.environ.get("ISODEPTH_PROGRAM", str(HERE / "bin" / "isodepth"))


def main() -> None:
    """The command `isodepth`: the program that the package brings along."""
    os.execv(_program(), ["isodepth", *sys.argv[1:]])


class Study(StudyLike):
    """A study directory, whoever trains it."""

    def __init__(self, path: Any, process: Optional[subprocess.Popen] = None) -> None:
        self.path = pathlib.Path(path)
        self._process = process

    def status(self) -> Result:
        """How far it is: runs by state, FLOPs done, the runs that have begun."""
        return Result(call("status", [str(self.path)], {}), "status", [str(self.path)], {})

    def runs(self, where: Optional[str] = None) -> Any:
        """The runs as a table; a DataFrame with pandas."""
        options = {"where": where}
        return Result(call("runs", [str(self.path)], options), "runs", [], options).table()

    def fit(self, **options: Any) -> Fit:
        """phi of the runs that are done."""
        return fit(self, **options)

    def log(self) -> str:
        """What the program printed."""
        path = self.path / "sweep.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def wait(self, timeout: Optional[float] = None) -> int:
        """Waits for the program that this session started and returns its exit code."""
        if self._process is None:
            raise IsodepthError(f"{self.path}: this session did not start the study")
        return self._process.wait(timeout)

    def stop(self) -> None:
        """Asks the program that this session started to save and stop; sweep() resumes it."""
        if self._process is None:
            raise IsodepthError(f"{self.path}: this session did not start the study")
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()

    def __repr__(self) -> str:
        return f"<isodepth study {self.path}>"


def study(path: Any) -> Study:
    """Attaches to a study that exists."""
    if not pathlib.Path(path).is_dir():
        raise IsodepthError(f"{path}: no such study; isodepth.sweep starts one")
    return Study(path)


def sweep(grid: Any, data: Any, out: Any, **options: Any) -> Study:
    """Starts (or resumes) a study.  The program runs on when Python ends; study(out) finds it."""
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    words: List[str] = [_program(), "sweep", os.fspath(grid), "--data", os.fspath(data)]
    words += ["--out", str(out)]
    for key, value in options.items():
        option = "--" + key.rstrip("_").replace("_", "-")
        for each in value if isinstance(value, (list, tuple)) else [value]:
            words += [option] if each is True else [option, str(each)]
    with open(out / "sweep.log", "ab") as log:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    time.sleep(0.5)
    if process.poll() not in (None, 0):
        lines = Study(out).log().strip().splitlines()
        raise IsodepthError(lines[-1] if lines else f"{words[0]} ended at once")
    return Study(out, process)
