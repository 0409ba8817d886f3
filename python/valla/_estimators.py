"""The interface of scikit-learn's estimators, which need not be installed."""
from __future__ import annotations

import inspect
import math
import reprlib
from typing import Any, Dict, Literal, Mapping, Optional, Tuple, TypeVar, Union, overload

import numpy as np

from . import _model, _network
from ._arrays import Array, array, column_names, inputs, plain, targets
from ._program import Error, refuse

_Self = TypeVar("_Self", bound="_Estimator")


class _Estimator:
    """Parameters and the fit. net is a trained network, as valla.fit takes it; without one, fit trains a perceptron
    first. method is the method of the error bars. train_options and fit_options are flags of `valla train` and
    `valla fit`, such as {"hidden": [64, 64]} and {"inducing": 50}. With verbose, fit shows the program's progress."""

    _estimator_type = ""
    n_features_in_: int
    feature_names_in_: Array  # where the fit had a table with names
    model_: _model.Model

    def __init__(self, net: Any = None, *, method: str = "valla", train_options: Optional[Mapping[str, Any]] = None,
                 fit_options: Optional[Mapping[str, Any]] = None, random_state: int = 0, verbose: bool = False):
        self.net = net
        self.method = method
        self.train_options = train_options
        self.fit_options = fit_options
        self.random_state = random_state
        self.verbose = verbose

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        """The parameters by their names."""
        return {name: getattr(self, name) for name in inspect.signature(type(self).__init__).parameters if name != "self"}

    def set_params(self: _Self, **params: Any) -> _Self:
        """Sets parameters by their names, and returns the estimator."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise Error(f"unknown parameter {name!r} of {type(self).__name__}, expected one of {', '.join(sorted(known))}")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn import utils  # type: ignore[import]  # only scikit-learn asks

        kind = self._estimator_type
        tags = utils.Tags(estimator_type=kind, target_tags=utils.TargetTags(required=True), transformer_tags=None,
                          regressor_tags=utils.RegressorTags() if kind == "regressor" else None,
                          classifier_tags=utils.ClassifierTags() if kind == "classifier" else None)
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _fit(self, X: Any, y: Array, classes: bool) -> None:
        for option in (*(self.train_options or {}), *(self.fit_options or {})):
            if option in ("net", "X", "y", "classes", "progress"):  # parameters of the functions, beside flags
                refuse(option)
        file = _model.file_of(self.net)
        if file is not None and not classes and _network.of_classes(file):
            raise Error("net: a model of classes, which a VallaClassifier takes: expected a model of numbers")
        show = self.verbose
        seed: Dict[str, Any] = {"seed": self.random_state}
        net = self.net
        if net is None:
            net = _model.train(X, y, classes=classes, progress=show, **{**seed, **(self.train_options or {})})
        elif self.train_options:
            raise Error("train_options are for a network that fit trains, and net is one already")
        self.model_ = _model.fit(net, X, y, classes=classes, progress=show, **{"method": self.method, **seed, **(self.fit_options or {})})
        arrays = inputs(X)
        vars(self).pop("feature_names_in_", None)
        if column_names(X):  # else there is no such attribute, as in scikit-learn
            self.feature_names_in_ = np.array(column_names(X), dtype=object)
        self.n_features_in_ = int(np.prod(next(iter(arrays.values())).shape[1:]))

    def _predictions(self, X: Any, **options: Any) -> Dict[str, Array]:
        if not hasattr(self, "model_"):
            raise Error(f"this {type(self).__name__} is not fitted: call fit first")
        there, fitted = column_names(X), list(getattr(self, "feature_names_in_", []))
        if there and fitted and there != fitted:
            raise Error(f"X: the columns {reprlib.repr(there)}, expected those of the fit in their order, {reprlib.repr(fitted)}")
        return self.model_.predict(X, **options)

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [f"{k}={v!r}" for k, v in self.get_params().items() if v is not defaults[k].default]
        return f"{type(self).__name__}({', '.join(changed)})"


class VallaRegressor(_Estimator):
    """A regression with error bars, as an estimator of scikit-learn."""

    _estimator_type = "regressor"

    def fit(self, X: Any, y: Any) -> "VallaRegressor":
        """Trains a network unless there is one, and puts error bars on it."""
        self._fit(X, array("y", y), False)
        return self

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> Array: ...

    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> Tuple[Array, Array]: ...

    @overload
    def predict(self, X: Any, return_std: bool) -> Union[Array, Tuple[Array, Array]]: ...

    def predict(self, X: Any, return_std: bool = False) -> Union[Array, Tuple[Array, Array]]:
        """The means [rows] or [rows, targets], with return_std also the standard deviations."""
        p = self._predictions(X)
        return (p["mean"], p["std"]) if return_std else p["mean"]

    def predict_interval(self, X: Any, level: float = 0.95) -> Tuple[Array, Array]:
        """The bounds of central intervals with a probability."""
        p = self._predictions(X, level=level)
        return p["lower"], p["upper"]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination R² of the means, averaged over the targets; of a target
        that is constant it is 1 or 0, as in scikit-learn."""
        mean = self._predictions(X)["mean"]
        target, w = targets(y, len(mean), False), _weights(sample_weight, len(mean))
        if target.shape != mean.shape:
            raise Error(f"y: shape {target.shape}, expected {mean.shape}")
        centre = np.average(target, axis=0, weights=w)
        left, all_ = np.average((target - mean) ** 2, axis=0, weights=w), np.average((target - centre) ** 2, axis=0, weights=w)
        constant = all_ == 0  # then there is nothing to explain: 1 for the target itself, 0 for other means
        return float(np.mean(np.where(constant, left == 0, 1 - left / np.where(constant, 1, all_))))


