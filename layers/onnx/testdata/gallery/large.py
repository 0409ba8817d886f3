"""Writes networks of the kinds of the gallery with about a million weights each, NAME.onnx, and NAME.npz with inputs and
the outputs y. Run: python3 large.py FOLDER [NAME…]. The weights are random. With VALLA_GALLERY=FOLDER
TestGalleryCommands of package command fits the networks, if tests are long."""
import os
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from make import N, Net, heads, inputs, joined, outputs, randomise, table, tokens


def dense(*widths, end=()):
    layers = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1], *end)


def image(c=3, n=32):
    return torch.randn(N, c, n, n)


def variance():
    def f(m, x):
        h = m.body(x)
        return m.mean(h), m.logvar(h)
    return Net(f, body=dense(20, 800, 800, 400, end=[nn.ReLU()]), mean=nn.Linear(400, 1), logvar=nn.Linear(400, 1)), [table(columns=20)]


def flat():
    parts = []
    for a, b in ((20, 800), (800, 800), (800, 400)):
        parts += [nn.Linear(a, b), nn.BatchNorm1d(b), nn.GELU()]
    return nn.Sequential(*parts, nn.Linear(400, 1), nn.Flatten(0)), [table(columns=20)]


def embeddings():
    def f(m, x, day, shop):
        return m.out(torch.cat([x, m.day(day), m.shop(shop)], -1))
    net = Net(f, day=nn.Embedding(366, 32), shop=nn.Embedding(10000, 64), out=dense(116, 512, 512, 1))
    return net, [torch.randn(N, 20), torch.randint(0, 366, (N,)), torch.randint(0, 10000, (N,))]


