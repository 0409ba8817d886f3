"""Modules of torch on the way to the program."""
from __future__ import annotations

import copy
import inspect
import threading
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, List, Mapping, Optional, Sequence

import numpy as np

from ._arrays import Array, line, target_flags, write
from ._program import Error, run

# The exporter of torch, its random numbers and the filters of warnings belong to the whole process.
_ALONE = threading.Lock()
# A posterior that costs hardly more than the outputs, whose means are the outputs.
_CHEAP = ("--method=lla", "--weights=last-layer", "--structure=diag", "--hyper=fixed", "--prior-std=1", "--noise-std=1", "--validation=0", "--law=gaussian")


def export(net: Any, arrays: Mapping[str, Array], folder: Path) -> str:
    """Writes the module as an ONNX model, with the axis of rows free, and returns its path. The program must compute the
    outputs of the module with it."""
    import torch

    dtype = _ready(net)
    for name in arrays if len(arrays) > 1 else []:
        if name == "output" or name.isdigit():  # the exporter calls other values so
            raise Error(f"{name}: one of several inputs cannot have this name")
    path = folder / "net.onnx"
    with _ALONE, torch.random.fork_rng(devices=[]):
        two = _rows(net, arrays, [0, 0], dtype, torch)  # the tracer may take a single row for a constant
        _tried(net, two, torch)
        guesses = _write(net, two, list(arrays), path, torch)
        at = _some(len(next(iter(arrays.values()))), 64 if guesses else 8)
        want = _numbers(_tried(net, _rows(net, arrays, at, dtype, torch), torch))
    few = {name: a[at] for name, a in arrays.items()}
    got = None if want is None else _computed(path, few, want, folder)
    if want is None or got is None:
        for w in guesses:  # nothing else says that the file may be another function
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    elif not _close(got, want):
        _compare(net, few, at, got, want, guesses, torch)
    return str(path)


def _ready(net: Any) -> Any:
    """The type of the module's numbers. Modules that cannot be exported as they are used are refused."""
    for name, m in net.named_modules():  # a part may be in training mode alone
        if m.training:
            raise Error(f"net: {name or 'it'} is in training mode, in which dropout and batch normalisation do otherwise than in use: call net.eval() first")
    first = next(net.parameters(), None)
    if first is None:
        raise Error("net: it has no parameters")
    for name, p in net.named_parameters():
        if p.device.type != "cpu":
            raise Error(f"net: parameter {name} is on {p.device}, expected all on the cpu: call net.cpu() first")
    return first.dtype


def _rows(net: Any, arrays: Mapping[str, Array], at: Sequence[int], dtype: Any, torch: Any) -> List[Any]:
    """Some rows of the inputs as tensors."""
    rows = []
    for a in arrays.values():
        whole = a.dtype.kind != "f" and (len(arrays) > 1 or _embeds(net, torch))
        t = torch.as_tensor(a[at].astype(np.int64 if whole else np.float64))
        rows.append(t if whole else t.to(dtype))
    return rows


def _embeds(net: Any, torch: Any) -> bool:
    """Whether a layer takes whole numbers."""
    return any(isinstance(m, (torch.nn.Embedding, torch.nn.EmbeddingBag)) for m in net.modules())


def _tried(net: Any, rows: List[Any], torch: Any) -> Any:
    """An output of the module. Wrong inputs are told from what cannot be exported."""
    try:
        with torch.no_grad():
            out = net(*rows)
    except Exception as e:
        shapes = " and ".join(str([*t.shape[1:]]) for t in rows)
        raise Error(f"net: it does not take rows of X of shape {shapes}: {line(e)}") from e
    if not isinstance(out, torch.Tensor):
        raise Error(f"net: its output is a {type(out).__name__}, expected one tensor")
    return out.detach()


