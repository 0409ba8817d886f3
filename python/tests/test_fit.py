import contextlib
import copy
import io
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
from collections import UserDict
from pathlib import Path

import numpy as np
import torch
from torch import nn

import valla

from valla._program import run

from .cases import QUICK, Table, classes, rows, trained


class Regression(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.X, cls.y = rows()
        cls.net = trained(cls.X, cls.y)
        cls.model = valla.fit(cls.net, cls.X, cls.y, **QUICK)

    def test_mean_is_the_network(self):
        p = self.model.predict(self.X)
        want = self.net(torch.as_tensor(self.X, dtype=torch.float32)).detach().numpy()[:, 0]
        np.testing.assert_allclose(p["mean"], want, atol=1e-5)
        self.assertEqual(set(p), {"mean", "std", "lower", "upper", "epistemic", "aleatoric"})
        self.assertTrue((p["std"] > 0).all() and (p["lower"] < p["mean"]).all() and (p["mean"] < p["upper"]).all())
        np.testing.assert_allclose(p["std"] ** 2, p["epistemic"] ** 2 + p["aleatoric"] ** 2)

    def test_numbers_are_the_programs(self):
        with tempfile.TemporaryDirectory() as d:
            file = self.model.save(Path(d) / "m.valla")
            np.savetxt(Path(d) / "x.csv", self.X, delimiter=",", header="x0,x1", comments="", fmt="%.17g")
            said = subprocess.run([os.environ["VALLA_PROGRAM"], "predict", f"{d}/x.csv", "--model", file.path], capture_output=True, text=True, check=True)
            table = np.genfromtxt(io.StringIO(said.stdout), delimiter=",", names=True)
        for name, column in self.model.predict(self.X).items():
            np.testing.assert_array_equal(column, table[name])

    def test_options(self):
        p = self.model.predict(self.X, level=0.5, quantiles=[0.1, 0.9], above=[0], samples=3, noise=True, seed=4)
        self.assertEqual(p["samples"].shape, (3, len(self.X), 1))
        np.testing.assert_array_equal(p["samples"], self.model.predict(self.X, samples=3, noise=True, seed=4)["samples"])
        self.assertTrue((p["q0.1"] < p["lower"]).all() and (p["upper"] < p["q0.9"]).all() and "above_0" in p)
        p = self.model.predict(self.X, quantiles=np.linspace(0.1, 0.9, 3), above=range(2), samples=np.int64(2))
        self.assertLess({"q0.1", "q0.5", "q0.9", "above_0", "above_1", "samples"}, set(p))

    def test_kinds_of_arrays(self):
        want = self.model.predict(self.X)["std"]
        tensor = torch.tensor(self.X, requires_grad=True)
        for X in (self.X.tolist(), tensor, [*tensor], np.asfortranarray(self.X), self.X.astype(object), np.ma.array(self.X)):
            np.testing.assert_array_equal(self.model.predict(X)["std"], want)
        half = torch.tensor(self.X).bfloat16()
        np.testing.assert_array_equal(self.model.predict(half)["std"], self.model.predict(half.float())["std"])

    def test_report_and_scores(self):
        X, y = rows(seed=1)
        with tempfile.TemporaryDirectory() as d:
            out = Path(d) / "report.html"
            self.assertIn("200 rows", self.model.report(X, y, out))
            self.assertIn("<html", out.read_text())
            self.assertIn("200 rows", valla.report(self.model.path, X, y, out))
        scores = self.model.evaluate(X, y)["scores"]
        rmse = np.sqrt(np.mean((valla.predict(self.model, X)["mean"] - y) ** 2))
        self.assertAlmostEqual(scores[-1]["rmse"], rmse, places=9)

    def test_calibrate(self):
        X, y = rows(seed=2)
        c = self.model.calibrate(X, y, method="conformal")
        p = c.predict(X)
        self.assertGreaterEqual(np.mean((p["lower"] <= y) & (y <= p["upper"])), 0.95)

    def test_file_verdict_and_copies(self):
        self.assertIn("network alone", self.model.verdict)
        with tempfile.TemporaryDirectory() as d:
            out = Path(d) / "m.valla"
            m = valla.fit(self.net, self.X, self.y, out=out, **QUICK)
            self.assertEqual(m.path, out)
            want = m.predict(self.X)["std"]
            np.testing.assert_array_equal(valla.load(out).predict(self.X)["std"], want)
            kept = pickle.loads(pickle.dumps(m))
        for again in (kept, copy.deepcopy(kept)):
            np.testing.assert_array_equal(again.predict(self.X)["std"], want)
            self.assertEqual(again.verdict, m.verdict)
        path = kept.path
        self.assertTrue(path.exists())
        del kept
        self.assertFalse(path.exists())

    @unittest.skipUnless(hasattr(os, "fork"), "there is no fork")
    def test_fork(self):
        """A child that ends leaves the files of its parent."""
        code = """
import os, sys
import valla
from tests.cases import QUICK, rows, trained
X, y = rows(60)
m = valla.fit(trained(X, y), X, y, **QUICK)
with valla._model._Folder() as d:  # as while another thread of the parent predicts
    pid = os.fork()
    if pid == 0:
        sys.exit()
    os.waitpid(pid, 0)
    print(d.exists(), m.predict(X)["mean"].shape)
print(d.exists())
"""
        here = Path(__file__).parent.parent
        said = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True)
        self.assertEqual(said.stdout, "True (60,)\nFalse\n", said.stderr)

    def test_other_folder(self):
        """Models stay where they are when the current folder changes."""
        here = os.getcwd()
        X, y = rows(seed=1)
        with tempfile.TemporaryDirectory() as d, tempfile.TemporaryDirectory() as other:
            os.chdir(d)
            try:
                made = valla.fit(self.net, self.X, self.y, out="m.valla", **QUICK)
                models = made, made.save("s.valla"), made.calibrate(X, y, out="c.valla"), valla.load("m.valla"), valla.train(X, y, out="t.valla", iterations=5, progress=False)
                os.chdir(other)
                for m in models:
                    self.assertTrue(m.path.is_absolute())
                    self.assertEqual(m.predict(self.X)["mean"].shape, (200,))
            finally:
                os.chdir(here)

    def test_columns_by_name(self):
        X, y = rows()
        with tempfile.TemporaryDirectory() as d:
            table = os.path.join(d, "t.csv")
            np.savetxt(table, np.column_stack([X, y]), delimiter=",", header="a,b,y", comments="")
            run(["train", table, f"--out={table}.map", "--hidden=4", "--iterations=100"])
            run(["fit", table, f"--model={table}.map", f"--out={table}.valla", "--method=lla"])
            m = valla.load(table + ".valla")
            want = m.predict(X)["mean"]
            np.testing.assert_array_equal(m.predict(Table(X[:, ::-1], ["b", "a"]))["mean"], want)
            np.testing.assert_array_equal(m.predict(Table(np.column_stack([y, X]), ["c", "a", "b"]))["mean"], want)
            np.testing.assert_array_equal(m.predict(Table(X, ["u", "v"]))["mean"], want)  # names that the model does not know
            self.assertEqual(m.evaluate(Table(X[:, ::-1], ["b", "a"]), y)["scores"], m.evaluate(X, y)["scores"])
            with self.assertRaisesRegex(valla.Error, "no column 'b'"):
                m.predict(Table(X, ["a", "c"]))

    def test_columns_without_names(self):
        X, y = rows()
        net = trained(X, y)
        of_table = Table(X, ["x1", "x0"])  # names that the program gives to columns without names, in another order
        m = valla.fit(net, of_table, y, method="lla", progress=False)
        np.testing.assert_array_equal(m.predict(of_table)["mean"], m.predict(X)["mean"])

    def test_any_name(self):
        """A model is one whatever the name of its file."""
        X, y = rows()
        with tempfile.TemporaryDirectory() as d:
            m = valla.train(X, y, out=f"{d}/model.bin", iterations=5, progress=False)
            np.testing.assert_allclose(valla.fit(m, X, y, **QUICK).predict(X)["mean"], m.predict(X)["mean"])

    def test_progress(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            valla.fit(self.net, self.X, self.y, **{**QUICK, "progress": True})
        self.assertIn("estimate", said.getvalue())
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            valla.fit(self.net, self.X, self.y, **QUICK)
        self.assertEqual(said.getvalue(), "")

    def test_version_and_module(self):
        self.assertIn("go", valla.version())
        said = subprocess.run([sys.executable, "-m", "valla", "version"], capture_output=True, text=True, check=True)
        self.assertIn("platform", said.stdout)
        self.assertEqual(subprocess.run([sys.executable, "-m", "valla", "none"], capture_output=True).returncode, 2)


class Networks(unittest.TestCase):
    def test_several_targets(self):
        X, y = rows()
        Y = np.stack([y, 2 * y], axis=1)
        net = trained(X, Y, 2, lambda out, y: ((out - y) ** 2).mean())
        p = valla.fit(net, X, Y, **QUICK).predict(X)
        self.assertEqual(p["mean"].shape, (200, 2))
        np.testing.assert_allclose(p["mean"], net(torch.as_tensor(X, dtype=torch.float32)).detach().numpy(), atol=1e-5)
        self.assertEqual(p["upper"].shape, (200, 2))

    def test_classes(self):
        X, _ = rows()
        c = classes(X)
        net = trained(X, c, 3, nn.functional.cross_entropy)
        m = valla.fit(net, X, c, classes=True, **QUICK)
        p = m.predict(X)
        self.assertEqual(p["p"].shape, (200, 3))
        np.testing.assert_allclose(p["p"].sum(axis=1), 1)
        self.assertGreater(np.mean(p["class"] == c), 0.9)
        np.testing.assert_array_equal(p["class"], p["p"].argmax(axis=1))
        self.assertEqual(p["class"].dtype.kind, "i")  # it counts the elements of other arrays
        X, _ = rows(seed=1)
        c = classes(X)
        sets = m.calibrate(X, c, method="conformal").predict(X)["set"]
        self.assertEqual((sets.shape, sets.dtype), ((200, 3), np.dtype(bool)))
        self.assertGreaterEqual(np.mean(sets[np.arange(200), c]), 0.95)

    def test_images(self):
        rng = np.random.default_rng(0)
        X, c = rng.standard_normal((60, 1, 6, 6)).astype(np.float32), np.arange(60) % 2
        torch.manual_seed(0)
        net = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 2)).eval()
        p = valla.fit(net, X, c, classes=True, **QUICK).predict(X)
        self.assertEqual(p["p"].shape, (60, 2))

    def test_bytes(self):
        """A module gets the bytes of images as they are, 0 to 255."""
        X, y = np.random.default_rng(0).integers(0, 256, (60, 1, 4, 4)).astype(np.uint8), np.random.default_rng(1).standard_normal(60)
        torch.manual_seed(0)
        net = nn.Sequential(nn.Conv2d(1, 3, 3), nn.Tanh(), nn.Flatten(), nn.Linear(12, 1)).eval()
        net[0].weight.data /= 255
        want = net(torch.as_tensor(X).float()).detach().numpy()[:, 0]
        for kind in (np.uint8, np.int64, np.uint16):
            m = valla.fit(net, X.astype(kind), y, **QUICK)
            for other in (X, torch.as_tensor(X), X.astype(np.float32)):
                np.testing.assert_allclose(m.predict(other)["mean"], want, atol=1e-5)

    def test_words(self):
        rng = np.random.default_rng(0)
        X, y = rng.integers(0, 9, (80, 6)), rng.standard_normal(80)
        torch.manual_seed(0)
        net = nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(24, 1)).eval()
        want = net(torch.as_tensor(X)).detach().numpy()[:, 0]
        for X in (X, X.astype(np.uint16), X.reshape(80, 3, 2), X.reshape(80, 3, 2).astype(np.uint8)):
            np.testing.assert_allclose(valla.fit(net, X, y, **QUICK).predict(X)["mean"], want, atol=1e-5)

    def test_several_inputs(self):
        class Both(nn.Module):
            def __init__(self, outputs):
                super().__init__()
                self.a, self.b = nn.Linear(2, 4), nn.Linear(7, outputs)

            def forward(self, x, z):
                return self.b(torch.cat([torch.tanh(self.a(x)), z], dim=1))

        torch.manual_seed(0)
        rng = np.random.default_rng(0)
        X = {"x": rng.standard_normal((80, 2)), "z": rng.standard_normal((80, 3))}
        for y in (rng.standard_normal(80), rng.standard_normal((80, 2))):
            net = Both(y[0].size).eval()
            want = net(*(torch.as_tensor(v, dtype=torch.float32) for v in X.values())).detach().numpy().reshape(y.shape)
            m = valla.fit(net, X, y, **QUICK)
            np.testing.assert_allclose(m.predict(X)["mean"], want, atol=1e-5)
            self.assertEqual(m.predict(X)["std"].shape, y.shape)
            np.testing.assert_array_equal(m.predict(UserDict(X))["std"], m.predict(X)["std"])
            self.assertEqual(m.evaluate(X, y)["rows"], 80)
        for *names, odd in ("0", "x", "0"), ("x", "output", "output"), (0, "x", "0"):
            with self.assertRaisesRegex(valla.Error, f"^{odd}: one of several inputs cannot have this name"):
                valla.fit(net, dict(zip(names, X.values())), y, **QUICK)

    def test_state_and_files(self):
        X, y = rows()
        net = trained(X, y)
        want = valla.fit(net, X, y, **QUICK).predict(X)["mean"]
        with tempfile.TemporaryDirectory() as d:
            torch.save(net.state_dict(), f"{d}/net.pt")
            for state in (net.state_dict(), {k: v.numpy() for k, v in net.state_dict().items()}, f"{d}/net.pt", Path(d) / "net.pt"):
                m = valla.fit(state, X, y, activation="tanh", **QUICK)
                np.testing.assert_allclose(m.predict(X)["mean"], want, atol=1e-6)

    def test_train(self):
        X, y = rows()
        m = valla.train(X, y, iterations=50, progress=False)
        for net in (m, m.path):
            np.testing.assert_allclose(valla.fit(net, X, y, **QUICK).predict(X)["mean"], m.predict(X)["mean"])
