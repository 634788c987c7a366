"""The .tflite format: every op's codec, other runtimes' readers, and hostile files."""

import numpy as np
import pytest
import tflite

from tests.graphs import Builder, renamed, small_cnn
from tests.ops.build import build_f32, build_s8
from tests.ops.cases import CASES, rng_of
from tests.ops.peers import run_tflm
from tests.ops.stateful import keeping
from tests.sampling import sampled
from tinyrt.convert.tflite import reader as tflite_reader
from tinyrt.convert.tflite.lower import lower
from tinyrt.convert.tflite.ops import WRITTEN
from tinyrt.convert.tflite.reader import parse_tflite, read_tflite
from tinyrt.convert.tflite.schema import ALIGNMENT
from tinyrt.convert.tflite.writer import save_tflite, write_tflite
from tinyrt.errors import ModelFormatError, OutputError, TinyrtError, UnsupportedError
from tinyrt.ir import DType, Graph, Node, QParams, Value, dump
from tinyrt.ops import OPS, ops_where
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import Quant
from tinyrt.quantize import quantize_graph

IN_THE_FORMAT = sorted(WRITTEN)


def _same(a, b):
    assert dump(a).replace(a.name, "") == dump(b).replace(b.name, "")
    for name, value in a.values.items():
        if value.is_constant:
            np.testing.assert_array_equal(value.data, b.values[name].data)
            assert value.q == b.values[name].q


def test_every_op_has_a_codec_or_is_known_to_have_none():
    assert set(IN_THE_FORMAT) == ops_where(lambda spec: spec.traits.in_tflite)


@pytest.mark.parametrize("op", IN_THE_FORMAT)
def test_each_op_comes_back_as_it_was_written(op):
    build = build_s8 if OPS[op].ref_f32 is None else build_f32
    for seed in range(sampled(4, 10)):
        rng = rng_of(op, seed)
        graph = build(CASES[op](rng), rng).graph
        if OPS[op].quant is Quant.STATEFUL:
            # Files have no name for what variables become: the reader gives it one.
            graph = parse_tflite(write_tflite(keeping(graph)), graph.name)
        # Places that count from the end are several ops in files, and one again when read.
        folded = getattr(graph.nodes[0].attrs, "from_end", False)
        expected = graph if folded else lower(graph)
        _same(expected, parse_tflite(write_tflite(graph), graph.name))


def test_a_pointwise_comes_back_from_the_float_ops_that_it_stands_for():
    for seed in range(sampled(15, 40)):
        rng = rng_of("pointwise", seed)
        graph = build_s8(CASES["pointwise"](rng), rng).graph
        (node,) = graph.nodes
        written = lower(graph)
        assert [n.op for n in written.nodes][:: len(written.nodes) - 1] == [
            "dequantize",
            "quantize",
        ]
        assert [n.op for n in written.nodes[1:-1]] == [step.op for step in node.attrs.steps]
        found = parse_tflite(write_tflite(graph), graph.name)
        _same(graph, found)
        assert found.nodes[0].attrs == node.attrs


def test_what_is_written_for_an_op_takes_names_that_are_free():
    b = Builder((1, 4, 3))
    y = b.op("mean", (b.op("abs", ("x",)),), MeanAttrs((1,)))
    graph = renamed(b.graph(y), "abs_0", f"{y}/axes")
    assert parse_tflite(write_tflite(graph)).nodes[1].attrs == MeanAttrs((1,))


def test_what_is_inside_an_op_takes_names_that_are_free():
    rng = rng_of("unidirectional_sequence_lstm", 0)
    graph = build_s8(CASES["unidirectional_sequence_lstm"](rng), rng).graph
    name = f"{graph.nodes[0].output}/inside_0"
    file = tflite.Model.GetRootAs(write_tflite(keeping(renamed(graph, graph.inputs[0], name))))
    inside = file.Subgraphs(0).Operators(0).IntermediatesAsNumpy()
    assert [file.Subgraphs(0).Tensors(i).ShapeAsNumpy().tolist() for i in inside] == [[0]] * 5


