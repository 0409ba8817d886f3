import os
import pickle
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import torch
from torch import nn

import valla
from valla._program import flags

from .cases import QUICK, rows, trained

TEMPORARY = tempfile.gettempdir()


class Flags(unittest.TestCase):
    def test_lists(self):
        """An element with commas stays one element."""
        got = flags({"drop": ["price, net", 'size "x"', '"', " end"], "hidden": (3, 4)})
        self.assertEqual(got, ['--drop="price, net",size "x",""""," end"', "--hidden=3,4"])


class WrongUses(unittest.TestCase):
    """Each wrong use is a valla.Error of one line, without a path of a temporary file or a flag."""

    @classmethod
    def setUpClass(cls):
        cls.X, cls.y = rows(60)
        cls.net = trained(cls.X, cls.y)
        cls.model = valla.fit(cls.net, cls.X, cls.y, **QUICK)

    def refused(self, want, call, *args, **options):
        with self.assertRaises(valla.Error) as e:
            call(*args, **options)
        text = str(e.exception)
        self.assertIn(want, text)
        self.assertNotIn("\n", text)
        self.assertNotIn(TEMPORARY, text)
        self.assertNotIn("--", text)
        self.assertIsInstance(e.exception, ValueError)
        return e.exception

    def fit(self, want, net=None, X=None, y=None, **options):
        return self.refused(want, valla.fit, self.net if net is None else net, self.X if X is None else X, self.y if y is None else y, **{**QUICK, **options})

    def test_shapes(self):
        self.fit("X.reshape(-1, 1)", X=self.X[:, 0])
        self.fit("does not take rows of X of shape [3]", X=np.zeros((60, 3)))
        self.fit("has no rows", X=np.zeros((0, 2)), y=[])
        self.fit("shape (60, 2, 2)", y=np.zeros((60, 2, 2)))
        self.fit("rows of different lengths", X=[[1, 2], [3]])
        self.fit("X: shape (60, 0), which has no columns", X=np.zeros((60, 0)))
        self.fit("X: shape (), expected [rows, columns]", X=3)
        self.refused("expected 2 columns", self.model.predict, np.zeros((4, 3)))

    def test_shapes_of_targets(self):
        """y has as many columns as the model has targets: one-hot rows are no classes."""
        c = np.arange(60) % 3
        classes = valla.fit(nn.Linear(2, 3).eval(), self.X, c, classes=True, **QUICK)
        for model, y in (self.model, np.stack([self.y, self.y], axis=1)), (classes, np.eye(3)[c]):
            self.refused('no column "y", the target', model.evaluate, self.X, y)
            self.refused('no column "y", the target', model.calibrate, self.X, y)
            self.refused('no column "y", the target', model.report, self.X, y)

    def test_lengths(self):
        self.fit("y: 59 rows, X has 60", y=self.y[:-1])
        self.fit("z: 59 rows, the inputs before have 60", X={"x": self.X, "z": self.X[:-1]})
        self.fit("y: no rows, X has 60", y=1.5)
        self.refused("y: 1 rows, X has 60", self.model.report, self.X, [0])

    def test_values(self):
        X, y = self.X.copy(), self.y.copy()
        X[3, 1], y[5] = np.nan, np.inf
        self.fit('X and y: row 3 (counting from 0), column "x1": expected a finite number, found NaN', X=X)
        self.fit("row 5", y=y)
        self.refused("row 3", self.model.predict, X)

    def test_text(self):
        self.fit("X: expected numbers, found text", X=[["a", "b"]] * 60)
        self.fit("expected numbers, found 'red'", X=np.array([[1.0, "red"]] * 60, dtype=object))
        self.fit("complex", y=self.y + 1j)
        self.fit("X: expected numbers, found {'a': 0, 'b': 1}", X=np.array([[1.0, {"a": 0, "b": 1}]] * 60, dtype=object))
        self.fit("X: expected numbers, found 1000", X=[[1, 10**400]] * 60)
        self.refused("y: a NoneType, expected an array of numbers", valla.fit, self.net, self.X, None)
        self.fit("X: a masked array", X=np.ma.masked_greater(self.X, 2))
        self.fit("X: no array can be made of it", X=torch.tensor(self.X).to_sparse())
        self.fit("X.toarray() is one", X=mock.Mock(spec=["toarray"]))

    def test_networks(self):
        self.fit("call net.eval() first", net=trained(self.X, self.y).train())
        self.fit("is on meta, expected all on the cpu", net=nn.Linear(2, 1, device="meta").eval())
        part = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1)).eval()
        part[1].train()
        self.fit("net: 1 is in training mode", net=part)
        self.assertEqual((part[1].num_batches_tracked, part[1].training), (0, True))
        self.fit("net: a type, expected a torch module", net=nn.Linear)
        self.fit("net['model']: a OrderedDict, expected an array of numbers", net={"epoch": 3, "model": self.net.state_dict()})
        self.fit("no parameters", net=nn.Tanh().eval())
        self.fit("there is no file none.onnx", net="none.onnx")
        self.fit("net: the name net.pickle has another ending, expected one of .valla, .onnx", net="net.pickle")
        self.fit("there is no file none.valla", net="none.valla")
        self.fit("a float, expected a torch module", net=1.5)
        self.fit("without arrays", net={})
        self.fit("activation", net=self.net.state_dict())
        self.fit("the network has 2 outputs, expected 1", net=nn.Linear(2, 2).eval())

        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(2, 1)

            def forward(self, x):
                return self.a(x), x

        self.fit("its output is a tuple", net=Two().eval())

    def test_export(self):
        class Odd(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(2, 1)

            def forward(self, x):
                return torch.special.bessel_j0(self.a(x))

        self.fit("torch cannot export it as an ONNX model", net=Odd().eval())

    def test_classes(self):
        net = nn.Linear(2, 3).eval()
        c = np.arange(60) % 3
        self.fit("no row has class 1", net=net, y=np.where(c == 1, 2, c), classes=True)
        self.fit("the network has 3 outputs, expected 2", net=net, y=c % 2, classes=True)
        self.fit("0.5 of row 0 is no class", net=net, y=c + 0.5, classes=True)
        self.fit("nan of row 7 is no class", net=net, y=np.where(np.arange(60) == 7, np.nan, c), classes=True)
        self.fit("y.argmax(1) is the class", net=net, y=np.eye(3)[c], classes=True)
        self.fit("found text", net=net, y=["a", "b", "c"] * 20, classes=True)

    def test_other_models(self):
        """A model of numbers is none of classes, and the other way round."""
        with tempfile.TemporaryDirectory() as d:
            c = np.arange(60) % 3
            numbers, classes = self.model.save(f"{d}/n.valla"), valla.train(self.X, c, classes=True, iterations=5, progress=False)
            for net in (numbers, numbers.path):
                self.fit("net: a model of numbers, and y has classes: expected a model of classes", net=net, y=c, classes=True)
                self.refused("net: a model of numbers, and y has classes: expected a model of classes", valla.VallaClassifier(net).fit, self.X, c)
            for net in (classes, classes.path):
                self.refused("net: a model of classes, which a VallaClassifier takes", valla.VallaRegressor(net).fit, self.X, self.y)

    def test_options(self):
        for value in (self.X, (self.X, self.y), [[1, 2]], torch.tensor(self.X)):
            self.fit("validation_data: an array of rows is no option", validation_data=value)
        e = self.fit("unknown option: induceing; did you mean inducing?", induceing=3)
        self.assertEqual(e.code, 2)
        self.assertEqual(pickle.loads(pickle.dumps(e)).code, 2)
        self.fit("prior_std", prior_std="wide")
        self.fit("wizard", method="wizard")
        self.refused("level", self.model.predict, self.X, level=2)

    def test_names_of_files(self):
        """The name of a model's file may be a part of the words of an error."""
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as d:
            os.chdir(d)
            try:
                for name in ("o", "columns"):
                    self.refused("X: expected 2 columns without names", self.model.save(name).predict, np.zeros((4, 3)))
            finally:
                os.chdir(here)

    def test_program(self):
        for value in ("/none/valla", TEMPORARY, "none", "sh"):
            with mock.patch.dict(os.environ, VALLA_PROGRAM=value), self.assertRaises(valla.Error) as e:
                self.model.predict(self.X)
            self.assertIn("VALLA_PROGRAM", str(e.exception))
        with mock.patch.dict(os.environ, PATH="/none"):
            del os.environ["VALLA_PROGRAM"]
            if not (Path(valla.__file__).parent / "bin").exists():
                self.refused("the program valla is missing", valla.version)

    def program(self, text, name="valla"):
        """The path of a script."""
        d = tempfile.TemporaryDirectory()
        self.addCleanup(d.cleanup)
        program = Path(d.name) / name
        program.write_text(text)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return program

    @unittest.skipIf((Path(valla.__file__).parent / "bin").exists(), "the package contains the program")
    def test_scripts_on_the_path(self):
        """The command of a wheel would look for the program again, without end."""
        script, real = self.program("#!/bin/sh\nexit 3\n"), Path(self.program("").parent)
        (real / "valla").unlink()
        with mock.patch.dict(os.environ, PATH=str(script.parent)):
            program = os.path.abspath(os.environ.pop("VALLA_PROGRAM"))
            with self.assertRaisesRegex(valla.Error, f"^the program valla is missing, since {script} is a script: install the wheel"):
                valla.version()
            os.symlink(program, real / "valla")
            os.environ["PATH"] += os.pathsep + str(real)
            self.assertIn("go", valla.version())

    def test_other_program(self):
        """A program that is none of this package says nothing that it reads."""
        with mock.patch.dict(os.environ, VALLA_PROGRAM=str(self.program("#!/bin/sh\nexit 0\n", "other"))):
            for call, *args in ((valla.version,), (self.model.predict, self.X), (self.model.evaluate, self.X, self.y), (self.model.calibrate, self.X, self.y), (valla.train, self.X, self.y)):
                with self.assertRaisesRegex(valla.Error, "other is not the program valla") as e:
                    call(*args)
                self.assertNotIn("\n", str(e.exception))

    def test_panic(self):
        """A crash of the program is told by its reason, not by the last of many lines on goroutines."""
        for reason in ("panic: runtime error: index out of range [3]", "fatal error: runtime: out of memory"):
            program = self.program(f"#!/bin/sh\necho 'estimate: 1 s' >&2\necho '{reason}' >&2\necho >&2\necho 'goroutine 1 [running]:' >&2\necho 'main.go:3 +0x1d' >&2\nexit 2\n")
            with mock.patch.dict(os.environ, VALLA_PROGRAM=str(program)):
                self.assertEqual(str(self.refused(reason, self.model.predict, self.X)), reason)

    def test_program_here(self):
        """The variable may name a file in the current folder."""
        here, program = os.getcwd(), os.environ["VALLA_PROGRAM"]
        with tempfile.TemporaryDirectory() as d:
            os.chdir(d)
            try:
                os.symlink(os.path.abspath(os.path.join(here, program)), "own-valla")
                with mock.patch.dict(os.environ, VALLA_PROGRAM="own-valla"):
                    self.assertIn("go", valla.version())
            finally:
                os.chdir(here)

    def test_folders(self):
        self.fit("no such file or directory", out="/none/m.valla")
        self.refused("no such file or directory", self.model.report, self.X, self.y, "/none/r.html")
        self.refused("model cannot be written", self.model.save, "/none/m.valla")
        self.refused("there is no model file none.valla", valla.load, "none.valla")
        with mock.patch("tempfile.mkdtemp", side_effect=PermissionError(13, "Permission denied")):
            self.refused("there is no temporary folder", self.model.predict, self.X)

    def test_damaged(self):
        with tempfile.TemporaryDirectory() as d:
            path = Path(d) / "m.valla"
            path.write_bytes(b"no model")
            self.refused("the model", valla.Model(path).predict, self.X)
            with self.assertRaises(valla.Error) as e:  # the name that the caller gave
                valla.load(path)
            self.assertEqual(str(e.exception), f"{path} is no model file, or it cannot be read")

    def test_crash(self):
        with mock.patch.dict(os.environ, VALLA_PROGRAM=str(self.program("#!/bin/sh\nkill -9 $$\n"))):
            self.assertEqual(self.refused("ended with -9", self.model.predict, self.X).code, -9)


class Interrupt(unittest.TestCase):
    def test_ctrl_c(self):
        """Ctrl-C is passed on to the program, which writes its best state; Python raises KeyboardInterrupt."""
        with tempfile.TemporaryDirectory() as d:
            out = Path(d) / "m.valla"
            code = f"""
import valla
from tests.cases import rows, trained
X, y = rows()
try:
    valla.fit(trained(X, y), X, y, out={str(out)!r}, iterations=1000000)
except KeyboardInterrupt:
    raise SystemExit(9)
"""
            p = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parent.parent, stderr=subprocess.PIPE, text=True, start_new_session=True)
            for line in p.stderr:
                if "estimate" in line:
                    break
            time.sleep(1)
            os.killpg(p.pid, signal.SIGINT)
            rest = p.communicate(timeout=60)[1]
            self.assertEqual(p.returncode, 9, rest)
            self.assertEqual(valla.load(out).predict(rows()[0])["std"].shape, (200,))
