"""Random cases of float arithmetic with two inputs, comparisons and choices."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tests.ops.build import Case, Rng
from tests.ops.cases.elementwise import binary, shape_of
from tinyrt.ir import DType
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.spec import NoAttrs

BOOL = DType.BOOL

div = partial(binary, "div", DivAttrs)
pow_ = partial(binary, "pow", NoAttrs)
squared_difference = partial(binary, "squared_difference", NoAttrs)


def _comparison(op: str, rng: Rng) -> Case:
    """Floats, or integers that often are equal."""
    dtype = (DType.FLOAT32, DType.INT32, DType.INT64)[int(rng.integers(3))]
    return replace(binary(op, NoAttrs, rng), input_dtypes=(dtype, dtype))


equal = partial(_comparison, "equal")
not_equal = partial(_comparison, "not_equal")
less = partial(_comparison, "less")
less_equal = partial(_comparison, "less_equal")
greater = partial(_comparison, "greater")
greater_equal = partial(_comparison, "greater_equal")


def prelu(rng: Rng) -> Case:
    """Slopes per channel, or one for all."""
    x = shape_of(rng)
    slopes = x[-1:] if rng.random() < 0.7 else (1,)
    return Case("prelu", NoAttrs(), (x, slopes), frozenset({1}))


def _logical(op: str, rng: Rng) -> Case:
    return replace(binary(op, NoAttrs, rng), input_dtypes=(BOOL, BOOL))


logical_and = partial(_logical, "logical_and")
logical_or = partial(_logical, "logical_or")


def logical_not(rng: Rng) -> Case:
    """Any shape."""
    return Case("logical_not", NoAttrs(), (shape_of(rng),), input_dtypes=(BOOL,))


def select_v2(rng: Rng) -> Case:
    """Choices of one type; one of the three may be a single element."""
    shapes = [shape_of(rng)] * 3
    if rng.random() < 0.5:
        shapes[int(rng.integers(3))] = (1,)
    dtype = (DType.FLOAT32, DType.INT32, DType.INT64)[int(rng.integers(3))]
    return Case("select_v2", NoAttrs(), tuple(shapes), input_dtypes=(BOOL, dtype, dtype))