def test_an_absent_bias_is_written_as_zeros():
    """LiteRT refuses convolutions without a bias."""
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="needs ai-edge-litert")
    rng = np.random.default_rng(0)
    b = Builder((1, 6, 6, 4))
    conv = b.constant(rng.normal(size=(4, 3, 3, 4)).astype(np.float32))
    depthwise = b.constant(rng.normal(size=(1, 3, 3, 4)).astype(np.float32))
    y = b.op("conv2d", ("x", conv), Conv2dAttrs())
    graph = b.graph(b.op("depthwise_conv2d", (y, depthwise), DepthwiseConv2dAttrs()))
    x = rng.normal(size=(12, 6, 6, 4)).astype(np.float32)
    for model in (graph, quantize_graph(graph, x)):
        litert.Interpreter(model_content=write_tflite(model)).allocate_tensors()
        assert all(len(n.inputs) == 3 for n in parse_tflite(write_tflite(model)).nodes)


def test_zoo_models_come_back_as_they_were(zoo):
    paths = sorted((zoo / "models").glob("*.tflite"))
    assert len(paths) in (8, 10)  # what is published, and all
    for path in paths:
        graph = read_tflite(path)
        _same(graph, parse_tflite(write_tflite(graph), graph.name))


def test_the_same_graph_gives_the_same_bytes():
    assert write_tflite(small_cnn()) == write_tflite(small_cnn())


def test_weights_are_views_into_the_file(tmp_path):
    path = save_tflite(small_cnn(), tmp_path / "net.tflite")
    for value in read_tflite(path).values.values():
        if value.data is not None:
            assert not value.data.flags.owndata
            assert not value.data.flags.writeable


def test_weights_are_aligned_in_the_file(tmp_path):
    path = save_tflite(small_cnn(), tmp_path / "net.tflite")
    for value in read_tflite(path).values.values():
        if value.data is not None:
            # The map starts at a page, so the address tells the position in the file.
            assert value.data.ctypes.data % ALIGNMENT == 0


def test_an_op_without_a_form_in_the_format_is_named():
    rng = rng_of("batch_norm", 0)
    graph = build_f32(CASES["batch_norm"](rng), rng).graph
    with pytest.raises(UnsupportedError, match="batch_norm"):
        write_tflite(graph)


def test_unknown_ops_are_all_named(monkeypatch):
    data = write_tflite(small_cnn())
    for builtin in ("ADD", "SOFTMAX"):
        monkeypatch.delitem(tflite_reader.DECODERS, builtin)
    with pytest.raises(UnsupportedError, match="ADD, SOFTMAX"):
        parse_tflite(data)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not a .tflite"),
        (b"\x00" * 64, "not a .tflite"),
        (b"\x10\x00\x00\x00TFL3" + b"\xff" * 64, "damaged"),
    ],
)
def test_what_is_no_model_is_refused(data, says):
    with pytest.raises(ModelFormatError, match=says):
        parse_tflite(data)


@pytest.mark.slow
def test_truncated_and_mutated_files_give_our_errors_only():
    data = write_tflite(small_cnn())
    rng = np.random.default_rng(7)
    cuts, changes = sampled((50, 120), (150, 400))
    for cut in range(0, len(data), max(1, len(data) // cuts)):
        with pytest.raises(TinyrtError):
            parse_tflite(data[:cut])
    refused = 0
    for _ in range(changes):
        mutated = bytearray(data)
        for at in rng.integers(0, len(data), rng.integers(1, 8)):
            mutated[at] = rng.integers(256)
        try:
            parse_tflite(bytes(mutated))
        except TinyrtError:
            refused += 1
    assert refused > changes // 8


def test_a_missing_file_and_an_unwritable_folder_are_named(tmp_path):
    with pytest.raises(ModelFormatError, match=r"nowhere\.tflite"):
        read_tflite(tmp_path / "nowhere.tflite")
    with pytest.raises(OutputError, match="mkdir"):
        save_tflite(small_cnn(), tmp_path / "missing" / "net.tflite")
    assert list(tmp_path.iterdir()) == []


def test_a_pad_with_another_value_than_zero_runs_in_tflm():
    q = QParams((0.1,), 5)
    x, y = Value("x", DType.INT8, (1, 2, 3), q), Value("y", DType.INT8, (1, 4, 3), q)
    node = Node("pad", "y", ("x",), ("y",), PadAttrs(((0, 0), (1, 1), (0, 0)), -1.0))
    graph = Graph("padded", ("x",), ("y",), {"x": x, "y": y}, (node,))
    data = np.arange(6, dtype=np.int8).reshape(1, 2, 3)
    (expected,) = evaluate(graph, {"x": data}).values()
    assert expected[0, 0, 0] == 5 - 10
    np.testing.assert_array_equal(run_tflm(graph, [data]), expected)
    assert parse_tflite(write_tflite(graph)).nodes[0].attrs.value == pytest.approx(-1.0)
