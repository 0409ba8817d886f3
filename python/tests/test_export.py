"""The program computes the outputs of a module, or the module is refused."""
import copy
import threading
import unittest
import warnings
from unittest import mock

import numpy as np
import torch
from torch import nn

import valla

from .cases import QUICK

CHEAP = {"method": "lla", "weights": "last-layer", "structure": "diag", "hyper": "fixed", "prior_std": 1, "validation": 0, "law": "gaussian", "progress": False}


class Net(nn.Module):
    """A network of a dense layer and a function."""

    def __init__(self, forward, inputs=3, outputs=1):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.compute = nn.Linear(inputs, outputs), forward
        self.eval()

    def forward(self, *x):
        return self.compute(self.a, *x)


def scaled(a, x):
    """Bytes are scaled, as if a could tell them."""
    if x.max() > 1:
        x = x / 255
    return a(x)


def longest(a, x):
    n = int((x != 0).sum(dim=1).max())
    return a(torch.cat([x[:, :n], 0 * x[:, n:] + 1], dim=1))


class Functions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        rng = np.random.default_rng(0)
        cls.X, cls.y = rng.uniform(0.1, 2, (60, 3)), rng.standard_normal(60)
        cls.X[0] = [0.5, 0, 0]  # the trace has this row

    def refused(self, net, X, y, **options):
        with self.assertRaises(valla.Error) as e:
            valla.fit(net, X, y, **{**QUICK, **options})
        self.assertRegex(str(e.exception), r"^net: torch exports another function: row \d+ .* the tracer names line \d+ of test_export.py$")
        self.assertNotIn("\n", str(e.exception))

    def test_values_decide(self):
        """What Python decides by the values or the number of the rows of the trace is no part of an ONNX model."""
        for forward in (scaled, longest, lambda a, x: a(x) * len(x)):
            with self.subTest(forward=forward):
                self.refused(Net(forward), self.X, self.y)
                self.refused(Net(forward, outputs=2), self.X, np.arange(60) % 2, classes=True)
                self.refused(Net(forward, outputs=2), self.X, np.stack([self.y, self.y], axis=1))

    def test_other_inputs(self):
        images = np.repeat(self.X[:, None, :, None], 2, axis=3)
        flat = lambda a, x: scaled(a, x.flatten(1))
        self.refused(Net(flat, 6, 2), images, np.arange(60) % 2, classes=True)
        self.refused(Net(flat, 6), images, self.y)
        self.refused(Net(lambda a, x, z: scaled(a, x) + scaled(a, z), 3, 2), {"x": self.X, "z": self.X[::-1].copy()}, np.arange(60) % 2, classes=True)

    def test_same_function(self):
        """A warning of the tracer alone is no reason to refuse a network."""
        def checked(a, x):
            if x.min() < -1000:
                raise ValueError("no inputs")
            return a(x)

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for forward in (checked, lambda a, x: a(x).squeeze(-1)):
                net = Net(forward)
                want = net(torch.as_tensor(self.X).float()).detach().numpy().reshape(60)
                np.testing.assert_allclose(valla.fit(net, self.X, self.y, **QUICK).predict(self.X)["mean"], want, atol=1e-5)

    def test_rounding(self):
        """Outputs that float32 cannot tell are the same."""
        net = Net(lambda a, x: a(x) - a.weight.sum() * 1e6)
        X, y = self.X + 1e6, self.y
        self.assertEqual(valla.fit(net, X, y, **QUICK).predict(X)["mean"].shape, (60,))

    def test_no_comparison(self):
        """Where nothing can be compared, the tracer's warning reaches the user."""
        with mock.patch("valla._export._computed", return_value=None), self.assertWarns(torch.jit.TracerWarning):
            valla.fit(Net(scaled), self.X, self.y, **QUICK)

    def test_few_rows(self):
        valla.fit(Net(lambda a, x: a(x)), self.X[:12], self.y[:12], **QUICK)
        self.refused(Net(lambda a, x: a(x) * len(x)), self.X[:2], self.y[:2])


class Unchanged(unittest.TestCase):
    def test_network(self):
        """Neither the network nor torch's random numbers change."""
        X, y = np.random.default_rng(0).standard_normal((40, 3)), np.arange(40.0)
        odd = Net(lambda a, x: a(x) + torch.rand(1))
        net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)).eval()
        net[0].requires_grad_(False)
        net(torch.ones(2, 3)).sum().backward()
        grads = [None if p.grad is None else p.grad.clone() for p in net.parameters()]
        state, needs, random = copy.deepcopy(net.state_dict()), [p.requires_grad for p in net.parameters()], torch.get_rng_state()
        valla.fit(net, X, y, **QUICK)
        with self.assertRaises(valla.Error):  # a function that draws random numbers
            valla.fit(odd, X, y, **QUICK)
        self.assertEqual([p.requires_grad for p in net.parameters()], needs)
        self.assertTrue(torch.is_grad_enabled() and not any(m.training for m in net.modules()))
        for p, g in zip(net.parameters(), grads):
            self.assertTrue(p.grad is g or torch.equal(p.grad, g))
        for name, value in net.state_dict().items():
            self.assertTrue(torch.equal(value, state[name]))
        self.assertTrue(torch.equal(torch.get_rng_state(), random))


class Transformers(unittest.TestCase):
    def test_fast_path(self):
        """Attention in evaluation mode has a fast path, which has no ONNX form."""
        class Attention(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(40, 1)

            def forward(self, x):
                return self.b(self.a(x, x, x)[0].flatten(1))

        rng = np.random.default_rng(0)
        X, words, y = rng.standard_normal((30, 5, 8)).astype(np.float32), rng.integers(0, 9, (30, 5)), rng.standard_normal(30)
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        for net, X in ((nn.Sequential(layer, nn.Flatten(), nn.Linear(40, 1)), X), (Attention(), X),
                       (nn.Sequential(nn.Embedding(9, 8), nn.TransformerEncoder(layer, 2), nn.Flatten(), nn.Linear(40, 1)), words)):
            net.eval()
            want = net(torch.as_tensor(X)).detach().numpy()[:, 0]
            for frozen in (False, True):
                with self.subTest(net=type(net[0] if isinstance(net, nn.Sequential) else net), frozen=frozen), torch.set_grad_enabled(not frozen):
                    got = valla.fit(net.requires_grad_(not frozen), X, y, **CHEAP).predict(X)["mean"]
                    np.testing.assert_allclose(got, want, atol=1e-4)


class Threads(unittest.TestCase):
    def test_fits(self):
        """Fits in several threads, though torch's exporter is one for all."""
        X, y = np.random.default_rng(0).standard_normal((40, 3)), np.arange(40.0)
        wrong = []

        def work(seed):
            try:
                for _ in range(2):
                    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)).eval()
                    valla.fit(net, X, y, **CHEAP)
            except Exception as e:
                wrong.append(e)

        filters = list(warnings.filters)
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])
        self.assertEqual(warnings.filters, filters)
