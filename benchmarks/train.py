"""Time and memory of one training step (forward, backward, Adam) at batch 32, beside PyTorch's.

Then time and peak memory of forward and backward through 32 convolutions, with and without
checkpoints.

    python benchmarks/train.py [--seconds 10] [--threads 2] [--json]

Each side runs in a process of its own: in one process, their pools of threads wait for each other
actively, which slows PyTorch down many times. They take turns, some steps at a time, and the least
time of a step counts, so that other load on the machine matters less. Memory is what the process's
peak rises by from before the network is made. PyTorch (extra ``torch``) runs eagerly on the CPU,
with a fused Adam, in the faster of two memory formats; without it, only tinyrt is timed.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import resource
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from tinyrt.floatmath import buffers, parallel
from tinyrt.train import (
    Adam,
    Tensor,
    checkpoint_cheap_layers,
    checkpoint_sequential,
    cross_entropy,
)
from tinyrt.train.nn import (
    BatchNorm,
    Conv2d,
    DepthwiseConv2d,
    GlobalAvgPool2d,
    Linear,
    Module,
    ReLU,
    Sequential,
)
from tinyrt.train.recipes.digits import digits_cnn
from tinyrt.train.sequence import GRU, LSTM

BATCH = 32
BURST = 3
"""Steps of one side before the other's turn."""
PAUSE = 0.05
"""Seconds between turns, in which the other side's threads stop waiting actively."""

CHANNELS_LAST = "torch, channels last"
TORCH = ("torch", CHANNELS_LAST)
"""PyTorch in both memory formats: the faster one counts."""

Step = Callable[[], None]


def dscnn(rng: np.random.Generator) -> Sequential:
    """Keyword spotting's DS-CNN of MLPerf Tiny: 49 x 10 inputs, 64 channels, 12 classes."""
    layers: list[Module] = [Conv2d(1, 64, (10, 4), stride=2, rng=rng, bias=False)]
    layers += [BatchNorm(64), ReLU()]
    for _ in range(4):
        layers += [DepthwiseConv2d(64, 3, rng=rng, bias=False), BatchNorm(64), ReLU()]
        layers += [Conv2d(64, 64, 1, rng=rng, bias=False), BatchNorm(64), ReLU()]
    return Sequential(*layers, GlobalAvgPool2d(), Linear(64, 12, rng=rng))


class Residual(Module):
    """Two 3 x 3 convolutions beside a shortcut."""

    def __init__(self, c_in: int, c_out: int, stride: int, rng: np.random.Generator) -> None:
        self.body = Sequential(
            Conv2d(c_in, c_out, 3, stride=stride, rng=rng, bias=False),
            BatchNorm(c_out),
            ReLU(),
            Conv2d(c_out, c_out, 3, rng=rng, bias=False),
            BatchNorm(c_out),
        )
        shortcut = Conv2d(c_in, c_out, 1, stride=stride, rng=rng, bias=False)
        self.shortcut = Sequential(*([] if c_in == c_out else [shortcut]))
        self.relu = ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.relu(self.body(x) + self.shortcut(x))


def resnet8(rng: np.random.Generator) -> Sequential:
    """Image classification's ResNet8 of MLPerf Tiny: 32 x 32 x 3 inputs, 10 classes."""
    return Sequential(
        Conv2d(3, 16, 3, rng=rng, bias=False),
        BatchNorm(16),
        ReLU(),
        Residual(16, 16, 1, rng),
        Residual(16, 32, 2, rng),
        Residual(32, 64, 2, rng),
        GlobalAvgPool2d(),
        Linear(64, 10, rng=rng),
    )


class LastOfTime(Module):
    """What a series has come to: (n, t, c) -> (n, c)."""

    def forward(self, x: Tensor) -> Tensor:
        return x[:, -1]


def recurrent(rng: np.random.Generator, layer: type[LSTM | GRU]) -> Sequential:
    """29 steps of 12 features, as spoken vowels have them, 24 units, 10 classes."""
    return Sequential(layer(12, 24, rng=rng), LastOfTime(), Linear(24, 10, rng=rng))


