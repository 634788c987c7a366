"""Nodes whose operands nearly have another form: ranks, element types, names, and none at all."""

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tests.convert.onnx_build import (
    OnnxModel,
    assert_as_onnxruntime,
    assert_close,
    expected,
    feeds_for,
)
from tests.convert.onnx_small import at, dequantised, quantised, untyped
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.ops.shared.evaluate import evaluate

I32, I64 = onnx.TensorProto.INT32, onnx.TensorProto.INT64
I8, U8 = onnx.TensorProto.INT8, onnx.TensorProto.UINT8


def fused(m, op, *inputs, **attrs):
    return m.op(op, *inputs, domain="com.microsoft", **attrs)


def named(m, name, op, *inputs):
    """A node whose output has that name."""
    m.nodes.append(helper.make_node(op, inputs, [name], name=name))
    return name


def counted(m, kind=I64):
    """Integers that depend on the input."""
    return m.op("Cast", m.op("ArgMax", m.input(2, 3), axis=1, keepdims=0), to=kind)


def as_float(m, x):
    return m.op("Cast", x, to=1)


def raised(m, exponent):
    return m.op("Pow", m.op("Abs", m.input(3)), m.const([[exponent]]))


def shares(m, before):
    return m.op("Normalizer", m.op(before, m.input(2, 3)), domain="ai.onnx.ml", norm="L1")


def stored(m, numbers, scales, **attrs):
    q = m.const(numbers, np.int8)
    return m.op("DequantizeLinear", q, m.const(scales), **attrs)


def symmetric(m):
    """Weights that are equal to what is added, and lie on a grid where they are weights."""
    w, x = stored(m, [[1, 2], [2, 5]], [0.5, 0.5], axis=0), m.input(2, 2)
    return m.op("Add", m.op("Gemm", x, w, transB=1), m.op("Add", x, w))


def looked_up(m, scales, axis=1):
    """Rows of a table of integers, whose columns have scales of their own."""
    table = m.const(np.arange(12).reshape(3, 4), np.int8)
    rows = m.op("Gather", table, m.op("ArgMax", m.input(2, 3), axis=1, keepdims=0))
    zeros = m.const(np.zeros(len(scales)), np.int8)
    return m.op("DequantizeLinear", rows, m.const(scales), zeros, axis=axis)


def in_groups(m, scales, **attrs):
    w = stored(m, np.arange(-18, 18).reshape(2, 2, 3, 3), scales, **attrs)
    return m.op("ConvTranspose", m.input(1, 2, 6, 6), w, group=2)


def sums_of_four_outputs(m, outputs=4):
    """The fourth output, a sum, is not asked for."""
    names = [m.input(2, 3, 4), "x", m.weights(4)]
    made = helper.make_node(
        "SkipLayerNormalization", names, ["y", "", "", ""][:outputs], domain="com.microsoft"
    )
    m.nodes.append(made)
    return "y"


def scanned(m):
    """Two sequences along other axes, one from its end; two that come of them, likewise."""
    nodes = [("Add", "se", ["n"]), ("Mul", ["n", "f"], ["a"]), ("Sub", "ef", ["b"])]
    y = m.op(
        "Scan",
        *(m.const(np.zeros(3)), m.input(4, 3), m.input(3, 4, name="z")),
        body=untyped(nodes, "sef", "nab"),
        num_scan_inputs=2,
        scan_input_axes=[0, 1],
        scan_input_directions=[1, 0],
        scan_output_axes=[1, 0],
        scan_output_directions=[0, 1],
        outputs=3,
    )
    return m.op("Add", m.op("MatMul", f"{y}_1", f"{y}_2"), y)


def greatest(m):
    """The number of elements is an attribute first, then an input."""
    k, given = ([], {"k": 2}) if m.opset < 10 else ([m.ints(2)], {})
    return m.op("TopK", m.input(2, 3), *k, axis=1, outputs=2, **given)


