"""Makes networks of the sizes that people use, NAME.onnx, and tables for them, NAME.npz and NAME-test.npz. Run:
python3 real.py FOLDER bert|resnet18|resnet50, or python3 real.py FOLDER vit CIFAR10 [MINUTES], where CIFAR10 is the folder of
its binary batches. The networks are trained briefly, on made texts and images, or on CIFAR-10, so that their outputs
mean something. docs/large.md has the commands that fit them. 12 GB of memory suffice."""
import gzip
import math
import os
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from make import Net, heads
from large import block


def export(folder, name, net, x):
    net.eval()
    torch.onnx.export(net, x, os.path.join(folder, name + ".onnx"), opset_version=16, do_constant_folding=False, input_names=["x"], output_names=["y"],
                      dynamic_axes={"x": {0: "N"}, "y": {0: "N"}})
    print(name, sum(p.numel() for p in net.parameters()), "weights", flush=True)


def save(folder, name, parts):
    for part, (x, y) in parts.items():
        np.savez(os.path.join(folder, name + part + ".npz"), X=x.numpy(), y=y.numpy().astype(np.int64)[:, None])


def fit(net, params, x, y, steps, batch=32, rate=1e-3):
    """Trains by Adam on random mini-batches, and prints the loss."""
    opt = torch.optim.Adam(params, rate)
    for step in range(steps):
        i = torch.randint(0, len(x), (batch,))
        loss = F.cross_entropy(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 9:
            print(step + 1, round(loss.item(), 4), flush=True)


def through(net, x, batch=50):
    with torch.no_grad():
        return torch.cat([net(x[i:i + batch]) for i in range(0, len(x), batch)])


# Text: BERT-base, with LoRA of rank 8 at the queries and the values of the last block.

WIDTH, WORDS, PLACES = 768, 30522, 128


class Lora(nn.Linear):
    def __init__(self, d, rank=8):
        super().__init__(d, d)
        self.lora_a, self.lora_b = nn.Linear(d, rank, bias=False), nn.Linear(rank, d, bias=False)

    def forward(self, x):
        return super().forward(x) + 2 * self.lora_b(self.lora_a(x))


def encode(m, h, seen):
    """A block of BERT: attention, then two dense layers, each with its shortcut and a norm behind it."""
    q, k, v = (heads(p(h), 12) for p in (m.query, m.key, m.value))
    a = (q @ k.transpose(-2, -1) / 8 + seen).softmax(-1)
    h = m.n1(h + m.out((a @ v).transpose(1, 2).flatten(2)))
    return m.n2(h + m.down(F.gelu(m.up(h))))


def encoder(lora):
    def mixed():
        return Lora(WIDTH) if lora else nn.Linear(WIDTH, WIDTH)
    return Net(encode, query=mixed(), key=nn.Linear(WIDTH, WIDTH), value=mixed(), out=nn.Linear(WIDTH, WIDTH), n1=nn.LayerNorm(WIDTH),
               up=nn.Linear(WIDTH, 4 * WIDTH), down=nn.Linear(4 * WIDTH, WIDTH), n2=nn.LayerNorm(WIDTH))


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places, self.first = nn.Embedding(WORDS, WIDTH), nn.Embedding(512, WIDTH), nn.LayerNorm(WIDTH)
        self.blocks = nn.ModuleList(encoder(i == 11) for i in range(12))
        self.pool, self.head = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def seen(self, t):
        return torch.where(t == 0, -1e4, 0.)[:, None, None, :]

    def low(self, t):
        h = self.first(self.words(t) + self.places.weight[:t.shape[1]])
        for b in self.blocks[:-1]:
            h = b(h, self.seen(t))
        return h

    def high(self, h, t):
        return self.head(torch.tanh(self.pool(self.blocks[-1](h, self.seen(t))[:, 0])))

    def forward(self, t):
        return self.high(self.low(t), t)


def texts(n):
    """Texts of up to 128 words; a word in three is of the topic of the class, and a text in ten has the topic of the other class."""
    y = torch.randint(0, 2, (n,))
    t = torch.randint(1000, WORDS, (n, PLACES))
    topic = 200 + 20 * torch.where(torch.rand(n) < 0.1, 1 - y, y)
    t = torch.where(torch.rand(n, PLACES) < 0.33, topic[:, None] + torch.randint(0, 20, (n, PLACES)), t)
    t[:, 0] = 101
    length = torch.randint(16, PLACES + 1, (n,))
    return torch.where(torch.arange(PLACES) < length[:, None], t, 0), y


def bert(folder):
    net = Bert()
    x, y = texts(500)
    low = through(net.low, x)
    both = torch.cat([low.flatten(1), x.float()], 1)  # a row has the features of a text and its tokens
    high = [p for b in (net.blocks[-1], net.pool, net.head) for p in b.parameters()]
    fit(lambda r: net.high(r[:, :-PLACES].reshape(-1, PLACES, WIDTH), r[:, -PLACES:].long()), high, both, y, 80, batch=16, rate=3e-4)
    export(folder, "bert", net, x[:2])
    test = texts(500)
    print("accuracy", (through(net, test[0]).argmax(1) == test[1]).float().mean().item(), flush=True)
    save(folder, "bert", {"": texts(1000), "-test": test})


# Images of 224²: the shapes of ten kinds, drawn over noise.

def pictures(n, side=224):
    y = torch.randint(0, 10, (n,))
    at = torch.linspace(-1, 1, side)
    images = []
    for c in y.tolist():
        angle, wave = c % 5 * math.pi / 5, 6 + 14 * (c // 5)
        u = at[:, None] * math.sin(angle + 0.2 * torch.randn(1).item()) + at[None, :] * math.cos(angle + 0.2 * torch.randn(1).item())
        images.append(0.4 * torch.randn(3, 1, 1) * torch.sin(wave * u + 6 * torch.rand(1)) + 0.5 * torch.randn(3, side, side))
    return torch.stack(images), y


def conv(a, b, k, s=1):
    return [nn.Conv2d(a, b, k, s, k // 2, bias=False), nn.BatchNorm2d(b)]


def stage(a, b, n, s, bottleneck):
    """n blocks of a ResNet, of two convolutions or of three with a bottleneck; the first has the stride s."""
    parts = []
    for i in range(n):
        s, wide = s if i == 0 else 1, b * (4 if bottleneck else 1)
        body = [*conv(a, b, 1), nn.ReLU(), *conv(b, b, 3, s), nn.ReLU(), *conv(b, wide, 1)] if bottleneck else [*conv(a, b, 3, s), nn.ReLU(), *conv(b, b, 3)]
        cut = nn.Sequential(*conv(a, wide, 1, s)) if s > 1 or a != wide else nn.Identity()
        parts.append(Net(lambda m, x: F.relu(m.body(x) + m.cut(x)), body=nn.Sequential(*body), cut=cut))
        a = wide
    return nn.Sequential(*parts)


def resnet(depths, bottleneck):
    m, width, stages = 4 if bottleneck else 1, 64, []
    for i, n in enumerate(depths):
        stages.append(stage(width, 64 << i, n, 1 if i == 0 else 2, bottleneck))
        width = (64 << i) * m
    return nn.Sequential(*conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1), *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


def settle(net, x):
    """Takes the means and variances of batch norms from images, which a few steps of training leave behind."""
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.reset_running_stats()
            m.momentum = None
    through(net.train(), x)


def images(folder, name, net, steps):
    x, y = pictures(400)
    fit(net, net.parameters(), x, y, steps, batch=16)
    settle(net, x)
    export(folder, name, net, x[:2])
    save(folder, name, {"": pictures(500), "-test": pictures(200)})


# A vision transformer of 21 million weights on CIFAR-10.

def cifar(folder, names):
    rows = np.concatenate([np.frombuffer(gzip.open(os.path.join(folder, n + ".bin.gz")).read(), np.uint8).reshape(-1, 3073) for n in names])
    x = torch.from_numpy(rows[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / 255)
    mean, std = torch.tensor([.4914, .4822, .4465]), torch.tensor([.2023, .1994, .2010])
    return (x - mean[:, None, None]) / std[:, None, None], torch.from_numpy(rows[:, 0].astype(np.int64))


def transformer(d=384, depth=12):
    def f(m, x):
        h = m.patches(x).flatten(2).transpose(1, 2)
        h = torch.cat([m.token.expand(h.shape[0], -1, -1), h], 1) + m.places
        for b in m.blocks:
            h = b(h)
        return m.out(m.last(h)[:, 0])
    net = Net(f, patches=nn.Conv2d(3, d, 8, 8), blocks=nn.ModuleList(block(d) for _ in range(depth)), last=nn.LayerNorm(d), out=nn.Linear(d, 10))
    net.token, net.places = nn.Parameter(0.02 * torch.randn(1, 1, d)), nn.Parameter(0.02 * torch.randn(1, 17, d))
    return net


def moved(x):
    """Images shifted by up to four pixels and mirrored at random."""
    n, p = len(x), F.pad(x, (4, 4, 4, 4))
    out = torch.stack([p[i, :, a:a + 32, b:b + 32] for i, (a, b) in enumerate(torch.randint(0, 9, (n, 2)).tolist())])
    return torch.where(torch.rand(n, 1, 1, 1) < 0.5, out, out.flip(3))


def vit(folder, data, minutes=60):
    """Trains on 45,000 images for the minutes; NAME.npz has the other 5,000, which the network has not seen."""
    x, y = cifar(data, [f"data_batch_{i}" for i in range(1, 6)])
    net, seconds, used, step = transformer(), 60 * float(minutes), 0, 0
    opt = torch.optim.AdamW(net.parameters(), weight_decay=0.05)
    while used < seconds:
        for i in torch.randperm(45000).split(128):
            start, part = time.process_time() / torch.get_num_threads(), min(1, used / seconds)
            for g in opt.param_groups:
                g["lr"] = 5e-4 * min(1, (step + 1) / 200) * (1 + math.cos(math.pi * part)) / 2
            with torch.autocast("cpu", dtype=torch.bfloat16):  # products only; weights and Adam stay float32
                loss = F.cross_entropy(net(moved(x[i])), y[i])
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1)
            opt.step()
            used, step = used + time.process_time() / torch.get_num_threads() - start, step + 1
            if step % 50 == 0:
                print(step, round(used), round(loss.item(), 4), flush=True)
            if used >= seconds:
                break
        torch.save(net.state_dict(), os.path.join(folder, "vit.pt"))
    net.eval()
    test = cifar(data, ["test_batch"])
    print("accuracy", (through(net, test[0], 500).argmax(1) == test[1]).float().mean().item(), flush=True)
    export(folder, "vit", net, x[:2])
    save(folder, "vit", {"": (x[45000:], y[45000:]), "-test": test})


if __name__ == "__main__":
    torch.manual_seed(0)
    {"bert": bert, "resnet18": lambda f: images(f, "resnet18", resnet([2, 2, 2, 2], False), 40),
     "resnet50": lambda f: images(f, "resnet50", resnet([3, 4, 6, 3], True), 30), "vit": vit}[sys.argv[2]](sys.argv[1], *sys.argv[3:])
