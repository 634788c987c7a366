"""Random cases of float arithmetic with two inputs, comparisons and choices."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from tests.ops.build import Case, Rng
from tests.ops.cases.elementwise import binary, shape_of
from tinyrt.ir import DType
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.shared.spec import NoAttrs

BOOL = DType.BOOL

div = partial(binary, "div", DivAttrs)
floor_div = partial(binary, "floor_div", NoAttrs)
floor_mod = partial(binary, "floor_mod", NoAttrs)
pow_ = partial(binary, "pow", NoAttrs)
squared_difference = partial(binary, "squared_difference", NoAttrs)


def _comparison(op: str, rng: Rng) -> Case:
    """Floats, or integers that often are equal; now and then with a number."""
    dtype = (DType.FLOAT32, DType.INT32, DType.INT64)[int(rng.integers(3))]
    case = binary(op, NoAttrs, rng)
    if rng.random() < 0.2:
        case = replace(case, shapes=(shape_of(rng), (1,)), constant=frozenset({1}))
    return replace(case, input_dtypes=(dtype, dtype))


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
    """Choices of one type; each of the three may repeat along some axes, choices be constant."""
    full = shape_of(rng)
    shapes = [full] * 3
    for i in np.flatnonzero(rng.random(3) < 0.3):
        shapes[i] = tuple(1 if rng.random() < 0.5 else d for d in full)[
            int(rng.integers(len(full))) :
        ]
    constant = frozenset({1, 2} if rng.random() < 0.1 else {2} if rng.random() < 0.3 else ())
    dtype = (DType.FLOAT32, DType.INT32, DType.INT64)[int(rng.integers(3))]
    return Case("select_v2", NoAttrs(), tuple(shapes), constant, input_dtypes=(BOOL, dtype, dtype))
