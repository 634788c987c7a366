"""ONNX files whose constants, weights files, names or types are damaged, made by hand."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from tests.convert.hostile_onnx import (
    INT64,
    Body,
    Write,
    built,
    changed,
    info,
    loop_body,
)
from tests.convert.onnx_build import OnnxModel


def tensor_of(model: onnx.ModelProto) -> onnx.TensorProto:
    """The weights of the small model: 4 x 3 numbers."""
    return model.graph.initializer[0]


def with_tensor(change: Callable[[onnx.TensorProto], object]) -> Write:
    return changed(lambda model: change(tensor_of(model)))


def set_dims(*dims: int, raw: bytes | None = None) -> Callable[[onnx.TensorProto], None]:
    def change(tensor: onnx.TensorProto) -> None:
        tensor.dims[:] = dims
        if raw is not None:
            tensor.raw_data = raw

    return change


def set_type(number: int, raw: bytes | None = None) -> Callable[[onnx.TensorProto], None]:
    def change(tensor: onnx.TensorProto) -> None:
        tensor.data_type = number
        if raw is not None:
            tensor.raw_data = raw

    return change


def in_fields(
    count: int, number: int = T.FLOAT, field: str = "float_data"
) -> Callable[[onnx.TensorProto], None]:
    def change(tensor: onnx.TensorProto) -> None:
        tensor.ClearField("raw_data")
        tensor.data_type = number
        getattr(tensor, field).extend([1] * count)

    return change


def add_segment(tensor: onnx.TensorProto) -> None:
    tensor.segment.begin, tensor.segment.end = 0, 3


TENSORS: dict[str, Write] = {
    "a negative dimension": with_tensor(set_dims(-4, -3)),
    "no elements for huge dimensions": with_tensor(set_dims(2**31, 2**31, raw=b"")),
    "a product of dimensions that overflows": with_tensor(set_dims(2**32, 2**32, raw=b"")),
    "huge dimensions beside none": with_tensor(set_dims(0, 2**62, raw=b"")),
    "many huge dimensions beside none": with_tensor(set_dims(0, *[2**31 - 1] * 9, raw=b"")),
    "65 dimensions": with_tensor(set_dims(*[1] * 63, 4, 3)),
    "a million dimensions": with_tensor(set_dims(*[1] * 1_000_000)),
    "too few raw bytes": with_tensor(set_dims(5, 3)),
    "too many raw bytes": with_tensor(set_dims(2, 3)),
    "too few numbers": with_tensor(in_fields(11)),
    "numbers in another field": with_tensor(in_fields(12, T.FLOAT, "int32_data")),
    "strings": with_tensor(set_type(T.STRING)),
    "bfloat16": with_tensor(set_type(T.BFLOAT16)),
    "float8": with_tensor(set_type(T.FLOAT8E4M3FN)),
    "int4": with_tensor(set_type(T.INT4)),
    "complex numbers": with_tensor(set_type(T.COMPLEX64)),
    "no type": with_tensor(set_type(0)),
    "a type that does not exist": with_tensor(set_type(99)),
    "float64 weights": with_tensor(set_type(T.DOUBLE, bytes(96))),
    "a segment": with_tensor(add_segment),
    "not a number": with_tensor(
        lambda t: setattr(t, "raw_data", np.full(12, np.nan, np.float32).tobytes())
    ),
}
"""Constants that contradict themselves, or are of no type that tinyrt has."""


def external(prepare: Callable[[Path], object] | None = None, **entry: object) -> Write:
    """The small model's weights in another file, as the entry says."""

    def write(folder: Path) -> Path:
        inner = folder / "inner"
        inner.mkdir()
        (inner / "weights.bin").write_bytes(np.ones(12, np.float32).tobytes())
        (folder / "outside.bin").write_bytes(np.ones(12, np.float32).tobytes())
        if prepare is not None:
            prepare(inner)

        def change(tensor: onnx.TensorProto) -> None:
            tensor.ClearField("raw_data")
            tensor.data_location = T.EXTERNAL
            for key, value in ({"location": "weights.bin"} | entry).items():
                tensor.external_data.add(key=key, value=str(value))

        return changed(lambda model: change(tensor_of(model)))(inner)

    return write


