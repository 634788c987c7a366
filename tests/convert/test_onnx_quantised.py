"""ONNX models that bring their own quantisation become integer models with exactly that."""

import warnings

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from benchmarks.ort import exact_session
from tests.convert.onnx_build import EXACT, OnnxModel, assert_matches, expected
from tests.convert.quantized_onnx import both, file_grids, quantized, residual_net, worst_steps
from tinyrt.api import open_model
from tinyrt.convert.onnx.grid import Grid, Quantized, moved_grid
from tinyrt.errors import TinyrtError
from tinyrt.interpreter.model import Model
from tinyrt.ir import DType, RewriteLog, Value
from tinyrt.ops import OPS
from tinyrt.ops.shared.spec import Quant
from tinyrt.quantize.config import QuantizationWarning

SAMPLES = np.random.default_rng(3).standard_normal((12, 3, 13, 11)).astype(np.float32)


def integer_ops(graph):
    return [n.op for n in graph.bound() if n.output.dtype in (DType.INT8, DType.INT16)]


@pytest.mark.parametrize("form", ["qdq", "qoperator"])
@pytest.mark.parametrize("activations", ["uint8", "int8"])
@pytest.mark.parametrize("per_channel", [True, False])
def test_parameters_stay_and_every_op_is_within_a_step(tmp_path, form, activations, per_channel):
    path = quantized(
        residual_net(),
        tmp_path / "q.onnx",
        SAMPLES,
        form=form,
        activations=activations,
        per_channel=per_channel,
    )
    rounding, integers = both(path)
    assert len(integer_ops(integers)) == len(integers.nodes)
    assert {"transpose", "pad", "relu", "quantize"}.isdisjoint(integer_ops(integers))
    held = {(v.q.scale, v.q.zero_point) for v in integers.values.values() if _is_activation(v)}
    assert file_grids(path) <= held
    assert _weights(integers) == _file_weights(path)
    for x in SAMPLES[:4]:
        feeds = {rounding.inputs[0]: x[None].transpose(0, 2, 3, 1)}
        assert max(worst_steps(rounding, integers, feeds).values()) <= 1


def _is_activation(value):
    return value.q is not None and not value.is_constant


def _weights(graph):
    """Integers and scales of all weights, in any order of their dimensions."""
    nodes = (n for n in graph.bound() if OPS[n.op].quant is Quant.WEIGHTED)
    return sorted(_fingerprint(n.input(1).data, n.input(1).q.scales) for n in nodes)


