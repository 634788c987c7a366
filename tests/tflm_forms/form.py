"""A file of one op, and how its tensors are made."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.convert.raw_tflite import Op, Subgraph, Tensor, build

DTYPES = {
    "f32": "FLOAT32", "s8": "INT8", "s16": "INT16", "u8": "UINT8", "s32": "INT32", "s64": "INT64",
    "bool": "BOOL",
}  # fmt: skip
QUANTISED = ("s8", "s16", "u8")
KINDS = tuple(DTYPES)
INSIDE = {"idx": 1, "at": 1, "b": 1, "row": 1, "start": 0}
"""Names of inputs that are places -> the greatest that lies inside of what is picked from."""

Param = tuple[float, int]
"""A scale and a zero point."""


@dataclass(frozen=True)
class OneOp:
    """One op in one form.

    Attributes:
        builtin: its name in the schema.
        label: the dtype it is named by, and what makes the form.
        graph: what the file has.

    """

    builtin: str
    label: str
    graph: Subgraph

    @property
    def name(self) -> str:
        return f"{self.builtin} {self.label}"

    @property
    def data(self) -> bytes:
        """The file, written when it is asked for: few of the thousands of forms are."""
        return build(self.graph)


def array_type(kind: str) -> np.dtype[Any]:
    return np.dtype(DTYPES[kind].lower())


def rng_of(text: str) -> np.random.Generator:
    """Random numbers that a text seeds."""
    return np.random.default_rng(zlib.crc32(text.encode()))


def tensor(
    name: str, shape: tuple[int, ...], kind: str, q: Param = (0.05, -7), data: Any = None
) -> Tensor:
    """A tensor; int16 has no zero point, uint8's is 128 more."""
    if kind not in QUANTISED:
        return Tensor(name, shape, DTYPES[kind], data)
    zero_point = {"s8": q[1], "s16": 0, "u8": q[1] + 128}[kind]
    return Tensor(name, shape, DTYPES[kind], data, scale=q[0], zero_point=zero_point)


def ints(name: str, *values: int) -> Tensor:
    """A constant list of int32."""
    return Tensor(name, (len(values),), "INT32", np.array(values, np.int32))


def number(name: str, value: float, kind: str = "s32", q: Param | None = None) -> Tensor:
    """A constant without dimensions."""
    data = np.array(value, array_type(kind))
    return tensor(name, (), kind, q, data) if q else Tensor(name, (), DTYPES[kind], data)


def drawn(shape: tuple[int, ...], kind: str, seed: str, least: int = 0, most: int = 0) -> Any:
    """Random elements of a dtype; of integers all, or those from ``least`` to ``most``."""
    rng, dtype = rng_of(seed), array_type(kind)
    if dtype.kind == "f":
        return rng.normal(size=shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if least == most:
        limits = np.iinfo(dtype)
        least, most = (limits.min, limits.max) if dtype.itemsize < 4 else (-60, 60)
    return rng.integers(least, most, shape, endpoint=True).astype(dtype)


def one_op(
    builtin: str,
    label: str,
    tensors: Sequence[Tensor],
    table: str | None = None,
    **fields: Any,
) -> OneOp:
    """A form whose inputs are the tensors but for those that are called y."""
    inputs = [t.name for t in tensors if not t.name.startswith("y")]
    outputs = [t.name for t in tensors if t.name.startswith("y")]
    fed = [t.name for t in tensors if t.name in inputs and t.data is None]
    op = Op(builtin, inputs, outputs, table, fields)
    return OneOp(builtin, label, Subgraph(tensors, [op], fed, outputs))


def fed(name: str, shape: Sequence[int], dtype: str, seed: str) -> NDArray[Any]:
    """What an input is fed with; integers that are divided by are not 0."""
    kind = next(k for k, v in DTYPES.items() if v == dtype)
    if name in INSIDE and kind in ("s32", "s64"):
        most = INSIDE[name]
        return drawn(tuple(shape), kind, seed, 0, 1) * array_type(kind).type(most)
    x = drawn(tuple(shape), kind, seed)
    return np.where(x == 0, x.dtype.type(7), x) if kind in ("s32", "s64") else x
