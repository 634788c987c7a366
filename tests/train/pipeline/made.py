"""A float model that has learned three classes of images, and what it has learned from."""

from functools import cache

import numpy as np

from tests.train.build import train
from tinyrt.ir import Graph
from tinyrt.train import trace
from tinyrt.train.nn import BatchNorm, Conv2d, GlobalAvgPool2d, Linear, ReLU, Sequential, Softmax
from tinyrt.train.pipeline.samples import Samples

SHAPE = (4, 4, 2)
CLASSES = 3
N = 96


@cache
def learned() -> tuple[Graph, np.ndarray, np.ndarray]:
    """The model as traced, with its batch norm; samples, and their classes."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, CLASSES, N)
    x = rng.normal(size=(N, *SHAPE)).astype(np.float32)
    x[..., 0] += y[:, None, None] * 0.7
    net = Sequential(
        Conv2d(2, 8, 3, rng=rng, bias=False),
        BatchNorm(8),
        ReLU(),
        Conv2d(8, 8, 3, rng=rng),
        ReLU(),
        GlobalAvgPool2d(),
        Linear(8, CLASSES, rng=rng),
    )
    train(net, x, y, 15)
    return trace(Sequential(net, Softmax()), SHAPE, name="blobs"), x, y


def samples_of(graph: Graph, x: np.ndarray, *labels: np.ndarray) -> Samples:
    """Samples by the model's names."""
    return Samples({graph.inputs[0]: x}, dict(zip(graph.outputs, labels, strict=False)))
