import os
import re
import tempfile
import unittest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


class Page(unittest.TestCase):
    def test_blocks(self):
        """The blocks of the page run one after the other."""
        blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
        self.assertGreater(len(blocks), 4)
        names, here = {"print": lambda *_: None}, os.getcwd()
        with tempfile.TemporaryDirectory() as d:
            os.chdir(d)
            try:
                for b in blocks:
                    exec(compile(b.replace("valla.fit(net.eval(), X, y)", "valla.fit(net.eval(), X, y, progress=False)").replace("seed=1,", "seed=1, progress=False,"), str(PAGE), "exec"), names)
            finally:
                os.chdir(here)
