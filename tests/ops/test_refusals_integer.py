"""Quantisation parameters and tensors that an op's integer form cannot take are refused."""

import pytest

from tests.graphs import Builder
from tests.ops.quantised import constant, f32, graph_of, node_of, s8, s16, value, weights
from tests.ops.stateful import keeping
from tinyrt.errors import ShapeError, UnsupportedError, VerifyError
from tinyrt.ir import DType
from tinyrt.ops import OPS, verify
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.l2_normalization import L2NormalizationAttrs
from tinyrt.ops.leaky_relu import LeakyReluAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.shared.batch import rebatch
from tinyrt.ops.shared.evaluate import reference_kernel
from tinyrt.ops.shared.spec import Form, NoAttrs
from tinyrt.ops.shared.walks import merge_axes
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.svdf import SvdfAttrs
from tinyrt.ops.unidirectional_sequence_lstm import LstmAttrs

INT8, INT16, INT32 = DType.INT8, DType.INT16, DType.INT32
NONE, L2_NORM = NoAttrs(), L2NormalizationAttrs()
IMAGE, MADE = s8(1, 4, 4, 2), s8(1, 4, 4, 3)
FILTER = (3, 3, 3, 2)
BY_CHANNEL = s8(2, 3, scale=(0.1, 0.2, 0.3), axis=1)


def svdf(features=None, time=None, state=None):
    held = state or s16(1, 12)
    made = features or weights(4, 5), time or constant(INT16, 4, 3), constant(INT32, 4)
    inputs = [s8(1, 5), *made, held]
    return "svdf", SvdfAttrs(), inputs, [s8(1, 4), held]


def lstm(cell_scale=2.0**-11, gate=None, x_scale=0.1):
    h, c = s8(1, 2), s16(1, 2, scale=cell_scale)
    gates = [gate or weights(2, 3)] * 4 + [weights(2, 2)] * 4
    biases = [constant(INT32, 2)] * 4
    inputs = [s8(1, 5, 3, scale=x_scale), *gates, *biases, h, c]
    return "unidirectional_sequence_lstm", LstmAttrs(), inputs, [s8(1, 5, 2), h, c]


PARAMETERS = [
    (
        ("less", NONE, [s16(2, scale=0.1), s16(2, scale=0.2)], [value(DType.BOOL, 2, scale=0)]),
        ["scales 0.1", "'b' s16[2]", "those of 'a' s16[2]", "quantise both inputs alike"],
    ),
    (
        ("hard_swish", NONE, [s8(2, scale=1.0)], [s8(2, scale=0.001)]),
        ["scale is 0.001", "'y' s8[2]", "at least 0.0078125"],
    ),
    (
        (
            "l2_normalization",
            L2NormalizationAttrs(),
            [s8(1, 33_001)],
            [s8(1, 33_001, scale=1 / 128)],
        ),
        ["33001 elements", "'a'", "at most 33000"],
    ),
    (
        ("leaky_relu", LeakyReluAttrs(-2 - 2**-15), [s16(2)], [s16(2)]),
        ["alpha is -2.00003", "another slope or other scales", "keep this op in float"],
    ),
    (
        svdf(time=constant(INT8, 4, 3, zp=3), state=s8(1, 12)),
        ["zero point 3", "'c' s8[4,3]", "zero point 0"],
    ),
    (lstm(cell_scale=0.3), ["scale 0.3", "'o' s16[1,2]", "a power of two"]),
    (lstm(cell_scale=2.0), ["scale 2.0", "a power of two, 2**-30 to 1"]),
    (lstm(cell_scale=2.0**-31), ["scale 4.6", "a power of two, 2**-30 to 1"]),
    (
        ("conv2d", Conv2dAttrs(), [IMAGE, weights(*FILTER, scale=0)], [MADE]),
        ["weights are not quantised", "'b' s8[3,3,3,2]", "int8 or int4 with scales"],
    ),
    (
        ("conv2d", Conv2dAttrs(), [IMAGE, weights(*FILTER, scale=(1.0, 2.0), axis=3)], [MADE]),
        ["2 scales along axis 3", "'b' s8[3,3,3,2]", "one scale, or 3 along axis 0"],
    ),
    (
        ("batch_matmul", BatchMatmulAttrs(), [s16(2, 2, scale=1e3)] * 2, [s16(2, 2, scale=1e-3)]),
        ["differ by too much", "'y' s16[2,2]", "2**7", "quantise again"],
    ),
    (
        ("batch_matmul", BatchMatmulAttrs(), [s16(2, 2), s8(2, 2, zp=3)], [s16(2, 2)]),
        ["beside int16 the zero point is 3", "'b' s8[2,2]", "expected: 0"],
    ),
    (
        ("relu", NONE, [s8(2, scale=(0.1, 0.2), axis=0)], [s8(2)]),
        ["not quantised per tensor", "'a' s8[2]", "one scale and one zero point"],
    ),
    (
        ("softmax", SoftmaxAttrs(widen=True), [s8(2)], [s16(2, scale=1 / 65536)]),
        ["(1.52587890625e-05, 0)", "'y' s16[2]", "1/65535 or 1/65536, and -32768"],
    ),
    (
        ("sqrt", NONE, [s16(2)], [s16(2)]),
        ["sqrt has no int16x8 form", "int8", "keep this op"],
    ),
    (
        ("batch_matmul", BatchMatmulAttrs(), [s16(1, 2), BY_CHANNEL], [s16(1, 3)]),
        ["reads 3 scales", "one scale for the whole tensor", "FULLY_CONNECTED"],
    ),
    (
        ("batch_matmul", BatchMatmulAttrs(), [s8(1, 2), BY_CHANNEL], [s8(1, 3)]),
        ["reads 3 scales", "one scale for the whole tensor", "FULLY_CONNECTED"],
    ),
]


