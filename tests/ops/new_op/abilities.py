"""What a new element-wise op of one input must be able to do once all places have it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from tests.convert.onnx_build import OnnxModel
from tests.graphs import Builder
from tests.ops.build import build_s8
from tests.ops.cases import CASES, rng_of
from tinyrt.backends.support import support_rows
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.convert.over_time.rules import rule_of
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.export import export_graph
from tinyrt.interpreter import Interpreter
from tinyrt.ir import Graph
from tinyrt.ops import OPS, TABLES
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.spec import Form
from tinyrt.quantize import quantize_graph
from tinyrt.train.channels import FOLLOWERS

SHAPE = (1, 3, 8, 6)


def check_abilities(op: str, in_onnx: str, on_floats: str) -> None:
    """Everything, from an ONNX model to C.

    Args:
        op: the op.
        in_onnx: ONNX's name for it.
        on_floats: the C function that computes it.

    """
    with tempfile.TemporaryDirectory() as folder:
        read = _read(in_onnx, Path(folder))
        graph = optimize(read)
        _passes_know_it(read, graph, op)
        int8 = _quantized(graph, op)
        _file_brings_it_back(int8, op)
        _tables_hold_it(op)
        _backends_agree(op)
        assert "tinyrt_lut_s8(" in _exported(int8, Path(folder) / "int8")
        assert on_floats in _exported(graph, Path(folder) / "float")
    _steps_of_others(op)
    assert op in FOLLOWERS, "pruning does not follow channels through it"


def _read(in_onnx: str, folder: Path) -> Graph:
    """Two convolutions with the op between them, as ONNX lays images out."""
    m = OnnxModel(18)
    x = m.op("Conv", m.input(*SHAPE), m.weights(4, 3, 3, 3), m.weights(4))
    return read_onnx(m.save(folder, m.op("Conv", m.op(in_onnx, x), m.weights(2, 4, 1, 1))))


def _feeds(graph: Graph, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {v.name: rng.normal(size=v.shape).astype(np.float32) for v in graph.input_values}


def _samples(graph: Graph) -> list[dict[str, np.ndarray]]:
    return [_feeds(graph, seed) for seed in range(16)]


def _passes_know_it(read: Graph, graph: Graph, op: str) -> None:
    """It works in any layout: no transpose is left around it, nor a change of answers."""
    assert [node.op for node in graph.nodes] == ["conv2d", op, "conv2d"]
    feeds = _feeds(read)
    (before,) = evaluate(read, feeds).values()
    turned = {name: x.transpose(0, 2, 3, 1) for name, x in feeds.items()}
    (after,) = evaluate(graph, turned).values()
    np.testing.assert_allclose(after, before.transpose(0, 2, 3, 1), rtol=1e-4, atol=1e-5)
    node = next(n for n in graph.bound() if n.op == op)
    assert rule_of(node) is not None, "it does not run over time"


def _quantized(graph: Graph, op: str) -> Graph:
    int8 = quantize_graph(graph, _samples(graph))
    node = next(n for n in int8.bound() if n.op == op)
    assert node.output.q is not None, "it stays in float"
    assert OPS[op].row_op(node) is not None, "it does not run by rows"
    return int8


def _file_brings_it_back(int8: Graph, op: str) -> None:
    back = parse_tflite(write_tflite(int8))
    assert op in {node.op for node in back.nodes}


def _tables_hold_it(op: str) -> None:
    (row,) = (row for row in support_rows() if row["op"] == op)
    expected = {"reference": "f32 s8", "numba": "f32 (NumPy) s8", "C": "f32 s8", "cuda": "s8"}
    assert {backend: row[backend] for backend in expected} == expected
    assert op in TABLES


def _backends_agree(op: str) -> None:
    for seed in range(8):
        rng = rng_of(op, seed)
        built = build_s8(CASES[op](rng), rng)
        expected = evaluate(built.graph, built.feeds)["out"]
        for backend in ("reference", "numba"):
            np.testing.assert_array_equal(_run(built.graph, built.feeds, backend), expected)


def _run(graph: Graph, feeds: dict[str, np.ndarray], backend: str) -> np.ndarray:
    interpreter = Interpreter.from_graph(graph, backend=backend)
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], feeds[detail["name"]])
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def _exported(graph: Graph, folder: Path) -> str:
    export_graph(graph, folder)
    return "".join(path.read_text() for path in sorted(folder.rglob("*.c")))


def _steps_of_others(op: str) -> None:
    """Beside an op that has no int8 form of its own, it is a step of the same table."""
    assert Form.INT8 not in OPS["sin"].forms
    b = Builder((1, 4))
    graph = b.graph(b.op(op, (b.op("sin", ("x",)),)))
    (node,) = (
        node for node in quantize_graph(graph, _samples(graph)).nodes if node.op == "pointwise"
    )
    assert [step.op for step in node.attrs.steps] == ["sin", op]
