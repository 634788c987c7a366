"""Tensors that kernels need before the model runs, to rearrange them or to sum them up."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from tinyrt.errors import UnsupportedError
from tinyrt.ir import BoundNode, Value


def has_computed_weights(node: BoundNode) -> bool:
    """Whether weights or biases of a layer are computed while the model runs.

    States, the last inputs, are none of them: each is also an output.
    """
    states = len(node.outputs) - 1
    weights = node.inputs[1 : len(node.inputs) - states]
    return any(value is not None and value.data is None for value in weights)


def stored_data(value: Value) -> NDArray[Any]:
    """The data of a tensor that the model must hold.

    Raises:
        UnsupportedError: the tensor is computed while the model runs.

    """
    if value.data is None:
        raise UnsupportedError(
            "weights or biases are computed while the model runs",
            tensor=value.describe(),
            expected="constants",
            hint="store them in the model, or run it on the host with backend 'reference'",
        )
    return value.data