@pytest.mark.parametrize(("parts", "says"), PARAMETERS)
def test_parameters_that_break_the_rules_are_refused(parts, says):
    with pytest.raises(VerifyError) as caught:
        verify(graph_of(*parts))
    for part in [f"{parts[0]} 'op'", *says]:
        assert part in str(caught.value)


SIZES = 1, 2, 3, 6


@pytest.mark.parametrize("other", [{"scale": 0.2}, {"zp": 3}])
@pytest.mark.parametrize(("odd", "told"), [(0, "a"), (1, "b"), (2, "c"), (3, "a")])
def test_all_that_is_joined_has_the_parameters_of_what_it_becomes(odd, told, other):
    usual = {"scale": 0.1, "zp": 0}
    ports = [s8(1, n, **(usual | other if i == odd else usual)) for i, n in enumerate(SIZES)]
    with pytest.raises(VerifyError, match="concatenation only moves data") as caught:
        verify(graph_of("concatenation", ConcatenationAttrs(1), ports[:3], ports[3:]))
    assert f"'{told}' s8" in caught.value.tensor


@pytest.mark.parametrize("scale", [1.0, 2.0**-30])
def test_cell_states_have_scales_of_either_end(scale):
    verify(graph_of(*lstm(cell_scale=scale)))


MIXED = [
    ("concatenation", [s8(2), s16(2)], s8(4), ["'a' s8[2], 'b' s16[2]", "all int8 or all int16"]),
    ("l2_normalization", [s16(2)], s8(2), ["takes int8", "'a' s16[2]", "int8"]),
]


@pytest.mark.parametrize(("op", "inputs", "output", "says"), MIXED)
def test_dtypes_that_integer_forms_do_not_mix_are_refused(op, inputs, output, says):
    with pytest.raises(VerifyError) as caught:
        OPS[op].forms[Form.INT8].prepare(node_of(op, NONE, inputs, [output]))
    for part in says:
        assert part in str(caught.value)


def test_ops_without_integer_forms_are_refused():
    node = node_of("floor", NONE, [s8(2)], [s8(2)])
    with pytest.raises(VerifyError) as caught:
        OPS["floor"].form(node)
    assert "floor has no integer form" in caught.value.problem
    assert "keep this op in float" in str(caught.value)


def test_ops_without_float_kernels_are_refused():
    node = node_of("quantize", QuantizeAttrs(INT8), [f32(2)], [f32(2)])
    with pytest.raises(UnsupportedError) as caught:
        reference_kernel(node)
    assert "quantize has no float kernel" in caught.value.problem
    assert "quantize 'op'" in str(caught.value)


def test_walks_over_too_many_axes_are_refused():
    dims = [2] * 7
    with pytest.raises(UnsupportedError) as caught:
        merge_axes(dims, [1, 3, 5, 7, 9, 11, 13])
    assert "7 dimensions" in caught.value.problem
    assert caught.value.expected == "at most 6"


MIXING = [
    ([(2, 3), (3, 3)], lambda b: b.op("abs", ("x",)), "no batch axis of size 2", "'x1' f32[3,3]"),
    ([(2, 3), (2,)], lambda b: b.op("abs", ("x1",)), "abs 'abs_0' may not keep", "'abs_0' f32[2]"),
    (
        [(2, 1, 3), (2, 3)],
        lambda b: b.op("mul", ("x", "x1"), MulAttrs()),
        "mul 'mul_0' may not keep samples apart",
        "'mul_0' f32[2,2,3]",
    ),
]


@pytest.mark.parametrize(("shapes", "build", "says", "tensor"), MIXING)
def test_graphs_without_a_batch_axis_keep_their_batch(shapes, build, says, tensor):
    b = Builder(*shapes)
    graph = b.graph(build(b))
    with pytest.raises(ShapeError) as caught:
        rebatch(graph, 4)
    assert says in caught.value.problem
    assert tensor in caught.value.tensor
    assert "run samples one by one" in str(caught.value)


def test_graphs_with_state_keep_their_batch():
    with pytest.raises(ShapeError) as caught:
        rebatch(keeping(graph_of(*svdf())), 4)
    assert "keeps state from sample to sample" in caught.value.problem
    assert "'a' s8[1,5]" in caught.value.tensor
