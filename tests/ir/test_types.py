"""Dtypes, parameters, and graphs as text."""

from dataclasses import replace

import numpy as np
import pytest

from tests.graphs import Builder, lstm_net, small_cnn
from tests.ops.quantised import graph_of
from tinyrt.errors import VerifyError
from tinyrt.ir import DType, QParams, Stage, Value, dump
from tinyrt.ir.types import TensorType, pack_int4, unpack_int4
from tinyrt.ops import verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.shared.spec import NoAttrs

DTYPES = [
    (DType.FLOAT32, "f32", np.float32, 4, 20),
    (DType.FLOAT16, "f16", np.float16, 2, 10),
    (DType.INT4, "s4", np.int8, 1, 3),
    (DType.INT8, "s8", np.int8, 1, 5),
    (DType.INT16, "s16", np.int16, 2, 10),
    (DType.INT32, "s32", np.int32, 4, 20),
    (DType.INT64, "s64", np.int64, 8, 40),
    (DType.UINT8, "u8", np.uint8, 1, 5),
    (DType.UINT32, "u32", np.uint32, 4, 20),
    (DType.UINT64, "u64", np.uint64, 8, 40),
    (DType.BOOL, "b8", np.bool_, 1, 5),
]


def test_every_dtype_is_in_the_table():
    assert [row[0] for row in DTYPES] == list(DType)


@pytest.mark.parametrize(("dtype", "short", "array", "itemsize", "five"), DTYPES)
def test_a_dtype_has_its_name_and_its_bytes(dtype, short, array, itemsize, five):
    assert (dtype.short, dtype.numpy, dtype.itemsize) == (short, np.dtype(array), itemsize)
    assert dtype.nbytes(5) == five
    assert dtype.nbytes(0) == 0
    assert str(TensorType(dtype, (1, 20))) == f"{short}[1,20]"
    assert DType.of(array) is (DType.INT8 if dtype is DType.INT4 else dtype)


def test_a_dtype_that_there_is_none_of():
    with pytest.raises(ValueError, match="complex64"):
        DType.of(np.complex64)


@pytest.mark.parametrize("count", [0, 1, 2, 15, 16])
def test_int4_values_share_bytes_the_first_in_the_low_half(count):
    values = np.arange(-8, 8, dtype=np.int8)[:count]
    packed = pack_int4(values)
    halves = [int(v) % 16 for v in values] + [0] * (count % 2)
    expected = [low + 16 * high for low, high in zip(halves[::2], halves[1::2], strict=True)]
    assert packed.dtype == np.uint8
    assert packed.tolist() == expected
    found = unpack_int4(packed, count)
    np.testing.assert_array_equal(found, values, strict=True)


def test_int4_values_of_any_shape_are_packed_in_order():
    values = np.array([[1, 2], [3, -4]], np.int8)
    assert pack_int4(values).tolist() == [0x21, 0xC3]


@pytest.mark.parametrize("bad", [0.0, -1.0, float("inf"), float("-inf"), float("nan")])
def test_a_scale_that_cannot_be_is_named(bad):
    for scales, axis in (((bad,), None), ((0.5, bad, 2.0), 0)):
        with pytest.raises(ValueError, match=f"finite and > 0, found {bad}"):
            QParams(scales, 0, axis)


def test_one_scale_along_an_axis_is_the_scale():
    assert QParams((0.5,), 0, 3).scale == 0.5


# As text


def test_a_quantised_graph_is_written_with_its_parameters():
    x = Value("x", DType.INT8, (1, 4, 4, 2), QParams((0.5,), -3))
    w = Value.constant("w", np.ones((2, 1, 1, 2), np.int8), QParams((0.25, 1 / 3), 0, 0))
    y = replace(x, name="y", q=QParams((1 / 3,), 7))
    graph = graph_of("conv2d", Conv2dAttrs(), [x, w, None], [y])
    first, second, *others, last = dump(graph).split("\n")
    assert first == f"graph {graph.name}"
    assert second == f"  input  %{graph.inputs[0]}: s8[1,4,4,2] q(0.5, zp -3)"
    (conv,) = others
    assert (
        f"s8[1,4,4,2] q(0.333333, zp 7) = conv2d(%{graph.inputs[0]}, const s8[2,1,1,2], -)" in conv
    )
    assert last == f"  output %{graph.outputs[0]}"


def test_scales_of_channels_are_counted_and_ops_without_attributes_have_none():
    x = Value("x", DType.INT8, (1, 2), QParams((0.5, 0.25), 0, 1))
    graph = graph_of("abs", NoAttrs(), [x], [x])
    text = dump(graph)
    assert "s8[1,2] q(2 scales, zp 0)" in text
    assert text.split("\n")[2].endswith(")")


# Stages


@pytest.mark.parametrize("dtype", [DType.INT4, DType.FLOAT16])
@pytest.mark.parametrize("stage", [None, Stage.FLOAT, Stage.INT8])
def test_dtypes_of_constants_are_no_activations(dtype, stage):
    value = Value("", dtype, (2,))
    with pytest.raises(VerifyError, match="does not fit its stage"):
        verify(graph_of("abs", NoAttrs(), [value], [value]), stage)


@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT16])
def test_quantised_activations_have_parameters_at_every_stage(dtype):
    value = Value("", dtype, (2,))
    for stage in (None, Stage.INT8, Stage.PLANNED):
        with pytest.raises(VerifyError, match="quantisation parameters on every"):
            verify(graph_of("abs", NoAttrs(), [value], [value]), stage)


def test_a_state_keeps_its_parameters_and_each_port_is_of_one_state():
    b = Builder((1, 4), (1, 4))
    graph = b.graph(b.op("add", ("x", "x1"), AddAttrs()))
    (y,) = graph.outputs
    verify(replace(graph, states=(("x", y),)))
    for states in ((("x", y), ("x1", y)), (("x", y), ("x", y)), ((y, "x"),)):
        with pytest.raises(VerifyError, match="each of one state"):
            verify(replace(graph, states=states))
    for scale, fits in ((0.5, True), (0.25, False)):
        ports = [Value("", DType.INT8, (2,), QParams((s,))) for s in (0.5, scale)]
        graph = graph_of("abs", NoAttrs(), ports[:1], ports[1:])
        graph = replace(graph, states=((*graph.inputs, *graph.outputs),))
        if fits:
            verify(graph)
            continue
        with pytest.raises(VerifyError, match="becomes"):
            verify(graph)


@pytest.mark.parametrize("build", [small_cnn, lstm_net])
def test_every_input_and_result_has_a_place_once_planned(build):
    graph = build()
    names = {"x", *(name for node in graph.nodes for name in node.outputs)}
    verify(graph, Stage.PLANNED, placed=names)
    for name in sorted(names):
        with pytest.raises(VerifyError, match="no place in the arena") as refused:
            verify(graph, Stage.PLANNED, placed=names - {name})
        assert f"'{name}'" in str(refused.value)
