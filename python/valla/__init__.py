"""Error bars for neural networks that are already trained: a thin door to the program valla.

    model = valla.fit(net, X, y)              # net: a torch module, in evaluation mode
    mean, std = model.predict(X_new)["mean"], model.predict(X_new)["std"]
    model.report(X_test, y_test, "report.html")

Every number comes from the program, which the wheel contains. Without the wheel it is the program that the
environment variable VALLA_PROGRAM names, or valla on the PATH. Options are the flags of the program with _
in place of -, such as valla.fit(net, X, y, inducing=50, prior_std=2); `valla fit --help` lists them.
"""
from ._estimators import VallaClassifier, VallaRegressor
from ._model import Model, fit, load, predict, report, train
from ._program import Error, version

__all__ = ["Error", "Model", "VallaClassifier", "VallaRegressor", "fit", "load", "predict", "report", "train", "version"]
