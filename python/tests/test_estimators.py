import copy
import os
import pickle
import unittest
import warnings

import numpy as np
from torch import nn

import valla

from .cases import Table, classes, rows, trained

try:
    import sklearn
except ImportError:
    sklearn = None

SMALL = {"train_options": {"iterations": 100, "hidden": [20]}, "fit_options": {"iterations": 20, "inducing": 10}}


class Regressor(unittest.TestCase):
    def test_table(self):
        X, y = rows()
        r = valla.VallaRegressor(**SMALL)
        self.assertIs(r.fit(X, y), r)
        mean, std = r.predict(X, return_std=True)
        np.testing.assert_array_equal(mean, r.predict(X))
        self.assertAlmostEqual(r.score(X, y), 1 - ((y - mean) ** 2).sum() / ((y - y.mean()) ** 2).sum())
        self.assertGreater(r.score(X, y), 0.5)
        lower, upper = r.predict_interval(X, 0.5)
        self.assertTrue((lower < mean).all() and (mean < upper).all() and (std > 0).all())
        self.assertEqual(r.n_features_in_, 2)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(r)).predict(X), mean)
        np.testing.assert_array_equal(valla.VallaRegressor(**SMALL).fit(X, y).predict(X, return_std=True)[1], std)

    def test_network(self):
        X, y = rows()
        net = trained(X, y)
        r = valla.VallaRegressor(net, method="lla", fit_options={"structure": "kfac"}).fit(X, y)
        self.assertGreater(r.score(X, y), 0.5)
        with self.assertRaisesRegex(valla.Error, "train_options are for"):
            valla.VallaRegressor(net, **SMALL).fit(X, y)

    def test_columns(self):
        X, y = rows()
        r = valla.VallaRegressor(method="lla", fit_options={"structure": "diag"}, train_options={"iterations": 100, "hidden": [4]}).fit(Table(X, ["a", "b"]), y)
        self.assertEqual(r.feature_names_in_.tolist(), ["a", "b"])
        np.testing.assert_array_equal(r.predict(Table(X, ["a", "b"])), r.predict(X))
        with self.assertRaisesRegex(valla.Error, r"columns \['b', 'a'\], expected those of the fit"):
            r.predict(Table(X, ["b", "a"]))
        self.assertFalse(hasattr(r.fit(X, y), "feature_names_in_"))

    def test_params(self):
        r = valla.VallaRegressor(method="lla")
        self.assertEqual(set(r.get_params()), {"net", "method", "train_options", "fit_options", "random_state", "verbose"})
        self.assertEqual(r.set_params(method="fmgp", random_state=3).get_params()["random_state"], 3)
        self.assertEqual(repr(r), "VallaRegressor(method='fmgp', random_state=3)")
        self.assertEqual(copy.copy(r).method, "fmgp")
        with self.assertRaisesRegex(valla.Error, "unknown parameter 'methods'"):
            r.set_params(methods="lla")
        with self.assertRaisesRegex(valla.Error, "call fit first"):
            r.predict([[1, 2]])


