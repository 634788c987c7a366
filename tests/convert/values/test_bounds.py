"""No element lies outside of its bounds; extremes of exact bounds are reached."""

from dataclasses import replace

import numpy as np
import pytest

from tests.ops.build import Built, Case, build_f32, build_s8, build_s16, single_op
from tests.ops.cases import CASES
from tests.sampling import sampled
from tinyrt.convert.values import moving, sums
from tinyrt.convert.values.bounds import behind
from tinyrt.convert.values.elementwise import ELEMENTWISE
from tinyrt.convert.values.interval import Bounds
from tinyrt.convert.values.moving import INCREASING
from tinyrt.convert.values.places import PLACES
from tinyrt.convert.values.sums import SUMS
from tinyrt.ir import BoundNode, DType, QParams, Value
from tinyrt.ops import OPS
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.cumsum import CumsumAttrs
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.leaky_relu import LeakyReluAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.evaluate import as_tuple, reference_kernel
from tinyrt.ops.shared.spec import Form, NoAttrs

SHAPES, HELD = ((2, 4), (3, 4), (3,)), frozenset({1, 2})
BOUNDED = sorted(ELEMENTWISE | INCREASING | PLACES | SUMS)
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


def of_op(case: Case, values: list[Value], q: QParams | None) -> BoundNode:
    """The op on these values."""
    return single_op(case, values, [q], list(values)).graph.bind(0)


def found_of(node: BoundNode, low: int | float, high: int | float) -> Bounds | None:
    """The bounds of the output where all inputs have these."""
    count = node.input(0).shape[-1]
    known = Bounds(np.full(count, low), np.full(count, high))
    return behind(node, {v.name: known for v in node.inputs if v is not None})


def test_extremes_of_a_layer_are_reached():
    rng = np.random.default_rng(2)
    for _ in range(20):
        node = build_s8(CASES["fully_connected"](rng), rng).graph.bind(0)
        x, w = node.input(0), node.input(1)
        b = narrowed(Bounds.whole(x), rng)
        found = behind(node, {x.name: b})
        if x.shape[-1] != w.shape[-1]:
            continue
        for end, other, want in ((b.high, b.low, found.high), (b.low, b.high, found.low)):
            for channel, row in enumerate(w.data):
                given = np.broadcast_to(np.where(row > 0, end, other), x.shape).astype(np.int8)
                arrays = [given, *(v.data for v in node.inputs[1:] if v is not None)]
                y = reference_kernel(node)(*arrays)
                assert (y[..., channel] == want[channel]).all()


def test_a_layer_has_the_bounds_of_each_place():
    """At a border, taps that read padding add nothing."""
    x = Value("x", DType.INT8, (1, 3, 3, 1), QParams((1.0,), 0))
    w = Value.constant("w", np.ones((1, 3, 3, 1), np.int8), QParams((1.0,)))
    node = of_op(Case("conv2d", Conv2dAttrs(), ((), ())), [x, w], QParams((1.0,), 0))
    found = found_of(node, 5, 7)
    assert (found.low, found.high) == (4 * 5, 9 * 7)
    found = found_of(node, -3, 2)
    assert (found.low, found.high) == (9 * -3, 9 * 2)


@pytest.mark.parametrize("block", [2, sums.BLOCK])
def test_groups_have_the_bounds_of_their_own_channels(block, monkeypatch):
    """However many weights are looked at together."""
    monkeypatch.setattr(sums, "BLOCK", block)
    x = Value("x", DType.FLOAT32, (1, 1, 1, 4))
    w = Value.constant("w", np.ones((4, 1, 1, 2), np.float32))
    node = of_op(Case("conv2d", Conv2dAttrs(), ((), ())), [x, w], None)
    found = behind(node, {"x": Bounds(np.array([1.0, 2, 30, 40]), np.array([3.0, 4, 50, 60]))})
    assert (found.low.tolist(), found.high.tolist()) == ([3, 3, 70, 70], [7, 7, 110, 110])


