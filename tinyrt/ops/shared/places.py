"""Places that are computed: how ops count them, and what those outside stand for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import BoundNode
from tinyrt.ops.shared.spec import Array


def inside(places: Array, sizes: int | NDArray[np.int64], from_end: bool) -> Array:
    """The places; those below 0 counted from the end, if so; and the nearest of those outside."""
    if from_end:
        places = np.where(places < 0, places + sizes, places)
    return np.clip(places, 0, sizes - 1)


def counts_from_end(node: BoundNode) -> bool:
    """Whether the node has places, and takes those below 0 from the end."""
    return bool(getattr(node.attrs, "from_end", False))


def counting(node: BoundNode, *, from_end: bool) -> object:
    """The node's attributes with places counted so; the op must have that attribute."""
    attrs: Any = node.attrs
    return replace(attrs, from_end=from_end)
