"""Arrays on the way to the program."""
from __future__ import annotations

import csv
import reprlib
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence

import numpy as np
import numpy.typing as npt

from ._program import Error

Array = npt.NDArray[Any]


def plain(name: str, value: Any) -> Array:
    """A value as an array of any type: an array, a tensor, a table or a list."""
    if hasattr(value, "toarray"):
        raise Error(f"{name}: a sparse matrix, expected an array: {name}.toarray() is one")
    if isinstance(value, np.ma.MaskedArray) and np.any(value.mask):
        raise Error(f"{name}: a masked array, of which some values are missing: expected an array with all values")
    if isinstance(value, (list, tuple)):
        value = [plain(name, v) if hasattr(v, "detach") else v for v in value]
    try:
        if hasattr(value, "detach"):  # a tensor of torch, on any device
            value = value.detach().cpu()
            value = (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()  # NumPy has no bfloat16
        a = np.asarray(value)
    except ValueError as e:
        raise Error(f"{name}: rows of different lengths, expected an array of numbers") from e
    except (TypeError, RuntimeError) as e:  # such as a sparse tensor
        raise Error(f"{name}: no array can be made of it: {line(e)}") from e
    if a.dtype == object and a.ndim == 0:
        raise Error(f"{name}: a {type(value).__name__}, expected an array of numbers")
    return a


def array(name: str, value: Any) -> Array:
    """The numbers of a value."""
    a = plain(name, value)
    if a.dtype == object:  # such as columns of a table with different types
        try:
            a = a.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as e:
            raise Error(f"{name}: expected numbers, found {_first_odd(a)}") from e
    if a.dtype.kind == "b":
        a = a.astype(np.int8)  # uint8 may be pixels, see write
    if a.dtype.kind not in "fiu":
        text = "text: write text as numbers first, or use the program valla itself, which reads tables with text"
        raise Error(f"{name}: expected numbers, found {text if a.dtype.kind in 'US' else a.dtype}")
    return np.asarray(a, dtype=_floats(a.dtype) if a.dtype.kind == "f" else a.dtype.newbyteorder("="), order="C")


def _floats(kind: "np.dtype[Any]") -> "np.dtype[Any]":
    """The type of the program's floats that holds numbers of a type: float32 for bytes and short integers."""
    return np.dtype(np.float64) if kind.itemsize > 8 else np.result_type(kind, np.float32)


def _first_odd(a: Array) -> str:
    """The first element that is no number, in short."""
    for v in a.flat:
        try:
            float(v)
        except (TypeError, ValueError, OverflowError):
            break
    return " ".join(reprlib.repr(v).split())


def line(e: BaseException) -> str:
    """The first line of an error, and its type if there is none."""
    text = str(e).strip().splitlines()
    return text[0] if text else type(e).__name__


def inputs(X: Any) -> Dict[str, Array]:
    """The inputs by name: X alone, or those of a mapping in its order."""
    arrays = {str(k): array(str(k), v) for k, v in X.items()} if isinstance(X, Mapping) and not hasattr(X, "toarray") else {"X": array("X", X)}
    if not arrays:
        raise Error("X: no inputs")
    rows = None
    for name, a in arrays.items():
        if a.ndim < 2 and len(arrays) == 1:
            raise Error(f"{name}: shape {a.shape}, expected [rows, columns] or more axes; {name}.reshape(-1, 1) has one column, {name}.reshape(1, -1) one row")
        if a.ndim == 0 or a.size == 0:
            raise Error(f"{name}: shape {a.shape}, which has no {'columns' if a.ndim and len(a) else 'rows'}")
        if len(arrays) > 1 and name in ("X", "y", "file"):  # those of the archive, and of np.savez
            raise Error(f"{name}: one of several inputs cannot have this name")
        if rows is not None and len(a) != rows:
            raise Error(f"{name}: {len(a)} rows, the inputs before have {rows}")
        rows = len(a)
    return arrays


def column_names(X: Any) -> List[str]:
    """The names of the columns of a table, such as a DataFrame; empty for what has none."""
    columns = list(getattr(X, "columns", []))
    return columns if all(isinstance(c, str) for c in columns) else []


def ordered(X: Any, features: Sequence[str]) -> Any:
    """A table with the columns of a model, in the order of the model, wherever the table has their names."""
    have = column_names(X)
    if not set(have) & set(features):
        return X
    lacking = [f for f in features if f not in have]
    if lacking:
        raise Error(f"X: no column {lacking[0]!r}, which the model has; X has {reprlib.repr(have)}")
    return plain("X", X)[:, [have.index(f) for f in features]]


def targets(y: Any, rows: int, classes: bool) -> Array:
    """The targets [rows] or [rows, targets], or the classes [rows] as numbers."""
    a = array("y", y)
    if a.ndim == 0 or len(a) != rows:
        raise Error(f"y: {'no' if a.ndim == 0 else len(a)} rows, X has {rows}")
    if a.ndim == 2 and a.shape[1] == 1:
        a = a[:, 0]
    if classes and a.ndim != 1:
        raise Error(f"y: shape {a.shape}, expected one class for each row; of probabilities or one-hot rows, y.argmax(1) is the class")
    if a.ndim > 2:
        raise Error(f"y: shape {a.shape}, expected [rows] or [rows, targets]")
    return a


def labels(y: Any, rows: int, texts: Sequence[str]) -> List[str]:
    """The classes [rows] of a model whose classes are texts, of which y has the texts or their numbers 0, 1, …."""
    a = plain("y", y)
    if not any(isinstance(v, str) for v in a.flat):
        a = targets(y, rows, True)
        odd = ~((a >= 0) & (a < len(texts)) & (a == np.round(a)))
    else:
        a = a[:, 0] if a.ndim == 2 and a.shape[1] == 1 else a
        if a.shape != (rows,):
            raise Error(f"y: shape {a.shape}, expected one class for each of the {rows} rows of X")
        odd = np.array([v not in texts for v in a.tolist()])
    if odd.any():
        row = int(np.flatnonzero(odd)[0])
        raise Error(f"y: {reprlib.repr(a.tolist()[row])} of row {row} is no class, expected one of the texts {reprlib.repr(list(texts))}, or their numbers from 0 to {len(texts) - 1}")
    return [v if isinstance(v, str) else texts[int(v)] for v in a.tolist()]


def target_flags(arrays: Mapping[str, Array], y: Array) -> List[str]:
    """The flags that name the columns of several targets."""
    table = len(arrays) > 1 or next(iter(arrays.values())).ndim == 2  # of images, all of y are the targets
    return ["--target=" + ",".join(f"y{i}" for i in range(y.shape[1]))] if y.ndim == 2 and table else []


def write(path: Path, arrays: Mapping[str, Array], y: Optional[Array] = None, of_bytes: bool = False) -> str:
    """Writes inputs and targets as an archive of .npy files, and returns its path. Whole numbers become floats, since
    the program divides the bytes of images by 255; uint8 stays if the network is made of_bytes, as the program does it."""
    all_ = {k if len(arrays) > 1 else "X": a if of_bytes and a.dtype == np.uint8 else a.astype(_floats(a.dtype), copy=False) for k, a in arrays.items()}
    if y is not None:
        all_["y"] = y.astype(_floats(y.dtype), copy=False)
    return save(path, all_)


def table(path: Path, columns: Sequence[str], X: Array, last: Sequence[str]) -> str:
    """Writes columns of numbers and a last column of texts as a table with names, and returns its path: archives have no
    texts."""
    try:
        with open(path, "w", newline="", encoding="utf-8") as f:
            w = csv.writer(f)
            w.writerow(columns)
            w.writerows([*x, text] for x, text in zip(X.astype(np.float64).tolist(), last))
    except OSError as e:
        raise _unwritten(path, e) from e
    return str(path)


def save(path: Path, arrays: Mapping[str, Array]) -> str:
    """Writes arrays to a temporary file, and returns its path."""
    try:
        np.savez(path, **arrays)
    except OSError as e:
        raise _unwritten(path, e) from e
    return str(path)


def _unwritten(path: Path, e: OSError) -> Error:
    return Error(f"the arrays cannot be written to the temporary folder {path.parent}: {e}", 1)
