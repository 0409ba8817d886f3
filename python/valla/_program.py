"""Runs the program."""
from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any, Dict, List, Mapping, NoReturn, Optional, Sequence, Tuple

VARIABLE = "VALLA_PROGRAM"
_NAME = "valla.exe" if os.name == "nt" else "valla"
_INSIDE = Path(__file__).parent / "bin" / _NAME
# Flags that this package sets, or with which the program writes something else than this package reads.
_OWN = ("help", "json", "model", "net-weights", "network", "out", "parts", "target")


class Error(ValueError):
    """What the program, or this package, has refused, in one line. The code is the program's exit code: 1 for an
    error, 2 for wrong usage."""

    def __init__(self, message: str, code: int = 2):
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> Tuple[Any, ...]:
        return Error, (self.args[0], self.code)


def find() -> str:
    """The path of the program."""
    named = os.environ.get(VARIABLE)
    if named:
        found = shutil.which(os.path.abspath(named))  # a path, which is not looked for on the PATH
        if found is None:
            raise Error(f"{VARIABLE} is {named}, which is no program")
        return found
    if _INSIDE.exists():
        return str(_INSIDE)
    scripts = ""
    for folder in os.get_exec_path():
        found = shutil.which("valla", path=folder)
        if found is not None and not _script(found):
            return found
        if found is not None:
            scripts = f", since {found} is a script"
    raise Error(f"the program valla is missing{scripts}: install the wheel for this platform, or name the program in the environment variable {VARIABLE}")


def _script(path: str) -> bool:
    """Whether a file is a script, such as the command of another wheel, which would look for the program without end. On
    Windows such a command is an archive behind a small program."""
    try:
        with open(path, "rb") as f:
            return f.read(2) == b"#!" or zipfile.is_zipfile(path)
    except OSError:
        return False


def refuse(name: str) -> NoReturn:
    """Raises that an option is none."""
    raise Error(f"{name} is no option here: this package itself says what the program reads and writes")


def _quoted(element: str) -> str:
    """An element of a list, in quotes if it has commas, or spaces around it, or begins with a quote."""
    if "," in element or element.startswith('"') or element != element.strip():
        return '"' + element.replace('"', '""') + '"'
    return element


def _axes(value: Any) -> int:
    """The number of axes of an array, a table or a list."""
    if isinstance(value, (list, tuple)):
        return 1 + max(map(_axes, value), default=0)
    return int(getattr(value, "ndim", 0))


def flags(options: Mapping[str, Any], json_too: bool = False) -> List[str]:
    """Options of a user as flags: True is the flag alone, None leaves it out, and lists are joined by commas."""
    out = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None:
            continue
        if flag[2:] in _OWN and not (json_too and name == "json"):
            refuse(name)
        if _axes(value) > 1:
            raise Error(f"{name}: an array of rows is no option, expected a number, a text such as the path of a file, or a list of them")
        if hasattr(value, "tolist"):  # an array or a number of NumPy
            value = value.tolist()
        if isinstance(value, (list, tuple, range)):
            value = ",".join(_quoted(str(v)) for v in value)
        if value is True or value is False:
            value = "true" if value else "false"
        out.append(f"{flag}={value}")
    return out


def _raise(line: str, code: int, names: Mapping[str, str]) -> NoReturn:
    """Raises what the program's last line says, in words of Python: without temporary paths, and with the names of
    options."""
    if line.startswith('{"code"'):  # of a command with --json
        line = json.loads(line)["error"]
    for path, name in names.items():
        line = line.replace(path, name)
    line = re.sub(r" \(see valla .*? --help\)$", "", line).replace("unknown flag", "unknown option")
    line = re.sub(r"(?<![\w-])--([a-z][a-z-]*)", lambda m: m.group(1).replace("-", "_"), line)
    raise Error(line, code)


def run(args: Sequence[str], *, progress: bool = False, names: Optional[Mapping[str, str]] = None) -> str:
    """Runs the program and returns what it prints. With progress, what it says meanwhile goes to sys.stderr. Names
    stand for paths in errors. An interrupt is passed on, so that the program writes the best state that it has."""
    try:
        p = subprocess.Popen([find(), *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, encoding="utf-8", errors="replace", start_new_session=True)
    except OSError as e:
        raise Error(f"the program valla cannot be started: {e}") from e
    assert p.stdout is not None and p.stderr is not None
    printed: List[str] = []
    out = p.stdout
    reader = threading.Thread(target=lambda: printed.append(out.read()), daemon=True)
    reader.start()
    last = crash = ""
    try:
        for line in p.stderr:
            if progress and last:
                print(last, file=sys.stderr, flush=True)
            last = line.rstrip("\n")
            if not crash and last.startswith(("panic: ", "fatal error: ")):
                crash = last  # what follows are the stacks of goroutines
        code = p.wait()
    except KeyboardInterrupt:
        p.send_signal(signal.SIGTERM if os.name == "nt" else signal.SIGINT)
        p.wait()
        raise
    finally:
        if p.poll() is None:
            p.kill()
            p.wait()
        reader.join()
        p.stdout.close()
        p.stderr.close()
    if code != 0:
        last = crash or last
        _raise(last[len("valla: "):] if last.startswith("valla: ") else last or f"the program ended with {code}", code, names or {})
    if progress and last:
        print(last, file=sys.stderr, flush=True)
    return printed[0]


def document(said: str) -> Dict[str, Any]:
    """The JSON document that the program has printed."""
    try:
        found: Dict[str, Any] = json.loads(said)
    except ValueError as e:
        raise stranger() from e
    return found


def stranger() -> Error:
    """The error of a program that ends well, and does not do what valla does."""
    return Error(f"{find()} is not the program valla, or another version of it: it does not write what this package reads")


def version() -> Dict[str, Any]:
    """What `valla version --json` says of the program."""
    return document(run(["version", "--json"]))


def main() -> NoReturn:
    """The command valla: the program with the arguments of this process."""
    try:
        program = find()
    except Error as e:
        sys.exit(f"valla: {e}")
    if os.name == "nt":
        sys.exit(subprocess.call([program, *sys.argv[1:]]))
    os.execv(program, [program, *sys.argv[1:]])
