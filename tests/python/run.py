"""The Python package: every example in its docstrings, and what it promises.

    PYTHONPATH=python python3 tests/python/run.py [TESTS...]

ISODEPTH_LIBRARY, ISODEPTH_PROGRAM and ISODEPTH_EXAMPLES name what a wheel brings along.  Tests that
need pandas, numpy, nbclient, ipykernel or gnuplot are skipped without them, and a line says so.
"""

import contextlib
import csv
import doctest
import importlib.util
import io
import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import isodepth
from isodepth import _call, _checkpoint, _commands, _figure, _results, _study

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAPER = isodepth.example("paper_baseline")
EXPORT = isodepth.example("wandb_export")
LAYERS = "depth=10,prelude=1,coda=1"
FAST = {"resamples": 0, "starts": 20, "threads": 1}


def shell(command, *words):
    """What the program prints with --json, with the options of FAST."""
    program = os.environ.get("ISODEPTH_PROGRAM", str(_call.HERE / "bin" / "isodepth"))
    fast = ["--resamples", "0", "--starts", "20", "--threads", "1", "--json"]
    run = subprocess.run([program, command, *words, *fast], check=True, capture_output=True)
    return json.loads(run.stdout)


def make_data(folder):
    """A packed corpus of a few hundred rows."""
    text = pathlib.Path(folder) / "text.txt"
    text.write_text("".join(f"Document {i}: its square is {i * i}.\n\n" for i in range(600)))
    program = os.environ.get("ISODEPTH_PROGRAM", str(_call.HERE / "bin" / "isodepth"))
    data = str(pathlib.Path(folder) / "data")
    words = ["pack", str(text), "--out", data, "--tokenizer", "bytes", "--seq-len", "32", "--val", "10%"]
    subprocess.run([program, *words], check=True, capture_output=True)
    return data


def needs(module):
    return unittest.skipUnless(importlib.util.find_spec(module), f"{module} is not installed")


