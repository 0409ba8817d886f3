"""Networks on the way to the program."""
from __future__ import annotations

import inspect
import json
import os
import warnings
import zipfile
from pathlib import Path
from typing import Any, Dict, List, Mapping

import numpy as np

from ._arrays import Array, array, line, save
from ._program import Error

_ENDINGS = {".onnx": "network", ".valla": "model", ".npz": "net-weights", ".safetensors": "net-weights", ".pt": "net-weights", ".pth": "net-weights"}


def is_module(net: Any) -> bool:
    """Whether net is a module of torch."""
    return not isinstance(net, type) and hasattr(net, "state_dict") and hasattr(net, "parameters") and hasattr(net, "forward")


def of_bytes(path: Path) -> bool:
    """Whether the program has made the model in a file for bytes of images, which it divides by 255."""
    try:
        with zipfile.ZipFile(path) as z:
            return bool(json.loads(z.read("model.json"))["inputs"].get("bytes"))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return False  # the program says what is wrong with the file


def flags(net: Any, arrays: Mapping[str, Array], folder: Path) -> List[str]:
    """The flags that name a network: a module is exported into the folder, a state dictionary written there."""
    if isinstance(net, (str, os.PathLike)):
        path = Path(net)
        flag = _ENDINGS.get(path.suffix.lower())
        if flag is None:
            raise Error(f"net: {path} is called neither {', '.join(_ENDINGS)}")
        if not path.exists():
            raise Error(f"net: there is no file {path}")
        return [f"--{flag}={path}"]
    if isinstance(net, Mapping):
        return ["--net-weights=" + _weights(net, folder / "net.npz")]
    if is_module(net):
        return ["--network=" + _export(net, arrays, folder / "net.onnx")]
    raise Error(f"net: a {type(net).__name__}, expected a torch module, its state dictionary, a model, or a file of a network")


def _weights(state: Mapping[str, Any], path: Path) -> str:
    if not state:
        raise Error("net: a state dictionary without arrays")
    return save(path, {str(k): array(f"net[{k!r}]", v) for k, v in state.items()})


def _export(net: Any, arrays: Mapping[str, Array], path: Path) -> str:
    """Writes the module as an ONNX model, with the axis of rows free."""
    import torch

    for name, m in net.named_modules():  # a part may be in training mode alone
        if m.training:
            raise Error(f"net: {name or 'it'} is in training mode, in which dropout and batch normalisation do otherwise than in use: call net.eval() first")
    first = next(net.parameters(), None)
    if first is None:
        raise Error("net: it has no parameters")
    for name, p in net.named_parameters():
        if p.device.type != "cpu":
            raise Error(f"net: parameter {name} is on {p.device}, expected all on the cpu: call net.cpu() first")
    rows = []
    for a in arrays.values():  # two rows: the tracer may take a single one for a constant
        whole = a.dtype.kind != "f" and (len(arrays) > 1 or _embeds(net, torch))
        t = torch.as_tensor(np.repeat(a[:1], 2, axis=0).astype(np.int64 if whole else np.float64))
        rows.append(t if whole else t.to(first.dtype))
    names = list(arrays)
    for name in names if len(names) > 1 else []:
        if name == "output" or name.isdigit():  # the exporter calls other values so
            raise Error(f"{name}: one of several inputs cannot have this name")
    more: Dict[str, Any] = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    _try(net, rows, torch)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            torch.onnx.export(net, tuple(rows), str(path), opset_version=17, input_names=names, output_names=["output"],
                              dynamic_axes={n: {0: "N"} for n in names + ["output"]}, **more)
    except OSError as e:
        raise Error(f"the network cannot be written to the temporary folder {path.parent}: {e}", 1) from e
    except Exception as e:  # the exporter has errors of many types
        why = line(e)
    else:
        return str(path)
    # Without the exporter's error as its cause: frames that keep graphs alive make later exports of torch 1.13 fail.
    raise Error(f"net: torch cannot export it as an ONNX model: {why}")


def _try(net: Any, rows: List[Any], torch: Any) -> None:
    """Computes an output, so that wrong inputs are told from what cannot be exported."""
    try:
        with torch.no_grad():
            out = net(*rows)
    except Exception as e:
        shapes = " and ".join(str([*t.shape[1:]]) for t in rows)
        raise Error(f"net: it does not take rows of X of shape {shapes}: {line(e)}") from e
    if not isinstance(out, torch.Tensor):
        raise Error(f"net: its output is a {type(out).__name__}, expected one tensor")


def _embeds(net: Any, torch: Any) -> bool:
    """Whether a layer takes whole numbers."""
    return any(isinstance(m, (torch.nn.Embedding, torch.nn.EmbeddingBag)) for m in net.modules())
