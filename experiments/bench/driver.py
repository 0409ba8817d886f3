"""Runs pieces of published code and says how long they take.

The first argument is a checkout of that code, whose classes are imported as they are.
Modules that it wants for pictures, scores and progress bars only, and that are missing, are
replaced by empty ones where it is that of FMGP or ELLA.
Requests come as lines of JSON on standard input, and each gets one line of JSON as its
answer. What is to be run comes in .npz files; results that are to be compared go back in
one. Nothing is fetched, built or written elsewhere.
"""

import json
import os
import resource
import sys
import time

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the published code prints is no answer
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True


class Step:
    """A training step of a VaLLA model; loss is the value before the step."""

    def __init__(self, a, dtype, options):
        self.model = valla(a, dtype)
        self.x, self.y = torch.from_numpy(a["x"]), targets(a)
        self.optimizer = torch.optim.Adam(self.model.parameters(recurse=False), lr=1e-3)

    def step(self):
        self.loss = self.model.train_step(self.optimizer, self.x, self.y)

    def values(self):
        return {"loss": self.loss.detach().numpy()}


class Predict:
    """Mean and covariance of a VaLLA model, and probit probabilities of classes."""

    def __init__(self, a, dtype, options):
        self.model = valla(a, dtype).eval()
        self.x = torch.from_numpy(a["x"])

    def step(self):
        with torch.no_grad():
            self.mean, self.cov = self.model.predict_f(self.x)
            if self.mean.shape[1] > 1:
                variance = torch.diagonal(self.cov, dim1=1, dim2=2)
                self.probs = torch.softmax(self.mean / torch.sqrt(1 + torch.pi / 8 * variance), -1)

    def values(self):
        v = {"mean": self.mean.numpy(), "covariance": self.cov.numpy()}
        if self.mean.shape[1] > 1:
            v["probabilities"] = self.probs.numpy()
        return v


class MAP:
    """A training step of a network by its cross entropy."""

    def __init__(self, a, dtype, options):
        from utils.pytorch_learning import fit_map_crossentropy

        self.fit, self.dtype = fit_map_crossentropy, dtype
        self.net = network(a, dtype).train()
        self.data = [(torch.from_numpy(a["x"]), targets(a))]
        self.criterion = torch.nn.CrossEntropyLoss()
        self.optimizer = {
            "adam": lambda p: torch.optim.Adam(p, lr=1e-3),
            "sgd": lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9),
        }[options["optimizer"]](self.net.parameters())

    def step(self):
        self.loss = self.fit(self.net, self.data, self.optimizer, self.criterion, iterations=1,
                             return_loss=True, dtype=self.dtype)[0]

    def values(self):
        return {"loss": self.loss}


class Forward:
    """The outputs of a network in evaluation mode."""

    def __init__(self, a, dtype, options):
        self.net, self.x = network(a, dtype).eval(), torch.from_numpy(a["x"])

    def step(self):
        with torch.no_grad():
            self.out = self.net(self.x)

    def values(self):
        return {"outputs": self.out.numpy()}


class LaplaceFit:
    """A fit of laplace-torch to examples with their classes."""

    def __init__(self, a, dtype, options):
        from laplace import Laplace

        self.make = lambda: Laplace(network(a, dtype), "classification", prior_precision=1.0,
                                    subset_of_weights=options["weights"], hessian_structure=options["structure"])
        data = torch.utils.data.TensorDataset(torch.from_numpy(a["x"]), targets(a).squeeze(-1).long())
        self.loader = torch.utils.data.DataLoader(data, batch_size=100)

    def step(self):
        self.laplace = self.make()
        self.laplace.fit(self.loader)

    def values(self):
        return {}


class LaplacePredict(LaplaceFit):
    """Mean and covariance of a fitted laplace-torch model at 1,000 points."""

    def __init__(self, a, dtype, options):
        super().__init__(a, dtype, options)
        super().step()
        self.probe = torch.from_numpy(a["probe"])

    def step(self):
        self.mean, self.cov = self.laplace._glm_predictive_distribution(self.probe)

    def values(self):
        return {"mean": self.mean.detach().numpy()}


