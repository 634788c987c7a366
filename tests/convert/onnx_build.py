"""Small ONNX models, and their comparison with onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from benchmarks.ort import exact_session
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.convert.passes import optimize
from tinyrt.ir import Graph, RewriteLog
from tinyrt.ops.shared.evaluate import evaluate

FLOAT = onnx.TensorProto.FLOAT


class OnnxModel:
    """An ONNX model built node by node; every node's first output is named after its number."""

    def __init__(self, opset: int = 13, seed: int = 0) -> None:
        self.opset = opset
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.constants: list[onnx.TensorProto] = []

    def input(self, *shape: int | str | None, name: str = "x", dtype: int = FLOAT) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, dtype, list(shape)))
        return name

    def const(self, data, dtype=np.float32, name: str = "") -> str:
        name = name or f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(data, dtype), name))
        return name

    def ints(self, *values: int) -> str:
        return self.const(values, np.int64)

    def weights(self, *shape: int, low: float = -1.0) -> str:
        return self.const(self.rng.uniform(low, 1, shape))

    def op(self, op: str, *inputs: str, outputs: int = 1, domain: str = "", **attrs) -> str:
        names = [f"t{len(self.nodes)}" + (f"_{i}" if i else "") for i in range(outputs)]
        self.nodes.append(
            helper.make_node(
                op, inputs, names, name=f"n{len(self.nodes)}", domain=domain or None, **attrs
            )
        )
        return names[0]

    def model(self, *outputs: str) -> onnx.ModelProto:
        infos = [helper.make_tensor_value_info(o, FLOAT, None) for o in outputs]
        graph = helper.make_graph(self.nodes, "test", self.inputs, infos, self.constants)
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    def save(self, folder: Path, *outputs: str) -> Path:
        path = folder / "model.onnx"
        path.write_bytes(self.model(*outputs).SerializeToString())
        return path


EXACT = 64
"""Weights below it in size: products of two with uint8 fit int16, in which onnxruntime adds them on
processors without VNNI. Beyond, its sums saturate there."""


def channels_last(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


def expected(path: Path, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What onnxruntime answers, with its own rewriting switched off."""
    return exact_session(path, rewriting=False).run(None, feeds)


def feeds_for(graph: Graph, seed: int = 0) -> dict[str, np.ndarray]:
    """Random normal inputs, by name."""
    rng = np.random.default_rng(seed)
    return {v.name: rng.standard_normal(v.shape).astype(np.float32) for v in graph.input_values}


def assert_close(found: np.ndarray, wanted: np.ndarray, tolerance: float = 1e-5) -> None:
    """Equal within the tolerance, relative to the greatest element where that is above 1."""
    assert found.shape == wanted.shape
    scale = max(1.0, float(np.abs(wanted).max()))
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * scale)


def assert_matches(path: Path, tolerance: float = 1e-5) -> tuple[Graph, RewriteLog]:
    """Compare with onnxruntime as read, and optimised in either layout.

    Returns the graph that is optimised for NHWC, and what the passes did. Shapes must tell
    channels from height and width, or the layouts can't be told apart.
    """
    raw = read_onnx(path)
    feeds = feeds_for(raw)
    wanted = expected(path, feeds)
    for graph in (raw, optimize(raw, keep_layout=True)):
        for found, want in zip(evaluate(graph, feeds).values(), wanted, strict=True):
            assert_close(found, want, tolerance)
    log = RewriteLog()
    graph = optimize(raw, log=log)
    turned = {
        v.name: x if v.shape == x.shape else channels_last(x)
        for v, x in zip(graph.input_values, feeds.values(), strict=True)
    }
    for found, want in zip(evaluate(graph, turned).values(), wanted, strict=True):
        assert_close(found, want if found.shape == want.shape else channels_last(want), tolerance)
    assert graph.inputs == raw.inputs
    assert graph.outputs == raw.outputs
    return graph, log


def count(graph: Graph, op: str) -> int:
    return sum(node.op == op for node in graph.nodes)


def assert_as_onnxruntime(build: Callable[[OnnxModel], str], tmp_path: Path) -> None:
    """The model's one answer, as it is read and optimised, is onnxruntime's."""
    m = OnnxModel()
    path = m.save(tmp_path, build(m))
    raw = read_onnx(path)
    feeds = feeds_for(raw)
    (wanted,) = expected(path, feeds)
    for graph in (raw, optimize(raw, keep_layout=True)):
        (found,) = evaluate(graph, feeds).values()
        assert_close(found, wanted)
        assert_on_own_grids(graph)


def assert_on_own_grids(graph: Graph) -> None:
    """Each constant has a scale for each of its slices, and lies on their steps."""
    for value in graph.values.values():
        if value.q is None or value.data is None:
            continue
        shape = [1] * len(value.shape)
        if value.q.axis is not None:
            shape[value.q.axis] = value.shape[value.q.axis]
        scales = np.reshape(value.q.scales, shape)
        if value.data.dtype.kind == "f":
            steps = value.data / scales
            np.testing.assert_allclose(steps, np.rint(steps), atol=1e-3)
