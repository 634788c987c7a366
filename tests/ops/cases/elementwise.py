"""Random cases of ops that work element by element or along a row."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.ops.build import Case, Rng
from tests.ops.cases.windowed import activation, ints
from tinyrt.ir import DType, Shape
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.batch_norm import BatchNormAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs


def shape_of(rng: Rng) -> Shape:
    """One to four dimensions."""
    return ints(rng, 1, 6, int(rng.integers(1, 5)))


def _broadcast_pair(rng: Rng) -> tuple[Shape, Shape]:
    """A shape, and one that broadcasts with it: in some dimensions 1, maybe of lower rank."""
    full = shape_of(rng)
    if rng.random() < 0.4:
        return full, full
    small = tuple(1 if rng.random() < 0.5 else d for d in full)[int(rng.integers(0, len(full))) :]
    return (full, small) if rng.random() < 0.5 else (small, full)


def binary(op: str, attrs: type, rng: Rng) -> Case:
    """Two inputs that broadcast, the second perhaps constant."""
    fused = {} if attrs is NoAttrs else {"activation": activation(rng)}
    constant = frozenset({1}) if rng.random() < 0.3 else frozenset[int]()
    return Case(op, attrs(**fused), _broadcast_pair(rng), constant)


def unary(op: str, attrs: Any, rng: Rng) -> Case:
    """Any shape."""
    return Case(op, attrs, (shape_of(rng),))


add = partial(binary, "add", AddAttrs)
sub = partial(binary, "sub", AddAttrs)
mul = partial(binary, "mul", MulAttrs)
minimum = partial(binary, "minimum", NoAttrs)
maximum = partial(binary, "maximum", NoAttrs)


def quantize(rng: Rng) -> Case:
    """From float32, and from int8 with other parameters."""
    dtype = DType.FLOAT32 if rng.random() < 0.5 else DType.INT8
    return Case("quantize", QuantizeAttrs(), (shape_of(rng),), input_dtype=dtype)


def softmax(rng: Rng) -> Case:
    """Short and long rows; weak and strong beta."""
    row = int(rng.choice([1, 2, 10, 300]))
    beta = float(rng.choice([1.0, 1.0, 0.25, 8.0]))
    return Case("softmax", SoftmaxAttrs(beta), ((*shape_of(rng)[:3], row),))


def batch_norm(rng: Rng) -> Case:
    """Any rank, channels last."""
    x = shape_of(rng)
    return Case("batch_norm", BatchNormAttrs(1e-3), (x, *[x[-1:]] * 4), frozenset(range(1, 5)))
