"""Arrays and tables without torch."""
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

import valla

QUICK = {"method": "lla", "activation": "tanh", "progress": False}


def perceptron(inputs, scale=1.0, seed=0):
    """A state dictionary of a network inputs-4-1, and the function that computes it. Inputs are about as large as scale."""
    rng = np.random.default_rng(seed)
    state = {"0.weight": rng.standard_normal((4, inputs)) / scale, "0.bias": rng.standard_normal(4),
             "2.weight": rng.standard_normal((1, 4)), "2.bias": rng.standard_normal(1)}
    return state, lambda X: (np.tanh(X.reshape(len(X), -1) @ state["0.weight"].T + state["0.bias"]) @ state["2.weight"].T + state["2.bias"])[:, 0]


class Units(unittest.TestCase):
    """The network gets the numbers of X, whatever their type and the number of axes."""

    TYPES = ("uint8", "bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", ">i4", ">f8", "longdouble")

    def test_types(self):
        X = np.random.default_rng(0).integers(0, 100, (40, 1, 2, 3))
        state, compute = perceptron(6, 100)
        y = compute(X) + np.random.default_rng(1).standard_normal(40) / 10
        for X in (X, X.reshape(40, 6)):
            model = valla.fit(state, X, y, **QUICK)
            for kind in self.TYPES:
                with self.subTest(kind=kind, axes=X.ndim):
                    typed = X.astype(kind)
                    np.testing.assert_allclose(model.predict(typed)["mean"], compute(typed.astype(np.float64)), atol=1e-12)

    def test_fit(self):
        X = np.random.default_rng(0).integers(0, 256, (40, 1, 2, 3))
        state, compute = perceptron(6, 255)
        y = compute(X) + np.random.default_rng(1).standard_normal(40) / 10
        want = valla.fit(state, X.astype(np.float64), y, **QUICK).predict(X.astype(np.float64))
        for kind in ("uint8", "int64", "uint16", ">f8"):
            with self.subTest(kind=kind):
                model = valla.fit(state, X.astype(kind), y, **QUICK)
                self.assertEqual(model.evaluate(X.astype(kind), y)["scores"][-1]["rmse"], model.evaluate(X.astype(np.float64), y)["scores"][-1]["rmse"])
                for name, column in model.predict(X.astype(kind)).items():
                    np.testing.assert_allclose(column, want[name], rtol=1e-12)

    def test_types_of_targets(self):
        X = np.random.default_rng(0).standard_normal((40, 2))
        state, _ = perceptron(2)
        y = np.arange(40) % 7
        want = valla.fit(state, X, y.astype(np.float64), **QUICK).predict(X)["std"]
        for kind in ("uint8", "int16", "uint64", ">i4", ">f8", "longdouble"):
            with self.subTest(kind=kind):
                np.testing.assert_array_equal(valla.fit(state, X, y.astype(kind), **QUICK).predict(X)["std"], want)

    def test_made_of_bytes(self):
        """A network that the program has trained on bytes of images takes bytes."""
        X, c = np.random.default_rng(0).integers(0, 256, (40, 1, 2, 3)).astype(np.uint8), np.arange(40) % 2
        trained = valla.train(X, c, classes=True, hidden=[3], iterations=5, progress=False)
        model = valla.fit(trained.path, X, c, classes=True, method="lla", progress=False)
        for m in (trained, model, model.calibrate(X, c)):
            np.testing.assert_allclose(m.predict(X)["p"], m.predict(X / 255)["p"], atol=1e-12)
            self.assertEqual(m.evaluate(X, c)["scores"][-1]["nll"], m.evaluate(X / 255, c)["scores"][-1]["nll"])
            with self.assertRaisesRegex(valla.Error, "from 0 to 1, or bytes"):
                m.predict(X.astype(np.int64))
        e = valla.VallaClassifier(method="lla", train_options={"hidden": [3], "iterations": 5}).fit(X, c)
        np.testing.assert_allclose(e.predict_proba(X), e.predict_proba(X / 255), atol=1e-12)

    def test_mean_of_bytes(self):
        X, (state, _) = np.random.default_rng(0).integers(0, 256, (40, 1, 2, 3)), perceptron(6)
        for kind in ("uint8", "int64"):
            with self.assertRaisesRegex(valla.Error, "X: whole numbers, and mean or std"):
                valla.fit(state, X.astype(kind), np.zeros(40), mean=0.5, std=0.25, **QUICK)


