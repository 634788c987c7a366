"""Numbers of 16 bits, borders that cut off, and what is picked or added at run time."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.convert.onnx_build import OnnxModel, assert_close, assert_matches, expected
from tinyrt import Interpreter, convert_model
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.convert.onnx.weights import in_type
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ops.shared.evaluate import evaluate

HALF, BRAIN = TensorProto.FLOAT16, TensorProto.BFLOAT16
CASES = {}


def case(opset=18):
    def register(build):
        CASES[build.__name__] = (build, opset)
        return build

    return register


def whole_in_halves(m):
    rng = np.random.default_rng(0)
    x = m.input(1, 3, 8, 7, dtype=HALF)
    w = m.const(rng.uniform(-1, 1, (4, 3, 3, 3)), np.float16)
    y = m.op("Relu", m.op("Conv", x, w, m.const([0.1, 0.2, 0.3, 0.4], np.float16)))
    return m.op("Mul", m.op("GlobalAveragePool", y), m.op("Cast", m.const(0.3), to=HALF))


def test_models_in_halves_are_computed_in_float32(tmp_path):
    m = OnnxModel(13)
    proto = m.model(whole_in_halves(m))
    proto.graph.output[0].type.tensor_type.elem_type = HALF
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    x = np.random.default_rng(1).standard_normal((1, 3, 8, 7)).astype(np.float16)
    (wanted,) = expected(path, {"x": x})
    graph = read_onnx(path)
    assert [v.dtype.short for v in graph.input_values] == ["f32"]
    (found,) = evaluate(graph, {"x": x.astype(np.float32)}).values()
    assert_close(found, wanted.astype(np.float32), tolerance=2e-3)


@pytest.mark.parametrize("raw", [True, False])
def test_constants_in_bfloat16_keep_their_values(raw, tmp_path):
    numbers = [0.5, 1.25, -2.0, 3.0, 1e-30, -1e30]
    m = OnnxModel(18)
    tensor = helper.make_tensor("w", BRAIN, [6], numbers)
    if not raw:
        bits = np.frombuffer(tensor.raw_data, np.uint16).tolist() or list(tensor.int32_data)
        tensor = TensorProto(name="w", data_type=BRAIN, dims=[6], int32_data=bits)
    m.constants.append(tensor)
    y = m.op("Mul", m.input(2, 6), m.op("Cast", "w", to=TensorProto.FLOAT))
    graph, _ = assert_matches(m.save(tmp_path, y))
    (constant,) = (v.data for v in graph.values.values() if v.is_constant)
    # A number of 8 bits is within one part of 256.
    np.testing.assert_allclose(constant.reshape(-1), numbers, rtol=1 / 256)
    np.testing.assert_array_equal(constant.view(np.uint32) & 0xFFFF, 0)


@pytest.mark.parametrize("kind", [HALF, BRAIN])
def test_constants_that_are_cast_to_16_bits_are_rounded(kind):
    rng = np.random.default_rng(0)
    numbers = (rng.standard_normal(500) * 10.0 ** rng.integers(-3, 4, 500)).astype(np.float32)
    numbers = np.concatenate([numbers, np.float32([1.00390625, 1.01171875, np.nan, np.inf])])
    own = helper.tensor_dtype_to_np_dtype(kind)
    np.testing.assert_array_equal(in_type(numbers, kind), numbers.astype(own).astype(np.float32))


@pytest.mark.parametrize("dtype", [TensorProto.INT8, TensorProto.UINT8])
def test_bytes_that_are_cast_are_numbers(dtype, tmp_path):
    m = OnnxModel(13)
    y = m.op("Mul", m.op("Cast", m.input(3, 4, dtype=dtype), to=1), m.const(0.1))
    path, out = m.save(tmp_path, y), tmp_path / "model.tflite"
    x = np.arange(-6 if dtype == TensorProto.INT8 else 250, 256, dtype=np.int64)[:12]
    x = np.resize(x, (3, 4)).astype(helper.tensor_dtype_to_np_dtype(dtype))
    convert_model(path, out)
    interpreter = Interpreter(out)
    interpreter.allocate_tensors()
    (detail,) = interpreter.get_input_details()
    assert detail["dtype"] == x.dtype
    interpreter.set_tensor(detail["index"], x)
    interpreter.invoke()
    found = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    assert_close(found, expected(path, {"x": x})[0])


def bordered(m, widths, mode="constant", value=(1.5,)):
    given = [m.const(value[0])] if mode == "constant" else []
    return m.op("Pad", m.input(1, 3, 4, 5), m.ints(*widths), *given, mode=mode)


@case()
def borders_that_cut_off(m):
    return bordered(m, (0, 0, -1, -2, 0, -1, 0, 0))


@case()
def borders_that_cut_off_and_add(m):
    return bordered(m, (0, 1, -1, 2, 0, -1, 1, -1))


@case()
def mirrors_that_cut_off_elsewhere(m):
    return bordered(m, (0, -1, 0, 2, 0, 0, -1, 1), "reflect")


@case()
def cut_off_as_a_mirror(m):
    return bordered(m, (0, -1, 0, -1, 0, 0, -1, 0), "reflect")


@case()
def biases_that_are_computed(m):
    y = m.op("Conv", m.input(1, 3, 6, 5), m.weights(4, 3, 2, 2), m.input(4, name="b"))
    return m.op("ConvTranspose", y, m.weights(4, 2, 3, 2), m.input(2, name="c"), strides=[2, 2])


@case()
def a_constant_matrix_times_a_vector(m):
    return m.op("MatMul", m.weights(3, 4), m.input(4))


@case()
def elements_that_are_picked_one_by_one(m):
    picked = np.random.default_rng(0).integers(-3, 3, (2, 3, 4))
    first = m.op("GatherElements", m.input(3, 4, 5), m.const(picked, np.int64), axis=1)
    return m.op("GatherElements", first, m.const([[[1], [0], [-1]]] * 2, np.int64), axis=-1)


@case()
def places_in_each_of_a_batch(m):
    inner = m.const([[[0, 1], [-1, 2]], [[1, 0], [2, -1]], [[1, 1], [0, 0]]], np.int64)
    return m.op("GatherND", m.input(3, 4, 5), inner, batch_dims=1)


@case()
def parts_without_elements(m):
    x = m.input(2, 4, 5)
    none = m.op("Slice", x, m.ints(3), m.ints(3), m.ints(1))
    first = m.op("Split", m.op("Relu", x), m.ints(4, 0), outputs=2, axis=1)
    return m.op("Concat", none, first, f"{first}_1", x, axis=1)


@case()
def the_rest_of_a_division(m):
    y = m.op("Add", m.op("Abs", m.input(3, 4, name="y")), m.const(0.3))
    return m.op("Mod", m.op("Mul", m.input(3, 4), m.const(5.0)), y, fmod=1)


@pytest.mark.parametrize("name", CASES)
def test_it_equals_onnxruntime(name, tmp_path):
    build, opset = CASES[name]
    m = OnnxModel(opset)
    assert_matches(m.save(tmp_path, build(m)))


def integers(m):
    counted = m.op("Cast", m.op("Mul", m.input(3, 4), m.const(6.0)), to=TensorProto.INT32)
    rest = m.op("Mod", counted, m.const(4, np.int32))
    low, high = m.const(-1, np.int32), m.const(3, np.int32)
    clipped = [m.op("Clip", counted, *ends) for ends in ((low, high), ("", high), (low,), ())]
    total = rest
    for each in clipped:
        total = m.op("Add", m.op("Mul", total, m.const(10, np.int32)), each)
    return m.op("Cast", total, to=TensorProto.FLOAT)


def test_integers_are_divided_and_clipped(tmp_path):
    m = OnnxModel(13)
    path = m.save(tmp_path, integers(m))
    x = {"x": np.random.default_rng(0).uniform(-2, 2, (3, 4)).astype(np.float32)}
    (found,) = evaluate(read_onnx(path), x).values()
    np.testing.assert_array_equal(found, expected(path, x)[0])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", [(2, 2), (3,), ()])
def test_rows_of_what_is_computed_are_picked_at_run_time(axis, shape, tmp_path):
    m = OnnxModel(13)
    table = m.op("Relu", m.input(4, 3, 5))
    y = m.op("Gather", table, m.input(*shape, name="i", dtype=TensorProto.INT64), axis=axis)
    path, rng = m.save(tmp_path, y), np.random.default_rng(0)
    feeds = {"x": rng.standard_normal((4, 3, 5)).astype(np.float32)}
    feeds["i"] = np.asarray(rng.integers(0, 3, shape), np.int64)
    (wanted,) = expected(path, feeds)
    feeds["i"] = feeds["i"].astype(np.int32)
    (found,) = evaluate(read_onnx(path), feeds).values()
    np.testing.assert_array_equal(found, wanted)


REFUSED = {
    "mirrors of what is cut off": (
        lambda m: bordered(m, (0, 0, -1, 2, 0, 0, 1, -1), "edge"),
        "Pad in mode 'edge' by .* repeats elements that it cuts off",
    ),
    "nothing left": (lambda m: bordered(m, (0, 0, -2, 0, 0, 0, -2, 0)), "leaves nothing of"),
    "a slice of nothing": (
        lambda m: m.op("Slice", m.input(2, 3), m.ints(2), m.ints(1), m.ints(0)),
        r"the output 't0' is a constant, float32\[0, 3\]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_forms_are_refused(name, tmp_path):
    build, says = REFUSED[name]
    m = OnnxModel(18)
    with pytest.raises(UnsupportedError, match=says):
        read_onnx(m.save(tmp_path, build(m)))


@pytest.mark.parametrize("shape", [(2, 5, 5), (2, 3), (0, 4, 5)])
def test_elements_outside_are_refused(shape, tmp_path):
    m = OnnxModel(18)
    picked = m.const(np.zeros(shape), np.int64)
    y = m.op("GatherElements", m.input(3, 4, 5), picked, axis=0)
    with pytest.raises(ModelFormatError, match=r"indices \["):
        read_onnx(m.save(tmp_path, y))


@pytest.mark.parametrize("batch", [2, 3, -1])
def test_batches_that_do_not_fit_are_refused(batch, tmp_path):
    m = OnnxModel(18)
    picked = m.const(np.zeros((3, 2, 1)), np.int64)
    with pytest.raises(ModelFormatError, match=f"batch_dims {batch}"):
        read_onnx(m.save(tmp_path, m.op("GatherND", m.input(3, 4), picked, batch_dims=batch)))


def test_all_types_that_are_known_are_named(tmp_path):
    m = OnnxModel(18)
    kind = onnx.TensorProto.FLOAT8E4M3FN
    y = m.op("Mul", m.input(2), m.op("Cast", m.weights(2), to=kind))
    with pytest.raises(UnsupportedError, match="expected: float, double, float16, bfloat16, int8"):
        read_onnx(m.save(tmp_path, y))