def link(name: str, target: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).symlink_to(target)


def holes(folder: Path) -> None:
    """100 GB that take no room."""
    with (folder / "holes.bin").open("wb") as file:
        file.truncate(100 * 2**30)


def many_holes(folder: Path) -> Path:
    holes(folder)

    def change(model: onnx.ModelProto) -> None:
        tensor = tensor_of(model)
        tensor.ClearField("raw_data")
        tensor.dims[:] = [4, 2_000_000_000]
        tensor.data_location = T.EXTERNAL
        tensor.external_data.add(key="location", value="holes.bin")
        tensor.external_data.add(key="length", value=str(32_000_000_000))

    return changed(change)(folder)


EXTERNAL: dict[str, Write] = {
    "no location": external(location=""),
    "NUL in the location": external(location="weights.bin\0.txt"),
    "an over-long location": external(location="w" * 5000),
    "an over-long path": external(location="d/" * 3000 + "w"),
    "a folder": external(location="."),
    "a parent folder": external(location="../outside.bin"),
    "a way out and in again": external(location="../../../../../../etc/hostname"),
    "an absolute path": external(location="/etc/hostname"),
    "a link to itself": external(link("loop", "loop"), location="loop"),
    "links to each other": external(lambda f: (link("a", "b")(f), link("b", "a")(f)), location="a"),
    "a link out of the folder": external(link("out", "../outside.bin"), location="out"),
    "a folder that is a link out": external(link("up", ".."), location="up/outside.bin"),
    "a pipe": external(lambda f: os.mkfifo(f / "pipe"), location="pipe"),
    "a device": external(link("zero", "/dev/zero"), location="zero"),
    "a file that is missing": external(location="missing.bin"),
    "a folder that is missing": external(location="missing/weights.bin"),
    "a file as a folder": external(location="weights.bin/weights.bin"),
    "an empty file": external(lambda f: (f / "empty").touch(), location="empty"),
    "a negative offset": external(offset=-4),
    "an offset beyond the end": external(offset=4096, length=48),
    "an offset that overflows": external(offset=2**63, length=48),
    "an offset that is no number": external(offset="0x10"),
    "an offset of ten thousand digits": external(offset="9" * 10_000),
    "a length that is too short": external(length=40),
    "a length beyond the end": external(length=4800),
    "a length that overflows": external(length=2**64),
    "a file of holes": many_holes,
}
"""Weights in other files: those that are not there, too short, or none of the model's business."""


def twice(model: onnx.ModelProto) -> None:
    """The output of the last node is the first one's, too."""
    name = model.graph.node[0].output[0]
    model.graph.node[2].output[0] = model.graph.output[0].name = name


def deep_graphs(model: onnx.ModelProto) -> None:
    """If inside of If, as deep as protobuf allows."""
    leaf = helper.make_graph([helper.make_node("Relu", ["x"], ["deep"])], "b", [], [info("deep")])
    body = leaf
    for i in range(32):
        name = f"deep{i}"
        node = helper.make_node("If", ["yes"], [name], then_branch=body, else_branch=leaf)
        body = helper.make_graph([node], "b", [], [info(name)])
    del model.graph.node[:]
    model.graph.node.extend(body.node)
    model.graph.output[0].name = body.output[0].name
    model.graph.initializer.append(numpy_helper.from_array(np.array(True), "yes"))


def no_such(model: onnx.ModelProto) -> None:
    model.graph.node[0].input[0] = "nowhere"


def add_opset(domain: str, version: int) -> Callable[[onnx.ModelProto], None]:
    return lambda model: model.opset_import.append(helper.make_opsetid(domain, version))


def set_opset(version: int) -> Callable[[onnx.ModelProto], None]:
    return lambda model: setattr(model.opset_import[0], "version", version)


def set_input(**fields: object) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        model.graph.input[0].CopyFrom(info("x", **fields))

    return change