class Fits(unittest.TestCase):
    def test_shell_and_python_agree(self):
        self.assertEqual(shell("fit", PAPER), isodepth.fit(PAPER, **FAST).to_dict())
        by = ("--arch", LAYERS, "--law", "chinchilla", "--by", "config/num_loops")
        each = isodepth.fit(EXPORT, arch=LAYERS, law="chinchilla", by="config/num_loops", **FAST)
        self.assertEqual(shell("fit", EXPORT, *by), each.to_dict())
        told = ("--arch", LAYERS, "--cluster", "Name", "--where", "recipe=base")
        alone = isodepth.fit(EXPORT, arch=LAYERS, cluster="Name", where="recipe=base", **FAST)
        self.assertEqual(shell("fit", EXPORT, *told), alone.to_dict())
        group = ("--arch", LAYERS, "--group", "recipe", "--base", "truncated")
        delta = isodepth.compare(EXPORT, arch=LAYERS, group="recipe", base="truncated", **FAST)
        self.assertEqual(shell("compare", EXPORT, *group), delta.to_dict())

    def test_by(self):
        each = isodepth.fit(EXPORT, arch=LAYERS, by="recipe", **FAST)
        self.assertEqual(list(each.fits), ["base", "truncated"])
        base = isodepth.fit(EXPORT, arch=LAYERS, where="recipe=base", **FAST)
        self.assertEqual(each["base"].phi, base.phi)
        self.assertEqual(each["truncated"].trust, "undetermined")  # it has no runs of r = 1
        self.assertIn("phi is not determined", repr(each["truncated"]))
        self.assertIn("base", each._repr_html_())
        rows = {"arch": LAYERS, "where": "recipe=base"}
        loops = isodepth.fit(EXPORT, by="r", law="chinchilla", **rows, **FAST)
        self.assertEqual([row["r"] for row in loops["fits"]], [1, 2, 4, 8])
        if shutil.which("gnuplot"):  # the figure is that of these rows alone
            self.assertIn("<svg", loops[4].figure("residuals")._repr_html_())

    def test_not_checked(self):
        fit = isodepth.fit(PAPER, **FAST)
        self.assertEqual(fit["unchecked"], ["bounds", "heavy_tail"])
        self.assertIn("not checked: bounds, heavy_tail", repr(fit))
        self.assertNotIn("not checked", repr(isodepth.fit(PAPER, resamples=40, starts=20)))

    def test_names_of_tables(self):
        with open(PAPER, newline="") as f:
            rows = list(csv.DictReader(line for line in f if not line.startswith("#")))
        worse = [dict(row, loss=float(row["loss"]) + 0.05 * (row["r"] != "1")) for row in rows]
        delta = isodepth.compare(rows, {"worse": worse}, **FAST)
        self.assertLess(delta["worse"]["delta_phi"], -0.1)
        self.assertEqual({c["recipe"] for c in delta["worse"]["checks"]}, {"base", "worse"})
        with self.assertRaisesRegex(isodepth.IsodepthError, "two tables are called base"):
            isodepth.compare(rows, {"base": worse}, **FAST)
        with self.assertRaisesRegex(isodepth.IsodepthError, "a table cannot be called"):
            isodepth.compare(rows, {"a/b": worse}, **FAST)
        rows[0]["loss"] = math.nan
        left_out = isodepth.fit(rows, **FAST)["left_out"]
        self.assertEqual([(row["file"], row["line"]) for row in left_out], [("table", 1)])

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
        with open(PAPER) as f:
            rows = [line.split(",") for line in f if not line.startswith("#")]
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
        same = isodepth.compare(frame, {"same": frame}, **FAST)
        self.assertIsInstance(same.table(), pandas.DataFrame)
        # An index with a name is a column; one without is none.
        export = pandas.read_csv(EXPORT).set_index("recipe")
        base = isodepth.fit(export, where="recipe=base", arch=LAYERS, **FAST)
        self.assertEqual(base["n_runs"], 100)
        self.assertGreater(isodepth.power(frame, from_=frame, repetitions=10)["half_width"], 0)

    def test_errors(self):
        with self.assertRaisesRegex(isodepth.IsodepthError, "column loss is missing"):
            isodepth.fit({"n": [1], "tokens": [2]})
        with self.assertRaisesRegex(isodepth.IsodepthError, "--lwa. Did you mean --law"):
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

    def test_control_c(self):
        """A real signal, in a process of its own."""
        text = f"isodepth.fit({PAPER!r}, resamples=1000000)"
        text = f"import isodepth; print('ready', flush=True); {text}"
        with subprocess.Popen(
            [sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as python:
            self.assertEqual(python.stdout.readline(), "ready\n")
            time.sleep(1)
            python.send_signal(signal.SIGINT)
            try:
                _, err = python.communicate(timeout=60)
            finally:
                python.kill()
        self.assertIn("KeyboardInterrupt", err)

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

    def test_design(self):
        with tempfile.TemporaryDirectory() as folder:
            data, grid = make_data(folder), pathlib.Path(folder) / "grid.yaml"
            given = dict(hours=0.3, r="1,4", epochs=1000, jobs=2)
            seen = []
            answer = isodepth.design(
                data, tflops=0.05, out=grid, progress=lambda what, *_: seen.append(what), **given
            )
            self.assertEqual(answer["grids"], [str(grid)])
            self.assertEqual(isodepth.plan(grid)["n_runs"], answer["n_runs"])
            self.assertEqual(len(answer.table()), len(answer["plan"]))
            self.assertEqual(set(seen), {"simulate", "intervals"})
            # Every part of the work can be stopped: measuring too.
            for part in ("measure this machine", "simulate", "intervals"):
                speed = None if part.startswith("measure") else 0.05
                with self.assertRaises(isodepth.Stopped):
                    isodepth.design(data, tflops=speed, progress=lambda what, *_: what == part, **given)

    def test_report_and_figure(self):
        with tempfile.TemporaryDirectory() as folder:
            report = isodepth.report(PAPER, folder, **FAST)
            self.assertTrue(all(os.path.exists(name) for name in report.files))
        fit = isodepth.fit(PAPER, **FAST)
        if shutil.which("gnuplot"):
            self.check_themes(fit.figure("worth"))
            self.check_themes(isodepth.compare(PAPER, {"same": PAPER}, **FAST).figure())
            self.assertIn("isodepth-figure", isodepth.fit(PAPER, fix="E=1.6", **FAST)._repr_html_())
            with self.assertRaisesRegex(isodepth.IsodepthError, "nothing; this table has"):
                fit.figure("nothing")
        else:
            with self.assertRaisesRegex(isodepth.IsodepthError, "gnuplot"):
                fit.figure("worth")


    def check_themes(self, figure):
        """Every colour of the drawing has a light and a dark value, and a fallback."""
        shown = figure._repr_html_()
        used = set(_figure.re.findall(r"var\(--i([0-9a-f]{6})", shown))
        self.assertGreater(len(used), 4)
        dark = shown[shown.index("prefers-color-scheme:dark") :]
        for ink in used:
            self.assertIn(f"--i{ink}:#{ink};", shown)
            self.assertIn(f"--i{ink}:#", dark)
        self.assertIn("--i20242a:#e2e6ec;", dark)  # dark text becomes light
        self.assertNotIn("rgb(", shown[shown.index("<svg") :])
        self.assertIn("<title>", shown)
        self.assertTrue(figure.svg.startswith("<?xml"))


@needs("nbclient")
@needs("ipykernel")
@needs("pandas")
class Notebook(unittest.TestCase):
    def test_runs_and_says_the_same(self):
        import nbclient
        import nbformat

        path = ROOT / "examples/notebook.ipynb"
        text = path.read_text(encoding="utf-8")
        for place in ("/root", "/home", "/tmp", "/work", "/usr", "/opt"):
            self.assertNotIn(place, text)
        committed, book = (nbformat.read(path, as_version=4) for _ in range(2))
        nbclient.NotebookClient(book, kernel_name="python3", timeout=600).execute()
        said = self.words(book)
        self.assertEqual(self.words(committed), said)
        self.assertTrue(any("phi = 0.913" in word for word in said))
        self.assertTrue(any("delta phi = -0.027" in word for word in said))
        if shutil.which("gnuplot"):
            for one in (committed, book):
                self.assertEqual(nbformat.writes(one).count('class=\\"isodepth-figure'), 3)

    @staticmethod
    def words(book):
        """What cells print, and what results say of themselves."""
        outputs = [o for cell in book.cells for o in cell.get("outputs", [])]
        texts = [o["text"] if "text" in o else o["data"]["text/plain"] for o in outputs]
        return [t for t in texts if t.startswith(("<isodepth", "phi", "delta"))]


class Checkpoints(unittest.TestCase):
    @needs("numpy")
    def test_load(self):
        tensors = isodepth.load(ROOT / "tests/golden/data/weights-linear-r4.safetensors")
        self.assertIn("inject.weight", tensors)
        self.assertEqual(tensors["inject.weight"].shape[1], 2 * tensors["inject.weight"].shape[0])

    @needs("numpy")
    def test_not_a_checkpoint(self):
        with self.assertRaisesRegex(isodepth.IsodepthError, "not a safetensors file"):
            isodepth.load(PAPER)
        with self.assertRaisesRegex(isodepth.IsodepthError, "cannot read: No such file"):
            isodepth.load("/nowhere/model.safetensors")
        with tempfile.TemporaryDirectory() as folder:
            for header in (b"{", b"[]", b'{"x": 1}', b'{"x": {"dtype": "F8"}}'):
                bad = pathlib.Path(folder) / "bad.safetensors"
                bad.write_bytes(len(header).to_bytes(8, "little") + header)
                with self.assertRaisesRegex(isodepth.IsodepthError, "a damaged safetensors file"):
                    isodepth.load(bad)


class Studies(unittest.TestCase):
    def test_missing(self):
        with self.assertRaisesRegex(isodepth.IsodepthError, "no such study"):
            isodepth.study("/nowhere/at/all")

    def test_sweep_that_cannot_start(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(isodepth.IsodepthError, "grid.yaml"):
                isodepth.sweep(f"{folder}/grid.yaml", f"{folder}/data", f"{folder}/study")


def load_tests(loader, tests, pattern):
    for module in (isodepth, _call, _checkpoint, _commands, _figure, _results, _study):
        tests.addTests(doctest.DocTestSuite(module))
    return tests


if __name__ == "__main__":
    done = unittest.main(verbosity=1, exit=False).result
    for why in sorted({reason for _, reason in done.skipped}):
        print(f"skipped: {sum(r == why for _, r in done.skipped)} tests, because {why}")
    sys.exit(not done.wasSuccessful())
