#!/usr/bin/env python3
"""Runs examples/notebook.ipynb and keeps its outputs, as the committed file has them.

    PYTHONPATH=python ISODEPTH_LIBRARY=build/libisodepth.so ISODEPTH_EXAMPLES=examples \
        tools/golden/notebook.py

Needs nbclient, ipykernel and pandas, and gnuplot for the figures.  tests/python/run.py runs the
notebook too and compares what its results say.
"""

import os
import pathlib

import nbclient
import nbformat

for name in ("ISODEPTH_LIBRARY", "ISODEPTH_EXAMPLES", "PYTHONPATH"):
    if name in os.environ:
        os.environ[name] = os.path.abspath(os.environ[name])
path = pathlib.Path(__file__).resolve().parents[2] / "examples/notebook.ipynb"
book = nbformat.read(path, as_version=4)
nbclient.NotebookClient(book, kernel_name="python3", timeout=600).execute()
kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
book.metadata = {"kernelspec": kernel}
for cell in book.cells:
    cell.metadata = {}  # when it ran does not matter
    for output in list(cell.get("outputs", [])):
        if output.get("data", {}).get("text/plain") == "":  # where progress was shown
            cell.outputs.remove(output)
nbformat.write(book, path)
