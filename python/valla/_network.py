"""Networks on the way to the program."""
from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional

from ._arrays import Array, array, save
from ._export import export
from ._program import Error

# The flag of a file that is no model.
_ENDINGS = {".onnx": "network", ".npz": "net-weights", ".safetensors": "net-weights", ".pt": "net-weights", ".pth": "net-weights"}


def is_module(net: Any) -> bool:
    """Whether net is a module of torch."""
    return not isinstance(net, type) and hasattr(net, "state_dict") and hasattr(net, "parameters") and hasattr(net, "forward")


def header(path: Path) -> Dict[str, Any]:
    """What a model file says of its model, or nothing if it is none: the program says what is wrong with it."""
    try:
        with zipfile.ZipFile(path) as z:
            said = json.loads(z.read("model.json"))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return {}
    return said if isinstance(said, dict) else {}


def of_bytes(path: Path) -> bool:
    """Whether the program has made the model in a file for bytes of images, which it divides by 255."""
    return bool(header(path).get("inputs", {}).get("bytes"))


def features(path: Path) -> List[str]:
    """The names of the inputs of the model in a file; empty if it has none but x0, x1, …, which the program gives to arrays."""
    names = list(header(path).get("inputs", {}).get("features") or [])
    return [] if names == [f"x{i}" for i in range(len(names))] else names


def of_classes(path: Path) -> Optional[bool]:
    """Whether the model in a file predicts classes, or None if it is a single logit, which may be called either."""
    said = header(path)
    likelihood = said.get("regression", {}).get("likelihood", {}).get("name")
    return None if not said or likelihood == "bernoulli" else "classification" in said


def flag(net: Any, arrays: Mapping[str, Array], folder: Path) -> str:
    """The flag that names a network: a module is exported into the folder, a state dictionary written there."""
    if isinstance(net, (str, os.PathLike)):
        path = Path(net)
        name = _ENDINGS.get(path.suffix.lower())
        if name is None:
            raise Error(f"net: the name {path} has another ending, expected one of .valla, {', '.join(_ENDINGS)}")
        if not path.exists():
            raise Error(f"net: there is no file {path}")
        return f"--{name}={path}"
    if isinstance(net, Mapping):
        return "--net-weights=" + _weights(net, folder / "net.npz")
    if is_module(net):
        return "--network=" + export(net, arrays, folder)
    raise Error(f"net: a {type(net).__name__}, expected a torch module, its state dictionary, a model, or a file of a network")


def _weights(state: Mapping[str, Any], path: Path) -> str:
    if not state:
        raise Error("net: a state dictionary without arrays")
    return save(path, {str(k): array(f"net[{k!r}]", v) for k, v in state.items()})