class Inputs(unittest.TestCase):
    def test_one_with_a_name(self):
        X, (state, compute) = np.random.default_rng(0).standard_normal((40, 2)), perceptron(2)
        model = valla.fit(state, {"x": X}, compute(X) + X[:, 0], **QUICK)
        np.testing.assert_allclose(model.predict({"x": X})["mean"], compute(X))
        np.testing.assert_array_equal(model.predict(X)["mean"], model.predict({"x": X})["mean"])

    def test_names(self):
        """Names of several inputs that the archive of the program has for other arrays."""
        X = np.zeros((40, 2))
        for name in ("X", "y", "file"):
            with self.assertRaisesRegex(valla.Error, f"{name}: one of several inputs cannot have this name"):
                valla.fit({"0.weight": X}, {"a": X, name: X}, X[:, 0])


class Tables(unittest.TestCase):
    """Models that the program has made of tables with names."""

    def model(self, header, rows, *flags):
        """A model of a table, trained by the program."""
        d = tempfile.TemporaryDirectory()
        self.addCleanup(d.cleanup)
        table, out = Path(d.name) / "rows.csv", Path(d.name) / "m.valla"
        table.write_text("\n".join([header, *(",".join(map(str, r)) for r in rows)]))
        subprocess.run([os.environ["VALLA_PROGRAM"], "train", table, "--out", out, "--hidden=4", "--iterations=20", *flags], capture_output=True, check=True)
        return valla.load(out)

    def table(self, model, X):
        """What the program prints for rows, by columns of text."""
        with tempfile.TemporaryDirectory() as d:
            rows = Path(d) / "rows.csv"
            np.savetxt(rows, X, delimiter=",", header="a,b", comments="", fmt="%.17g")
            said = subprocess.run([os.environ["VALLA_PROGRAM"], "predict", rows, "--model", model.path], capture_output=True, text=True, check=True)
        lines = [line.split(",") for line in said.stdout.splitlines()]
        return dict(zip(lines[0], zip(*lines[1:])))

    def test_classes_of_text(self):
        X, names = np.random.default_rng(0).standard_normal((60, 2)), ["setosa", "a_b", "class"]
        model = self.model("a,b,species", [(*x, names[i % 3]) for i, x in enumerate(X)], "--target=species", "--classes")
        p, want = model.predict(X), self.table(model, X)
        self.assertEqual(set(p), {"class", "p", "classes"})
        self.assertEqual(sorted(p["classes"]), sorted(names))
        self.assertEqual(list(p["classes"][p["class"]]), list(want["class"]))
        for k, name in enumerate(p["classes"]):
            np.testing.assert_array_equal(p["p"][:, k], np.array(want["p_" + name], float))

    def test_targets_of_text(self):
        """Targets are texts, or the numbers of the sorted texts."""
        X, names = np.random.default_rng(0).standard_normal((60, 2)), np.array(["setosa", 'a,"b', "10 é"])
        text, number = names[np.arange(60) % 3], np.array([2, 1, 0])[np.arange(60) % 3]
        model = self.model("a,b,species", [(*x, '"' + name.replace('"', '""') + '"') for x, name in zip(X, text)], "--target=species", "--classes")
        fitted = valla.fit(model, X, text, classes=True, method="lla", progress=False)
        alone = model.evaluate(X, text)["scores"]
        p = model.predict(X)
        self.assertAlmostEqual(alone[-1]["nll"], -np.log(p["p"][np.arange(60), number]).mean())
        for y in (text, text.tolist(), text.astype(object), text[:, None], number, number.astype(float), number.astype(np.uint8)):
            with self.subTest(y=y[:3]):
                self.assertEqual(model.evaluate(X, y)["scores"], alone)
                again = valla.fit(model, X, y, method="lla", progress=False)
                np.testing.assert_array_equal(again.predict(X)["p"], fitted.predict(X)["p"])
                self.assertEqual(again.calibrate(X, y).predict(X)["p"].shape, (60, 3))
                with tempfile.TemporaryDirectory() as d:
                    self.assertIn("60 rows", again.report(X.astype(np.float32), y, f"{d}/r.html"))
        c = valla.VallaClassifier(model, method="lla").fit(X, text)
        np.testing.assert_array_equal(c.predict_proba(X), fitted.predict(X)["p"])
        self.assertEqual(c.classes_.tolist(), p["classes"].tolist())
        for want, x, y in (("y: 'oak' of row 3 is no class, expected one of the texts", X, [*text[:3], "oak", *text[4:]]), ("y: 3.5 of row 0 is no class", X, number + 1.5),
                           ("y: shape \\(59,\\), expected one class for each of the 60 rows", X, text[1:]), ("y: 59 rows", X, number[1:]), ("expected one class for each", X, "oak"),
                           ("X and y: expected 2 columns", X[:, :1], text), ("expected a finite number", X * np.nan, text)):
            with self.assertRaisesRegex(valla.Error, want) as e:
                model.evaluate(x, y)
            self.assertNotIn("\n", str(e.exception))

    def test_targets_of_numbers(self):
        """A model of other numbers than 0, 1, … takes these."""
        X = np.random.default_rng(0).standard_normal((60, 2))
        y = 3 + 4 * (np.arange(60) % 2)
        model = self.model("a,b,species", [(*x, c) for x, c in zip(X, y)], "--target=species", "--classes")
        m = valla.fit(model, X, y, classes=True, method="lla", progress=False)
        self.assertEqual(m.evaluate(X, y)["rows"], 60)
        self.assertEqual(set(m.predict(X)["class"].tolist()) | {3, 7}, {3, 7})
        c = valla.VallaClassifier(model, method="lla").fit(X, y)
        np.testing.assert_array_equal(c.predict(X), m.predict(X)["class"])

    def test_classes_of_numbers(self):
        X = np.random.default_rng(0).standard_normal((60, 2))
        model = self.model("a,b,species", [(*x, 3 + 4 * (i % 2)) for i, x in enumerate(X)], "--target=species", "--classes")
        p = model.predict(X)
        self.assertEqual(set(p), {"class", "p"})
        np.testing.assert_array_equal(p["class"], np.array([3, 7])[p["p"].argmax(axis=1)])

    def test_names_of_targets(self):
        """The end of a target's name may be the name of another."""
        X = np.random.default_rng(0).standard_normal((60, 2))
        for targets in (["price", "log_price"], ["log_price", "price", "a_log_price"], ["5_x", "x"]):
            with self.subTest(targets=targets):
                model = self.model(",".join(["a", "b", *targets]), [(*x, *range(i, i + len(targets))) for i, x in enumerate(X)], "--target=" + ",".join(targets))
                p, want = model.predict(X, above=[5]), self.table(model, X)
                self.assertEqual(set(p), {"mean", "std", "lower", "upper", "epistemic", "aleatoric", "above_5"})
                self.assertEqual(p["above_5"].shape, (60, len(targets)))
                for name in ("mean", "std", "upper"):
                    np.testing.assert_array_equal(p[name], np.array([want[f"{name}_{t}"] for t in targets], float).T)