class FMGPStep:
    """A training step of FMGP with given outputs of the network; loss is the value before it."""

    def __init__(self, a, dtype, options):
        without("tqdm", "scipy", "sklearn", "properscoring")
        from bayesipy.fmgp.kernels import SquaredExponential
        from bayesipy.fmgp.src.src import FMGP_Base

        classes = a["y"].shape[1]
        kernel = SquaredExponential(float(a["length"]), 1.0, a["x"].shape[1], classes, "cpu", dtype)
        kind = "regression" if classes == 1 else "classification"
        self.model = FMGP_Base(None, kind, kernel, noise_variance=0.1, inducing_locations=a["z"],
                               inducing_classes=a["class"], device="cpu", dtype=dtype)
        self.model.output_dim, self.model.num_data = classes, a["x"].shape[0]
        with torch.no_grad():
            self.model.q_mu.copy_(torch.from_numpy(a["surrogate"]))
        self.x, self.y = [torch.from_numpy(a["x"]), torch.from_numpy(a["outputs"])], targets(a)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)

    def step(self):
        self.loss = self.model.train_step(self.optimizer, self.x, self.y)

    def values(self):
        return {"loss": self.loss.detach().numpy()}


class ELLAFit:
    """A fit of ELLA with given points: directions, and the sum of the curvature."""

    def __init__(self, a, dtype, options):
        without("tqdm", "matplotlib", "torchvision", "timm")
        import utils

        torch.set_default_dtype(dtype)  # of the arrays that it makes
        self.code, self.net, self.rank = utils, plain(a, dtype), int(a["rank"])
        self.z, self.output = torch.from_numpy(a["z"]), torch.from_numpy(a["class"])
        self.x, self.probe = torch.from_numpy(a["x"]), torch.from_numpy(a["probe"])
        self.precision = float(a["prior_std"]) ** -2

    def step(self):
        import copy

        net = copy.deepcopy(self.net)
        params = dict(net.named_parameters())
        outputs = net[-1].out_features
        duals = self.code.build_dual_params_list(net, params, self.z, self.output, num_classes=outputs, random=False,
                                                 K=self.rank, verbose=False)
        self.psi = lambda x: self.code.Psi_raw(net, params, duals, x, return_output=True)
        with torch.no_grad():
            total = self.precision * torch.eye(len(duals))
            for x in self.x.split(100):
                features, logits = self.psi(x)
                p = logits.softmax(-1)
                weight = torch.diag_embed(p) - p.unsqueeze(2) * p.unsqueeze(1)
                total += torch.einsum("nck,ncd,ndl->kl", features, weight, features)
            self.inverse = total.inverse()

    def values(self):
        with torch.no_grad():
            features, _ = self.psi(self.probe)
            return {"covariance": (features @ self.inverse @ features.transpose(1, 2)).numpy()}


def without(*names):
    """Puts empty modules in the place of missing ones, whose functions are never called."""
    import importlib.util
    from unittest import mock

    for name in names:
        if importlib.util.find_spec(name) is None:
            for part in modules.get(name, []) + [name]:
                sys.modules[part] = mock.MagicMock(__spec__=None, __path__=[])


modules = {"scipy": ["scipy.cluster", "scipy.cluster.vq", "scipy.stats"], "sklearn": ["sklearn.metrics"],
           "matplotlib": ["matplotlib.pyplot"], "timm": ["timm.data", "timm.data.constants"],
           "torchvision": ["torchvision.transforms", "torchvision.datasets"]}


def plain(a, dtype):
    """The perceptron whose arrays are called net.…, of PyTorch's own layers."""
    layers, i = [], 1
    while "net.dense%d.weight" % i in a:
        w, b = torch.from_numpy(a["net.dense%d.weight" % i]), torch.from_numpy(a["net.dense%d.bias" % i])
        dense = torch.nn.Linear(*w.shape).to(dtype)
        with torch.no_grad():
            dense.weight.copy_(w.T)
            dense.bias.copy_(b)
        layers += [dense, torch.nn.Tanh()]
        i += 1
    return torch.nn.Sequential(*layers[:-1])


kinds = {"fmgp step": FMGPStep, "ella fit": ELLAFit, "step": Step, "predict": Predict, "map": MAP, "forward": Forward,
         "laplace fit": LaplaceFit, "laplace predict": LaplacePredict}


def targets(a):
    """Numbers as they are, one-hot rows as the numbers of the classes, [B,1]."""
    y = a["y"] if a["y"].shape[1] == 1 else a["y"].argmax(1)[:, None].astype(a["y"].dtype)
    return torch.from_numpy(y)


def network(a, dtype):
    """The network whose arrays are called net.…"""
    arrays = {k[4:]: torch.from_numpy(v) for k, v in a.items() if k.startswith("net.")}
    return resnet(arrays, dtype) if "conv1.weight" in arrays else mlp(arrays, dtype)


