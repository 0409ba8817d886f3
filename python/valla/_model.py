"""Models with error bars."""
from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple, Union

import numpy as np

from . import _arrays, _network
from ._arrays import Array
from ._program import Error, document, flags, run, stranger

Pathlike = Union[str, "os.PathLike[str]"]


def _temporary(owner: Any) -> Path:
    """A temporary folder that lives as long as its owner, in the process that makes it: a child that os.fork or
    multiprocessing makes has the owner, too, and may end earlier."""
    try:
        d = tempfile.mkdtemp(prefix="valla-")
    except OSError as e:
        raise Error(f"there is no temporary folder: {e}", 1) from e
    weakref.finalize(owner, _remove, d, os.getpid())
    return Path(d)


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


class _Folder:
    """A temporary folder for a while."""

    def __enter__(self) -> Path:
        self.path, self.process = _temporary(self), os.getpid()
        return self.path

    def __exit__(self, *_: Any) -> None:
        _remove(str(self.path), self.process)


class Model:
    """A network with a posterior, in a model file of the program. A model can be copied and pickled."""

    path: Path  # the model file, absolute
    summary: str  # what the program said of the fit; "" of a loaded model

    def __init__(self, path: Pathlike, summary: str = ""):
        self.path, self.summary = Path(os.path.abspath(path)), summary  # the current folder may change
        if not self.path.is_file():
            raise Error(f"there is no model file {os.fspath(path)}")

    @property
    def verdict(self) -> str:
        """Whether the error bars are better than those of the network alone, as the fit has judged; "" if unknown."""
        for line in self.summary.splitlines():
            if line.startswith("verdict "):
                return line[len("verdict "):].strip()
        return ""

    def predict(self, X: Any, **options: Any) -> Dict[str, Array]:
        """The columns of `valla predict` for the rows of X, whose columns are found by name if X is a table with those of the model: for a regression the arrays mean, std, lower, upper,
        epistemic and aleatoric, in the units of the target, [rows], or [rows, targets] of several targets; for a
        classification class [rows], the numbers of the most probable classes, and p [rows, classes], the
        probabilities. If the classes are texts, class counts the columns of p from 0 on, and classes [classes] are
        the texts. After calibrate(method="conformal") set [rows, classes] tells which classes are in a set that contains the
        right class with the probability level. A network of one logit has the columns of a regression, whose mean is the probability of class 1.
        Options are flags, such as level=0.9, quantiles=[0.05, 0.95], above=[100], samples=20 or noise=True."""
        arrays = _arrays.inputs(_arrays.ordered(X, _network.features(self.path)))
        with _Folder() as d:
            out = str(d / "predictions.npz")
            data = _arrays.write(d / "data.npz", arrays, of_bytes=_network.of_bytes(self.path))
            self._run("predict", data, "X", f"--out={out}", *flags(options))
            try:
                with np.load(out) as columns:
                    return _joined({name: columns[name] for name in columns.files})
            except FileNotFoundError as e:
                raise stranger() from e

    def evaluate(self, X: Any, y: Any, **options: Any) -> Dict[str, Any]:
        """The scores of `valla eval --json` for rows with known targets. If the classes of the model are texts, y are
        these texts or their numbers, as for report, calibrate and fit."""
        return document(self._judge("eval", X, y, "--json", *flags(options)))

    def report(self, X: Any, y: Any, out: Pathlike = "report.html", **options: Any) -> str:
        """Writes a page on how good the error bars are, for rows that neither training nor fit has seen, and returns
        its summary, with json=True the text of a JSON document."""
        return self._judge("report", X, y, f"--out={os.fspath(out)}", *flags(options, json_too=True))

    def calibrate(self, X: Any, y: Any, *, out: Optional[Pathlike] = None, **options: Any) -> "Model":
        """The model with predictions that rows have corrected which neither training nor fit has seen, as by `valla
        calibrate`; method="conformal" makes intervals hold their probability."""
        return _made(out, lambda path: self._judge("calibrate", X, y, f"--out={path}", *flags(options)))

    def save(self, path: Pathlike) -> "Model":
        """Copies the model file, and returns the model at its new place."""
        try:
            shutil.copyfile(self.path, path)
        except OSError as e:
            raise Error(f"the model cannot be written: {e}", 1) from e
        return Model(path, self.summary)

    def _judge(self, command: str, X: Any, y: Any, *more: str) -> str:
        """Runs a command on rows with targets."""
        arrays = _arrays.inputs(_arrays.ordered(X, _network.features(self.path)))
        with _Folder() as d:
            data, about = _known(self.path, arrays, y, d)
            return self._run(command, data, "X and y", *about, *more)

    def _run(self, command: str, data: str, name: str, *more: str) -> str:
        path = str(self.path.absolute())  # errors have it as no part of a word
        return run([command, data, f"--model={path}", *more], names={data: name, path: "the model"})

    def __fspath__(self) -> str:
        """The path of the model file, so that fit takes a model in place of a file."""
        return str(self.path)

    def __repr__(self) -> str:
        return f"valla.Model({str(self.path)!r})"

    def __getstate__(self) -> Dict[str, Any]:
        return {"file": self.path.read_bytes(), "summary": self.summary}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.path, self.summary = _temporary(self) / "model.valla", state["summary"]
        self.path.write_bytes(state["file"])