POWERS = {"first powers": 1, "squares": 2, "cubes": 3, "roots": 0.5, "inverse roots": -0.5}
SAME = {
    **{f"{name} of one more dimension": lambda m, e=e: raised(m, e) for name, e in POWERS.items()},
    **{
        f"a constant matrix before one{', turned' * a}{', that is turned' * b}": (
            lambda m, a=a, b=b: m.op(
                "Gemm",
                m.weights(*((3, 2) if a else (2, 3))),
                m.input(*((4, 3) if b else (3, 4))),
                transA=a,
                transB=b,
            )
        )
        for a, b in ((0, 1), (1, 0), (1, 1))
    },
    "sequences from either end": lambda m: scanned(at(m, 9)),
    "integers down to the least": lambda m: as_float(
        m, m.op("Add", counted(m, I32), m.const([0, -(2**31)], np.int32))
    ),
    "matrices before one": lambda m: m.op(
        "Einsum", m.input(2, 3, 4), m.weights(4, 5), equation="...ij,jk->...ik"
    ),
    "a constant batch of one": lambda m: m.op(
        "Einsum", m.input(1, 2, 3), m.weights(1, 3, 4), equation="bij,bjk->bik"
    ),
    "an op of the standard, by name": lambda m: m.op("Neg", m.input(2, 3), domain="ai.onnx"),
    "a group of all channels": lambda m: at(m, 21).op(
        "GroupNormalization", m.input(2, 4, 3), m.weights(4), m.weights(4), num_groups=1
    ),
    "a norm over given dimensions": lambda m: m.op(
        "MeanVarianceNormalization", m.input(2, 3, 4), axes=[0, 2]
    ),
    "a channel without neighbours": lambda m: m.op(
        "LRN", m.input(1, 2, 3, 2), size=1, alpha=0.7, bias=0.5
    ),
    "the first place from the end": lambda m: m.op(
        "GatherND", m.input(2, 4), m.const([[1], [-2]], np.int64)
    ),
    "a part of given dimensions": lambda m: at(m, 9).op(
        "Slice", m.input(2, 4), starts=[1], ends=[3], axes=[1]
    ),
    **{f"greatest elements of opset {n}": lambda m, n=n: greatest(at(m, n)) for n in (9, 10)},
    "other steps of the same integers": lambda m: m.op(
        "DequantizeLinear", quantised(m, m.input(2, 3)), m.const(0.2), m.const(5, np.uint8)
    ),
    "constants that are quantised": lambda m: m.op(
        "Add", m.input(2, 3), dequantised(m, quantised(m, m.weights(2, 3)))
    ),
    "constant integers to a power": lambda m: m.op(
        "Mul", m.input(2), as_float(m, m.op("Pow", m.ints(2, -3), m.ints(5, 3)))
    ),
    "the greatest of three constants": lambda m: m.op(
        "Mul", m.input(3), m.op("Max", m.const([1, 2, 3]), m.const([2, 1, 2]), m.const([0, 5, 1]))
    ),
    "a range that ends between its steps": lambda m: m.op(
        "Mul", m.input(3), m.op("Range", *(m.const(n) for n in (1, 6, 2)))
    ),
    "constants beside each other": lambda m: m.op(
        "Mul", m.input(2, 5), m.op("Concat", m.weights(2, 3), m.weights(2, 2), axis=1)
    ),
    "a norm of three outputs": lambda m: sums_of_four_outputs(m, 3),
    "a layer without what is added": lambda m: fused(
        m, "FusedGemm", m.input(2, 3), m.weights(3, 4), "", activation="Relu"
    ),
    "attention in one head, without a bias": lambda m: fused(
        m, "Attention", m.input(1, 3, 8), m.weights(8, 24), "", num_heads=1
    ),
    **{
        f"{op} over three dimensions, {mode}": lambda m, op=op, mode=mode: m.op(
            op,
            m.input(1, 2, 5, 4, 6),
            kernel_shape=[4, 2, 3],
            strides=[2, 2, 3],
            auto_pad=mode,
        )
        for op in ("MaxPool", "AveragePool")
        for mode in ("SAME_UPPER", "SAME_LOWER")
    },
    "first powers of integers": lambda m: as_float(m, m.op("Pow", counted(m), m.const(1.0))),
    "an activation that is called as a constant would be": lambda m: m.op(
        "Sub", named(m, "k.negated", "Relu", m.input(2, 3)), m.const(np.ones((2, 3)), name="k")
    ),
    "weights that are added, too": symmetric,
    "a constant vector before a matrix": lambda m: m.op("MatMul", m.weights(4), m.input(4, 3)),
    "a constant vector before matrices": lambda m: m.op("MatMul", m.weights(4), m.input(2, 4, 3)),
    "computed matrices and what is added": lambda m: m.op(
        "Gemm", m.input(2, 3), m.input(3, 4, name="z"), m.weights(4)
    ),
    "computed matrices, scaled, and what is added": lambda m: m.op(
        "Gemm", m.input(2, 3), m.input(3, 4, name="z"), m.weights(4), alpha=0.5
    ),
    "shares of what is no softmax": lambda m: shares(m, "Relu"),
    "shares of a softmax": lambda m: shares(m, "Softmax"),
    "a vector that would be turned": lambda m: fused(
        m, "FusedMatMul", m.input(4), m.input(4, 3, name="y"), transA=1
    ),
    "a norm without its sum": sums_of_four_outputs,
    "scales of a table's columns": lambda m: looked_up(m, [0.1, 0.2, 0.3, 0.4]),
    "a reflection of all but the edge": lambda m: m.op(
        "Pad", m.input(1, 3), m.ints(0, 2, 0, 2), mode="reflect"
    ),
    "an output type beside the same zero point": lambda m: dequantised(
        m,
        at(m, 21).op(
            "QuantizeLinear", m.input(2, 3), m.const(0.1), m.const(3, np.uint8), output_dtype=U8
        ),
    ),
    "groups of weights of one scale": lambda m: in_groups(m, 0.1),
    "groups of weights of several scales": lambda m: in_groups(m, [0.1, 0.2], axis=1),
}


