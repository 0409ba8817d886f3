"""Writes the networks of the gallery: NAME.onnx, and NAME.npz with inputs x, outputs y of the network in float64, and
the tangent kernel ntk [3,C,3,C] over all parameters at the first three examples. Run: python3 make.py (PyTorch 1.13 or
later, with the TorchScript exporter). The weights are random, scaled so that no output is near a constant."""
import os
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
import torch.nn.utils.fusion  # noqa

here = os.path.dirname(os.path.abspath(__file__)) if len(sys.argv) < 2 else sys.argv[1]
N = 5


class Net(nn.Module):
    """A module of a function with parts: Net(f, a=nn.Linear(…)) computes f(self, x…)."""

    def __init__(self, f, **parts):
        super().__init__()
        self.f = f
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *x):
        return self.f(self, *x)


def table(rows=N, columns=5):
    return torch.randn(rows, columns)


def image(c=1, n=8):
    return torch.randn(N, c, n, n)


def tokens(t=6, words=20, least=1):
    return torch.randint(least, words, (N, t))


def heads(x, n):
    """[B,T,D] as [B,n,T,D/n]."""
    return x.reshape(x.shape[0], x.shape[1], n, x.shape[2] // n).transpose(1, 2)


def mlp():
    return nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 2)), [table()]


def classes():
    return nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3), nn.Softmax(-1)), [table()]


def logit():
    return nn.Sequential(nn.Linear(5, 16), nn.SiLU(), nn.Linear(16, 1)), [table()]


def flat():
    return nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.GELU(), nn.Linear(16, 1), nn.Flatten(0)), [table()]


def variance():
    def f(m, x):
        h = torch.tanh(m.body(x))
        return m.mean(h), m.logvar(h)
    return Net(f, body=nn.Linear(5, 16), mean=nn.Linear(16, 1), logvar=nn.Linear(16, 1)), [table()]


def embeddings():
    def f(m, x, day, shop):
        h = torch.cat([x, m.day(day), m.shop(shop)], -1)
        return m.out(F.relu(m.hidden(h)))
    net = Net(f, day=nn.Embedding(7, 3), shop=nn.Embedding(10, 4), hidden=nn.Linear(11, 16), out=nn.Linear(16, 1))
    return net, [torch.randn(N, 4), torch.randint(0, 7, (N,)), torch.randint(0, 10, (N,))]


def cnn():
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3),
                         nn.ReLU(), nn.Flatten(), nn.Linear(32, 3)), [image()]


def resnet():
    def block(c, d, s):
        cut = nn.Sequential(nn.Conv2d(c, d, 1, s, bias=False), nn.BatchNorm2d(d)) if s > 1 else nn.Identity()
        return Net(lambda m, x: F.relu(m.body(x) + m.cut(x)), cut=cut, body=nn.Sequential(
            nn.Conv2d(c, d, 3, s, 1, bias=False), nn.BatchNorm2d(d), nn.ReLU(), nn.Conv2d(d, d, 3, 1, 1, bias=False), nn.BatchNorm2d(d)))
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), block(4, 4, 1), block(4, 8, 2), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(8, 3)), [image(3)]


def mobile():
    """Depthwise convolutions with squeeze and excitation."""
    def f(m, x):
        x = F.hardswish(m.stem(x))
        x = F.hardswish(m.deep(x))
        s = x.mean((2, 3), keepdim=True)
        return m.out((x * F.hardsigmoid(m.up(F.relu(m.down(s))))).mean((2, 3)))
    return Net(f, stem=nn.Conv2d(3, 8, 3, 2, 1), deep=nn.Conv2d(8, 8, 3, 1, 1, groups=8), down=nn.Conv2d(8, 2, 1),
               up=nn.Conv2d(2, 8, 1), out=nn.Linear(8, 3)), [image(3)]


def groupnorm():
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.SiLU(), nn.AvgPool2d(2), nn.Conv2d(4, 4, 3),
                         nn.InstanceNorm2d(4, affine=True), nn.ELU(), nn.Flatten(), nn.Linear(16, 2)), [image()]


def unet():
    def f(m, x):
        a = F.relu(m.down1(x))
        b = F.relu(m.down2(F.max_pool2d(a, 2)))
        return m.out(torch.cat([a, m.up(b)], 1))
    return Net(f, down1=nn.Conv2d(1, 4, 3, padding=1), down2=nn.Conv2d(4, 8, 3, padding=1), up=nn.ConvTranspose2d(8, 4, 2, 2),
               out=nn.Conv2d(8, 2, 1)), [image(n=4)]