def _rows(arrays: Dict[str, Array]) -> int:
    return len(next(iter(arrays.values())))


def _whole_images(arrays: Dict[str, Array]) -> bool:
    """Whether the only input has more axes than a table, and whole numbers."""
    first = next(iter(arrays.values()))
    return len(arrays) == 1 and first.ndim > 2 and first.dtype.kind != "f"


def _joined(columns: Dict[str, Array]) -> Dict[str, Array]:
    """Columns of several targets or classes beside each other: mean_y0 and mean_y1 become mean [rows, 2]."""
    probs = {k: v for k, v in columns.items() if k.startswith("p_")}
    if probs:
        p, rest = np.stack(list(probs.values()), axis=1), {k: v for k, v in columns.items() if k not in probs}
        if "class" not in columns:  # the program writes no text in arrays
            rest = {"class": p.argmax(axis=1), "classes": np.array([k[len("p_"):] for k in probs]), **rest}
        if "set" in rest:
            rest["set"] = rest["set"] == 1
        best = rest.pop("class")
        return {"class": best.astype(np.int64) if (best == np.round(best)).all() else best, "p": p, **rest}
    targets = [k[len("mean_"):] for k in columns if k.startswith("mean_")]
    if not targets:
        return columns
    # The end of a target's name may be that of another: a quantity has a column for each target.
    quantities = [k[: -len(targets[0]) - 1] for k in columns if k.endswith("_" + targets[0])]
    of = {q: [f"{q}_{t}" for t in targets] for q in quantities}
    out = {q: np.stack([columns[k] for k in names], axis=1) for q, names in of.items() if columns.keys() >= set(names)}
    used = {k for q in out for k in of[q]}
    return {**out, **{k: v for k, v in columns.items() if k not in used}}


def _made(out: Optional[Pathlike], make: Any) -> Model:
    """The model that make writes to out, or to a temporary folder that lives as long as the model."""
    m = Model.__new__(Model)
    m.path = _temporary(m) / "model.valla" if out is None else Path(os.path.abspath(out))
    m.summary = make(str(m.path))
    if not m.path.is_file():
        raise stranger()
    return m


def file_of(net: Any) -> Optional[Path]:
    """The model file that net is or names, or None for other networks."""
    if isinstance(net, Model):
        return net.path
    return Path(net) if isinstance(net, (str, os.PathLike)) and Path(net).suffix.lower() == ".valla" else None


def _known(path: Path, arrays: Dict[str, Array], y: Any, folder: Path) -> Tuple[str, List[str]]:
    """Writes rows with targets as the model in a file takes them, and returns the path of the data and its flags."""
    said = _network.header(path)
    texts = said.get("classification", {}).get("labels")
    if not texts:
        return _arrays.write(folder / "data.npz", arrays, _arrays.targets(y, _rows(arrays), False), _network.of_bytes(path)), []
    names = _arrays.labels(y, _rows(arrays), texts)
    columns = [c["name"] for c in said["inputs"].get("encoding", {}).get("columns", [])] or said["inputs"].get("features", [])
    X = next(iter(arrays.values()))
    if len(arrays) > 1 or X.ndim > 2:
        raise Error("y: the classes of the model are texts, which arrays of images or of several inputs do not have: use the program valla itself")
    if X.shape[1] != len(columns) or not np.isfinite(X).all():  # the program says so
        return _arrays.write(folder / "data.npz", arrays), []
    return _arrays.table(folder / "data.csv", [*columns, said["classification"]["target"]], X, names), ["--header=yes"]


def _classes(y: Array) -> None:
    """Refuses what does not number the outputs of a network: 0, 1, … up to the largest, all of which need rows."""
    odd = ~np.isfinite(y) | (y != np.round(y)) | (y < 0)
    if odd.any():
        row = int(np.flatnonzero(odd)[0])
        raise Error(f"y: {y[row]} of row {row} is no class, expected the numbers 0, 1, … of the network's outputs")
    there = np.unique(y).astype(np.int64)
    gaps = np.flatnonzero(there != np.arange(len(there)))
    if len(gaps) > 0:
        raise Error(f"y: no row has class {gaps[0]}, and the largest class is {there[-1]}: each output of the network needs rows of its class")