class Options(unittest.TestCase):
    """Flags that the package itself sets are no options, and errors are one line."""

    @classmethod
    def setUpClass(cls):
        cls.X = np.random.default_rng(0).standard_normal((40, 2))
        cls.state, compute = perceptron(2)
        cls.y = compute(cls.X) + cls.X[:, 0] / 10
        cls.model = valla.fit(cls.state, cls.X, cls.y, **QUICK)

    def refused(self, want, call, *args, **options):
        with self.assertRaises(valla.Error) as e:
            call(*args, **options)
        self.assertRegex(str(e.exception), want)
        for odd in ("\n", "{", tempfile.gettempdir(), "--"):
            self.assertNotIn(odd, str(e.exception))

    def test_own(self):
        X, y = self.X, self.y
        with tempfile.TemporaryDirectory() as d:
            calls = {
                "predict": (self.model.predict, X), "evaluate": (self.model.evaluate, X, y), "report": (self.model.report, X, y, f"{d}/r.html"),
                "calibrate": (self.model.calibrate, X, y), "fit": (valla.fit, self.state, X, y), "train": (valla.train, X, y),
            }
            for name, (call, *args) in calls.items():
                for option in ("out", "model", "network", "net_weights", "net-weights", "json", "target", "parts", "help"):
                    if option == "out" and name in ("report", "calibrate", "fit", "train") or option == "json" and name == "report":
                        continue  # they have this parameter
                    for value in (False, f"{d}/p.csv"):
                        with self.subTest(call=name, option=option, value=value):
                            self.refused(f"^{option} is no option here", call, *args, **{option: value})
            self.assertEqual(os.listdir(d), [])
            self.assertEqual(json.loads(self.model.report(X, y, f"{d}/r.html", json=True))["rows"], 40)
            self.assertIn("mean", self.model.predict(X, out=None))

    def test_estimators(self):
        for option in ("classes", "progress", "model", "target", "X"):
            self.refused(f"^{option} is no option here", valla.VallaRegressor(self.state, fit_options={"activation": "tanh", "method": "lla", option: True}).fit, self.X, self.y)
            self.refused(f"^{option} is no option here", valla.VallaClassifier(train_options={option: True}).fit, self.X, self.X[:, 0] > 0)

    def test_errors_of_evaluate(self):
        self.refused("^X and y: expected 2 columns", self.model.evaluate, np.zeros((4, 3)), np.zeros(4))
        self.refused('column "x1": expected a finite number', self.model.evaluate, [[0, np.nan]], [0])
        self.refused("^unknown option: levle; did you mean level", self.model.evaluate, self.X, self.y, levle=2)