def input_of(make: Callable[..., onnx.TypeProto]) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        kind = make(helper.make_tensor_type_proto(T.FLOAT, [1, 4]))
        model.graph.input[0].CopyFrom(helper.make_value_info("x", kind))

    return change


def set_attribute(i: int, name: str, value: object) -> Callable[[onnx.ModelProto], None]:
    return lambda model: model.graph.node[i].attribute.append(helper.make_attribute(name, value))


def refer(model: onnx.ModelProto) -> None:
    attribute = model.graph.node[0].attribute.add()
    attribute.name, attribute.ref_attr_name, attribute.type = "axis", "axis", 2


def same_input_twice(model: onnx.ModelProto) -> None:
    model.graph.input.append(model.graph.input[0])


def constant_output(model: onnx.ModelProto) -> None:
    model.graph.output[0].name = tensor_of(model).name


def all_in_one(model: onnx.ModelProto) -> None:
    """One name for an input, a constant and the output."""
    name = tensor_of(model).name
    model.graph.input.append(info(name, shape=[4, 3]))
    model.graph.output[0].name = name


def same_constant_twice(model: onnx.ModelProto) -> None:
    model.graph.initializer.append(tensor_of(model))
    model.graph.initializer[-1].dims[:] = [3, 4]


def many_missing_ops(model: onnx.ModelProto) -> None:
    """An op that does not exist, by a thousand names."""
    for i in range(1000):
        model.graph.node.insert(0, helper.make_node(f"NoSuchOp{999 - i}", ["x"], [f"n{i}"]))
    model.graph.node.append(helper.make_node("Sum", [f"n{i}" for i in range(1000)], ["total"]))
    model.graph.output[0].name = "total"


def long_names(model: onnx.ModelProto) -> None:
    model.graph.node[0].op_type = "X" * 100_000
    model.graph.node[0].name = "Y" * 100_000


def empty_nodes(model: onnx.ModelProto) -> None:
    for _ in range(400_000):
        model.graph.node.add()


def if_model(m: OnnxModel, dynamic: bool = False) -> str:
    """Branches of different shapes; the condition is the model's input."""
    x = m.input(1, 4)
    condition = m.op("Cast", m.op("ReduceMax", x, keepdims=0), to=T.BOOL)
    branches = [
        helper.make_graph(
            [helper.make_node("Concat", [x] * n, [f"c{n}"], axis=1)], "b", [], [info(f"c{n}")]
        )
        for n in (2, 3)
    ]
    return m.op("If", condition, then_branch=branches[0], else_branch=branches[1])


def growing_state(m: OnnxModel) -> str:
    """A loop whose state doubles with each turn."""

    def build(b: Body) -> list[str]:
        return [b.node("Concat", "s0", "s0", axis=1)]

    trip, go = m.const(4000, INT64), m.const(True, np.bool_)
    return m.op("Loop", trip, go, m.input(1, 4), body=loop_body(build, state=1))


