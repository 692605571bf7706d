"""The Python package: every example in its docstrings, and what it promises.

    PYTHONPATH=python python3 tests/python/run.py [TESTS...]

ISODEPTH_LIBRARY, ISODEPTH_PROGRAM and ISODEPTH_EXAMPLES name what a wheel brings along.  Tests that
need pandas, numpy or gnuplot are skipped without them.
"""

import contextlib
import doctest
import importlib.util
import io
import json
import math
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest

import isodepth
from isodepth import _call, _checkpoint, _commands, _results, _study

PAPER = isodepth.example("paper_baseline")
FAST = {"resamples": 0, "starts": 20, "threads": 1}


def needs(module):
    return unittest.skipUnless(importlib.util.find_spec(module), f"{module} is not installed")


class Fits(unittest.TestCase):
    def test_shell_and_python_agree(self):
        program = os.environ.get("ISODEPTH_PROGRAM", str(_call.HERE / "bin" / "isodepth"))
        words = ["fit", PAPER, "--resamples", "0", "--starts", "20", "--threads", "1", "--json"]
        printed = subprocess.run([program, *words], check=True, capture_output=True).stdout
        self.assertEqual(json.loads(printed), isodepth.fit(PAPER, **FAST).to_dict())

    def test_members(self):
        fit = isodepth.fit(PAPER, **FAST)
        self.assertAlmostEqual(fit.phi, 0.458, delta=0.002)
        self.assertIsNone(fit.interval)
        self.assertIn(fit.trust, ("good", "caution", "undetermined"))
        self.assertIn("phi = 0.458", repr(fit))
        self.assertGreater(len(fit.checks), 5)
        self.assertIn("trust", fit._repr_html_())
        chinchilla = isodepth.fit(PAPER, law="chinchilla", where="r=1", **FAST)
        self.assertTrue(math.isnan(chinchilla.phi))

    def test_tables_inline(self):
        rows = [line.split(",") for line in open(PAPER) if not line.startswith("#")]
        head = [name.strip() for name in rows[0]]
        columns = {name: [row[i].strip() for row in rows[1:]] for i, name in enumerate(head)}
        expected = isodepth.fit(PAPER, **FAST).phi
        self.assertEqual(isodepth.fit(columns, **FAST).phi, expected)
        records = [dict(zip(head, (cell.strip() for cell in row))) for row in rows[1:]]
        self.assertEqual(isodepth.fit(records, **FAST).phi, expected)

    @needs("pandas")
    def test_data_frame(self):
        import pandas

        frame = pandas.read_csv(PAPER, comment="#")
        self.assertEqual(isodepth.fit(frame, **FAST).phi, isodepth.fit(PAPER, **FAST).phi)
        self.assertIsInstance(isodepth.fit(frame, **FAST).table(), pandas.DataFrame)
        self.assertIsInstance(isodepth.compare(frame, {"same": frame}, **FAST).table(), pandas.DataFrame)

    def test_errors(self):
        with self.assertRaisesRegex(isodepth.IsodepthError, "column loss is missing"):
            isodepth.fit({"n": [1], "tokens": [2]})
        with self.assertRaisesRegex(isodepth.IsodepthError, "unknown option --lwa. Did you mean --law"):
            isodepth.fit(PAPER, lwa="joint")
        with self.assertRaises(TypeError):
            isodepth.fit(3)

    def test_progress_and_stop(self):
        seen = []

        def stop(what, done, total):
            seen.append((what, done, total))
            return True

        with self.assertRaises(isodepth.Stopped):
            isodepth.fit(PAPER, resamples=100000, progress=stop)
        self.assertEqual(len(seen), 1)

    def test_interrupt(self):
        def interrupt(*_):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            isodepth.fit(PAPER, resamples=100000, progress=interrupt)

    def test_threads(self):
        answers = [None] * 3

        def one(i):
            answers[i] = isodepth.fit(PAPER, **FAST).to_dict()

        threads = [threading.Thread(target=one, args=(i,)) for i in range(3)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(answers[0], answers[2])

    def test_prints_nothing(self):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            isodepth.fit(PAPER, **FAST)
        self.assertEqual(out.getvalue() + err.getvalue(), "")


class Commands(unittest.TestCase):
    def test_plan_and_power(self):
        with tempfile.TemporaryDirectory() as folder:
            grid = pathlib.Path(folder) / "grid.yaml"
            grid.write_text("name: g\nbudgets: [1e18, 4e18]\nr: [1, 4]\nwidths: [8, 10, 12]\n")
            plan = isodepth.plan(grid)
            self.assertEqual(plan["n_runs"], 12)
            power = isodepth.power(grid, repetitions=10)
            self.assertGreater(power["half_width"], 0)

    def test_report_and_figure(self):
        with tempfile.TemporaryDirectory() as folder:
            report = isodepth.report(PAPER, folder, **FAST)
            self.assertTrue(all(os.path.exists(name) for name in report.files))
        fit = isodepth.fit(PAPER, **FAST)
        if shutil.which("gnuplot"):
            self.assertIn("<svg", fit.figure("worth")._repr_html_())
            with self.assertRaisesRegex(isodepth.IsodepthError, "no figure nothing; this table has"):
                fit.figure("nothing")
        else:
            with self.assertRaisesRegex(isodepth.IsodepthError, "gnuplot"):
                fit.figure("worth")


class Checkpoints(unittest.TestCase):
    @needs("numpy")
    def test_load(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        tensors = isodepth.load(root / "tests/golden/data/weights-linear-r4.safetensors")
        self.assertIn("inject.weight", tensors)
        self.assertEqual(tensors["inject.weight"].shape[1], 2 * tensors["inject.weight"].shape[0])

    @needs("numpy")
    def test_not_a_checkpoint(self):
        with self.assertRaisesRegex(isodepth.IsodepthError, "not a safetensors file"):
            isodepth.load(PAPER)


class Studies(unittest.TestCase):
    def test_missing(self):
        with self.assertRaisesRegex(isodepth.IsodepthError, "no such study"):
            isodepth.study("/nowhere/at/all")

    def test_sweep_that_cannot_start(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(isodepth.IsodepthError, "grid.yaml"):
                isodepth.sweep(f"{folder}/grid.yaml", f"{folder}/data", f"{folder}/study")


def load_tests(loader, tests, pattern):
    for module in (isodepth, _call, _checkpoint, _commands, _results, _study):
        tests.addTests(doctest.DocTestSuite(module))
    return tests


if __name__ == "__main__":
    unittest.main(verbosity=1)
