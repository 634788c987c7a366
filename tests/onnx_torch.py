"""``python -m tests.onnx_torch``: architectures exported from PyTorch on the spot.

Each is exported by both of its exporters, converted, compared with onnxruntime (by tinyrt, and
by LiteRT from the written .tflite file), and quantised with random-normal data: one line
per model, as docs/convert.md shows them.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from tests.convert.onnx_build import channels_last, expected
from tests.convert.torch_models import MODELS, Make, build
from tests.ops.peers import answers_of_litert
from tinyrt.api import open_model
from tinyrt.ir import Graph
from tinyrt.metrics import sqnr_db
from tinyrt.ops.quantize import quantize_array
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.quantize.pipeline import quantize_graph

SAMPLES = 64
"""Random-normal inputs to calibrate with; as many others measure."""


@dataclass(frozen=True)
class Outcome:
    """What became of a model."""

    name: str
    exporter: str
    ops: int
    transposes: int
    error: float
    litert: float
    sqnr: float


def export(make: Make, path: Path, dynamo: bool) -> np.ndarray:
    """Write the model as ONNX; gives the example input."""
    model, x = build(make)
    silent = io.StringIO()
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(silent),
        contextlib.redirect_stderr(silent),
        torch.no_grad(),
    ):
        warnings.simplefilter("ignore")
        version = {} if dynamo else {"opset_version": 17}
        torch.onnx.export(model, (x,), str(path), dynamo=dynamo, **version)
    return x.numpy()


def turned(graph: Graph, x: np.ndarray) -> np.ndarray:
    """The input in the layout that the graph has."""
    return x if graph.input_values[0].shape[1:] == x.shape[1:] else channels_last(x)


def run(name: str, dynamo: bool, folder: Path, *, quantize: bool = True) -> Outcome:
    """Export, convert, compare and quantise one model."""
    path = folder / f"{name}.onnx"
    x = export(MODELS[name], path, dynamo)
    graph = open_model(path)
    (source,) = graph.inputs
    (found,) = evaluate(graph, {source: turned(graph, x)}).values()
    (theirs,) = answers_of_litert(graph, {source: turned(graph, x)})
    original = next(iter(_input_names(path)))
    (want,) = expected(path, {original: x})
    want = want if want.shape == found.shape else channels_last(want)
    scale = max(1.0, float(np.abs(want).max()))
    error, litert = (float(np.abs(y - want).max()) / scale for y in (found, theirs))
    transposes = Counter(node.op for node in graph.nodes)["transpose"]
    sqnr = quantized_sqnr(graph, x.shape) if quantize else float("nan")
    exporter = "dynamo" if dynamo else "script"
    return Outcome(name, exporter, len(graph.nodes), transposes, error, litert, sqnr)


def _input_names(path: Path) -> list[str]:
    import onnx

    return [value.name for value in onnx.load(str(path)).graph.input]


def quantized_sqnr(graph: Graph, shape: tuple[int, ...]) -> float:
    """Signal to quantisation noise of the int8 model's output, in dB."""
    rng = np.random.default_rng(1)
    samples = rng.standard_normal((2 * SAMPLES, *shape[1:])).astype(np.float32)
    samples = turned(graph, samples)
    int8 = quantize_graph(graph, samples[:SAMPLES])
    (source,), (output,) = int8.input_values, int8.output_values
    assert source.q is not None
    assert output.q is not None
    wanted, found = [], []
    for sample in samples[SAMPLES:]:
        x = sample[None]
        wanted.append(next(iter(evaluate(graph, {source.name: x}).values())))
        raw = quantize_array(x, np.float32(source.q.scale), source.q.zero_point)
        y = next(iter(evaluate(int8, {source.name: raw}).values()))
        found.append((y.astype(np.float32) - output.q.zero_point) * np.float32(output.q.scale))
    return float(np.mean(sqnr_db(np.concatenate(wanted), np.concatenate(found))))


def row(o: Outcome) -> str:
    """One line of the table."""
    counts = f"| {o.name} | {o.exporter} | {o.ops} | {o.transposes} |"
    return f"{counts} {o.error:.0e} | {o.litert:.0e} | {o.sqnr:.1f} |"


def main() -> int:
    """Print the table."""
    print("| model | exporter | ops | transposes | error | LiteRT's error | int8 SQNR, dB |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name in MODELS:
            for dynamo in (False, True):
                print(row(run(name, dynamo, Path(folder))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
