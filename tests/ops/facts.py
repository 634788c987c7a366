"""What an op's float reference shows of its traits, on random cases.

A predicate gets the op's reference, its attributes and its inputs; None where a case says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.ops.build import ROOTS, build_f32
from tests.ops.cases import CASES, rng_of
from tinyrt.errors import TinyrtError
from tinyrt.ops import OPS
from tinyrt.ops.shared.evaluate import as_tuple
from tinyrt.ops.shared.spec import Quant

Array = NDArray[Any]
Ref = Callable[..., Array]
SEEDS = range(24)
REACH = 4
"""Standard deviation of inputs, so that no clamp goes unseen; 1 where some are not allowed."""


def cases_of(op: str) -> Iterator[tuple[Any, list[Array]]]:
    """Attributes and inputs of random cases."""
    reach = 1 if op in ROOTS else REACH
    for seed in SEEDS:
        rng = rng_of(op, seed)
        built = build_f32(CASES[op](rng), rng)
        (node,) = built.graph.bound()
        data = (built.feeds.get(v.name, v.data) for v in node.inputs if v is not None)
        yield node.attrs, [reach * x if x.dtype.kind == "f" else x for x in data]


def is_elementwise(ref: Ref, attrs: Any, inputs: Sequence[Array]) -> bool | None:
    """The same elements in another order give the same results in that order."""
    y = ref(attrs, *inputs)
    if y.size < 3:
        return None
    order = np.random.default_rng(0).permutation(y.size)
    try:
        flat = [np.broadcast_to(x, y.shape).reshape(-1) for x in inputs]
        turned = ref(attrs, *(x[order] for x in flat))
    except (TinyrtError, ValueError, IndexError, AssertionError):
        return False  # it needs the shape
    return turned.shape == order.shape and _equal(turned, y.reshape(-1)[order])


def is_channelwise(ref: Ref, attrs: Any, inputs: Sequence[Array]) -> bool | None:
    """What changes in one channel of the inputs changes that channel of the output alone."""
    y = ref(attrs, *inputs)
    if not _keeps_channels(attrs, inputs, y):
        return None
    first = np.arange(y.shape[-1]) == 0
    changed = ref(attrs, *(np.where(first, x + np.float32(0.75), x) for x in inputs))
    return np.array_equal(changed[..., ~first], y[..., ~first], equal_nan=True)


def is_homogeneous(ref: Ref, attrs: Any, inputs: Sequence[Array]) -> bool | None:
    """Channels of all inputs times positive factors give those of the output times these."""
    y = ref(attrs, *inputs)
    bounded = getattr(attrs, "activation", "NONE") not in ("NONE", "RELU")
    if bounded or not _keeps_channels(attrs, inputs, y):
        return None
    factors = np.random.default_rng(0).uniform(0.5, 2, y.shape[-1]).astype(np.float32)
    return _equal(ref(attrs, *(x * factors for x in inputs)), y * factors)


def is_nonnegative(ref: Ref, attrs: Any, inputs: Sequence[Array]) -> bool | None:
    """No result is below 0."""
    y = ref(attrs, *inputs)
    return bool(y.min() >= 0) if y.dtype.kind == "f" else None


def keeps_positive(ref: Ref, attrs: Any, inputs: Sequence[Array]) -> bool | None:
    """A function of one number gives back each one that is not below 0."""
    if len(inputs) != 1 or inputs[0].dtype.kind != "f":
        return None
    x = np.append(np.abs(inputs[0]), np.float32([0, 0.3, 1, 7.7, 1e30]))
    y = ref(attrs, x)
    return y.dtype == x.dtype and np.array_equal(y, x)


def selects(ref: Ref, attrs: Any, inputs: Sequence[Array]) -> bool | None:
    """Every result is an input, or 0."""
    y = ref(attrs, *inputs)
    if getattr(attrs, "activation", "NONE") != "NONE" or getattr(attrs, "value", 0) != 0:
        return None
    return bool(np.isin(y, np.concatenate([[0], *(x.reshape(-1) for x in inputs)])).all())


FACTS: dict[str, Callable[[Ref, Any, Sequence[Array]], bool | None]] = {
    "elementwise": is_elementwise,
    "channelwise": is_channelwise,
    "homogeneous": is_homogeneous,
    "nonnegative": is_nonnegative,
    "keeps_positive": keeps_positive,
    "selects": selects,
}
"""Trait -> its predicate."""


def holds(trait: str, op: str) -> bool:
    """Whether the op's reference shows the trait: in some cases, and against it none."""
    ref = OPS[op].ref_f32
    assert ref is not None, f"{op} has no float reference"

    def first(attrs: Any, *inputs: Array) -> Array:
        return as_tuple(ref(attrs, *inputs))[0]

    with np.errstate(all="ignore"):
        found = [FACTS[trait](first, attrs, inputs) for attrs, inputs in cases_of(op)]
    told = [f for f in found if f is not None]
    return bool(told) and all(told)


def shows_traits(op: str) -> bool:
    """Whether the op's traits can be told from a reference on arrays of numbers alone."""
    spec = OPS[op]
    return (
        spec.ref_f32 is not None
        and spec.quant is not Quant.STATEFUL
        and not op.startswith("signal_")
    )


def _keeps_channels(attrs: Any, inputs: Sequence[Array], y: Array) -> bool:
    """Whether inputs and output are real, and have the same channels."""
    gone = {axis % inputs[0].ndim for axis in getattr(attrs, "axes", ())}
    real = all(x.dtype.kind == "f" and x.ndim for x in (*inputs, y))
    if not real or inputs[0].ndim - 1 in gone or y.shape[-1] < 2:
        return False
    return {x.shape[-1] for x in inputs} == {y.shape[-1]}


def _equal(found: Array, expected: Array) -> bool:
    kinds = (found.astype(np.float64), expected.astype(np.float64))
    return np.allclose(*kinds, rtol=1e-4, atol=1e-5, equal_nan=True)