STRUCTURE: dict[str, Write] = {
    "a name that is defined twice": changed(twice),
    "a name that nothing defines": changed(no_such),
    "a node before its input": changed(lambda model: model.graph.node.reverse()),
    "nodes in a circle": changed(lambda m: m.graph.node[0].input.__setitem__(0, "t2")),
    "an output that is a constant": changed(constant_output),
    "one name for everything": changed(all_in_one),
    "two constants of one name": changed(same_constant_twice),
    "an input twice": changed(same_input_twice),
    "two outputs of one name": changed(
        lambda model: model.graph.output.append(model.graph.output[0])
    ),
    "no outputs": changed(lambda model: model.graph.output.pop()),
    "no operator set": changed(lambda model: model.opset_import.pop()),
    "operator set 2 ** 62": changed(set_opset(2**62)),
    "operator set -1": changed(set_opset(-1)),
    "operator sets that differ": changed(add_opset("ai.onnx", 99)),
    "an input of 65 dimensions": changed(set_input(shape=[1] * 65)),
    "an input beyond 32 bits": changed(set_input(shape=[1, 2**31])),
    "an input of 2 ** 62 elements": changed(set_input(shape=[2**31 - 1, 2**31 - 1])),
    "an input of strings": changed(set_input(dtype=T.STRING, shape=[1, 4])),
    "a sequence as an input": changed(input_of(helper.make_sequence_type_proto)),
    "an optional input": changed(input_of(helper.make_optional_type_proto)),
    "a map as an input": changed(input_of(lambda kind: helper.make_map_type_proto(T.INT64, kind))),
    "an attribute of another type": changed(set_attribute(1, "allowzero", "one")),
    "an attribute given twice": changed(
        lambda model: [set_attribute(1, "allowzero", 0)(model) for _ in "ab"]
    ),
    "an attribute of a function, outside of any": changed(refer),
    "graphs as deep as the format allows": changed(deep_graphs),
    "a thousand ops that do not exist": changed(many_missing_ops),
    "names of 100,000 letters": changed(long_names),
    "400,000 empty nodes": changed(empty_nodes),
    "branches of different shapes": built(if_model),
    "a state that grows": built(growing_state),
    "a transpose of 65 dimensions": built(
        lambda m: m.op("Transpose", m.op("Reshape", m.input(1, 4), m.ints(*[1] * 64, 4)))
    ),
    "a reshape beyond 32 bits": built(lambda m: m.op("Reshape", m.input(1, 4), m.ints(2**62, -1))),
    "a slice by 2 ** 62": built(
        lambda m: m.op(
            "Slice", m.input(1, 4), m.ints(-(2**62)), m.ints(2**62), m.ints(1), m.ints(2**62)
        )
    ),
    "a kernel of 2 ** 40": built(
        lambda m: m.op(
            "MaxPool", m.input(1, 1, 4, 4), kernel_shape=[2**40, 2**40], pads=[2**40] * 4
        )
    ),
    "a dilation of 2 ** 40": built(
        lambda m: m.op(
            "Conv",
            m.input(1, 1, 4, 4),
            m.weights(1, 1, 2, 2),
            dilations=[2**40] * 2,
            pads=[2**40] * 4,
        )
    ),
    "a transposed convolution of stride 2 ** 40": built(
        lambda m: m.op(
            "ConvTranspose", m.input(1, 1, 4, 4), m.weights(1, 1, 2, 2), strides=[2**40] * 2
        )
    ),
    "a dilated transposed convolution": built(
        lambda m: m.op(
            "ConvTranspose", m.input(1, 1, 4, 4), m.weights(1, 1, 2, 2), dilations=[40_000] * 2
        )
    ),
    "an equation of many operands": built(
        lambda m: m.op("Einsum", *[m.input(1, 4)] * 2, equation="ab,ab->" + "b" * 5000)
    ),
    "a scan over more than there is": built(
        lambda m: m.op(
            "Scan",
            m.input(100_000, 1),
            num_scan_inputs=1,
            body=helper.make_graph(
                [helper.make_node("Relu", ["e"], ["r"])], "b", [info("e")], [info("r")]
            ),
        )
    ),
    "a layer of 100,000 steps": built(
        lambda m: m.op(
            "LSTM", m.input(100_000, 1, 1), m.weights(1, 4, 1), m.weights(1, 4, 1), hidden_size=1
        )
    ),
    "a diagonal that is no number": built(
        lambda m: m.op("Trilu", m.input(4, 4), m.const(np.nan)), opset=18
    ),
    "half a turn of a loop": built(
        lambda m: m.op(
            "Loop",
            m.const(0.5),
            m.const(True, np.bool_),
            m.input(1, 4),
            body=loop_body(lambda b: [b.node("Relu", "s0")], state=1),
        )
    ),
    "four million scales": built(
        lambda m: m.op(
            "Resize", m.input(1, 1, 4, 4), "", m.op("Expand", m.const([1.0]), m.ints(4_000_000))
        )
    ),
    "parts of more than there is": built(
        lambda m: m.op("Split", m.input(1, 4), m.ints(2**62, -(2**62)), axis=1, outputs=2)
    ),
}
"""Names, versions, types, shapes and attributes that contradict each other or are out of range."""
