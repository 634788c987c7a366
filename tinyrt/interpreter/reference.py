"""Backend ``reference``: the NumPy specification of every op, slow and beyond doubt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import BoundNode
from tinyrt.ops.evaluate import reference_kernel

Step = Callable[[], None]


def prepare(node: BoundNode, tensors: Mapping[str, NDArray[Any]]) -> Step:
    """A call that reads the node's input tensors and writes its output tensor in place.

    Raises:
        UnsupportedError: the op has no reference for the node's dtypes.

    """
    kernel = reference_kernel(node)
    inputs = [tensors[v.name] if v is not None else None for v in node.inputs]
    output = tensors[node.output.name]

    def step() -> None:
        np.copyto(output, kernel(*inputs), casting="no")

    return step
