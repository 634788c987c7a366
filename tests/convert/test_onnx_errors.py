"""Every ONNX file that can't be read is refused with what, where and what to do."""

from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.external_data_helper import set_external_data

from tests.convert.onnx_build import OnnxModel, feeds_for
from tests.sampling import sampled
from tinyrt.api import open_model
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.errors import (
    ConversionWarning,
    ModelFormatError,
    ShapeError,
    TinyrtError,
    UnsupportedError,
)
from tinyrt.ops.shared.evaluate import evaluate


def small_net() -> OnnxModel:
    m = OnnxModel()
    x = m.op("Relu", m.op("Conv", m.input("n", 2, 6, 5), m.weights(3, 2, 3, 3), m.weights(3)))
    m.op("Gemm", m.op("Flatten", x), m.weights(36, 4), m.weights(4))
    return m


def refused(path, kind: type[TinyrtError], *parts: str, **kwargs) -> TinyrtError:
    """The error, which names the file, says what to do, and contains the parts."""
    with pytest.raises(kind) as caught:
        read_onnx(path, **kwargs)
    error = caught.value
    assert error.file == str(path)
    assert error.hint
    for part in parts:
        assert part in str(error)
    return error


def write(path, content: bytes):
    path.write_bytes(content)
    return path


def test_missing_file(tmp_path):
    refused(tmp_path / "none.onnx", ModelFormatError, "No such file")


def test_folder(tmp_path):
    refused(tmp_path, ModelFormatError, "Is a directory")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        (b"<!DOCTYPE HTML><title>Not found</title>", "a web page"),
        (b"PK\x03\x04" + bytes(40), "torch.onnx.export"),
        (b"\x89HDF\r\n\x1a\n" + bytes(40), "from_keras_model"),
        (b"\x1f\x8b" + bytes(40), "unpack it"),
        (b"\x08\x08 an ONNX model named otherwise", "name the file *.onnx"),
    ],
)
def test_files_that_are_taken_for_models(tmp_path, content, says):
    for name in ("model.tflite", "model.onnx")[: 1 + (content[0] != 8)]:
        with pytest.raises(ModelFormatError) as caught:
            open_model(write(tmp_path / name, content))
        assert caught.value.file == str(tmp_path / name)
        assert says in str(caught.value)


def test_a_saved_model_is_a_folder(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"")
    with pytest.raises(ModelFormatError, match="a TensorFlow SavedModel"):
        open_model(tmp_path)


@pytest.mark.parametrize("content", [b"", b"not a model", bytes(range(256))])
def test_other_content(tmp_path, content):
    refused(write(tmp_path / "m.onnx", content), ModelFormatError, "expected: an ONNX model")


def test_truncated_anywhere(tmp_path):
    whole = small_net().model("t3").SerializeToString()
    for length in range(0, len(whole), 7):
        refused(write(tmp_path / "m.onnx", whole[:length]), ModelFormatError)


def test_random_bytes(tmp_path):
    rng = np.random.default_rng(0)
    for size in (1, 10, 100, 1000, 10000):
        refused(write(tmp_path / "m.onnx", rng.bytes(size)), ModelFormatError)


@pytest.mark.slow
def test_damaged_bytes_never_cause_another_error(tmp_path):
    whole = small_net().model("t3").SerializeToString()
    rng = np.random.default_rng(1)
    outcomes = Counter()
    count = sampled(250, 600)
    for _ in range(count):
        damaged = bytearray(whole)
        for at in rng.integers(0, len(whole), 3):
            damaged[at] = rng.integers(256)
        path = write(tmp_path / "m.onnx", bytes(damaged))
        try:
            read_onnx(path)
            outcomes["read"] += 1
        except TinyrtError as error:
            outcomes[type(error)] += error.file == str(path)
    assert outcomes.total() == count
    assert outcomes.keys() >= {"read", ModelFormatError, UnsupportedError}