def convolution1d():
    return nn.Sequential(nn.Conv1d(2, 8, 3, padding=2, dilation=2), nn.ReLU(), nn.Conv1d(8, 8, 3, padding=1), nn.LeakyReLU(),
                         nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 2)), [torch.randn(N, 2, 10)]


def lstm():
    return Net(lambda m, x: m.out(m.rnn(x)[0][:, -1]), rnn=nn.LSTM(3, 6, batch_first=True), out=nn.Linear(6, 1)), [torch.randn(N, 7, 3)]


def gru():
    return Net(lambda m, x: m.out(m.rnn(x)[0].mean(1)), rnn=nn.GRU(3, 4, batch_first=True, bidirectional=True), out=nn.Linear(8, 3)), [torch.randn(N, 5, 3)]


def tagger():
    """A label for each word."""
    return Net(lambda m, t: m.out(m.rnn(m.words(t))[0]), words=nn.Embedding(20, 4), rnn=nn.GRU(4, 5, batch_first=True), out=nn.Linear(5, 3)), [tokens()]


def text():
    """Transformer encoder over words, with a mask that leaves out the padding 0."""
    def f(m, t):
        pad = t == 0
        h = m.words(t) + m.places
        q, k, v = (heads(p, 4) for p in m.qkv(m.n1(h)).chunk(3, -1))
        a = (q @ k.transpose(-2, -1) / 2).masked_fill(pad[:, None, None, :], float("-inf")).softmax(-1)
        h = h + m.proj((a @ v).transpose(1, 2).flatten(2))
        h = h + m.b(F.gelu(m.a(m.n2(h))))
        keep = (~pad).to(h.dtype)[:, :, None]
        return m.out((h * keep).sum(1) / keep.sum(1))
    t = tokens()
    t[1:, -1], t[3, -3:] = 0, 0
    return Net(f, words=nn.Embedding(20, 16), n1=nn.LayerNorm(16), qkv=nn.Linear(16, 48), proj=nn.Linear(16, 16), n2=nn.LayerNorm(16),
               a=nn.Linear(16, 32), b=nn.Linear(32, 16), out=nn.Linear(16, 2), places=None), [t]


def masked():
    """Attention over words that are given with a mask and their number, and the mean of the words."""
    def f(m, words, mask, length):
        h = m.words(words)
        a = m.score(torch.tanh(m.a(h)))[:, :, 0].masked_fill(~mask, float("-inf")).softmax(-1)
        mean = (h * mask[:, :, None]).sum(1) / length[:, None]
        return m.out(torch.tanh(m.b(torch.cat([(a[:, None] @ h)[:, 0], mean], -1))))
    words = tokens()
    length = torch.tensor([6, 2, 5, 1, 4])
    mask = torch.arange(6)[None] < length[:, None]
    return Net(f, words=nn.Embedding(20, 6), a=nn.Linear(6, 8), score=nn.Linear(8, 1), b=nn.Linear(12, 10), out=nn.Linear(10, 1)), [words * mask, mask, length]


def with_places(made, t, d):
    made[0].places = nn.Parameter(torch.randn(1, t, d))
    return made


def einsum():
    """Attention written with einsum."""
    def f(m, x):
        q, k, v = (p.reshape(x.shape[0], 6, 2, 4) for p in (m.q(x), m.k(x), m.v(x)))
        a = (torch.einsum("bqhd,bkhd->bhqk", q, k) / 2).softmax(-1)
        return m.out(torch.einsum("bhqk,bkhd->bqhd", a, v).reshape(x.shape[0], 6, 8).mean(1))
    return Net(f, q=nn.Linear(4, 8), k=nn.Linear(4, 8), v=nn.Linear(4, 8), out=nn.Linear(8, 2)), [torch.randn(N, 6, 4)]


def vit():
    def f(m, x):
        h = m.patches(x).flatten(2).transpose(1, 2)
        h = torch.cat([m.token.expand(h.shape[0], -1, -1), h], 1) + m.places
        q, k, v = (heads(p, 2) for p in m.qkv(m.n1(h)).chunk(3, -1))
        h = h + m.proj(((q @ k.transpose(-2, -1) / 2).softmax(-1) @ v).transpose(1, 2).flatten(2))
        h = h + m.b(F.gelu(m.a(m.n2(h))))
        return m.out(m.n3(h)[:, 0])
    net = Net(f, patches=nn.Conv2d(3, 8, 4, 4), n1=nn.LayerNorm(8), qkv=nn.Linear(8, 24), proj=nn.Linear(8, 8), n2=nn.LayerNorm(8),
              a=nn.Linear(8, 16), b=nn.Linear(16, 8), n3=nn.LayerNorm(8), out=nn.Linear(8, 3))
    net.token = nn.Parameter(torch.randn(1, 1, 8))
    return net, [image(3)]


