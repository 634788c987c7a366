"""No element lies outside of its bounds; extremes of exact bounds are reached."""

import numpy as np
import pytest

from tests.ops.build import Built, build_f32, build_s8, build_s16
from tests.ops.cases import CASES
from tinyrt.convert.values.bounds import behind
from tinyrt.convert.values.elementwise import ELEMENTWISE
from tinyrt.convert.values.interval import Bounds
from tinyrt.convert.values.moving import INCREASING
from tinyrt.convert.values.sums import SUMS
from tinyrt.ir import DType
from tinyrt.ops import OPS
from tinyrt.ops.shared.evaluate import as_tuple, reference_kernel
from tinyrt.ops.shared.spec import Form

BOUNDED = sorted(ELEMENTWISE | INCREASING | SUMS)
BUILDS = {Form.INT8: build_s8, Form.INT16X8: build_s16, Form.FLOAT: build_f32}
PAIRS = [
    (op, form)
    for op in BOUNDED
    for form in Form
    if (form is Form.FLOAT and OPS[op].ref_f32 is not None) or form in OPS[op].forms
]


def built(op: str, form: Form, rng: np.random.Generator) -> Built:
    return BUILDS[form](CASES[op](rng), rng)


def narrowed(whole: Bounds, rng: np.random.Generator) -> Bounds:
    """Some bounds within these; every third channel is constant."""
    count = len(whole.low)
    if whole.low.dtype.kind == "f":
        ends = rng.uniform(-3, 3, (2, count)).astype(np.float32).astype(np.float64)
    else:
        ends = rng.integers(whole.low, whole.high, (2, count), endpoint=True)
    low, high = np.sort(ends, axis=0)
    return Bounds(low, np.where(rng.random(count) < 0.3, low, high))


def inside(b: Bounds, shape, dtype: DType, rng: np.random.Generator) -> np.ndarray:
    """Elements within the bounds: both ends, and what is between them."""
    low, high = np.broadcast_to(b.low, shape), np.broadcast_to(b.high, shape)
    if dtype is DType.FLOAT32:
        between = rng.uniform(low, high)
    else:
        between = rng.integers(low, high, shape, endpoint=True)
    which = rng.integers(0, 3, shape)
    return np.choose(which, [low, high, between]).astype(dtype.numpy)


@pytest.mark.parametrize(("op", "form"), PAIRS)
def test_no_element_lies_outside(op, form):
    rng = np.random.default_rng(0)
    for _ in range(20):
        node = built(op, form, rng).graph.bind(0)
        free = [v for v in node.inputs if v is not None and v.data is None]
        known = {v.name: narrowed(Bounds.whole(v), rng) for v in free}
        found = behind(node, known)
        if found is None:
            continue
        assert (found.low <= found.high).all()
        for _ in range(5):
            feeds = {v.name: inside(known[v.name], v.shape, v.dtype, rng) for v in free}
            arrays = [None if v is None else feeds.get(v.name, v.data) for v in node.inputs]
            with np.errstate(all="ignore"):
                (y,) = as_tuple(reference_kernel(node)(*arrays))
            slack = 1e-5 * (1 + np.abs(y)) if y.dtype.kind == "f" else 0
            with np.errstate(invalid="ignore"):
                outside = (y < found.low - slack) | (y > found.high + slack)
            assert not outside.any(), (node.describe(), found, y)