MODELS: dict[str, tuple[Callable[[np.random.Generator], Sequential], tuple[int, ...], int]] = {
    "digits CNN": (digits_cnn, (8, 8, 1), 10),
    "DS-CNN": (dscnn, (49, 10, 1), 12),
    "ResNet8": (resnet8, (32, 32, 3), 10),
    "LSTM": (partial(recurrent, layer=LSTM), (29, 12), 10),
    "GRU": (partial(recurrent, layer=GRU), (29, 12), 10),
}


def tinyrt_step(net: Sequential, x: np.ndarray, y: np.ndarray) -> Step:
    optimizer = Adam(net.parameters(), 1e-3)

    def step() -> None:
        loss = cross_entropy(net(Tensor(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def torch_step(net: Sequential, x: np.ndarray, y: np.ndarray, *, channels_last: bool) -> Step:
    """The same network in PyTorch."""
    import torch

    twin = _twin(net)
    samples, labels = torch.from_numpy(np.moveaxis(x, -1, 1).copy()), torch.from_numpy(y)
    if x.ndim == 3:
        samples = torch.from_numpy(x)
    elif channels_last:
        twin = twin.to(memory_format=torch.channels_last)
        samples = samples.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(twin.parameters(), 1e-3, fused=True)

    def step() -> None:
        loss = torch.nn.functional.cross_entropy(twin(samples), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def _twin(module: Module) -> Any:
    from torch import nn

    match module:
        case Sequential():
            return nn.Sequential(*(_twin(m) for _, m in module.children()))
        case Residual():
            return _torch_residual(_twin(module.body), _twin(module.shortcut))
        case Conv2d():
            c_out, kh, kw, c_in = module.weight.shape
            return _convolution(module, c_in, c_out, (kh, kw), 1)
        case DepthwiseConv2d():
            _, kh, kw, c = module.weight.shape
            return _convolution(module, c, c, (kh, kw), c)
        case BatchNorm():
            return nn.BatchNorm2d(module.gamma.shape[0], eps=module.attrs.epsilon)
        case Linear():
            return nn.Linear(module.weight.shape[1], module.weight.shape[0])
        case LSTM() | GRU():
            kind = nn.LSTM if isinstance(module, LSTM) else nn.GRU
            sizes = module.input.weight.shape[1], module.state.weight.shape[1]
            return _torch_last(kind(*sizes, batch_first=True))
        case LastOfTime():
            return nn.Identity()  # its part is done by the recurrent twin
        case GlobalAvgPool2d():
            return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    name = type(module).__name__
    return {"ReLU": nn.ReLU, "Flatten": nn.Flatten, "MaxPool2d": partial(nn.MaxPool2d, 2)}[name]()


def _convolution(module: Any, c_in: int, c_out: int, kernel: tuple[int, int], groups: int) -> Any:
    from torch import nn

    stride = module.attrs.stride
    padding: Any = "same" if stride == (1, 1) else (kernel[0] // 2, kernel[1] // 2)
    bias = module.bias is not None
    return nn.Conv2d(c_in, c_out, kernel, stride, padding, groups=groups, bias=bias)


def _torch_last(layer: Any) -> Any:
    from torch import nn

    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any) -> Any:
            return self.layer(x)[0][:, -1]

    return Last()


def _torch_residual(body: Any, shortcut: Any) -> Any:
    from torch import nn

    class TorchResidual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.shortcut, self.relu = body, shortcut, nn.ReLU()

        def forward(self, x: Any) -> Any:
            return self.relu(self.body(x) + self.shortcut(x))

    return TorchResidual()


def best_of(steps: dict[str, Step], seconds: float) -> dict[str, float]:
    """Least milliseconds of one step of each, taken in turns."""
    best = dict.fromkeys(steps, float("inf"))
    for step in steps.values():
        step()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, step in steps.items():
            best[name] = min(best[name], *(timed(step) for _ in range(BURST)))
    return best


def timed(step: Step) -> float:
    """Milliseconds of a step."""
    start = time.perf_counter()
    step()
    return 1e3 * (time.perf_counter() - start)


def work(side: str, model: str, threads: int, pipe: Connection) -> None:
    """A side's process: at each word received, run some steps and answer with their least time.

    At the last word, None, answer with the megabytes that the steps took.
    """
    make, shape, classes = MODELS[model]
    rng = np.random.default_rng(0)
    x = rng.normal(size=(BATCH, *shape)).astype(np.float32)
    y = rng.integers(0, classes, BATCH)
    before = 0.0
    with threadpool_limits(1), parallel.threads(threads):
        if side in TORCH:
            import torch

            torch.set_num_threads(threads)
        before = peak_megabytes()
        net = make(rng)
        step = (
            torch_step(net, x, y, channels_last=side == CHANNELS_LAST)
            if side in TORCH
            else tinyrt_step(net, x, y)
        )
        step()
        pipe.send(None)
        while pipe.recv():
            pipe.send(min(timed(step) for _ in range(BURST)))
    pipe.send(peak_megabytes() - before)


def peak_megabytes() -> float:
    """What the process has had in memory at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compare(model: str, sides: list[str], threads: int, seconds: float) -> dict[str, Any]:
    """Least milliseconds of a step, and megabytes, of each side, in turns."""
    spawn = multiprocessing.get_context("spawn")
    pipes: dict[str, Connection] = {}
    for side in sides:
        pipes[side], theirs = spawn.Pipe()
        spawn.Process(target=work, args=(side, model, threads, theirs), daemon=True).start()
        pipes[side].recv()
    best = dict.fromkeys(sides, float("inf"))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for side, pipe in pipes.items():
            time.sleep(PAUSE)
            pipe.send(True)
            best[side] = min(best[side], pipe.recv())
    memory = {}
    for side, pipe in pipes.items():
        pipe.send(None)
        memory[side] = pipe.recv()
    return {"model": model, "milliseconds": best, "megabytes": memory}


POLICIES: dict[str, Callable[[Sequential, Tensor], Tensor]] = {
    "keep all": Sequential.__call__,
    "10 segments": partial(checkpoint_sequential, segments=10),
    "keep convolutions": checkpoint_cheap_layers,
}


def checkpoints(seconds: float) -> dict[str, dict[str, float]]:
    """Milliseconds and peak megabytes of each policy."""
    rng = np.random.default_rng(0)
    layers: list[Module] = [Conv2d(1, 8, 3, rng=rng)]
    for _ in range(31):
        layers += [BatchNorm(8), ReLU(), Conv2d(8, 8, 3, rng=rng)]
    net = Sequential(*layers)
    x = Tensor(rng.normal(size=(BATCH, 32, 32, 1)).astype(np.float32))
    runs = {
        k: partial(lambda policy: policy(net, x).mean().backward(), p) for k, p in POLICIES.items()
    }
    times = best_of(runs, seconds)
    results = {}
    for name, run in runs.items():
        gc.collect()
        buffers.release()
        tracemalloc.start()
        run()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        results[name] = {"milliseconds": times[name], "megabytes": peak / 1e6}
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="per model")
    parser.add_argument("--threads", type=int, default=2, help="of both sides")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    args = parser.parse_args()
    sides = ["tinyrt", *(TORCH if find_spec("torch") else ())]
    results = []
    for model in MODELS:
        results.append(compare(model, sides, args.threads, args.seconds))
        if not args.json:
            print(line_of(results[-1]), flush=True)
    with threadpool_limits(1), parallel.threads(args.threads):
        memory = checkpoints(args.seconds)
    if args.json:
        print(json.dumps({"batch": BATCH, "results": results, "checkpoints": memory}))
        return
    for policy, found in memory.items():
        print(f"{policy:<20}{found['milliseconds']:7.0f} ms   {found['megabytes']:6.1f} MB")


def line_of(result: dict[str, Any]) -> str:
    ms, mb = result["milliseconds"], result["megabytes"]
    line = f"{result['model']:<12}tinyrt {ms['tinyrt']:7.2f} ms {mb['tinyrt']:6.1f} MB"
    if len(ms) > 1:
        peer = min(TORCH, key=ms.__getitem__)
        line += f"   {peer} {ms[peer]:7.2f} ms {mb[peer]:6.1f} MB"
        line += f"   ratios {ms['tinyrt'] / ms[peer]:.2f} {mb['tinyrt'] / mb[peer]:.2f}"
    return line


if __name__ == "__main__":
    main()