@pytest.mark.parametrize("name", SAME)
def test_it_answers_as_onnxruntime(name, tmp_path):
    assert_as_onnxruntime(SAME[name], tmp_path)


def repeated(m, condition, *nodes):
    """A loop of at most three rounds, which begins with the condition."""
    body = untyped([*nodes, ("Neg", ["s"], ["y"])], ["i", "c", "s"], ["d", "y"])
    return m.op("Loop", m.const(3, np.int64), m.const(condition, bool), m.input(2, 3), body=body)


def resized_by_nothing(m):
    y = at(m, 18).op(
        "Resize", m.input(1, 2, 4, 4), "", "", m.ints(), keep_aspect_ratio_policy="not_larger"
    )
    m.nodes[-1].attribute.append(
        helper.make_attribute("axes", [], attr_type=onnx.AttributeProto.INTS)
    )
    return y


SPECIFIED = {
    "a loop that does not begin": lambda m: repeated(m, False, ("Identity", ["c"], ["d"])),
    "a loop that its body ends": lambda m: repeated(m, True, ("Not", ["c"], ["d"])),
    "a loop that goes on": lambda m: repeated(m, True, ("Identity", ["c"], ["d"])),
    "a reflection that goes to and fro": lambda m: m.op(
        "Pad", m.input(1, 3), m.ints(0, 4, 0, 3), mode="reflect"
    ),
    "a reflection of as many as there are": lambda m: m.op(
        "Pad", m.input(1, 3), m.ints(0, 3, 0, 1), mode="reflect"
    ),
}


