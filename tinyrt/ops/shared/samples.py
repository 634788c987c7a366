"""Seeded inputs that a model can run on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import DType, Graph


def random_inputs(graph: Graph, samples: int, seed: int = 0) -> dict[str, NDArray[Any]]:
    """Seeded random inputs over the whole range of each input's dtype, samples first.

    Indices lie in the tables that they pick from.
    """
    rng = np.random.default_rng(seed)
    feeds: dict[str, NDArray[Any]] = {}
    for value in map(graph.value, graph.fed):
        rows = value.shape[0] if value.shape else 1
        shape = (samples * rows, *value.shape[1:])
        if value.dtype in (DType.INT8, DType.UINT8, DType.INT16):
            limits = np.iinfo(value.dtype.numpy)
            feeds[value.name] = rng.integers(limits.min, limits.max + 1, shape, limits.dtype)
        elif value.dtype in (DType.INT32, DType.INT64, DType.BOOL):
            below = 2 if value.dtype is DType.BOOL else _rows_of(graph, value.name)
            feeds[value.name] = rng.integers(0, below, shape, value.dtype.numpy)
        else:
            feeds[value.name] = rng.standard_normal(shape).astype(value.dtype.numpy)
    return feeds


def _rows_of(graph: Graph, name: str) -> int:
    """How many rows the tables have that an input's indices pick from."""
    sizes = []
    for node in graph.consumers(name):
        if node.op == "embedding":
            attrs: Any = node.attrs  # EmbeddingAttrs, of a module above this one
            sizes.append(graph.value(node.inputs[0]).shape[attrs.batch_dims])
    return min(sizes, default=2)