def test_places_are_bounded_by_the_size_of_their_own_axis():
    x = Value("x", DType.INT8, (1, 3, 5), QParams((1.0,), 0))
    for axis, last in ((1, 2), (-2, 2), (2, 4)):
        node = of_op(Case("arg_min", ArgAttrs(axis, DType.INT32), ((),)), [x], None)
        found = found_of(node, -8, 7)
        assert (set(found.low), set(found.high)) == ({0}, {last})


WRAPS = [
    # Sums in 32 bits that begin anew, raised by the ratio of scales.
    (Case("conv2d", Conv2dAttrs(), ((1, 1, 1, 2), (2, 1, 1, 2))), DType.INT8, 2.0**-20),
    (Case("sum", ReduceAttrs((0,)), ((4096, 2),)), DType.INT8, 2.0**-12),
    (Case("mul", MulAttrs(), ((1, 2), (1, 2))), DType.INT8, 2.0**-20),
    (Case("relu", NoAttrs(), ((1, 2),)), DType.INT16, 2.0**-20),
]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("case", "dtype", "scale"), WRAPS, ids=[c.op for c, _, _ in WRAPS])
def test_sums_beyond_32_bits_are_not_ordered(case, dtype, scale, sign):
    one = QParams((1.0,), 0)
    values = [Value(f"in{i}", dtype, shape, one) for i, shape in enumerate(case.shapes)]
    if case.op == "conv2d":
        values[1] = Value.constant("in1", np.full(case.shapes[1], 127, np.int8), one)
    node = of_op(case, values, QParams((scale,), 0))
    numbers = np.sort(sign * np.linspace(1, np.iinfo(dtype.numpy).max, 100).astype(int))
    found = found_of(node, numbers[0], numbers[-1])
    seen = set()
    for number in numbers:
        arrays = [
            np.full(v.shape, number, dtype.numpy) if v.data is None else v.data for v in values
        ]
        y = reference_kernel(node)(*arrays)
        seen |= set(y.reshape(-1).tolist())
        if found is not None:
            assert ((y >= found.low) & (y <= found.high)).all()
    assert min(seen) <= 0 < max(seen)
    assert found is None or case.op not in ("sum", "mul")


def test_products_that_fit_32_bits_are_ordered():
    """Even those of the greatest int16."""
    values = [Value(f"in{i}", DType.INT16, (1, 2), QParams((1.0,), 0)) for i in (0, 1)]
    node = of_op(Case("mul", MulAttrs(), ((1, 2), (1, 2))), values, QParams((2.0**16,), 0))
    found = found_of(node, -(2**15), 2**15 - 1)
    assert found.high.tolist() == [2**14] * 2
    assert found.low.tolist() == [-(2**14)] * 2


@pytest.mark.parametrize(
    ("bias", "ends"),
    [
        (2**47, (-(2**15), 2**15 - 1)),  # what it becomes is not known
        (2**47 - 1, (2**15 - 1, 2**15 - 1)),
        (-(2**47), (-(2**15), -(2**15))),
        (-(2**47) - 1, (-(2**15), 2**15 - 1)),
    ],
)
def test_sums_of_64_bits_have_a_limit_too(bias, ends):
    x = Value("x", DType.INT16, (1, 1, 1, 1), QParams((1.0,)))
    w = Value.constant("w", np.ones((1, 1, 1, 1), np.int8), QParams((1.0,)))
    b = Value.constant("b", np.array([bias]), QParams((1.0,)))
    node = of_op(Case("conv2d", Conv2dAttrs(), ((),) * 3), [x, w, b], QParams((4.0,)))
    found = found_of(node, 0, 0)
    assert (found.low, found.high) == ends