def _write(net: Any, rows: List[Any], names: List[str], path: Path, torch: Any) -> List[warnings.WarningMessage]:
    """Writes the ONNX model, and returns what the tracer has warned of: values that Python has read from tensors, which
    are constants of the file."""
    more = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    try:
        with warnings.catch_warnings(record=True) as said, _differentiable(net, torch):
            warnings.simplefilter("always")
            torch.onnx.export(net, tuple(rows), str(path), opset_version=17, input_names=names, output_names=["output"],
                              dynamic_axes={n: {0: "N"} for n in names + ["output"]}, **more)
    except OSError as e:
        raise Error(f"the network cannot be written to the temporary folder {path.parent}: {e}", 1) from e
    except Exception as e:  # the exporter has errors of many types
        why = line(e)
    else:
        return [w for w in said if issubclass(w.category, torch.jit.TracerWarning)]
    # Without the exporter's error as its cause: frames that keep graphs alive make later exports of torch 1.13 fail.
    raise Error(f"net: torch cannot export it as an ONNX model: {why}")


@contextmanager
def _differentiable(net: Any, torch: Any) -> Iterator[None]:
    """Makes all weights require gradients for a while: otherwise attention takes a fast path that has no ONNX form."""
    frozen = [p for p in net.parameters() if not p.requires_grad and p.is_floating_point() and not p.is_inference()]
    try:
        for p in frozen:
            p.requires_grad_(True)
        with torch.enable_grad():
            yield
    finally:
        for p in frozen:
            p.requires_grad_(False)


def _some(rows: int, number: int) -> List[int]:
    """A number of rows from the first to the last. Few rows are taken several times, as the trace has two rows."""
    return [int(i) for i in np.linspace(0, rows - 1, number).round()]


def _numbers(out: Any) -> Optional[Array]:
    """An output as an array [rows, outputs], or None if it has another shape or is not finite: the program refuses such
    a network."""
    a: Array = out.double().numpy()
    if a.ndim not in (1, 2) or not np.isfinite(a).all():
        return None
    return a[:, None] if a.ndim == 1 else a


def _computed(path: Path, arrays: Mapping[str, Array], want: Array, folder: Path) -> Optional[Array]:
    """The outputs that the program computes with the file, or None if it cannot: the fit then says why."""
    y = want + np.where(np.arange(len(want)) % 2 > 0, 1.0, -1.0)[:, None]  # targets, which have no influence on means
    y = y[:, 0] if y.shape[1] == 1 else y
    data, model, out = write(folder / "some.npz", arrays, y), folder / "some.valla", folder / "means.npz"
    try:
        run(["fit", data, f"--network={path}", f"--out={model}", *target_flags(arrays, y), *_CHEAP])
        run(["predict", data, f"--model={model}", f"--out={out}"])
        with np.load(out) as columns:
            means = [columns[name] for name in columns.files if name.startswith("mean")]
    except (Error, OSError):
        return None
    together: Array = np.stack(means, axis=1)
    return together


def _close(got: Array, want: Array) -> bool:
    """Whether outputs are the same up to rounding, of which deep networks in float32 have much."""
    return got.shape == want.shape and bool((np.abs(got - want) <= 1e-3 * np.abs(want).max(axis=0) + 1e-6).all())


def _compare(net: Any, arrays: Mapping[str, Array], at: List[int], got: Array, want: Array, guesses: List[warnings.WarningMessage], torch: Any) -> None:
    """Raises that the file has other outputs, unless the rounding of the module is the reason."""
    try:  # a copy of the module in the program's type
        exact = copy.deepcopy(net).double()
        with _ALONE, torch.random.fork_rng(devices=[]):
            better = _numbers(_tried(exact, _rows(exact, arrays, range(len(at)), torch.float64, torch), torch))
    except Exception:  # not every module can be copied, or computes in float64
        better = None
    want = want if better is None else better
    if _close(got, want):
        return
    row, column = (0, 0) if got.shape != want.shape else np.unravel_index(np.abs(got - want).argmax(), want.shape)
    place = f"; the tracer names line {guesses[0].lineno} of {Path(guesses[0].filename).name}" if guesses else ""
    raise Error(f"net: torch exports another function: row {at[row]} has the output {got[row, column]:.6g}, and the network says {want[row, column]:.6g}. "
                f"In forward, Python must not decide by values or by the number of rows, and nothing may be random{place}")