def first():
    """A BERT of two blocks with a mask and LoRA, which classifies by its first word."""
    def block(m, h, seen):
        q, k, v = m.q(h) + m.up(m.down(h)), m.k(h), m.v(h)
        a = (heads(q, 2) @ heads(k, 2).transpose(-2, -1) / 2 + seen).softmax(-1)
        h = m.n1(h + m.proj((a @ heads(v, 2)).transpose(1, 2).flatten(2)))
        return m.n2(h + m.b(F.gelu(m.a(h))))

    def f(m, t):
        h, seen = m.n(m.words(t) + m.places), torch.where(t == 0, -1e4, 0.)[:, None, None, :]
        for b in m.blocks:
            h = b(h, seen)
        return m.out(torch.tanh(m.pool(h[:, 0])))
    t = tokens()
    t[1:, -1], t[3, -3:] = 0, 0
    blocks = [Net(block, q=nn.Linear(8, 8), down=nn.Linear(8, 2, bias=False), up=nn.Linear(2, 8, bias=False), k=nn.Linear(8, 8), v=nn.Linear(8, 8),
                  proj=nn.Linear(8, 8), n1=nn.LayerNorm(8), a=nn.Linear(8, 16), b=nn.Linear(16, 8), n2=nn.LayerNorm(8)) for _ in range(2)]
    return Net(f, words=nn.Embedding(20, 8), n=nn.LayerNorm(8), blocks=nn.ModuleList(blocks), pool=nn.Linear(8, 8), out=nn.Linear(8, 2), places=None), [t]


def last():
    """A causal transformer with the norms before attention and dense layers and a learned bias of scores, which ends in a slice of the last step."""
    def block(m, h, hidden):
        x = m.n1(h)
        a = (heads(m.q(x), 2) @ heads(m.k(x), 2).transpose(-2, -1) / 2 + m.near + hidden).softmax(-1)
        h = h + m.proj((a @ heads(m.v(x), 2)).transpose(1, 2).flatten(2))
        return h + m.b(F.gelu(m.a(m.n2(h))))

    def f(m, x):
        h = m.inn(x)
        for b in m.blocks:
            h = b(h, m.hidden)
        return m.out(m.n(h)[:, -1:]).flatten(1)
    blocks = [Net(block, q=nn.Linear(8, 8), k=nn.Linear(8, 8), v=nn.Linear(8, 8), proj=nn.Linear(8, 8), n1=nn.LayerNorm(8), a=nn.Linear(8, 16),
                  b=nn.Linear(16, 8), n2=nn.LayerNorm(8)) for _ in range(2)]
    for b in blocks:
        b.near = nn.Parameter(torch.randn(2, 6, 6))
    net = Net(f, inn=nn.Linear(4, 8), blocks=nn.ModuleList(blocks), n=nn.LayerNorm(8), out=nn.Linear(8, 2))
    net.hidden = nn.Parameter(torch.full((6, 6), -1e4).triu(1), requires_grad=True)
    return net, [torch.randn(N, 6, 4)]


def mixer():
    def f(m, x):
        h = m.patches(x).flatten(2).transpose(1, 2)
        h = h + m.b1(F.gelu(m.a1(m.n1(h).transpose(1, 2)))).transpose(1, 2)
        h = h + m.b2(F.gelu(m.a2(m.n2(h))))
        return m.out(h.mean(1))
    return Net(f, patches=nn.Conv2d(1, 8, 4, 4), n1=nn.LayerNorm(8), a1=nn.Linear(4, 8), b1=nn.Linear(8, 4), n2=nn.LayerNorm(8),
               a2=nn.Linear(8, 16), b2=nn.Linear(16, 8), out=nn.Linear(8, 3)), [image()]


def gated():
    """RMS norm and a SwiGLU block, as large language models have them, over a vector."""
    def f(m, x):
        h = m.inn(x)
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 2**-10) * m.scale
        return m.out(h + m.c(F.silu(m.a(h)) * m.b(h)))
    net = Net(f, inn=nn.Linear(5, 8), a=nn.Linear(8, 12, bias=False), b=nn.Linear(8, 12, bias=False), c=nn.Linear(12, 8, bias=False), out=nn.Linear(8, 1))
    net.scale = nn.Parameter(torch.rand(8) + 0.5)
    return net, [table()]