def test_unsupported_ops_are_all_named(tmp_path):
    m = OnnxModel()
    x = m.op("Det", m.op("Relu", m.input(1, 4)))
    y = m.op("FancyNorm", m.op("Det", m.op("GridSample", x, x)), domain="com.example")
    m.op("NotNeeded", x)
    names = "Det, GridSample, com.example.FancyNorm"
    error = refused(m.save(tmp_path, y), UnsupportedError, names)
    assert error.op == "#1 Det 'n1' (ONNX opset 13) and 3 more"
    assert "replace these ops" in error.hint


@pytest.mark.parametrize("opset", [6, 99])
def test_operator_sets_out_of_range(tmp_path, opset):
    m = OnnxModel(opset)
    error = refused(m.save(tmp_path, m.op("Relu", m.input(1, 4))), UnsupportedError)
    assert f"operator set {opset}" in error.problem


def external(tmp_path, **entry):
    """A model whose weights lie in ``weights.bin``."""
    m = small_net()
    model = m.model("t3")
    tensor = model.graph.initializer[2]
    data = tensor.raw_data
    (tmp_path / "weights.bin").write_bytes(data)
    set_external_data(tensor, **({"location": "weights.bin", "length": len(data)} | entry))
    tensor.ClearField("raw_data")
    return write(tmp_path / "m.onnx", model.SerializeToString())


def test_external_weights_are_read(tmp_path):
    path = external(tmp_path)
    inner = write(tmp_path / "inner.onnx", small_net().model("t3").SerializeToString())
    found, wanted = (read_onnx(p).value("c2").data for p in (path, inner))
    np.testing.assert_array_equal(found, wanted)


def test_external_weights_reach_from_their_offset_to_the_end_of_the_file(tmp_path):
    inner = write(tmp_path / "inner.onnx", small_net().model("t3").SerializeToString())
    weights = read_onnx(inner).value("c2").data
    for extra, offset in ((b"", 0), (bytes(range(20)), 20)):
        path = external(tmp_path, offset=offset, length=None)
        file = tmp_path / "weights.bin"
        file.write_bytes(extra + file.read_bytes())
        np.testing.assert_array_equal(read_onnx(path).value("c2").data, weights)
    file.write_bytes(file.read_bytes() + b"!")
    refused(path, ModelFormatError, "577 bytes", "576 bytes")
    path = external(tmp_path, offset=577, length=None)
    refused(path, ModelFormatError, "0 bytes", "576 bytes")


def test_external_weights_that_end_behind_the_file(tmp_path):
    """So many bytes as they have to be, of which the file has all but one from the offset on."""
    path = external(tmp_path, offset=1)
    refused(path, ModelFormatError, "575 bytes in 'weights.bin'", "576 bytes")
    refused(external(tmp_path, offset=600), ModelFormatError, "0 bytes in 'weights.bin'")


def test_missing_external_weights(tmp_path):
    path = external(tmp_path)
    (tmp_path / "weights.bin").unlink()
    error = refused(path, ModelFormatError, "'weights.bin' is missing", str(tmp_path))
    assert "'c2' FLOAT[36, 4]" in error.tensor


def test_external_weights_that_are_cut_short(tmp_path):
    path = external(tmp_path)
    (tmp_path / "weights.bin").write_bytes(b"1234")
    refused(path, ModelFormatError, "4 bytes", "576 bytes")


@pytest.mark.parametrize("location", ["../weights.bin", "/etc/hostname"])
def test_external_weights_outside_the_folder(tmp_path, location):
    refused(external(tmp_path, location=location), ModelFormatError, "outside the model's folder")


def test_external_weights_in_a_folder_whose_name_begins_alike(tmp_path):
    path = external(tmp_path, location=f"../{tmp_path.name}_of_others/weights.bin")
    refused(path, ModelFormatError, "outside the model's folder")


def test_external_entries_that_are_no_numbers(tmp_path):
    refused(external(tmp_path, offset=-5), ModelFormatError, "cannot be read")