def fit(net: Any, X: Any, y: Any, *, classes: bool = False, out: Optional[Pathlike] = None, progress: bool = True, **options: Any) -> Model:
    """Puts error bars on a trained network, as `valla fit` does.

    net is a torch module in evaluation mode, a Model that train has made, a state dictionary (then activation="relu"
    or likewise says what stands between the layers), or the path of a file: .onnx, .valla, .npz, .safetensors
    or .pt. X are the inputs of its training, [rows, columns] or with more axes, or a mapping of the arrays of several
    inputs in their order; y are the targets, [rows] or [rows, targets], or with classes=True the classes 0, 1, … as the network numbers
    its outputs; a model of other classes takes its own. Both are in the units of the network: bytes count from 0 to
    255, unless net is a .valla file that was made of bytes, see docs/python.md. The outputs of a module for some rows
    are compared with those of the program first. out is the path of the model file, by default a temporary one. Options are
    flags of the program, such as method="lla", inducing=50 or seed=1."""
    arrays, file = _arrays.inputs(X), file_of(net)
    with _Folder() as d:
        if file is None:
            named, data, about = _foreign(net, arrays, y, classes, options, d)
        else:
            named = "--model=" + _agreed(file, classes)
            data, about = _known(file, arrays, y, d)
        names = {data: "X and y", named.split("=", 1)[1]: "net"}
        return _made(out, lambda path: run(["fit", data, named, *about, f"--out={path}", *flags(options)], progress=progress, names=names))


def _foreign(net: Any, arrays: Dict[str, Array], y: Any, classes: bool, options: Dict[str, Any], folder: Path) -> Tuple[str, str, List[str]]:
    """Writes a network from elsewhere, and rows: the flag of the network, the path of the data, and its flags."""
    target = _arrays.targets(y, _rows(arrays), classes)
    if classes:
        _classes(target)
    if _whole_images(arrays) and not {"mean", "std"}.isdisjoint(options):
        raise Error("X: whole numbers, and mean or std, in which pixels count from 0 to 1: expected floats in these units, such as X / 255")
    return _network.flag(net, arrays, folder), _arrays.write(folder / "data.npz", arrays, target), _about(arrays, target, classes)


def _agreed(file: Path, classes: bool) -> str:
    """The path of a model file, which must be there, and be one of classes if classes are asked for."""
    if not file.exists():
        raise Error(f"net: there is no file {file}")
    if classes and _network.of_classes(file) is False:
        raise Error("net: a model of numbers, and y has classes: expected a model of classes")
    return str(file)


def train(X: Any, y: Any, *, classes: bool = False, out: Optional[Pathlike] = None, progress: bool = True, **options: Any) -> Model:
    """Trains a network on arrays X [rows, columns] or with more axes, and y as for fit, as `valla train` does, which
    divides uint8 with more axes, such as images, by 255. fit(m, X, y) puts error bars on the network m."""
    arrays = _arrays.inputs(X)
    target = _arrays.targets(y, _rows(arrays), classes)
    with _Folder() as d:
        data = _arrays.write(d / "data.npz", arrays, target, of_bytes=True)
        return _made(out, lambda path: run(["train", data, *_about(arrays, target, classes), f"--out={path}", *flags(options)], progress=progress, names={data: "X and y"}))


def _about(arrays: Dict[str, Array], y: Array, classes: bool) -> List[str]:
    """The flags that describe the targets."""
    return ["--classes"] if classes else _arrays.target_flags(arrays, y)


def load(path: Pathlike) -> Model:
    """The model in a file of the program."""
    model = Model(path)
    if not _network.header(model.path):  # the first prediction would not know the name that the caller gave
        raise Error(f"{os.fspath(path)} is no model file, or it cannot be read")
    return model


def predict(model: Union[Model, Pathlike], X: Any, **options: Any) -> Dict[str, Array]:
    """The predictions of a model, or of the model in a file, see Model.predict."""
    return _of(model).predict(X, **options)


def report(model: Union[Model, Pathlike], X: Any, y: Any, out: Pathlike = "report.html", **options: Any) -> str:
    """A page on a model, or on the model in a file, see Model.report."""
    return _of(model).report(X, y, out, **options)


def _of(model: Union[Model, Pathlike]) -> Model:
    return model if isinstance(model, Model) else load(model)
