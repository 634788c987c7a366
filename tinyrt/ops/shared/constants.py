"""Tensors that kernels need before the model runs, to rearrange them or to sum them up."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from tinyrt.errors import UnsupportedError
from tinyrt.ir import Value


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
