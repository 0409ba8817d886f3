"""Writes the networks as the gallery's make.py writes its own. Run: python3 make.py [NAME…]."""
import os
import sys

here, names = os.path.dirname(os.path.abspath(__file__)), sys.argv[1:]
sys.argv = sys.argv[:1]
sys.path.insert(0, os.path.join(here, "..", "gallery"))
import make as gallery  # noqa
import torch  # noqa
from torch import nn  # noqa

gallery.here = here
N, T, E = gallery.N, 3, 4


def attention():
    def f(m, x):
        return m.out(m.attend(x, x, x, need_weights=False)[0].mean(1))
    return gallery.Net(f, attend=nn.MultiheadAttention(E, 2, batch_first=True), out=nn.Linear(E, 2)), [torch.randn(N, T, E)]


def masked():
    def f(m, t):
        h = m.words(t.t())
        return m.out((h + m.attend(h, h, h, key_padding_mask=t == 0, need_weights=False)[0])[0])
    t = gallery.tokens(T, 6)
    t[1:3, -1], t[3, -2:] = 0, 0
    return gallery.Net(f, words=nn.Embedding(6, E), attend=nn.MultiheadAttention(E, 2), out=nn.Linear(E, 2)), [t]


def encoder():
    block = nn.TransformerEncoderLayer(E, 2, 6, batch_first=True)
    return gallery.Net(lambda m, x: m.out(m.encode(x)[:, 0]), encode=nn.TransformerEncoder(block, 1), out=nn.Linear(E, 2)), [torch.randn(N, T, E)]


def steps():
    def f(m, x):
        return m.out(m.encode(x.transpose(0, 1) + m.places, m.hidden)[-1])
    block = nn.TransformerEncoderLayer(E, 2, 6, activation="gelu", norm_first=True)
    net = gallery.Net(f, encode=nn.TransformerEncoder(block, 1, nn.LayerNorm(E)), out=nn.Linear(E, 2))
    net.places = nn.Parameter(torch.randn(T, 1, E))
    net.hidden = nn.Parameter(torch.full((T, T), -1e4).triu(1))
    return net, [torch.randn(N, T, E)]


for make in [attention, masked, encoder, steps]:
    if not names or make.__name__ in names:
        gallery.write(make.__name__, make)
