"""ONNX files whose parts do not fit together are refused: what, where, what instead."""

import os

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.external_data_helper import set_external_data

from tests.convert.onnx_build import OnnxModel
from tests.convert.test_onnx_errors import refused
from tinyrt.api import open_model
from tinyrt.convert.onnx import nodes, proto
from tinyrt.convert.over_time.windows import stream
from tinyrt.errors import ModelFormatError, ShapeError, TinyrtError

TENSOR = onnx.TensorProto


def plain():
    """Relu, then Add of the constant k."""
    m = OnnxModel()
    m.op("Add", m.op("Relu", m.input(2, 3)), m.const(np.ones(3), name="k"))
    return m.model("t1")


def save(model, folder):
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def two_sets(model):
    model.opset_import.append(helper.make_opsetid("ai.onnx", 7))


def same_output_twice(model):
    model.graph.output.append(model.graph.output[0])


def defined_again(model):
    model.graph.node.insert(1, helper.make_node("Neg", ["x"], ["t0"]))


def attribute_twice(model):
    model.graph.node[0].attribute.extend([helper.make_attribute("a", 1)] * 2)


def attribute_of_a_function(model):
    attribute = helper.make_attribute("a", 1)
    attribute.ref_attr_name = "b"
    model.graph.node[0].attribute.append(attribute)


def sparse(model):
    (constant,) = model.graph.initializer
    values = numpy_helper.from_array(np.ones(1, np.float32), "k")
    places = numpy_helper.from_array(np.zeros(1, np.int64), "k_places")
    del model.graph.initializer[:]
    made = helper.make_sparse_tensor(values, places, list(constant.dims))
    model.graph.sparse_initializer.append(made)


def constant(**changes):
    """The constant k, with other fields."""

    def change(model):
        (tensor,) = model.graph.initializer
        for name, value in changes.items():
            if isinstance(value, list):
                tensor.ClearField(name)
                getattr(tensor, name).extend(value)
            else:
                setattr(tensor, name, value)

    return change


def in_segments(model):
    model.graph.initializer[0].segment.begin = 0


def few_elements(model):
    (tensor,) = model.graph.initializer
    tensor.ClearField("raw_data")
    tensor.float_data.extend([1.0, 2.0])


BROKEN = [
    (two_sets, ["ONNX operator sets 13 and 7"]),
    (same_output_twice, ["outputs [t1, t1]", "different names"]),
    (defined_again, ["the node defines [t0] once more", "a tensor that nothing before defines"]),
    (attribute_twice, ["attribute 'a' is given twice", "#0 Relu 'n0'", "one value for each"]),
    (attribute_of_a_function, ["attribute 'a' is that of a function", "#0 Relu 'n0'"]),
    (sparse, ["the constant 'k' is sparse", "dense constants"]),
    (constant(dims=[1] * 65), ["a constant has 65 dimensions", "at most 64", "'k' FLOAT[1, 1"]),
    (constant(dims=[-3]), ["a constant has shape [-3]", "dimensions of 0 to", "'k' FLOAT[-3]"]),
    (constant(data_type=TENSOR.STRING), ["a constant has element type STRING", "float, double"]),
    (in_segments, ["a constant comes in segments", "'k' FLOAT[3]", "whole constants"]),
    (constant(raw_data=b"1234"), ["4 bytes", "'k' FLOAT[3]", "12 bytes"]),
    (few_elements, ["2 elements", "'k' FLOAT[3]", "3 elements"]),
]


@pytest.mark.parametrize(("change", "says"), BROKEN)
def test_files_that_contradict_themselves_are_refused(change, says, tmp_path):
    model = plain()
    change(model)
    refused(save(model, tmp_path), TinyrtError, *says)


def stored_elsewhere(tmp_path, **entry):
    model = plain()
    set_external_data(model.graph.initializer[0], **entry)
    model.graph.initializer[0].ClearField("raw_data")
    return save(model, tmp_path)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"location": ""}, ["the weights file '' is missing", "beside the model"]),
        ({"location": "pipe"}, ["'pipe'", "it is no regular file"]),
        ({"location": "w.bin", "length": 8}, ["8 bytes", "12 bytes"]),
    ],
)
def test_weights_that_are_not_in_their_file_are_named(entry, says, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "w.bin").write_bytes(bytes(12))
    path = stored_elsewhere(tmp_path, **entry)
    refused(path, ModelFormatError, "'k' FLOAT[3]", *says)


def test_names_of_weights_files_are_shown_as_far_as_a_line_goes(tmp_path):
    name = "w" * 201
    (tmp_path / name).write_bytes(bytes(11))
    path = stored_elsewhere(tmp_path, location=name, length=12)
    refused(path, ModelFormatError, "'k' FLOAT[3]", f"11 bytes in '{name[:200]}'", "12 bytes")


def test_files_are_not_larger_than_protocol_buffers_may_be(tmp_path, monkeypatch):
    path = save(plain(), tmp_path)
    monkeypatch.setattr(proto, "LARGEST", 10)
    refused(path, ModelFormatError, f"the file has {path.stat().st_size} bytes, more than 10")


def part(number, content):
    """A field of Protocol Buffers that has a length: its number, its bytes."""
    length, size = b"", len(content)
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def test_bodies_deeper_than_protocol_buffers_go_are_refused(tmp_path):
    model, inner = plain(), b""
    branch = helper.make_attribute("then_branch", helper.make_graph([], "", [], []))
    branch.ClearField("g")
    for _ in range(40):
        inner = part(1, part(5, branch.SerializeToString() + part(6, inner)))
    path = save(model, tmp_path)
    path.write_bytes(path.read_bytes() + part(7, inner))
    refused(path, ModelFormatError, "the file cannot be parsed: it is cut short or damaged")


@pytest.mark.parametrize("count", [10, 11, 1_000_000])
def test_numbers_without_an_end_are_refused(count, tmp_path):
    path = save(plain(), tmp_path)
    path.write_bytes(path.read_bytes() + b"\x08" + b"\xff" * count)
    refused(path, ModelFormatError, "the file cannot be parsed: it is cut short or damaged")


def test_names_are_text(tmp_path):
    path = save(plain(), tmp_path)
    path.write_bytes(path.read_bytes().replace(b"n0", b"\xffn"))
    refused(path, ModelFormatError, "damaged")


def test_models_have_so_many_ops_at_most(tmp_path, monkeypatch):
    monkeypatch.setattr(nodes, "MAX_NODES", 1)
    says = ["the model has more than 1 ops", "at most 1", "--sequence-lstm"]
    refused(save(plain(), tmp_path), TinyrtError, *says)


def test_a_pipe_is_no_model(tmp_path):
    os.mkfifo(tmp_path / "model.onnx")
    with pytest.raises(ModelFormatError) as caught:
        open_model(tmp_path / "model.onnx")
    assert "this is a device, a pipe or a socket" in caught.value.problem
    assert "write the model to a file" in str(caught.value)


def test_a_stream_names_the_input_that_moves(tmp_path):
    m = OnnxModel()
    path = m.save(tmp_path, m.op("Add", m.input(1, 8, 2), m.input(1, 8, 2, name="y")))
    with pytest.raises(ShapeError) as caught:
        stream(open_model(path), 1)
    assert "the model has 2 inputs" in caught.value.problem
    assert "--stream x=1" in str(caught.value)
