"""How corner cases are written down: an op, its attributes, and every input with its data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.ops.build import Built, Case, single_op
from tinyrt.ir import DType, QParams, Value
from tinyrt.ops.shared.spec import limits_of

LENGTHS = (*range(1, 10), 15, 16, 17, 31, 32, 33)
"""Elements in a row: whole vectors of 4, 8 and 16, and what is left of them."""

ZERO_POINTS = (-128, 0, 127)

EDGES = np.array([-128, -127, -126, -65, -64, -63, -2, -1, 0, 1, 2, 63, 64, 65, 126, 127], np.int8)
"""Both ends of int8, of its halves, and of zero."""


@dataclass(frozen=True)
class Given:
    """An input: its data, and its scale and zero point where it is quantised."""

    data: NDArray[Any]
    scale: float | Sequence[float] | None = 1.0
    zero_point: int = 0
    constant: bool = False
    axis: int | None = None
    dtype: DType | None = None

    @property
    def q(self) -> QParams | None:
        """Its quantisation."""
        if self.scale is None:
            return None
        scales = (self.scale,) if isinstance(self.scale, float) else tuple(self.scale)
        return QParams(tuple(float(np.float32(s)) for s in scales), self.zero_point, self.axis)


def plain(data: Any, dtype: Any = np.float32) -> Given:
    """An input without quantisation."""
    return Given(np.asarray(data, dtype), None)


def q_of(scale: float = 1.0, zero_point: int = 0) -> QParams:
    """One scale for all channels."""
    return QParams((float(np.float32(scale)),), zero_point)


def corner(op: str, attrs: Any, inputs: Sequence[Given], y: QParams | None = None) -> Built:
    """A graph of one op, and the data of those inputs that are not constant."""
    values = []
    for i, x in enumerate(inputs):
        dtype = DType.of(x.data.dtype) if x.dtype is None else x.dtype
        if x.constant:
            values.append(Value.constant(f"in{i}", x.data, x.q, dtype))
        else:
            values.append(Value(f"in{i}", dtype, x.data.shape, x.q))
    arrays = [x.data for x in inputs]
    return single_op(Case(op, attrs, tuple(a.shape for a in arrays)), values, [y], arrays)


def spread(shape: tuple[int, ...], dtype: DType = DType.INT8, step: int = 37) -> NDArray[Any]:
    """Values all over the range, its ends among the first, neighbours far from each other."""
    least, most = limits_of(dtype)
    count = int(np.prod(shape))
    values = least + np.arange(count, dtype=np.int64) * step % (most - least + 1)
    values[:2] = [most, least][:count]
    return values.reshape(shape).astype(dtype.numpy)


def extremes(shape: tuple[int, ...], dtype: DType = DType.INT8) -> NDArray[Any]:
    """The least value everywhere in the first part, then the greatest, then both in turn."""
    least, most = limits_of(dtype)
    count = int(np.prod(shape))
    turns = np.where(np.arange(count) % 2 == 0, least, most)
    turns[: count // 3] = least
    turns[count // 3 : 2 * count // 3] = most
    return turns.reshape(shape).astype(dtype.numpy)
