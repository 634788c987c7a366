"""Random cases of float arithmetic with two inputs, comparisons and choices."""

from __future__ import annotations

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
equal = partial(binary, "equal", NoAttrs)
not_equal = partial(binary, "not_equal", NoAttrs)
less = partial(binary, "less", NoAttrs)
less_equal = partial(binary, "less_equal", NoAttrs)
greater = partial(binary, "greater", NoAttrs)
greater_equal = partial(binary, "greater_equal", NoAttrs)


def prelu(rng: Rng) -> Case:
    """Slopes per channel, or one for all."""
    x = shape_of(rng)
    slopes = x[-1:] if rng.random() < 0.7 else (1,)
    return Case("prelu", NoAttrs(), (x, slopes), frozenset({1}))


def _logical(op: str, rng: Rng) -> Case:
    shape = shape_of(rng)
    return Case(op, NoAttrs(), (shape, shape), input_dtypes=(BOOL, BOOL))


logical_and = partial(_logical, "logical_and")
logical_or = partial(_logical, "logical_or")


def logical_not(rng: Rng) -> Case:
    """Any shape."""
    return Case("logical_not", NoAttrs(), (shape_of(rng),), input_dtypes=(BOOL,))


def select_v2(rng: Rng) -> Case:
    """Choices of the same shape."""
    shape = shape_of(rng)
    return Case("select_v2", NoAttrs(), (shape,) * 3, input_dtypes=(BOOL,))