class VallaClassifier(_Estimator):
    """A classification with error bars, as an estimator of scikit-learn. Classes may be numbers or text; with a
    trained network, its outputs belong to the sorted classes, and a single logit to the second of two."""

    _estimator_type = "classifier"
    classes_: Array  # in the order of the outputs, which is sorted but for a model that has another order

    def fit(self, X: Any, y: Any) -> "VallaClassifier":
        """Trains a network unless there is one, and puts error bars on it."""
        names = self._names(y)
        for row, name in enumerate(names.tolist()):
            if name is None or isinstance(name, float) and not math.isfinite(name):
                raise Error(f"y: row {row} has no class")
        try:
            classes, numbers = np.unique(names, return_inverse=True)
        except TypeError as e:
            raise Error(f"y: classes of types that have no order: {e}") from e
        if len(classes) < 2:
            raise Error(f"y: one class ({classes[0] if len(classes) else 'no rows'}), expected two or more")
        own = self._own(classes)
        self._fit(X, own[numbers.reshape(-1)], True)
        outputs = self.predict_proba({k: a[:1] for k, a in inputs(X).items()}).shape[1]
        if outputs != len(classes):  # classes that the rows lack would shift the others
            del self.model_
            raise Error(f"y: {len(classes)} classes, the network has {outputs} outputs")
        self.classes_ = classes[np.argsort(own)]
        return self

    def predict(self, X: Any) -> Array:
        """The most probable class of each row."""
        best: Array = self.classes_[self.predict_proba(X).argmax(axis=1)] if hasattr(self, "model_") else self._predictions(X)["class"]
        return best

    def predict_proba(self, X: Any) -> Array:
        """The probabilities [rows, classes], in the order of classes_."""
        p = self._predictions(X)
        return p["p"] if "p" in p else np.stack([1 - p["mean"], p["mean"]], axis=1)  # a network of one logit has a mean

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the rows whose most probable class is right."""
        best, names = self.predict(X), self._names(y)
        if len(names) != len(best):
            raise Error(f"y: {len(names)} rows, X has {len(best)}")
        if {"U"} < {names.dtype.kind, best.dtype.kind} - {"O"}:  # NumPy does not compare text with numbers
            raise Error(f"y: {'text' if names.dtype.kind == 'U' else 'numbers'}, expected classes such as {self.classes_.tolist()[0]!r}")
        return float(np.average(best == names, weights=_weights(sample_weight, len(best))))

    def _own(self, classes: Array) -> Array:
        """The numbers by which net calls classes, which are sorted: those of a model with the same names, or else those of the outputs in their order."""
        file = _model.file_of(self.net)
        said = {} if file is None else _network.header(file).get("classification", {})
        own, texts = said.get("classes", []), said.get("labels") or []
        if texts and classes.dtype.kind in "OU":
            unknown = [c for c in classes.tolist() if c not in texts]
            if unknown:
                raise Error(f"y: the class {unknown[0]!r}, which the model does not have; its classes are {reprlib.repr(texts)}")
            return np.array([texts.index(c) for c in classes.tolist()])
        if own and not texts:
            try:
                numbers = np.array([float(c) for c in classes.tolist()])
            except ValueError:  # texts for the numbers of the model
                numbers = np.array([])
            if len(numbers) and set(numbers) <= set(own):
                return numbers
        if own and len(own) != len(classes):
            raise Error(f"y: {len(classes)} classes, the network has {len(own)} outputs")
        return np.array(own) if own and not texts else np.arange(len(classes))

    @staticmethod
    def _names(y: Any) -> Array:
        names = plain("y", y)
        if names.ndim == 2 and names.shape[1] == 1:
            names = names[:, 0]
        if names.ndim != 1:
            raise Error(f"y: shape {names.shape}, expected one class for each row")
        return names


def _weights(sample_weight: Any, rows: int) -> Array:
    """The weights [rows], by default 1."""
    w = np.ones(rows) if sample_weight is None else array("sample_weight", sample_weight)
    if w.shape != (rows,):
        raise Error(f"sample_weight: shape {w.shape}, expected ({rows},)")
    return w