REFUSED = {
    "a 3-D convolution": (
        lambda m: m.op("Conv", m.input(1, 2, 5, 5, 5), m.weights(3, 2, 3, 3, 3)),
        "3 spatial dimensions",
    ),
    "weights that are computed": (
        lambda m: m.op("Conv", m.input(1, 2, 5, 4), m.input(3, 2, 3, 3, name="w")),
        "the weights depends on the model's input",
    ),
    "training": (
        lambda m: m.op(
            "BatchNormalization", m.input(1, 2, 3), *(m.weights(2) for _ in range(4)), outputs=5
        ),
        "training mode",
    ),
    "indices": (
        lambda m: m.op("MaxPool", m.input(1, 1, 4, 4), outputs=2, kernel_shape=[2, 2]) + "_1",
        "an output other than the op's first",
    ),
    "a crop of everything": (
        lambda m: m.op("Pad", m.input(1, 4), m.ints(0, -4, 0, 0)),
        "leaves nothing",
    ),
    "an edge that is cut off": (
        lambda m: m.op("Pad", m.input(1, 4), m.ints(0, -1, 0, 1), mode="edge"),
        "repeats elements that it cuts off",
    ),
    "parts that do not fit": (
        lambda m: m.op("Split", m.input(1, 4), m.ints(1, 2), outputs=2, axis=1),
        "parts of [1, 2]",
    ),
    "rows that are written at run time": (
        lambda m: m.op("ScatterND", x := m.input(1, 4), m.op("ArgMax", x, axis=1), m.weights(1, 4)),
        "where elements are written depends on the model's input",
    ),
    "unknown coordinates": (
        lambda m: m.op(
            "Resize",
            m.input(1, 1, 4, 4),
            "",
            m.const([1, 1, 2, 2.0]),
            coordinate_transformation_mode="log_polar",
        ),
        "coordinates 'log_polar'",
    ),
    "a division by zero": (lambda m: m.op("Div", m.input(1, 2), m.const([1, 0])), "zeros"),
    "an input of complex numbers": (
        lambda m: m.op("Cast", m.input(1, 2, dtype=onnx.TensorProto.COMPLEX64), to=1),
        "'x' is COMPLEX64",
    ),
    "an input of text": (
        lambda m: m.op("Identity", m.input(1, 2, dtype=onnx.TensorProto.STRING)),
        "'x' is STRING",
    ),
    "a root of integers": (
        lambda m: m.op("Sqrt", m.input(1, 2, dtype=onnx.TensorProto.INT32)),
        "Sqrt on integers that depend on the model's input",
    ),
    "a cast": (lambda m: m.op("Cast", m.input(1, 2), to=14), "cast to COMPLEX64"),
    "a sparse constant": (
        lambda m: m.op("Add", m.input(1, 2), m.op("Constant", value_string="a")),
        "value_string",
    ),
    "an output that is constant": (
        lambda m: m.op("Identity", m.const([m.input(1) and 1.0])),
        "no output depends on the model's input",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_forms_that_are_not_supported(name, tmp_path):
    build, part = REFUSED[name]
    m = OnnxModel()
    refused(m.save(tmp_path, build(m)), UnsupportedError, part)


CONTRADICTORY = {
    "an undefined tensor": lambda m: m.op("Relu", "nothing"),
    "a missing output": lambda m: m.input(1) and "nothing",
    "a missing operand": lambda m: m.op("Add", m.input(1, 2)),
    "weights of other channels": lambda m: m.op("Conv", m.input(1, 2, 5, 4), m.weights(3, 4, 3, 3)),
    "another kernel": lambda m: m.op(
        "Conv", m.input(1, 2, 5, 4), m.weights(3, 2, 3, 3), kernel_shape=[5, 5]
    ),
    "a window that does not fit": lambda m: m.op(
        "Conv", m.input(1, 2, 2, 2), m.weights(3, 2, 3, 3)
    ),
    "a stride of zero": lambda m: m.op(
        "Conv", m.input(1, 2, 5, 4), m.weights(3, 2, 3, 3), strides=[0, 1]
    ),
    "too few pads": lambda m: m.op("Conv", m.input(1, 2, 5, 4), m.weights(3, 2, 3, 3), pads=[1]),
    "an attribute of another type": lambda m: m.op(
        "Conv", m.input(1, 2, 5, 4), m.weights(3, 2, 3, 3), group="many"
    ),
    "an unknown auto_pad": lambda m: m.op(
        "Conv", m.input(1, 2, 5, 4), m.weights(3, 2, 3, 3), auto_pad="FULL"
    ),
    "a pooling without kernel": lambda m: m.op("MaxPool", m.input(1, 2, 5, 4)),
    "an impossible reshape": lambda m: m.op("Reshape", m.input(2, 3), m.ints(4, -1)),
    "a copied dimension too many": lambda m: m.op("Reshape", m.input(6), m.ints(6, 0)),
    "a squeeze of more than one": lambda m: m.op("Squeeze", m.input(2, 3), m.ints(0)),
    "an axis that does not exist": lambda m: m.op("ReduceMean", m.input(2, 3), axes=[2]),
    "an axis twice": lambda m: m.op("ReduceMean", m.input(2, 3), axes=[1, -1]),
    "a permutation that is none": lambda m: m.op("Transpose", m.input(2, 3), perm=[0, 0]),
    "a flatten beyond the end": lambda m: m.op("Flatten", m.input(2, 3), axis=5),
    "pads for other axes": lambda m: m.op("Pad", m.input(2, 3), m.ints(1, 1)),
    "a product that does not fit": lambda m: m.op("Gemm", m.input(2, 3), m.weights(4, 5)),
    "a limit that is no scalar": lambda m: m.op("Clip", m.input(2, 3), m.const([1, 2])),
    "constants that do not fit": lambda m: m.op(
        "Mul", m.input(2, 3), m.op("Add", m.weights(2), m.weights(3))
    ),
    "an integer division by zero": lambda m: m.op(
        "Reshape", m.input(2, 3), m.op("Div", m.ints(6), m.ints(0))
    ),
    "a constant that is no number": lambda m: m.op("Add", m.input(1, 2), m.const([1, np.nan])),
    "a variance below zero": lambda m: m.op(
        "BatchNormalization", m.input(1, 1, 4), *(m.const([-1.0]) for _ in range(4))
    ),
    "a gigantic constant": lambda m: m.op(
        "Mul", m.input(2, 3), m.op("ConstantOfShape", m.ints(1 << 40))
    ),
}


@pytest.mark.parametrize("name", CONTRADICTORY)
def test_models_that_contradict_themselves(name, tmp_path):
    m = OnnxModel()
    path = m.save(tmp_path, CONTRADICTORY[name](m))
    with pytest.raises(ModelFormatError) as caught:
        read_onnx(path)
    assert caught.value.file == str(path)
    assert caught.value.op or "output 'nothing'" in caught.value.problem


def test_operands_that_do_not_broadcast(tmp_path):
    m = OnnxModel()
    path = m.save(tmp_path, m.op("Add", m.input(2, 3), m.weights(4)))
    with pytest.raises(ShapeError, match="do not broadcast") as caught:
        read_onnx(path)
    assert caught.value.op == "#0 Add 'n0' (ONNX opset 13)"


def test_a_norm_of_single_elements_is_pointed_out(tmp_path):
    m = OnnxModel(17)
    y = m.op("InstanceNormalization", m.input(1, 3, 1, 1), m.weights(3), m.weights(3))
    with pytest.warns(ConversionWarning, match="#0 InstanceNormalization 'n0' .* answers its bias"):
        graph = read_onnx(m.save(tmp_path, y))
    (found,) = evaluate(graph, feeds_for(graph)).values()
    bias = numpy_helper.to_array(m.constants[1])
    np.testing.assert_array_equal(found.reshape(-1), bias)
