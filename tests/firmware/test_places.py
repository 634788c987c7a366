"""ONNX models that end in ArgMax, through the command line: host, LiteRT and device agree."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from typer.testing import CliRunner

from tests.firmware.device import require_core
from tests.ops.peers import run_litert
from tinyrt.cli.app import app
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.interpreter import Model


def call_json(*arguments: object) -> dict:
    result = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def convolution(rng: np.random.Generator, x: str, c: int, n: int) -> tuple[list, list, str]:
    w = (rng.normal(size=(n, c, 3, 3)) / np.sqrt(9 * c)).astype(np.float32)
    names = [f"{x}.w", f"{x}.b"]
    arrays = [w, rng.normal(size=n).astype(np.float32)]
    constants = [numpy_helper.from_array(a, name) for a, name in zip(arrays, names, strict=True)]
    node = helper.make_node("Conv", [x, *names], [f"{x}.c"], pads=[1, 1, 1, 1])
    return [node], constants, f"{x}.c"


def model(path: Path, kind: str) -> None:
    """Classes of an image by softmax, or of each pixel of it, in ONNX's layout."""
    rng = np.random.default_rng(3)
    nodes, constants, y = convolution(rng, "x", 3, 8)
    if kind == "classifier":
        w = rng.normal(size=(8, 10)).astype(np.float32)
        constants.append(numpy_helper.from_array(w, "w"))
        nodes += [
            helper.make_node("GlobalAveragePool", [y], ["p"]),
            helper.make_node("Flatten", ["p"], ["f"]),
            helper.make_node("MatMul", ["f", "w"], ["l"]),
            helper.make_node("Softmax", ["l"], ["s"], axis=1),
            helper.make_node("ArgMax", ["s"], ["y"], axis=1, keepdims=0),
        ]
    else:
        more, others, last = convolution(rng, y, 8, 5)
        nodes += [*more, helper.make_node("ArgMax", [last], ["y"], axis=1)]
        constants += others
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 10, 12])
    places = helper.make_tensor_value_info("y", TensorProto.INT64, None)
    graph = helper.make_graph(nodes, kind, [x], [places], constants)
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("kind", "scheme", "core"),
    [
        *(("classifier", "int8", "cortex-m4"), ("segmentation", "int8", "cortex-m55")),
        ("segmentation", "int16x8", "cortex-m0"),
    ],
)
def test_places_from_end_to_end(tmp_path, kind, scheme, core):
    require_core(core)
    source, file, data = tmp_path / "net.onnx", tmp_path / "q.tflite", tmp_path / "calib.npz"
    model(source, kind)
    x = np.random.default_rng(5).normal(size=(24, 3, 10, 12)).astype(np.float32)
    np.savez(data, x=x)
    call_json("quantize", source, "-c", data, "-o", file, "--scheme", scheme)
    found = call_json("eval", file, "-d", data, "--against", source)
    # The two best classes of one image are nearer to each other than a step of the logits.
    assert found["agreement"] >= (23 / 24 if kind == "classifier" else 0.97)
    assert found["sqnr_db"] > 30
    graph = read_tflite(file)
    assert [n.op for n in graph.nodes if n.op in ("softmax", "transpose", "dequantize")] == []
    assert call_json("debug", source, file, "-d", data)["sqnr_db"] == pytest.approx(
        found["sqnr_db"], abs=0.01
    )
    turned = np.moveaxis(x, 1, 3)
    np.savez(tmp_path / "turned.npz", x=turned)
    assert call_json("emulate", file, "--core", core, "-i", tmp_path / "turned.npz")["bit_exact"]
    stored = Model(graph).stored_inputs({"x": turned})["x"]
    ours = Model(graph).run_raw({"x": stored})["y"]
    theirs = [run_litert(graph, [sample[None]]) for sample in stored[:6]]
    np.testing.assert_array_equal(ours[:6], np.concatenate(theirs), strict=True)
