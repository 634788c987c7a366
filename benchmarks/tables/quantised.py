"""Keyword spotting quantised in several ways, and channels cut."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables.runs import instructions, markdown, path_of, random_run, zoo
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import EmulationReport
from tinyrt.ir import DType, Graph, Node, Value
from tinyrt.ops import verify
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.quantize import QuantConfig, quantize_graph

CALIBRATION = 100
"""Recordings to calibrate on; all others are tested."""

ELEMENTS, SAMPLES = 4_096, 64
Step = tuple[str, object, tuple[str, ...], str]
"""An op, its attributes, its inputs, its output."""
SILU: tuple[Step, ...] = (
    ("logistic", NoAttrs(), ("x",), "gate"),
    ("mul", MulAttrs(), ("x", "gate"), "y"),
)
MISH: tuple[Step, ...] = (
    ("exp", NoAttrs(), ("x",), "power"),
    ("add", AddAttrs(), ("power", "one"), "more"),
    ("log", NoAttrs(), ("more",), "softplus"),
    ("tanh", NoAttrs(), ("softplus",), "gate"),
    ("mul", MulAttrs(), ("x", "gate"), "y"),
)


@cache
def _folder() -> Path:
    """The calibration and the test part of the recordings' features, as real values."""
    folder = Path(tempfile.mkdtemp())
    data = np.load(zoo() / "data" / "kws01.npz")
    x = ((data["x_int8"].astype(np.float32) - data["zero_point"]) * data["scale"]).astype("f4")
    np.savez(folder / "calibration.npz", x=x[:CALIBRATION], y=data["y"][:CALIBRATION])
    np.savez(folder / "test.npz", x=x[CALIBRATION:], y=data["y"][CALIBRATION:])
    return folder


def _tinyrt(*arguments: object) -> dict[str, Any]:
    command = [sys.executable, "-m", "tinyrt", *(str(a) for a in arguments), "--json"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(found.stdout))


@cache
def _keywords(*options: str) -> tuple[dict[str, Any], dict[str, Any], int]:
    """What quantising said, what the test part says of the file, and the file's bytes."""
    source, folder = zoo() / "models" / "dscnn_kws.onnx", _folder()
    reference = source.with_name("dscnn_kws_float.tflite")
    file = folder / f"{len(list(folder.iterdir()))}.tflite"
    calibration = folder / "calibration.npz"
    said = _tinyrt("quantize", source, "-c", calibration, "-o", file, *options)
    found = _tinyrt("eval", file, "-d", folder / "test.npz", "--against", reference)
    return said, found, file.stat().st_size


def schemes() -> str:
    """Schemes side by side."""
    asked = [("int8",), ("int8", "--preset", "best")]
    asked += [(name,) for name in ("int16x8", "int4", "weights-int8", "weights-float16")]
    found = []
    for scheme, *options in asked:
        _, told, nbytes = _keywords("--scheme", scheme, *options)
        name = f"`{scheme}`" + (f", preset `{options[1]}`" if options else "")
        found.append(
            [name, told["correct"], f"{told['sqnr_db']:.1f} dB", f"{nbytes / 1000:.0f} KB"]
        )
    return markdown(("scheme", "right", "SQNR of the logits", "file"), found)


def budgets() -> str:
    """Layers chosen within budgets."""
    found: list[list[object]] = []
    for options in ((), ("--max-bytes", "38000"), ("--min-accuracy", "40dB")):
        said, told, nbytes = _keywords("--preset", "best", *options)
        layers = _layers(said["mixed"]) if options else "int8"
        asked = f"`{' '.join(options)}`" if options else "none"
        found.append([asked, layers, nbytes, told["correct"], f"{told['sqnr_db']:.1f} dB"])
    return markdown(("budget", "layers", "file", "right", "SQNR of the logits"), found)


def _layers(mixed: dict[str, Any]) -> str:
    kinds = [layer["scheme"] for layer in mixed["layers"]]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds), reverse=True))


def dead_channels() -> str:
    """Visual wake words with and without channels that no answer depends on."""
    source = path_of("mobilenet_vww")
    file = _folder() / "converted.tflite"
    _tinyrt("convert", source, "-o", file)
    found = []
    for title, path in (("as published", source), ("converted", file)):
        m4, m55 = random_run(path, "cortex-m4"), random_run(path, "cortex-m55")
        weights = f"{m4.flash.weights:,} B (M55: {m55.flash.weights:,} B)"
        macs = _tinyrt("inspect", path)["macs"]
        counts = (f"{instructions(report) / 1e6:.2f} M" for report in (m4, m55))
        found.append([title, f"{macs / 1e6:.2f} M", f"{path.stat().st_size:,} B", weights, *counts])
    header = ("mobilenet_vww", "MACs", "file", "weights in flash")
    return markdown((*header, "M4 instructions", "M55 instructions"), found)


def pointwise() -> str:
    """A table in place of single ops, for 4,096 elements on a Cortex-M4."""
    found = []
    for name, ops in {"SiLU": SILU, "Mish": MISH}.items():
        reports = [_element_wise(name, ops, tables) for tables in (True, False)]
        counts = (f"{instructions(report) / ELEMENTS:.1f}" for report in reports)
        arenas = (f"{report.ram.arena:,} bytes" for report in reports)
        found.append([name, *counts, *arenas])
    header = ("function", "instructions", "as single ops", "memory", "as single ops")
    return markdown(header, found)


def _element_wise(name: str, ops: Sequence[Step], tables: bool) -> EmulationReport:
    """The chain of ops on one tensor, quantised; ``tables`` as in ``QuantConfig``."""
    shape = (1, ELEMENTS)
    values = {"x": Value("x", DType.FLOAT32, shape)}
    values["one"] = Value.constant("one", np.ones(1, np.float32))
    nodes = []
    for op, attrs, inputs, output in ops:
        values[output] = Value(output, DType.FLOAT32, shape)
        nodes.append(Node(op, output, inputs, (output,), attrs))
    graph = verify(Graph(name, ("x",), (ops[-1][3],), values, tuple(nodes)))
    samples = np.linspace(-8, 8, SAMPLES * ELEMENTS, dtype=np.float32)
    samples = samples.reshape(SAMPLES, ELEMENTS)
    quantized = quantize_graph(graph, samples, QuantConfig(tables=tables))
    return random_run(save_tflite(quantized, _folder() / f"{name}_{tables}.tflite"), "cortex-m4")