class Classifier(unittest.TestCase):
    def test_names(self):
        X, _ = rows()
        for names in (np.array(["cold", "hot", "mild"]), np.array(["cold", "hot", "mild"], dtype=object), np.array([10, 20, 40]), np.array([False, True, True])):
            y = names[classes(X)]
            c = valla.VallaClassifier(**SMALL).fit(X, y)
            self.assertEqual(list(c.classes_), sorted(set(names)))
            p = c.predict_proba(X)
            self.assertEqual(p.shape, (200, len(set(names))))
            np.testing.assert_array_equal(c.predict(X), c.classes_[p.argmax(axis=1)])
            self.assertEqual(c.score(X, y), np.mean(c.predict(X) == y))
            self.assertGreater(c.score(X, y), 0.8)

    def test_network(self):
        X, _ = rows()
        y = np.array(["a", "b", "c"])[classes(X)]
        net = trained(X, classes(X), 3, nn.functional.cross_entropy)
        self.assertGreater(valla.VallaClassifier(net, fit_options=SMALL["fit_options"]).fit(X, y).score(X, y), 0.8)

    def test_one_logit(self):
        X, _ = rows()
        hot = classes(X) > 0
        net = trained(X, hot, 1, lambda out, y: nn.functional.binary_cross_entropy_with_logits(out[:, 0], y.float()))
        c = valla.VallaClassifier(net, fit_options=SMALL["fit_options"]).fit(X, np.where(hot, "hot", "cold"))
        self.assertEqual(c.predict_proba(X).shape, (200, 2))
        self.assertGreater(c.score(X, np.where(hot, "hot", "cold")), 0.8)

    def test_names_of_a_model(self):
        X, _ = rows()
        own = np.array([1, 10, 2])[classes(X)]  # as texts these have another order
        m = valla.train(X, own, classes=True, progress=False, hidden=[8], iterations=300)
        same = [valla.VallaClassifier(m, method="lla", fit_options={"structure": "diag"}).fit(X, y) for y in (own, own.astype(str))]
        for k, y in zip(same, (own, own.astype(str))):
            self.assertEqual(k.classes_.tolist(), np.array([1, 2, 10]).astype(y.dtype).tolist())
            self.assertGreater(k.score(X, y), 0.8)
        np.testing.assert_array_equal(same[0].predict_proba(X), same[1].predict_proba(X))
        with self.assertRaisesRegex(valla.Error, "2 classes, the network has 3"):
            valla.VallaClassifier(m, method="lla").fit(X, own > 1)

    def test_missing_class(self):
        X = np.random.default_rng(0).standard_normal((90, 2))
        net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 10)).eval()
        c = valla.VallaClassifier(net, fit_options=SMALL["fit_options"])
        with self.assertRaisesRegex(valla.Error, "y: 9 classes, the network has 10 outputs"):
            c.fit(X, np.arange(90) % 9 + 1)
        with self.assertRaisesRegex(valla.Error, "call fit first"):
            c.predict(X)

    def test_wrong(self):
        X, _ = rows(20)
        for want, y in (("one class", ["a"] * 20), ("row 0 has no class", np.full(20, np.nan)), ("expected one class for each row", np.zeros((20, 2)))):
            with self.assertRaisesRegex(valla.Error, want):
                valla.VallaClassifier().fit(X, y)
        for want, y in (("row 2 has no class", ["a", "b", None, "a"] * 5), ("row 1 has no class", np.array(["a", np.nan] * 10, dtype=object)),
                        ("y: classes of types that have no order", np.array(["a", 1] * 10, dtype=object)), ("y: rows of different lengths", [1, [2]] * 10)):
            with self.assertRaisesRegex(valla.Error, want):
                valla.VallaClassifier().fit(X, y)
        with self.assertRaisesRegex(valla.Error, "call fit first"):
            valla.VallaClassifier().predict(X)

    def test_wrong_scores(self):
        X, y = rows(60)
        for e, y in (valla.VallaRegressor(**SMALL), y), (valla.VallaClassifier(**SMALL), classes(X)):
            e.fit(X, y)
            with self.assertRaisesRegex(valla.Error, r"sample_weight: shape \(59,\), expected \(60,\)"):
                e.score(X, y, np.ones(59))
            with self.assertRaisesRegex(valla.Error, r"y: shape \(60, 2\), expected"):
                e.score(X, np.stack([y, y], axis=1))


    def test_scores_of_other_types(self):
        """Scores of targets that do not vary, and of classes of another type."""
        X, y = rows(60)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            r = valla.VallaRegressor(**SMALL).fit(X, y)
            self.assertEqual(r.score(X, np.ones(60)), 0)
            self.assertEqual(r.score(X[:1], r.predict(X[:1])), 1)
            both = valla.VallaRegressor(**SMALL).fit(X, np.stack([y, -y], axis=1))
            self.assertLess(both.score(X, np.stack([np.ones(60), -y], axis=1)), 0.5)
            c = valla.VallaClassifier(**SMALL).fit(X, classes(X))
            with self.assertRaisesRegex(valla.Error, "y: text, expected classes such as 0"):
                c.score(X, classes(X).astype(str))
            self.assertEqual(c.score(X, classes(X).astype(object)), c.score(X, classes(X)))
            names = np.array(["a", "b", "c"])[classes(X)]
            with self.assertRaisesRegex(valla.Error, "y: numbers, expected classes such as 'a'"):
                valla.VallaClassifier(**SMALL).fit(X, names).score(X, classes(X))


@unittest.skipIf(sklearn is None, "scikit-learn is not installed")
class WithSklearn(unittest.TestCase):
    def test_tools(self):
        from sklearn.base import clone, is_classifier, is_regressor
        from sklearn.model_selection import GridSearchCV, cross_val_score
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        X, y = rows()
        r = valla.VallaRegressor(**SMALL)
        self.assertTrue(is_regressor(r) and is_classifier(valla.VallaClassifier()))
        self.assertEqual(clone(r).get_params(), r.get_params())
        self.assertEqual(len(cross_val_score(make_pipeline(StandardScaler(), r), X, y, cv=2)), 2)
        g = GridSearchCV(valla.VallaClassifier(**SMALL), {"method": ["lla", "valla"], "fit_options": [None]}, cv=2)
        self.assertIn(g.set_params(param_grid={"random_state": [0, 1]}).fit(X, classes(X)).best_params_["random_state"], (0, 1))

    @unittest.skipUnless(os.environ.get("VALLA_LONG"), "VALLA_LONG is not set")
    def test_checks(self):
        """scikit-learn's own checks of estimators, but those that ask for its words in errors, for its own types of errors and
        warnings, or for an accuracy that networks as small as these do not reach."""
        from sklearn.utils.estimator_checks import check_estimator

        left_out = {"check_complex_data", "check_dtype_object", "check_estimators_empty_data_messages", "check_estimators_nan_inf",
                    "check_supervised_y_2d", "check_estimators_unfitted", "check_fit2d_predict1d", "check_fit2d_1sample",
                    "check_classifiers_regression_target", "check_regressors_train", "check_classifiers_train"}
        small = {"train_options": {"iterations": 30, "hidden": [5]}, "fit_options": {"iterations": 5, "inducing": 5}}
        passed = 0
        for estimator in (valla.VallaRegressor(**small), valla.VallaClassifier(**small)):
            for e, check in check_estimator(estimator, generate_only=True):
                if check.func.__name__ in left_out:
                    continue
                with self.subTest(check=check.func.__name__), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        check(e)
                    except unittest.SkipTest:
                        continue
                    passed += 1
        self.assertGreater(passed, 40)

    def test_scores(self):
        from sklearn.metrics import r2_score

        X, y = rows()
        Y, w = np.stack([y, X[:, 1]], axis=1), np.linspace(0, 1, len(y))
        r = valla.VallaRegressor(**SMALL).fit(X, Y)
        self.assertAlmostEqual(r.score(X, Y, w), r2_score(Y, r.predict(X), sample_weight=w))