def graphnet():
    """Two graph convolutions; each example has a matrix of neighbours and features of its nodes."""
    def f(m, a, x):
        a = a / a.sum(-1, keepdim=True)
        h = F.relu(m.one(a @ x))
        return m.out(F.relu(m.two(a @ h)).sum(1))
    a = (torch.rand(N, 6, 6) < 0.4).float()
    return Net(f, one=nn.Linear(3, 8), two=nn.Linear(8, 8), out=nn.Linear(8, 2)), [((a + a.transpose(1, 2) + torch.eye(6)) > 0).float(), torch.randn(N, 6, 3)]


def both():
    """An image with columns of a table."""
    def f(m, image, columns):
        h = F.relu(m.conv(image)).mean((2, 3))
        return m.out(torch.cat([h, F.relu(m.dense(columns))], -1))
    return Net(f, conv=nn.Conv2d(1, 6, 3), dense=nn.Linear(3, 6), out=nn.Linear(12, 2)), [image(n=6), table(columns=3)]


gallery = {
    "mlp": mlp, "classes": classes, "logit": logit, "flat": flat, "variance": variance, "embeddings": embeddings, "cnn": cnn, "resnet": resnet,
    "mobile": mobile, "groupnorm": groupnorm, "unet": unet, "conv1d": convolution1d, "lstm": lstm, "gru": gru, "tagger": tagger,
    "text": lambda: with_places(text(), 6, 16), "einsum": einsum, "vit": lambda: with_places(vit(), 5, 8), "mixer": mixer, "gated": gated,
    "graph": graphnet, "both": both, "masked": masked,
    "first": lambda: with_places(first(), 6, 8), "last": last,
}
inputs = {"variance": ["x"], "embeddings": ["x", "day", "shop"], "graph": ["neighbours", "features"], "both": ["image", "columns"],
          "masked": ["words", "mask", "length"]}
outputs = {"variance": ["mean", "log_variance"]}


def randomise(net):
    """Statistics of batch normalisation that are not 0 and 1."""
    for name, buffer in net.named_buffers():
        if name.endswith("running_mean"):
            buffer.copy_(torch.randn_like(buffer) / 4)
        if name.endswith("running_var"):
            buffer.copy_(torch.rand_like(buffer) + 0.5)


def fuse(net):
    """The export joins a convolution and the batch normalisation after it; so does the reference."""
    for part in net.modules():
        names = list(part._modules)
        for a, b in zip(names, names[1:]):
            if isinstance(part._modules[a], nn.Conv2d) and isinstance(part._modules[b], nn.BatchNorm2d):
                part._modules[a] = torch.nn.utils.fusion.fuse_conv_bn_eval(part._modules[a], part._modules[b])
                part._modules[b] = nn.Identity()


def joined(y):
    """The outputs as [N,C]."""
    parts = y if isinstance(y, tuple) else (y,)
    return torch.cat([p.reshape(p.shape[0], -1) for p in parts], 1)


def kernel(net, x):
    rows = []
    params = list(net.parameters())
    for i in range(3):
        f = joined(net(*[v[i:i + 1] for v in x]))[0]
        rows += [torch.cat([g.reshape(-1) for g in torch.autograd.grad(v, params, retain_graph=True)]) for v in f]
    j = torch.stack(rows)
    return (j @ j.T).reshape(3, len(rows) // 3, 3, len(rows) // 3)


def write(name, make):
    torch.manual_seed(sum(map(ord, name)))
    net, x = make()
    randomise(net)
    net.eval().double()
    x = [v.double() if v.is_floating_point() else v for v in x]
    ins, outs = inputs.get(name, ["x"]), outputs.get(name, ["y"])
    torch.onnx.export(net, tuple(x), os.path.join(here, name + ".onnx"), opset_version=17 if torch.__version__ >= "2" else 16, input_names=ins, output_names=outs,
                      dynamic_axes={n: {0: "N"} for n in ins + outs}, do_constant_folding=True)
    if isinstance(net, nn.Sequential) and isinstance(net[-1], nn.Softmax):
        net = net[:-1]  # outputs are logits
    fuse(net)
    arrays = {"x" if len(x) == 1 else n: (v.long() if v.dtype == torch.bool else v).numpy() for n, v in zip(ins, x)}
    with torch.no_grad():
        y = joined(net(*x)).numpy()
    np.savez(os.path.join(here, name + ".npz"), y=y, ntk=kernel(net, x).numpy(), **arrays)
    print(name, sum(p.numel() for p in net.parameters()), y.shape)


if __name__ == "__main__":
    for name, make in gallery.items():
        if len(sys.argv) < 3 or name in sys.argv[2:]:
            write(name, make)
