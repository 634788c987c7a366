"""Models as exported, compared with what their framework or onnxruntime answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

import tinyrt
from tests.convert.onnx_build import channels_last
from tinyrt.metrics import sqnr_db

ERROR = 1e-5
"""Greatest difference in float32, relative to the greatest answer where that is above 1."""


def compare(path: Path, x: Mapping[str, np.ndarray], wanted: np.ndarray, least: float) -> str:
    """A line about the model; an error if it answers otherwise, or is noisier than ``least`` dB.

    Args:
        path: .onnx or .tflite, in float32.
        x: samples by input, channels-first where they are images of an ONNX model.
        wanted: the answers; all samples calibrate, too.
        least: signal to noise that the quantised model must have.

    """
    given = path.with_suffix(".float.tflite"), path.with_suffix(".int8.tflite")
    graph = tinyrt.convert_model(path, given[0])
    shapes = {value.name: value.shape for value in graph.input_values}
    if len(shapes) == 1:
        x = dict(zip(shapes, x.values(), strict=True))  # exporters name a single input as they like
    rows = {
        name: array if array.shape[1:] == shapes[name][1:] else channels_last(array)
        for name, array in x.items()
    }
    found = tinyrt.load(given[0])(rows)
    error = np.abs(found - wanted).max() / max(1.0, np.abs(wanted).max())
    assert error < ERROR, f"{path.name}: {error}"
    tinyrt.quantize_model(path, rows, given[1])
    noise = float(np.mean(sqnr_db(wanted, tinyrt.load(given[1])(rows))))
    assert noise > least, f"{path.name}: {noise} dB"
    return f"{path.stem}: {len(graph.nodes)} ops, error {error:.0e}, int8 {noise:.1f} dB"