@pytest.mark.parametrize(("bias", "end"), [(2**31 - 1, 127), (-(2**31), -128)])
def test_sums_of_32_bits_are_known_up_to_the_last(bias, end):
    x = Value("x", DType.INT8, (1, 1, 1, 1), QParams((1.0,)))
    w = Value.constant("w", np.ones((1, 1, 1, 1), np.int8), QParams((1.0,)))
    b = Value.constant("b", np.array([bias], np.int32), QParams((1.0,)))
    node = of_op(Case("conv2d", Conv2dAttrs(), ((),) * 3), [x, w, b], QParams((4.0,)))
    found = found_of(node, 0, 0)
    assert (found.low, found.high) == (end, end)


@pytest.mark.parametrize("dtype", [DType.INT32, DType.INT64])
@pytest.mark.parametrize("op", ["add", "sub", "mul"])
def test_integers_without_a_scale_have_no_order_where_they_start_anew(dtype, op):
    values = [Value(f"in{i}", dtype, (2,)) for i in (0, 1)]
    node = of_op(Case(op, OPS[op].attrs(), ((2,), (2,))), values, None)
    most = np.iinfo(dtype.numpy).max
    assert found_of(node, -most, most) is None


@pytest.mark.parametrize(
    ("op", "low", "high", "bounds"),
    [
        ("add", -3, 2**30 - 1, (-6, 2**31 - 2)),
        ("add", -3, 2**30, None),
        ("sub", -(2**30), 2**30 - 1, (-(2**31) + 1, 2**31 - 1)),
        ("sub", -(2**30), 2**30, None),
        ("mul", -46340, 46340, (-(46340**2), 46340**2)),
        ("mul", 0, 46341, None),
        ("floor_mod", 3, 7, (0, 6)),
        ("floor_mod", 0, 7, None),
        ("floor_div", 2, 9, (0, 4)),
        ("div", 2, 9, (0, 4)),
        ("div", -2, 9, None),
        ("div", 0, 9, None),
        ("floor_div", 0, 9, None),
    ],
)
def test_integers_without_a_scale_that_stay_whole_have_bounds(op, low, high, bounds):
    values = [Value(f"in{i}", DType.INT32, (2,)) for i in (0, 1)]
    found = found_of(of_op(Case(op, OPS[op].attrs(), ((2,), (2,))), values, None), low, high)
    if bounds is None:
        assert found is None
    else:
        assert (found.low.tolist(), found.high.tolist()) == ([bounds[0]] * 2, [bounds[1]] * 2)


@pytest.mark.parametrize("op", ["div", "floor_div", "floor_mod"])
def test_a_divisor_that_may_be_0_in_one_channel_leaves_no_bounds(op):
    values = [Value(name, DType.INT32, (2,)) for name in ("x", "divisor")]
    node = of_op(Case(op, OPS[op].attrs(), ((2,), (2,))), values, None)
    x, high = Bounds(np.array([5, 5]), np.array([9, 9])), np.array([3, 3])
    assert behind(node, {"x": x, "divisor": Bounds(np.array([1, 1]), high)}) is not None
    for low in ([-3, 1], [1, 0]):
        assert behind(node, {"x": x, "divisor": Bounds(np.array(low), high)}) is None


@pytest.mark.parametrize(
    ("given", "made", "low", "high", "bounds"),
    [
        (DType.FLOAT32, DType.INT32, 0.0, 1e30, (0, 2**31 - 1)),
        (DType.INT64, DType.INT32, -5, 7, (-5, 7)),
        (DType.INT64, DType.INT32, 0, 2**31, None),
        (DType.INT64, DType.UINT8, -1, 1, None),
        (DType.INT32, DType.FLOAT32, -1, 9, (-1, 9)),
        (DType.FLOAT32, DType.BOOL, -1.0, 1.0, None),
    ],
)
def test_casts_keep_the_order_of_what_fits(given, made, low, high, bounds):
    x = Value("x", given, (2,))
    found = found_of(of_op(Case("cast", CastAttrs(made), ((2,),)), [x], None), low, high)
    if bounds is None:
        assert found is None
    else:
        assert (found.low.tolist(), found.high.tolist()) == ([bounds[0]] * 2, [bounds[1]] * 2)


