"""Layers whose weights or biases the model computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.ops.build import Built, Case, Rng, build_s16
from tinyrt.ir import DType

LAYERS = ("conv2d", "depthwise_conv2d", "fully_connected", "transpose_conv")


def computed(make: Callable[[Case, Rng], Built], case: Case, rng: Rng) -> Built:
    """A layer whose weights (1), bias (2) or both (3) are inputs, of any values."""
    built, at = make(case, rng), rng.integers(1, 4)
    (node,) = built.graph.nodes
    names = [n for i, n in enumerate(node.inputs) if i and i & at]
    values, feeds = dict(built.graph.values), dict(built.feeds)
    for name in names:
        value = values[name]
        if value.dtype is DType.INT32 and make is build_s16:
            continue  # accumulators of 32 bits, see tests/backends/c/test_computed_weights.py
        values[name] = replace(value, data=None)
        feeds[name] = any_values(np.asarray(value.data), rng)
    inputs = tuple(dict.fromkeys((*built.graph.inputs, *feeds)))
    return Built(replace(built.graph, values=values, inputs=inputs), feeds)


def any_values(data: NDArray[Any], rng: Rng) -> NDArray[Any]:
    """All numbers of the type, its ends among them; floats stay."""
    if data.dtype.kind == "f":
        return np.array(data)
    limits = np.iinfo(data.dtype)
    ends = np.array([limits.min, limits.max], data.dtype)
    near = rng.integers(-5000, 5000, data.shape) if limits.bits > 8 else data
    drawn = rng.integers(limits.min, limits.max, data.shape, data.dtype, endpoint=True)
    picked = [near.astype(data.dtype), drawn, np.resize(ends, data.shape)]
    return picked[rng.integers(3)]