def _file_weights(path):
    constants = {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    names = [n for n, array in constants.items() if array.dtype == np.int8 and array.ndim > 1]
    scales = (constants[n.removesuffix("_quantized") + "_scale"] for n in names)
    return sorted(
        _fingerprint(constants[n], s.reshape(-1).tolist())
        for n, s in zip(names, scales, strict=True)
    )


def _fingerprint(integers, scales):
    unique = list(scales) if len(set(scales)) > 1 else list(scales)[:1]
    return sorted(integers.reshape(-1).tolist()), unique


def test_int16_activations_stay(tmp_path):
    path = quantized(residual_net(), tmp_path / "q.onnx", SAMPLES, activations="int16")
    rounding, integers = both(path)
    assert all(n.output.dtype is DType.INT16 for n in integers.bound())
    feeds = {rounding.inputs[0]: SAMPLES[:1].transpose(0, 2, 3, 1)}
    assert max(worst_steps(rounding, integers, feeds).values()) <= 2


def scalar(m, scale, zero_point=None, dtype=np.uint8):
    return m.const(scale), m.const(128 if zero_point is None else zero_point, dtype)


def on_grid(m, x, scale=0.05, zero_point=None, dtype=np.uint8):
    """Quantised to a grid and back."""
    grid = scalar(m, scale, zero_point, dtype)
    return m.op("DequantizeLinear", m.op("QuantizeLinear", x, *grid), *grid)


def saved(m, folder, *outputs):
    model = m.model(*outputs)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def real(m, x, *grid):
    return m.op("DequantizeLinear", x, *grid)


def ints(m, *shape, low=-EXACT, high=EXACT, dtype=np.int8):
    return m.const(m.rng.integers(low, high, shape), dtype)


def _qlinear_conv(m, x, a, y):
    w, scales = ints(m, 6, 4, 3, 3), m.const(m.rng.uniform(0.001, 0.002, 6))
    bias = ints(m, 6, low=-500, high=500, dtype=np.int32)
    operands = (x, *a, w, scales, m.const([0] * 6, np.int8), *y, bias)
    return m.op("QLinearConv", *operands, pads=[1] * 4, strides=[2, 2])


def _qgemm(m, x, a, y):
    flat = m.op("Flatten", x)
    bias = ints(m, 5, low=-500, high=500, dtype=np.int32)
    operands = (flat, *a, ints(m, 5, 4 * 7 * 9), *scalar(m, 0.001, 0, np.int8), bias, *y)
    return m.op("QGemm", *operands, domain="com.microsoft", transB=1)


def _qlinear(op, **attrs):
    return lambda m, x, a, y: m.op(op, x, *a, *y, domain="com.microsoft", **attrs)


def _pair(op):
    return lambda m, x, a, y: m.op(op, x, *a, x, *a, *y, domain="com.microsoft")


def _with_constant(op):
    def build(m, x, a, y):
        c = ints(m, 1, 4, 1, 1, low=0, high=256, dtype=np.uint8)
        return m.op(op, x, *a, c, *scalar(m, 0.02), *y, domain="com.microsoft")

    return build


def _moved(op, *inputs, **attrs):
    def build(m, x, a, y):
        del y
        moved = m.op(op, x, *(m.ints(*i) for i in inputs), **attrs)
        return m.op("QLinearMul", moved, *a, moved, *a, *scalar(m, 0.3), domain="com.microsoft")

    return build


QLINEAR = {
    "QLinearConv": _qlinear_conv,
    "QLinearMatMul": lambda m, x, a, y: m.op(
        "QLinearMatMul", x, *a, ints(m, 9, 6), *scalar(m, 0.003, 0, np.int8), *y
    ),
    "QGemm": _qgemm,
    "QLinearAdd": _with_constant("QLinearAdd"),
    "QLinearAdd of two": _pair("QLinearAdd"),
    "QLinearMul": _with_constant("QLinearMul"),
    "QLinearSigmoid": lambda m, x, a, y: m.op(
        "QLinearSigmoid", x, *a, *scalar(m, 1 / 256, 0), domain="com.microsoft"
    ),
    "QLinearLeakyRelu": _qlinear("QLinearLeakyRelu", alpha=0.125),
    "QLinearAveragePool": _qlinear("QLinearAveragePool", kernel_shape=[2, 2], strides=[2, 2]),
    "QLinearAveragePool with its border": _qlinear(
        "QLinearAveragePool", kernel_shape=[3, 3], pads=[1, 0, 1, 2], count_include_pad=1
    ),
    "QLinearAveragePool beyond the end": _qlinear(
        "QLinearAveragePool", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1
    ),
    "QLinearAveragePool to the same size": _qlinear(
        "QLinearAveragePool", kernel_shape=[3, 2], auto_pad="SAME_UPPER"
    ),
    "QLinearGlobalAveragePool": _qlinear("QLinearGlobalAveragePool"),
    "QLinearSoftmax": lambda m, x, a, y: m.op(
        "QLinearSoftmax", x, *a, *scalar(m, 1 / 256, 0), domain="com.microsoft", axis=3, opset=13
    ),
    "QLinearConcat": lambda m, x, a, y: m.op(
        "QLinearConcat", *y, x, *a, x, *a, domain="com.microsoft", axis=1
    ),
    "MaxPool": _moved("MaxPool", kernel_shape=[3, 3]),
    "Transpose": _moved("Transpose", perm=[0, 3, 1, 2]),
    "Reshape": _moved("Reshape", (1, 28, 9)),
}


def answers_on_integers(path, shape):
    """Of a model whose ops are all on integers: tinyrt's to an image, and onnxruntime's."""
    graph = open_model(path)
    assert set(integer_ops(graph)) == {n.op for n in graph.nodes}
    feed = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    (wanted,) = expected(path, {"x": feed})
    turned = feed if graph.input_values[0].shape == feed.shape else feed.transpose(0, 2, 3, 1)
    (found,) = Model(graph).run({"x": turned}).values()
    return found, wanted if found.shape == wanted.shape else np.moveaxis(wanted, 1, -1)


@pytest.mark.parametrize("case", QLINEAR)
def test_quantised_ops_equal_onnxruntime_within_a_step(tmp_path, case):
    m = OnnxModel(13, seed=1)
    a, y = scalar(m, 0.03), scalar(m, 0.05, 121)
    x = m.op("QuantizeLinear", m.input(1, 4, 7, 9), *a)
    result = QLINEAR[case](m, x, a, y)
    last = m.nodes[-1]
    grid = last.input[:2] if last.op_type == "QLinearConcat" else None
    scale = next(c for c in reversed(m.constants) if c.data_type == TensorProto.FLOAT)
    if grid is None:
        places = {"QLinearConv": 6, "QLinearMatMul": 6, "QGemm": 7, "QLinearAdd": 6}
        at = places.get(last.op_type, 6 if last.op_type == "QLinearMul" else 3)
        grid = last.input[at : at + 2]
    path = saved(m, tmp_path, real(m, result, *grid))
    scale = float(numpy_helper.to_array(next(c for c in m.constants if c.name == grid[0])))
    found, wanted = answers_on_integers(path, (1, 4, 7, 9))
    # average_pool2d keeps its input's scale, and is rescaled once more.
    steps = 2 if "AveragePool" in case or "Softmax" in case else 1
    assert np.abs(found - wanted).max() <= steps * scale * 1.001


@pytest.mark.parametrize("by_row", [0, 1])
@pytest.mark.parametrize("has_bias", [True, False])
def test_a_product_without_an_output_grid_is_a_float(tmp_path, by_row, has_bias):
    m = OnnxModel(13, seed=1)
    a = scalar(m, 0.03)
    x = m.op("QuantizeLinear", m.input(2, 12), *a)
    w = ints(m, 5, 12) if by_row else ints(m, 12, 5)
    bias = [ints(m, 5, low=-500, high=500, dtype=np.int32)] if has_bias else []
    operands = (x, *a, w, *scalar(m, 0.001, 0, np.int8), *bias)
    y = m.op("QGemm", *operands, domain="com.microsoft", transB=by_row, alpha=1.0)
    path = saved(m, tmp_path, y)
    feed = np.random.default_rng(0).standard_normal((2, 12)).astype(np.float32)
    (wanted,) = expected(path, {"x": feed})
    with pytest.warns(QuantizationWarning, match="'t1/Gemm'"):
        graph = open_model(path)
    (found,) = Model(graph).run({"x": feed}).values()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", ["ConvInteger", "MatMulInteger"])
def test_products_of_integers_are_scaled_products_of_numbers(tmp_path, op):
    m = OnnxModel(13, seed=1)
    scale, zero_point = scalar(m, 0.03)
    x = m.op("QuantizeLinear", m.input(1, 4, 7, 9), scale, zero_point)
    w = ints(m, 6, 4, 3, 3) if op == "ConvInteger" else ints(m, 9, 6)
    product = m.op(op, x, w, zero_point, m.const(0, np.int8))
    y = m.op("Mul", m.op("Cast", product, to=TensorProto.FLOAT), m.const([0.0001]))
    path = saved(m, tmp_path, y)
    with pytest.warns(QuantizationWarning, match="its output has no scale"):
        graph = open_model(path)
    feed = np.random.default_rng(0).standard_normal((1, 4, 7, 9)).astype(np.float32)
    (wanted,) = expected(path, {"x": feed})
    turned = feed if graph.input_values[0].shape == feed.shape else feed.transpose(0, 2, 3, 1)
    (found,) = Model(graph).run({"x": turned}).values()
    wanted = wanted if found.shape == wanted.shape else wanted.transpose(0, 2, 3, 1)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_dynamic_quantisation_stores_weights_in_int8(tmp_path):
    m = OnnxModel(13, seed=2)
    hidden = m.op("Relu", m.op("MatMul", m.input(1, 24), m.weights(24, 16)))
    source = m.save(tmp_path, m.op("MatMul", hidden, m.weights(16, 4)))
    path = tmp_path / "dynamic.onnx"
    quantize_dynamic(source, path, weight_type=QuantType.QInt8, reduce_range=True)
    graph = open_model(path)
    stored = [v for v in graph.values.values() if v.is_constant and v.dtype is DType.INT8]
    assert [v.size for v in stored] == [384, 64]
    x = np.random.default_rng(0).standard_normal((1, 24)).astype(np.float32)
    (found,) = Model(graph).run({"x": x}).values()
    (wanted,) = expected(path, {"x": x})
    # onnxruntime rounds activations to 8 bits, sample by sample.
    assert np.abs(found - wanted).max() < 0.02 * np.abs(wanted).max()


def test_a_clamp_behind_a_rounding_fuses_into_the_convolution(tmp_path):
    m = OnnxModel(13)
    w = real(m, ints(m, 4, 3, 3, 3), m.const(0.002), m.const(0, np.int8))
    y = m.op("Conv", on_grid(m, m.input(1, 3, 8, 9)), w)
    y = on_grid(m, m.op("Relu", on_grid(m, y, 0.1)), 0.1)
    (node,) = open_model(saved(m, tmp_path, y)).nodes
    assert (node.op, node.attrs.activation) == ("conv2d", "RELU")


def test_ops_without_scales_stay_in_float_and_are_named(tmp_path):
    m = OnnxModel(17)
    w = real(m, ints(m, 4, 3, 3, 3), m.const(0.002), m.const(0, np.int8))
    y = on_grid(m, m.op("Conv", on_grid(m, m.input(1, 3, 8, 9)), w), 0.1)
    y = m.op("Pow", y, m.const([[[1.0]], [[2.0]], [[3.0]], [[2.0]]]))
    y = m.op("Conv", on_grid(m, y), real(m, ints(m, 2, 4, 1, 1), m.const(0.01)))
    path, log = saved(m, tmp_path, y), RewriteLog()
    with pytest.warns(QuantizationWarning, match="'n6' .pow has no int8 form"):
        graph = open_model(path, log=log)
    assert [n.op for n in graph.nodes] == [
        "conv2d",
        "dequantize",
        "pow",
        "quantize",
        "dequantize",
        "conv2d",
    ]
    assert graph.input_values[0].dtype is DType.INT8
    assert graph.output_values[0].dtype is DType.FLOAT32
    reasons = {r for (step, _), r in log.refused.items() if step == "given_quantisation"}
    assert reasons == {"pow has no int8 form", "its output has no scale"}
    x = np.random.default_rng(0).standard_normal((1, 3, 8, 9)).astype(np.float32)
    (wanted,) = expected(path, {"x": x})
    (found,) = Model(graph).run({"x": x.transpose(0, 2, 3, 1)}).values()
    assert np.abs(found.transpose(0, 3, 1, 2) - wanted).max() < 0.2


def test_an_input_of_integers_becomes_int8(tmp_path):
    m = OnnxModel(13)
    x = real(m, m.input(1, 3, 8, 9, dtype=TensorProto.UINT8), *scalar(m, 0.02, 100))
    w = real(m, ints(m, 4, 3, 3, 3), m.const(0.002), m.const(0, np.int8))
    path = saved(m, tmp_path, on_grid(m, m.op("Conv", x, w)))
    graph = open_model(path)
    value = graph.input_values[0]
    assert (value.dtype, value.q.zero_point) == (DType.INT8, -28)
    raw = np.random.default_rng(0).integers(0, 256, (1, 3, 8, 9), np.uint8)
    session = exact_session(path)
    (wanted,) = session.run(None, {"x": raw})
    feed = (raw.astype(np.int16) - 128).astype(np.int8).transpose(0, 2, 3, 1)
    (found,) = Model(graph).run_raw({"x": feed}).values()
    real_found = (found.astype(np.float32)) * 0.05
    assert np.abs(real_found.transpose(0, 3, 1, 2) - wanted).max() <= 0.0501


REFUSED = {
    "several scales": lambda m, x: m.op(
        "QuantizeLinear", x, m.const([0.1, 0.2, 0.3]), m.const([0, 0, 0], np.int8), axis=1
    ),
    "on a tensor of integers": lambda m, x: m.op("Relu", m.op("QuantizeLinear", x, *scalar(m, 1))),
    "positive numbers": lambda m, x: on_grid(m, x, -0.5),
    "cast to the integers of another": lambda m, x: m.op(
        "CastLike", x, m.op("QuantizeLinear", x, *scalar(m, 0.1))
    ),
    "joins integers of different scales": lambda m, x: m.op(
        "Concat", *(m.op("QuantizeLinear", x, *scalar(m, scale)) for scale in (0.1, 0.2)), axis=1
    ),
    "QAttention": lambda m, x: m.op("QAttention", x, domain="com.microsoft"),
}


@pytest.mark.parametrize("says", REFUSED)
def test_what_has_no_integer_form_is_refused_by_name(tmp_path, says):
    m = OnnxModel(13)
    path = saved(m, tmp_path, REFUSED[says](m, m.input(1, 3, 8, 9)))
    with pytest.raises(TinyrtError) as caught, warnings.catch_warnings():
        open_model(path)
    assert says in str(caught.value)


def _grid(scale: float) -> Grid:
    return Grid(np.full(1, scale, np.float32), np.zeros(1, int), "int8", None)


@pytest.mark.parametrize(
    ("first", "other", "are_joined"),
    [
        (None, None, True),
        (_grid(0.1), _grid(0.1), True),
        (_grid(0.1), _grid(0.2), False),
        (_grid(0.1), None, False),
        (None, _grid(0.1), False),
    ],
)
def test_integers_are_joined_on_one_grid_alone(first, other, are_joined):
    operands = [Quantized(Value("x", DType.INT8, (1, 2)), grid) for grid in (first, other)]
    if are_joined:
        assert moved_grid("Concat", operands) is first
    else:
        with pytest.raises(TinyrtError, match="joins integers of different scales"):
            moved_grid("Concat", operands)


@pytest.mark.parametrize("activations", ["uint8", "int8", "int16"])
def test_places_are_chosen_among_the_integers(tmp_path, activations):
    m = OnnxModel(15, seed=4)
    y = m.op("Conv", m.input(1, 3, 13, 11), m.weights(6, 3, 3, 3), m.weights(6), pads=[1] * 4)
    model = m.model(m.op("ArgMax", y, axis=1, keepdims=0))
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    path = quantized(model, tmp_path / "q.onnx", SAMPLES, activations=activations)
    _, integers = both(path)
    assert [n.op for n in integers.nodes] == ["conv2d", "arg_max"]
    session = exact_session(path)
    name = session.get_inputs()[0].name
    theirs = np.concatenate([session.run(None, {name: x[None]})[0] for x in SAMPLES])
    ours = Model(integers)(SAMPLES.transpose(0, 2, 3, 1))
    assert np.mean(ours == theirs) > 0.99  # a step of rounding decides between neighbours


def test_channels_whose_scale_stays_are_scaled_beside_others(tmp_path):
    m = OnnxModel(17)
    q = m.op("QuantizeLinear", m.input(1, 3, 4), m.const(0.1), m.const(0, np.int8))
    zeros = m.const([0, 0, 0], np.int8)
    y = m.op("DequantizeLinear", q, m.const([0.1, 0.5, 0.3]), zeros, axis=1)
    assert_matches(m.save(tmp_path, y))
