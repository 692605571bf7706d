"""The shared library: one function, isodepth_call, carries every command."""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import pathlib
import signal
import sys
import threading
import time
from typing import Any, Callable, Iterator, List, Mapping, Optional, Sequence

HERE = pathlib.Path(__file__).resolve().parent


class IsodepthError(Exception):
    """What the program would have printed: the place and the remedy."""


class Stopped(IsodepthError):
    """The progress function asked to stop."""


Progress = Callable[[str, float, float], Any]
_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double, ctypes.c_double
)


def _open() -> ctypes.CDLL:
    path = os.environ.get("ISODEPTH_LIBRARY", str(HERE / "lib" / "libisodepth.so"))
    library = ctypes.CDLL(path)
    library.isodepth_version.restype = ctypes.c_char_p
    library.isodepth_call.restype = ctypes.c_void_p
    library.isodepth_call.argtypes = [
        ctypes.c_char_p,
        ctypes.c_char_p,
        _CALLBACK,
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
    ]
    return library


_library = _open()
_free = ctypes.CDLL(None).free
_free.argtypes = [ctypes.c_void_p]


def version() -> str:
    """The version of the library, such as "0.2.0"."""
    return _library.isodepth_version().decode()


class _Bar:
    """One line of progress: a cell's display in a notebook, standard error in a terminal.

    Nothing is shown for the first moments: a line that only flashes disturbs.
    """

    def __init__(self) -> None:
        self.from_ = time.monotonic() + 0.5
        self.handle: Any = None
        self.drawn = False
        ipython = sys.modules.get("IPython")
        self.notebook = hasattr(ipython.get_ipython(), "kernel") if ipython else False

    def __call__(self, what: str, done: float, total: float) -> None:
        if time.monotonic() < self.from_:
            return
        text = f"{what} {100 * done / total:.0f} %" if total else what
        if self.notebook:
            from IPython.display import display

            if self.handle is None:
                self.handle = display({"text/plain": text}, raw=True, display_id=True)
            else:
                self.handle.update({"text/plain": text}, raw=True)
        elif sys.stderr.isatty():
            print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)
            self.drawn = True

    def close(self) -> None:
        if self.handle is not None:
            self.handle.update({"text/plain": ""}, raw=True)
        if self.drawn:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _as_cell(value: Any) -> Any:
    """What JSON has no word for: numbers of numpy, dates, and numbers that are not known."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return number if math.isfinite(number) else str(number)


def as_input(table: Any, name: str) -> Any:
    """A path as it is; a DataFrame, a list of rows or a dict of columns as text with a name."""
    if isinstance(table, (str, os.PathLike)):
        return os.fspath(table)
    if isinstance(table, StudyLike):
        return os.fspath(table.path)
    if hasattr(table, "to_csv"):  # pandas; an index with a name is a column
        return {"name": name, "text": table.to_csv(index=any(table.index.names))}
    if hasattr(table, "write_csv"):  # polars
        return {"name": name, "text": table.write_csv()}
    if isinstance(table, Mapping):
        table = {key: [_as_cell(x) for x in column] for key, column in table.items()}
    elif isinstance(table, Sequence) and all(isinstance(row, Mapping) for row in table):
        table = [{key: _as_cell(x) for key, x in row.items()} for row in table]
    else:
        raise TypeError(
            f"{name}: a path, a DataFrame, a list of rows or a dict of columns is expected, "
            f"not {type(table).__name__}"
        )
    return {"name": name, "text": json.dumps(table)}


class StudyLike:
    """Anything with a folder that the program reads."""

    path: pathlib.Path


@contextlib.contextmanager
def _control_c(interrupted: List[BaseException]) -> Iterator[None]:
    """Notes Ctrl-C instead of raising it: an exception that strikes on the way into a callback of C
    is lost."""
    usual = signal.getsignal(signal.SIGINT)
    ours = threading.current_thread() is threading.main_thread() and callable(usual)
    if ours:
        signal.signal(signal.SIGINT, lambda *_: interrupted.append(KeyboardInterrupt()))
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, usual)


def call(
    command: str,
    inputs: Sequence[Any],
    options: Mapping[str, Any],
    progress: Optional[Progress] = None,
) -> Any:
    """Runs a command of the program and returns what its --json prints."""
    bar = _Bar() if progress is None else None
    show = bar if bar is not None else progress
    interrupted: List[BaseException] = []

    def listen(_: Any, what: bytes, done: float, total: float) -> int:
        try:
            return 1 if show(what.decode(), done, total) or interrupted else 0
        except BaseException as error:  # stop, and raise it below
            interrupted.append(error)
            return 1

    request = {
        key.rstrip("_"): os.fspath(value) if isinstance(value, os.PathLike) else value
        for key, value in options.items()
        if value is not None
    }
    request["inputs"] = list(inputs)
    text = json.dumps(request).encode()
    message = ctypes.create_string_buffer(4096)
    try:
        with _control_c(interrupted):
            answer = _library.isodepth_call(
                command.encode(), text, _CALLBACK(listen), None, message, len(message)
            )
    finally:
        if bar is not None:
            bar.close()
    if interrupted:
        raise interrupted[0]
    if not answer:
        text = message.value.decode(errors="replace")
        raise Stopped(text) if text == "stopped" else IsodepthError(text)
    try:
        return json.loads(ctypes.string_at(answer))
    finally:
        _free(answer)
