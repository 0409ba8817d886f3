"""Data and networks of the tests."""
import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)  # other tests run beside these

QUICK = {"iterations": 20, "inducing": 10, "progress": False}


def rows(n=200, seed=0):
    """Inputs [n, 2] and a target with noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    return X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)


def trained(X, y, outputs=1, loss=None, steps=200):
    """A network 2-16-outputs that has been trained to the rows, in evaluation mode."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, outputs))
    optimiser = torch.optim.Adam(net.parameters(), 1e-2)
    loss = loss or (lambda out, y: ((out[:, 0] - y) ** 2).mean())
    for _ in range(steps):
        optimiser.zero_grad()
        loss(net(torch.as_tensor(X, dtype=torch.float32)), torch.as_tensor(y)).backward()
        optimiser.step()
    return net.eval()


class Table:
    """A table with names of its columns, as a DataFrame is one."""

    def __init__(self, X, columns):
        self.X, self.columns, self.shape = X, columns, X.shape

    def __array__(self, dtype=None, copy=None):
        return self.X if dtype is None else self.X.astype(dtype)


def classes(X):
    """Three classes of rows."""
    return (X[:, 0] > -1).astype(int) + (X[:, 0] > 1).astype(int)
