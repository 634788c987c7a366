"""Pairs of small int8 models that make a cascade."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.graphs import Builder, small_cnn
from tests.quantize.test_mixed import samples
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.ir import Graph
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.quantize import QuantConfig, quantize_graph

CLASSES = 5
Array = NDArray[Any]


def dense(seed: int = 3, classes: int = CLASSES) -> Graph:
    """One dense layer: (1, 8, 8, 3) -> softmax over some classes."""
    b = Builder((1, 8, 8, 3), name="dense")
    flat = b.op("reshape", ("x",), ReshapeAttrs((1, 192)))
    return b.graph(_scores(b, flat, 192, np.random.default_rng(seed), classes))


def with_exit(seed: int = 4, *, final_first: bool = False) -> Graph:
    """A convolution, an exit behind it, and another convolution with the final scores."""
    rng = np.random.default_rng(seed)
    b = Builder((1, 8, 8, 3))
    stem = _conv(b, "x", 3, 8, rng)
    leaves = _scores(b, b.op("mean", (stem,), MeanAttrs((1, 2))), 8, rng)
    deep = _conv(b, stem, 8, 12, rng)
    stays = _scores(b, b.op("mean", (deep,), MeanAttrs((1, 2))), 12, rng)
    return b.graph(*((stays, leaves) if final_first else (leaves, stays)))


def _conv(b: Builder, x: str, c_in: int, c_out: int, rng: np.random.Generator) -> str:
    w = b.constant(rng.normal(size=(c_out, 3, 3, c_in)).astype(np.float32) / 3)
    bias = b.constant(rng.normal(size=c_out).astype(np.float32) * 0.1)
    return b.op("conv2d", (x, w, bias), Conv2dAttrs(activation="RELU"))


def _scores(
    b: Builder, x: str, count: int, rng: np.random.Generator, classes: int = CLASSES
) -> str:
    w = b.constant((rng.normal(size=(classes, count)) * 2 / count**0.5).astype(np.float32))
    y = b.op("fully_connected", (x, w), FullyConnectedAttrs())
    return b.op("softmax", (y,), SoftmaxAttrs())


def int8(graph: Graph, path: Path, make: Callable[[int], Array] = samples) -> Path:
    """The graph's int8 model, calibrated with the same samples as all others here."""
    save_tflite(quantize_graph(graph, make(60), QuantConfig()), path)
    return path


def scaled(folder: Path) -> Path:
    """A dense layer, calibrated with samples three times as large."""
    return int8(dense(8), folder / "scaled.tflite", lambda count: 3 * samples(count))


def pair(folder: Path) -> tuple[Path, Path]:
    """A dense layer and a CNN that take the same input."""
    return int8(dense(), folder / "small.tflite"), int8(small_cnn(), folder / "large.tflite")
