"""Arrays and tables without torch."""
import unittest

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