def test_counts_are_between_none_and_all():
    x = Value("x", DType.FLOAT32, (3, 2))
    node = of_op(Case("cumsum", CumsumAttrs(0), ((3, 2),)), [x], None)
    found = found_of(node, -2.0, 7.0)
    assert (found.low.tolist(), found.high.tolist()) == ([-6] * 2, [21] * 2)
    found = found_of(node, 2.0, np.inf)
    assert (found.low.tolist(), found.high.tolist()) == ([0] * 2, [np.inf] * 2)


def test_numbers_that_places_pick_are_those_of_the_table():
    table = Value.constant("table", np.array([3, 9, 5], np.int32))
    places = Value("places", DType.INT32, (4, 2))
    node = of_op(Case("embedding", EmbeddingAttrs(), ((3,), (4, 2))), [table, places], None)
    found = behind(node, {"places": Bounds.whole(places)})
    assert (found.low.tolist(), found.high.tolist()) == ([3, 3], [9, 9])


def test_a_constant_for_each_channel_bounds_each():
    q = QParams((0.5,))
    x, least = Value("x", DType.INT8, (3, 2), q), Value.constant("c", np.array([9, -7], np.int8), q)
    node = of_op(Case("maximum", NoAttrs(), ((3, 2), (2,))), [x, least], q)
    found = found_of(node, -128, 127)
    assert (found.low.tolist(), found.high.tolist()) == ([9, -7], [127, 127])


def test_what_is_chosen_from_has_bounds_where_a_number_stands_beside_rows():
    x = Value("x", DType.BOOL, (2, 2))
    number = Value.constant("number", np.array([5], np.int32))
    rows = Value.constant("rows", np.array([[1, 2], [9, 4]], np.int32))
    node = of_op(Case("select_v2", NoAttrs(), ((2, 2), (1,), (2, 2))), [x, number, rows], None)
    found = found_of(node, 0, 1)
    assert (found.low.tolist(), found.high.tolist()) == ([1, 2], [9, 5])


def test_a_slope_below_0_has_its_least_between():
    x = Value("x", DType.FLOAT32, (1, 2))
    node = of_op(Case("leaky_relu", LeakyReluAttrs(-1.0), ((1, 2),)), [x], None)
    assert found_of(node, -2.0, 3.0) is None
    assert found_of(node, -2.0, -2.0).low.tolist() == [2.0, 2.0]


def test_tensors_of_as_many_elements_as_allowed_are_moved(monkeypatch):
    x = Value("x", DType.INT8, (2, 2), QParams((1.0,)))
    node = of_op(Case("reshape", ReshapeAttrs((1, 4)), ()), [x], QParams((1.0,)))
    for most, is_moved in ((4, True), (3, False)):
        monkeypatch.setattr(moving, "MOST_ELEMENTS", most)
        assert (found_of(node, 0, 1) is not None) is is_moved


def test_large_tensors_are_not_moved():
    x = Value("x", DType.INT8, (1 << 13, 1 << 13), QParams((1.0,)))
    node = of_op(Case("reshape", ReshapeAttrs((1, 1 << 26)), ()), [x], QParams((1.0,)))
    assert found_of(node, 0, 1) is None


@pytest.mark.parametrize(("op", "form"), PAIRS)
def test_no_element_lies_outside(op, form):
    rng = np.random.default_rng(0)
    for _ in range(sampled(3, 20)):
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


@pytest.mark.parametrize("place", [None, 1, 2])
def test_layers_whose_weights_or_bias_are_computed_have_no_bounds(place):
    rng = np.random.default_rng(3)
    node = build_f32(Case("fully_connected", FullyConnectedAttrs(), SHAPES, HELD), rng).graph.bind(
        0
    )
    inputs = list(node.inputs)
    if place is not None:
        inputs[place] = replace(inputs[place], data=None)
    assert (found_of(replace(node, inputs=tuple(inputs)), -1.0, 1.0) is None) is (place is not None)
