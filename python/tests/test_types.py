"""Annotations as programs of users see them."""
import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = """
import valla
from typing import Any
r = valla.VallaRegressor()
print(r.predict([[0]]).shape, r.predict([[0]], return_std=False).shape)
def spread(both: bool) -> Any:
    mean, std = r.predict([[0]], return_std=True)
    p = r.predict([[0]], both)
    return std + (p[0] if isinstance(p, tuple) else mean)
"""


@unittest.skipIf(importlib.util.find_spec("mypy") is None, "mypy is not installed")
class Types(unittest.TestCase):
    def test_predict(self):
        with tempfile.TemporaryDirectory() as d:
            p = subprocess.run([sys.executable, "-m", "mypy", "--strict", f"--cache-dir={d}", "-c", PROGRAM], cwd=Path(__file__).parent.parent, capture_output=True, text=True)
        self.assertEqual(p.returncode, 0, p.stdout + p.stderr)