def normed(a, b, k=3, s=1, groups=1, act=nn.ReLU):
    return [nn.Conv2d(a, b, k, s, k // 2, groups=groups), nn.BatchNorm2d(b), act()]


def cnn():
    return nn.Sequential(*normed(3, 32), nn.MaxPool2d(2), *normed(32, 64), nn.MaxPool2d(2), *normed(64, 128), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(2048, 400), nn.ReLU(), nn.Linear(400, 10)), [image()]


def resnet():
    def block(c, d, s):
        cut = nn.Sequential(nn.Conv2d(c, d, 1, s), nn.BatchNorm2d(d)) if s > 1 else nn.Identity()
        return Net(lambda m, x: F.relu(m.body(x) + m.cut(x)), cut=cut,
                   body=nn.Sequential(*normed(c, d, s=s), nn.Conv2d(d, d, 3, 1, 1), nn.BatchNorm2d(d)))
    parts = [block(a, b, s) for a, b, s in ((30, 30, 1), (30, 30, 1), (30, 30, 1), (30, 60, 2), (60, 60, 1), (60, 60, 1), (60, 120, 2), (120, 120, 1), (120, 120, 1))]
    return nn.Sequential(*normed(3, 30), *parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(120, 10)), [image()]


def mobile():
    """Blocks of MobileNet v3: up, depthwise, squeeze and excitation, down."""
    def block(c, wide, d, s):
        def f(m, x):
            h = m.deep(x)
            h = m.low(h * F.hardsigmoid(m.up(F.relu(m.down(h.mean((2, 3), keepdim=True))))))
            return x + h if c == d and s == 1 else h
        return Net(f, deep=nn.Sequential(*normed(c, wide, 1, act=nn.Hardswish), *normed(wide, wide, 3, s, wide, nn.Hardswish)),
                   down=nn.Conv2d(wide, wide // 4, 1), up=nn.Conv2d(wide // 4, wide, 1), low=nn.Sequential(nn.Conv2d(wide, d, 1), nn.BatchNorm2d(d)))
    return nn.Sequential(*normed(3, 16, 3, 2, act=nn.Hardswish), block(16, 64, 24, 2), block(24, 96, 24, 1), block(24, 144, 48, 2), block(48, 288, 48, 1),
                         block(48, 288, 96, 2), block(96, 480, 96, 1), block(96, 480, 96, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(96, 10)), [image()]


def groupnorm():
    def part(a, b, norm, act):
        return [nn.Conv2d(a, b, 3, padding=1), norm, act, nn.AvgPool2d(2)]
    return nn.Sequential(*part(1, 64, nn.GroupNorm(8, 64), nn.SiLU()), *part(64, 128, nn.InstanceNorm2d(128, affine=True), nn.ELU()),
                         *part(128, 256, nn.GroupNorm(8, 256), nn.SiLU()), *part(256, 256, nn.GroupNorm(8, 256), nn.SiLU()), nn.Flatten(), nn.Linear(1024, 2)), [image(1)]


def unet():
    def twice(a, b):
        return nn.Sequential(*normed(a, b), *normed(b, b))

    def f(m, x):
        a = m.a(x)
        b = m.b(F.max_pool2d(a, 2))
        c = m.c(F.max_pool2d(b, 2))
        b = m.d(torch.cat([b, m.up1(c)], 1))
        return m.out(m.e(torch.cat([a, m.up2(b)], 1)))
    return Net(f, a=twice(1, 48), b=twice(48, 96), c=twice(96, 192), up1=nn.ConvTranspose2d(192, 96, 2, 2), d=twice(192, 96),
               up2=nn.ConvTranspose2d(96, 48, 2, 2), e=twice(96, 48), out=nn.Conv2d(48, 2, 1)), [image(1)]


def conv1d():
    return nn.Sequential(nn.Conv1d(8, 256, 3, padding=1), nn.ReLU(), nn.Conv1d(256, 256, 5, padding=4, dilation=2), nn.ReLU(), nn.Conv1d(256, 256, 5, padding=8, dilation=4),
                         nn.LeakyReLU(), nn.Conv1d(256, 256, 5, padding=2), nn.LeakyReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(256, 2)), [torch.randn(N, 8, 64)]


def lstm():
    return Net(lambda m, x: m.out(m.rnn(x)[0][:, -1]), rnn=nn.LSTM(8, 288, 2, batch_first=True), out=nn.Linear(288, 1)), [torch.randn(N, 50, 8)]


def gru():
    return Net(lambda m, x: m.out(m.rnn(x)[0].mean(1)), rnn=nn.GRU(8, 192, 2, batch_first=True, bidirectional=True), out=nn.Linear(384, 10)), [torch.randn(N, 50, 8)]


def tagger():
    """Ten numbers for each word."""
    return Net(lambda m, t: m.out(m.rnn(m.words(t))[0]), words=nn.Embedding(8000, 96), rnn=nn.GRU(96, 192, batch_first=True), out=nn.Linear(192, 10)), [tokens(20, 8000)]


def attend(m, h, seen=None):
    """Attention and two dense layers, each with its shortcut; seen is added to the scores."""
    q, k, v = (heads(p, 4) for p in m.qkv(m.n1(h)).chunk(3, -1))
    a = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    a = (a if seen is None else a + seen).softmax(-1)
    h = h + m.proj((a @ v).transpose(1, 2).flatten(2))
    return h + m.b(F.gelu(m.a(m.n2(h))))


def block(d):
    return Net(attend, n1=nn.LayerNorm(d), qkv=nn.Linear(d, 3 * d), proj=nn.Linear(d, d), n2=nn.LayerNorm(d), a=nn.Linear(d, 4 * d), b=nn.Linear(4 * d, d))


def text():
    """Transformer over 32 words of a table of 4,000, with a mask of the padding 0."""
    def f(m, t):
        pad = t == 0
        h = m.words(t) + m.places
        for b in m.blocks:
            h = b(h, torch.where(pad, -1e4, 0.)[:, None, None, :].to(h.dtype))
        keep = (~pad).to(h.dtype)[:, :, None]
        return m.out((m.last(h) * keep).sum(1) / keep.sum(1))
    t = tokens(32, 4000)
    t[1:, -1], t[3, -9:] = 0, 0
    net = Net(f, words=nn.Embedding(4000, 128), blocks=nn.ModuleList(block(128) for _ in range(2)), last=nn.LayerNorm(128), out=nn.Linear(128, 2))
    net.places = nn.Parameter(torch.randn(1, 32, 128))
    return net, [t]


def einsum():
    """Attention written with einsum."""
    def f(m, x):
        h = m.inn(x)
        q, k, v = (p.reshape(x.shape[0], 24, 4, 120) for p in (m.q(h), m.k(h), m.v(h)))
        a = (torch.einsum("bqhd,bkhd->bhqk", q, k) / 11).softmax(-1)
        return m.out(torch.einsum("bhqk,bkhd->bqhd", a, v).reshape(x.shape[0], 24, 480).mean(1))
    return Net(f, inn=nn.Linear(8, 480), q=nn.Linear(480, 480), k=nn.Linear(480, 480), v=nn.Linear(480, 480), out=dense(480, 480, 2)), [torch.randn(N, 24, 8)]


def vit():
    def f(m, x):
        h = m.patches(x).flatten(2).transpose(1, 2)
        h = torch.cat([m.token.expand(h.shape[0], -1, -1), h], 1) + m.places
        for b in m.blocks:
            h = b(h)
        return m.out(m.last(h)[:, 0])
    net = Net(f, patches=nn.Conv2d(3, 128, 8, 8), blocks=nn.ModuleList(block(128) for _ in range(5)), last=nn.LayerNorm(128), out=nn.Linear(128, 10))
    net.token, net.places = nn.Parameter(torch.randn(1, 1, 128)), nn.Parameter(torch.randn(1, 17, 128))
    return net, [image()]


def mixer():
    def f(m, h):
        h = h + m.b1(F.gelu(m.a1(m.n1(h).transpose(1, 2)))).transpose(1, 2)
        return h + m.b2(F.gelu(m.a2(m.n2(h))))

    def part():
        return Net(f, n1=nn.LayerNorm(192), a1=nn.Linear(16, 64), b1=nn.Linear(64, 16), n2=nn.LayerNorm(192), a2=nn.Linear(192, 640), b2=nn.Linear(640, 192))

    def all(m, x):
        h = m.patches(x).flatten(2).transpose(1, 2)
        return m.out(m.last(m.parts(h)).mean(1))
    return Net(all, patches=nn.Conv2d(3, 192, 8, 8), parts=nn.Sequential(*(part() for _ in range(4))), last=nn.LayerNorm(192), out=nn.Linear(192, 10)), [image()]


def gated():
    """RMS norm and SwiGLU blocks over a vector."""
    def f(m, h):
        r = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 2**-10) * m.scale
        return h + m.c(F.silu(m.a(r)) * m.b(r))

    def part():
        net = Net(f, a=nn.Linear(256, 640, bias=False), b=nn.Linear(256, 640, bias=False), c=nn.Linear(640, 256, bias=False))
        net.scale = nn.Parameter(torch.rand(256) + 0.5)
        return net
    return nn.Sequential(nn.Linear(20, 256), part(), part(), nn.Linear(256, 1)), [table(columns=20)]


def graph():
    def f(m, a, x):
        a = a / a.sum(-1, keepdim=True)
        h = F.relu(m.one(a @ x))
        return m.out(F.relu(m.three(a @ F.relu(m.two(a @ h)))).sum(1))
    a = (torch.rand(N, 24, 24) < 0.2).float()
    return Net(f, one=nn.Linear(16, 700), two=nn.Linear(700, 700), three=nn.Linear(700, 700), out=nn.Linear(700, 2)), [((a + a.transpose(1, 2) + torch.eye(24)) > 0).float(), torch.randn(N, 24, 16)]


def both():
    def f(m, image, columns):
        return m.out(torch.cat([m.conv(image).mean((2, 3)), m.dense(columns)], -1))
    return Net(f, conv=nn.Sequential(*normed(1, 64), nn.MaxPool2d(2), *normed(64, 128), nn.MaxPool2d(2), *normed(128, 256)),
               dense=dense(20, 512, 512, end=[nn.ReLU()]), out=dense(768, 400, 2)), [image(1), table(columns=20)]


large = {
    "mlp": lambda: (dense(20, 800, 800, 400, 2), [table(columns=20)]), "classes": lambda: (dense(20, 800, 800, 400, 10, end=[nn.Softmax(-1)]), [table(columns=20)]),
    "logit": lambda: (dense(20, 800, 800, 400, 1), [table(columns=20)]), "flat": flat, "variance": variance, "embeddings": embeddings, "cnn": cnn, "resnet": resnet,
    "mobile": mobile, "groupnorm": groupnorm, "unet": unet, "conv1d": conv1d, "lstm": lstm, "gru": gru, "tagger": tagger, "text": text, "einsum": einsum, "vit": vit,
    "mixer": mixer, "gated": gated, "graph": graph, "both": both,
}


def write(folder, name):
    torch.manual_seed(sum(map(ord, name)))
    net, x = large[name]()
    randomise(net)
    net.eval()
    ins, outs = inputs.get(name, ["x"]), outputs.get(name, ["y"])
    torch.onnx.export(net, tuple(x), os.path.join(folder, name + ".onnx"), opset_version=17 if torch.__version__ >= "2" else 16, input_names=ins, output_names=outs,
                      dynamic_axes={n: {0: "N"} for n in ins + outs})
    if isinstance(net, nn.Sequential) and isinstance(net[-1], nn.Softmax):
        net = net[:-1]
    with torch.no_grad():
        y = joined(net(*x)).numpy()
    np.savez(os.path.join(folder, name + ".npz"), y=y, **{"x" if len(x) == 1 else n: v.numpy() for n, v in zip(ins, x)})
    print(name, sum(p.numel() for p in net.parameters()), y.shape, flush=True)


if __name__ == "__main__":
    for name in large if len(sys.argv) < 3 else sys.argv[2:]:
        write(sys.argv[1], name)
