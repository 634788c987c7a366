"""A small model that takes features of motion, and samples of an accelerometer for it."""

from functools import cache

import numpy as np

from tests.graphs import Builder
from tinyrt.dsp import Detector, Motion, Pipeline
from tinyrt.ir import Graph
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.quantize import QuantConfig, quantize_graph

FRONT = Motion(axes=3, window=50, step=20, edges=(0, 3, 9, 40), peaks=2)
CLASSES = 4
PIPELINE = Pipeline(
    # A step of a feature is one of the input or more, so that no feature may be off by one.
    scale=tuple(0.06 + 0.001 * i for i in range(FRONT.features)),
    offset=tuple(3 * ([0, 40, 20, 30] + [400] * 5 + [0] * 2)),
    detector=Detector(CLASSES, window=2, threshold=-100, hold=1),
    motion=FRONT,
)
KINDS = ("walk", "noise", "rest", "still", "extremes", "steps")


def moving(kind: str, seed: int, samples: int) -> np.ndarray:
    """int16 (samples, 3), the same on every machine."""
    rng = np.random.default_rng(seed)
    t = np.arange(samples)[:, None]
    match kind:
        case "walk":
            rate, level = rng.uniform(0.05, 1.5, 3), 10 ** rng.uniform(1, 4, 3)
            x = level * np.sin(rate * t) + rng.normal(0, 20, (samples, 3)) + np.array([0, 0, 8_192])
        case "noise":
            x = rng.integers(-32_768, 32_768, (samples, 3)) >> rng.integers(0, 14)
        case "rest":
            x = rng.integers(-2, 3, (samples, 3)) + np.array([5, -3, 8_192])
        case "still":
            x = np.tile(rng.choice([-32_768, 32_767, 0, 77], 3), (samples, 1))
        case "extremes":
            x = rng.choice([-32_768, 32_767], (samples, 3))
        case _:
            x = np.where(t < rng.integers(1, samples), -32_768, [32_767, 1, -32_767])
    return np.clip(x, -32_768, 32_767).astype(np.int16)


def float_net() -> Graph:
    """Features -> scores of four classes."""
    rng = np.random.default_rng(3)
    b, count = Builder((1, FRONT.features), name="arm"), FRONT.features
    weights = [0.1 * rng.normal(size=(CLASSES, count)), rng.normal(size=CLASSES)]
    names = ["x", *(b.constant(w.astype(np.float32)) for w in weights)]
    return b.graph(b.op("fully_connected", names, FullyConnectedAttrs()))


@cache
def int8_net() -> Graph:
    """The same, quantised for features of about -6 to 8."""
    x = np.random.default_rng(4).uniform(-6, 8, (40, FRONT.features)).astype(np.float32)
    return quantize_graph(float_net(), x, QuantConfig())