@pytest.mark.parametrize("name", SPECIFIED)
def test_it_answers_as_the_specification_has_it(name, tmp_path):
    """onnxruntime takes none of these: types of a loop's parts are missing, borders too wide."""
    m = OnnxModel()
    path = m.save(tmp_path, SPECIFIED[name](m))
    graph = read_onnx(path)
    feeds = feeds_for(graph)
    (wanted,) = ReferenceEvaluator(str(path)).run(None, feeds)
    (found,) = evaluate(graph, feeds).values()
    assert_close(found, wanted)


def test_of_an_even_number_of_neighbours_one_more_is_behind(tmp_path):
    """onnxruntime takes odd numbers alone."""
    m = OnnxModel()
    y = m.op("LRN", m.input(2, 5, 3), size=2, alpha=0.7, beta=1.0, bias=0.5)
    graph = read_onnx(m.save(tmp_path, y))
    x = feeds_for(graph)["x"]
    squares = np.pad(x**2, ((0, 0), (0, 1), (0, 0)))
    (found,) = evaluate(graph, {"x": x}).values()
    assert_close(found, x / (0.5 + 0.35 * (squares[:, :-1] + squares[:, 1:])))


def test_no_axes_that_are_resized_are_all_that_there_are(tmp_path):
    """The specification's own evaluator seeks the least of no scales."""
    m = OnnxModel()
    graph = read_onnx(m.save(tmp_path, resized_by_nothing(m)))
    feeds = feeds_for(graph)
    (found,) = evaluate(graph, feeds).values()
    np.testing.assert_array_equal(found, feeds["x"])


@pytest.mark.parametrize(("scales", "kept"), [(0.5, (0.5,)), ([0.5, 0.25], None)])
def test_weights_in_groups_keep_the_one_scale_that_they_have(scales, kept, tmp_path):
    m = OnnxModel()
    attrs = {} if kept else {"axis": 1}
    graph = read_onnx(m.save(tmp_path, in_groups(m, scales, **attrs)))
    (layer,) = (node for node in graph.bound() if node.op == "transpose_conv")
    q = layer.input(1).q
    assert kept == (q and q.scales)


@pytest.mark.parametrize("kind", [I8, U8])
@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("has_zero_point", [False, True])
def test_integers_that_a_model_takes_have_their_own_zero(kind, moved, has_zero_point, tmp_path):
    """A zero point that is left out is 0 of the input's element type."""
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    m = OnnxModel()
    x = m.input(2, 3, dtype=kind)
    x = m.op("Concat", x, m.op("Transpose", x, perm=[0, 1]), axis=0) if moved else x
    zero = [m.const(0, dtype)] if has_zero_point else []
    path = m.save(tmp_path, m.op("DequantizeLinear", x, m.const(0.5), *zero))
    limits = np.iinfo(dtype)
    data = np.array([[limits.min, limits.max, 0], [1, 5, 77]], dtype)
    (wanted,) = expected(path, {"x": data})
    graph = read_onnx(path)
    (found,) = evaluate(graph, {"x": data.astype(np.float32) * np.float32(0.5)}).values()
    np.testing.assert_array_equal(found, wanted)


def test_a_function_that_is_named_as_an_op_has_all_of_its_outputs(tmp_path):
    """Of the op itself only the first is computed."""
    m = OnnxModel()
    y = m.op("Add", m.op("Dropout", m.input(2, 3), outputs=2), "t0_1")
    proto = m.model(y)
    nodes = [helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Neg", ["a"], ["c"])]
    opsets = [helper.make_opsetid("", 13)]
    proto.functions.append(helper.make_function("", "Dropout", ["a"], ["b", "c"], nodes, opsets))
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    graph = read_onnx(path)
    feeds = feeds_for(graph)
    (found,) = evaluate(graph, feeds).values()
    assert_close(found, np.maximum(feeds["x"], 0) - feeds["x"])
