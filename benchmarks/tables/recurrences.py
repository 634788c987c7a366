"""Forms of an imported LSTM, and a GRU: docs/convert.md."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.tables.runs import instructions, markdown, random_run
from tinyrt.api import evaluate, quantize_model

STEPS, FEATURES, UNITS, CLASSES = 10, 8, 12, 4
SAMPLES = 200
"""Half of them calibrate, the others are measured."""


FORMS = {
    "LSTM, unrolled": (4, False),
    "LSTM, `--sequence-lstm`": (4, True),
    "GRU, unrolled": (3, False),
}
"""Form -> gates of a unit, and whether the layer stays whole."""


def lstm_forms() -> str:
    """Recurrent layers with a dense layer behind them, unrolled and whole."""
    folder = Path(tempfile.mkdtemp())
    shape = (SAMPLES, STEPS, FEATURES)
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    found = []
    for title, (gates, whole) in FORMS.items():
        source = _written(folder / "layer.onnx", gates)
        file = folder / f"{gates} {whole}.tflite"
        quantize_model(source, x[: SAMPLES // 2], file, sequence_lstm=whole)
        report = random_run(file, "cortex-m4")
        told = evaluate(file, x[SAMPLES // 2 :], against=source)
        size = report.flash.code + report.flash.weights
        found.append(
            [
                *(title, f"{file.stat().st_size / 1000:.1f} KB", f"{report.ram.arena} B"),
                *(f"{size / 1000:.1f} KB", instructions(report), f"{told.sqnr_db:.1f} dB"),
            ]
        )
    header = ("form", "file", "arena", "code and weights", "M4 instructions", "SQNR")
    return markdown(header, found)


def _written(path: Path, gates: int) -> Path:
    """An ONNX file of random weights; its input is (1, STEPS, FEATURES)."""
    from onnx import TensorProto, helper, numpy_helper, save

    rng = np.random.default_rng(0)
    kept = {
        "w": rng.normal(size=(1, gates * UNITS, FEATURES)) / np.sqrt(FEATURES),
        "r": rng.normal(size=(1, gates * UNITS, UNITS)) / np.sqrt(UNITS),
        "b": 0.1 * rng.normal(size=(1, 2 * gates * UNITS)),
        "dense": rng.normal(size=(UNITS, CLASSES)) / np.sqrt(UNITS),
    }
    op, attrs = ("GRU", {"linear_before_reset": 1}) if gates == 3 else ("LSTM", {})
    nodes = [
        helper.make_node("Transpose", ["x"], ["steps"], perm=[1, 0, 2]),
        helper.make_node(op, ["steps", "w", "r", "b"], ["", "last"], hidden_size=UNITS, **attrs),
        helper.make_node("Flatten", ["last"], ["row"]),
        helper.make_node("MatMul", ["row", "dense"], ["y"]),
    ]
    f32 = TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "lstm",
        [helper.make_tensor_value_info("x", f32, (1, STEPS, FEATURES))],
        [helper.make_tensor_value_info("y", f32, (1, CLASSES))],
        [numpy_helper.from_array(data.astype(np.float32), n) for n, data in kept.items()],
    )
    opset = [helper.make_opsetid("", 14)]
    save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path