def mlp(arrays, dtype):
    from utils.models import get_mlp

    dense = [(arrays["dense%d.weight" % i], arrays["dense%d.bias" % i]) for i in range(1, len(arrays) // 2 + 1)]
    widths = [w.shape[1] for w, _ in dense]
    net = get_mlp(dense[0][0].shape[0], widths[-1], widths[:-1], torch.nn.Tanh, device="cpu", dtype=dtype)
    with torch.no_grad():
        for layer, (w, b) in zip([l for l in net if isinstance(l, torch.nn.Linear)], dense):
            layer.weight.copy_(w.T)
            layer.bias.copy_(b)
    return net.eval()


def resnet(arrays, dtype):
    from utils.models import BasicBlock, CifarResNet

    arrays["fc.weight"] = arrays["fc.weight"].T  # [in, out] there
    blocks = 1 + max(int(k.split(".")[1]) for k in arrays if k.startswith("layer1."))
    net = CifarResNet(BasicBlock, [blocks] * 3, num_classes=arrays["fc.bias"].shape[0]).to(dtype)
    state = net.state_dict()
    state.update(arrays)
    net.load_state_dict(state)
    return net.eval()


def valla(a, dtype):
    """The model with the network, inducing points, L, prior and noise that are given."""
    from src import valla as published

    net, classes = network(a, dtype), a["y"].shape[1]
    z, count = a["z"], a["x"].shape[0]
    common = dict(inducing_classes=a["class"], y_mean=0.0, y_std=1.0, alpha=1.0, device="cpu", dtype=dtype)
    if a["x"].ndim > 2:
        from src.backpack_interface import BackPackInterface

        model = published.VaLLAMultiClassBackend(net, z, prior_std=1.0, num_data=count, output_dim=classes,
                                                 backend=BackPackInterface(net, classes), **common)
    else:
        from utils.models import create_ad_hoc_mlp

        kind = published.VaLLARegression if classes == 1 else published.VaLLAMultiClass
        model = kind(create_ad_hoc_mlp(net), z, 1.0, count, classes, **common)
    with torch.no_grad():
        model.L.copy_(torch.from_numpy(a["l"]))
        model.log_prior_std.copy_(torch.from_numpy(a["log_prior_std"])[0])
        if classes == 1:
            model.log_variance.copy_(torch.from_numpy(a["log_noise_variance"])[0])
    return model


def seconds(work, steps, clock):
    """Makes so many steps and returns what each took."""
    taken = []
    for _ in range(steps):
        start = clock()
        work.step()
        taken.append(clock() - start)
    return taken


def product():
    """The speed of a product of matrices on one thread, which tells a slow BLAS."""
    torch.set_num_threads(1)
    n = 512
    a = torch.ones(n, n, dtype=torch.float64)
    taken = []
    for _ in range(5):
        start = time.process_time()
        a @ a
        taken.append(time.process_time() - start)
    return 2e-9 * n ** 3 / min(taken)


def answer(request):
    """Answers one request; the state is the piece of work that is open."""
    global work
    what = request["do"]
    if what == "hello":
        return {"versions": {"python": sys.version.split()[0], "torch": torch.__version__, "numpy": numpy.__version__,
                             "product": "%.0f GFLOP/s" % product()}}
    if what == "close":
        work = None
        return {}
    torch.set_num_threads(request["threads"])
    if what == "open":
        a = dict(numpy.load(request["file"]))
        work = kinds[request["kind"]](a, getattr(torch, request["dtype"]), request.get("options") or {})
        return {}
    if what == "time":
        return {"seconds": seconds(work, request["steps"], time.process_time if request.get("cpu") else time.perf_counter),
                "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)}
    if what == "values":
        steps = []
        for _ in range(request["steps"]):
            work.step()
            steps.append(work.values())
        numpy.savez(request["file"], **{k: numpy.concatenate([numpy.ravel(s[k]) for s in steps]).astype(float)
                                        for k in steps[0]})
        return {}
    raise ValueError("unknown request " + what)


def serve():
    global numpy, torch
    for line in sys.stdin:
        try:
            import numpy
            import torch

            reply = answer(json.loads(line))
        except ImportError as e:
            reply = {"missing": str(e)}
        except Exception as e:
            reply = {"error": "%s: %s" % (type(e).__name__, e)}
        print(json.dumps(reply), file=answers, flush=True)


serve()
