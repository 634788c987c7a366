"""Ports of another type than the model's, in C."""

import re

import numpy as np
import pytest

from tests.convert.test_port_types import ODD, PAIRS, RNG, wide_relu
from tests.listening import int8_net, saved
from tests.sampling import sampled
from tinyrt.convert.port_types import with_port_types
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import run_emulated
from tinyrt.errors import UnsupportedError
from tinyrt.export import ExportOptions, export_c, export_graph
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.slice import SliceAttrs


@pytest.mark.slow
@pytest.mark.device
@pytest.mark.parametrize(
    "core", sampled(["host"], ["host", "cortex-m4", "cortex-m55", "cortex-m0"])
)
@pytest.mark.parametrize(
    ("inputs", "outputs"),
    sampled([(DType.FLOAT32, DType.UINT8), (DType.INT16, DType.FLOAT32)], PAIRS),
)
def test_c_answers_as_the_host_does(inputs, outputs, core, tmp_path):
    graph = with_port_types(wide_relu(), inputs, outputs)
    save_tflite(graph, tmp_path / "wide.tflite")
    if inputs is DType.FLOAT32:
        x = RNG.normal(2, 4, (4, 1024)).astype(np.float32)
        x[:, : len(ODD)] = ODD
        x[:, 100:700] = (np.arange(-300, 300) + 0.5) * np.float32(wide_relu().value("x").q.scale)
    else:
        info = np.iinfo(inputs.numpy)
        x = RNG.integers(info.min, info.max + 1, (4, 1024)).astype(inputs.numpy)
        x[0] = np.resize(np.arange(256), 1024).astype(inputs.numpy)
    want = np.concatenate([next(iter(evaluate(graph, {"x": row[None]}).values())) for row in x])
    (name,) = graph.answers
    found = run_emulated(
        tmp_path / "wide.tflite",
        inputs={"x": x}, expected={name: want}, build_dir=tmp_path / "b", core=core,
    )  # fmt: skip
    np.testing.assert_array_equal(found.outputs[name], want)


def test_an_export_has_the_ports_that_are_asked_for(tmp_path):
    graph = int8_net()
    path = saved(tmp_path / "ears.tflite", graph, None)
    project = export_c(
        path, tmp_path / "a", options=ExportOptions(input_type="float32", output_type="uint8")
    )
    (x,), (y,) = project.inputs, project.outputs
    assert (x.dtype, x.scale) == (DType.FLOAT32, None)
    q = graph.output_values[0].q
    assert (y.dtype, y.scale, y.zero_point) == (DType.UINT8, q.scale, q.zero_point + 128)
    header = (tmp_path / "a" / "ears.h").read_text()
    assert re.search(r"const float \*input_0;\s+uint8_t \*output_0;", header)
    project = export_c(path, tmp_path / "b", options=ExportOptions(input_type="int16"))
    assert (project.inputs[0].dtype, project.outputs[0].dtype) == (DType.INT16, DType.INT8)
    assert project.inputs[0].scale == graph.input_values[0].q.scale / 128
    same = export_graph(
        read_tflite(path),
        tmp_path / "c",
        options=ExportOptions(input_type="int8", output_type="int8"),
    )
    assert same.kernels == export_graph(read_tflite(path), tmp_path / "d").kernels


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"input_type": "int4"}, "there are no inputs and outputs of type 'int4'"),
        ({"output_type": "bool"}, "there are no inputs and outputs of type 'bool'"),
        ({"input_type": "uint8", "blob": True}, "a blob brings other scales, and types of ports"),
        ({"output_type": "uint8", "blob": True}, "a blob brings other scales, and types of ports"),
    ],
)
def test_what_is_refused(options, text):
    with pytest.raises(UnsupportedError, match=text):
        ExportOptions(**options)


@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT16, DType.FLOAT32])
def test_rows_of_ports_are_read_where_they_lie(dtype, tmp_path):
    """Rows 2 and 3, of six elements each: pointers count elements, whatever their size."""
    q = None if dtype is DType.FLOAT32 else QParams((0.5,))
    shapes = {"x": 4, "a": 2, "ra": 2, "y": 4, "b": 2, "rb": 2}
    values = {name: Value(name, dtype, (1, rows, 6), q) for name, rows in shapes.items()}
    cut = SliceAttrs((0, 2, 0), (1, 2, 6), (1, 1, 1))
    nodes = (
        Node("slice", "a", ("x",), ("a",), cut),
        Node("relu", "ra", ("a",), ("ra",), NoAttrs()),
        Node("relu", "y", ("x",), ("y",), NoAttrs()),
        Node("slice", "b", ("y",), ("b",), cut),
        Node("relu", "rb", ("b",), ("rb",), NoAttrs()),
    )
    graph = verify(Graph("net", ("x",), ("ra", "y", "rb"), values, nodes))
    export_graph(graph, tmp_path, core="host")
    text = (tmp_path / "net.c").read_text()
    calls = re.findall(r"tinyrt_(?:lut|rescale|clamp)_\w+\(.*, (\w+(?: \+ \d+)?), (\w+)\);", text)
    told = re.findall(r"/\* \d: relu .*; (.*) -> (.*) \*/", text)
    reads = ["input_0 + 12", "input_0", "output_1 + 12"]
    writes = [f"output_{i}" for i in range(3)]
    assert calls == told == list(zip(reads, writes, strict=True))


def test_a_front_end_writes_the_input(tmp_path):
    path = saved(tmp_path / "ears.tflite", int8_net())
    with pytest.raises(UnsupportedError, match="a window of features, which the front end writes"):
        export_c(path, tmp_path / "c", options=ExportOptions(input_type="float32"))
