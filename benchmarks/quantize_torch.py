"""Output SQNR of int8 models of PyTorch's networks, tinyrt beside onnxruntime.

    python -m benchmarks.quantize --torch [--json] [NET ...]

Run by ``benchmarks/quantize.py``. Needs torch and onnxruntime. Networks, weights and data are made
here, seeded. Some samples calibrate, others measure: the mean over samples of each output's SQNR
against the float model, in dB. onnxruntime's static quantisation is QDQ, per channel, int8, with
each of its calibrators; the best of these, output by output, is the peer.

Exits with 1 where ``balanced``, the default, is more than ``SLACK`` below the peer, or ``best`` is
below it or more than ``NOISE`` below ``balanced``.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from onnxruntime import quantization as q
from onnxruntime.quantization.shape_inference import quant_pre_process

from benchmarks.ort import exact_session
from benchmarks.torch_nets import NETS, build
from tinyrt.api import open_model
from tinyrt.interpreter import Model
from tinyrt.metrics import sqnr_db
from tinyrt.quantize import PRESETS, Preset, quantize_graph

Array = np.ndarray[Any, Any]

CALIBRATION, TEST = 100, 400
SLACK = 0.3
NOISE = 0.3
CALIBRATORS = {
    "ort minmax": q.CalibrationMethod.MinMax,
    "ort percentile": q.CalibrationMethod.Percentile,
    "ort entropy": q.CalibrationMethod.Entropy,
}


def export(net: torch.nn.Module, x: Array, outputs: tuple[str, ...], path: Path) -> None:
    """Write the network as ONNX, for one sample."""
    names = [name or "y" for name in outputs]
    silent = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(silent), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            net, (torch.from_numpy(x[:1]),), str(path), dynamo=False, opset_version=17,
            input_names=["x"], output_names=names,
        )  # fmt: skip


def run_ort(path: Path, x: Array) -> list[Array]:
    """Every output for every sample."""
    session = exact_session(path)
    answers = [session.run(None, {"x": sample[None]}) for sample in x]
    return [np.concatenate(column) for column in zip(*answers, strict=True)]


def peers(path: Path, calibration: Array, test: Array) -> dict[str, list[float]]:
    """Setting of onnxruntime -> SQNR of each output."""
    logging.disable(logging.WARNING)
    ready = path.with_name("ready.onnx")
    quant_pre_process(str(path), str(ready))
    exact = run_ort(path, test)

    class Reader(q.CalibrationDataReader):
        def __init__(self) -> None:
            self.samples = iter(calibration)

        def get_next(self) -> dict[str, Array] | None:
            sample = next(self.samples, None)
            return None if sample is None else {"x": sample[None]}

    figures = {}
    for name, method in CALIBRATORS.items():
        after = path.with_name("int8.onnx")
        with contextlib.redirect_stdout(io.StringIO()):
            q.quantize_static(
                str(ready), str(after), Reader(), quant_format=q.QuantFormat.QDQ, per_channel=True,
                activation_type=q.QuantType.QInt8, weight_type=q.QuantType.QInt8,
                calibrate_method=method,
            )  # fmt: skip
        found = run_ort(after, test)
        figures[name] = [float(sqnr_db(a, b).mean()) for a, b in zip(exact, found, strict=True)]
    return figures


def run_tinyrt(model: Model, x: Array) -> list[Array]:
    """Every output for every sample, as real values."""
    answers = model(x)
    found = answers if isinstance(answers, dict | tuple | list) else [answers]
    return list(found.values()) if isinstance(found, dict) else list(found)


def ours(path: Path, calibration: Array, test: Array) -> dict[str, list[float]]:
    """Preset -> SQNR of each output."""
    graph = open_model(path)
    last = graph.input_values[0].shape[1:] != test.shape[1:]
    calibration, test = (np.moveaxis(x, 1, -1) if last else x for x in (calibration, test))
    calibration, test = (
        x.astype(np.int32) if x.dtype.kind == "i" else x for x in (calibration, test)
    )
    exact = run_tinyrt(Model(graph), test)
    figures = {}
    for preset in Preset:
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            int8 = quantize_graph(graph, calibration, PRESETS[preset])
        seconds = time.process_time() - start
        found = run_tinyrt(Model(int8), test)
        figures[preset.value] = [
            float(sqnr_db(a, b).mean()) for a, b in zip(exact, found, strict=True)
        ]
        figures[f"{preset.value} seconds"] = [seconds] * len(exact)
    return figures


def broken(row: dict[str, float]) -> list[str]:
    """The rules that a row breaks."""
    peer = max(row[name] for name in CALIBRATORS)
    balanced, best = row["balanced"], row["best"]
    rules = {
        f"balanced is below the peer's {peer:.1f}": balanced < peer - SLACK,
        f"best is below the peer's {peer:.1f}": best < peer,
        "best is below balanced": best < balanced - NOISE,
    }
    return [rule for rule, breaks in rules.items() if breaks]


def report(names: list[str], *, as_json: bool) -> int:
    """Print the table; 1 where a row breaks a rule, else 0."""
    columns = (*(preset.value for preset in Preset), *CALIBRATORS)
    rows: dict[str, dict[str, float]] = {}
    if not as_json:
        print("| model | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns), flush=True)
    for name in names or NETS:
        net, x = build(name, CALIBRATION + TEST)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}.onnx"
            export(net, x, NETS[name].outputs, path)
            data = x[:CALIBRATION], x[CALIBRATION:]
            figures = ours(path, *data) | peers(path, *data)
        for i, output in enumerate(NETS[name].outputs):
            row = f"{name} {output}".strip()
            rows[row] = {column: found[i] for column, found in figures.items()}
            cells = " | ".join(f"{rows[row][column]:.1f}" for column in columns)
            if not as_json:
                print(f"| {row} | {cells} |", flush=True)
    if as_json:
        print(json.dumps(rows, indent=1))
    problems = {row: rules for row, found in rows.items() if (rules := broken(found))}
    for row, rules in problems.items():
        print(f"{row}: {'; '.join(rules)}", file=sys.stderr)
    return int(bool(problems))
