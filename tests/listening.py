"""Small models that take features of sound, and recordings for them."""

import struct
from functools import cache
from pathlib import Path

import numpy as np

from tests.graphs import Builder
from tinyrt.attached import front_end_entry
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.dsp import Detector, LogMel, Pipeline
from tinyrt.ir import Graph
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.quantize import QuantConfig, quantize_graph

BANDS, ROWS, CLASSES = 9, 4, 3
SCALE = 0.02

FRONT = LogMel(window=120, step=50, bands=BANDS, lower_hz=100, upper_hz=7_000)
DETECTOR = Detector(CLASSES, window=2, threshold=-20, hold=3)
PIPELINE = Pipeline(FRONT, scale=SCALE, offset=300, stride=3, detector=DETECTOR)


def float_net(shape: tuple[int, ...] = (1, ROWS, BANDS)) -> Graph:
    """Features -> scores of three classes."""
    rng = np.random.default_rng(3)
    b = Builder(shape, name="ears")
    count = int(np.prod(shape))
    weights = [rng.normal(size=(CLASSES, count)), rng.normal(size=CLASSES)]
    flat = b.op("reshape", ("x",), ReshapeAttrs((1, count)))
    names = ["x" if len(shape) == 2 else flat, *(b.constant(w.astype(np.float32)) for w in weights)]
    return b.graph(b.op("fully_connected", names, FullyConnectedAttrs()))


@cache
def int8_net(shape: tuple[int, ...] = (1, ROWS, BANDS), config: QuantConfig | None = None) -> Graph:
    """The same, quantised for features of about -6 to 8."""
    x = np.random.default_rng(4).uniform(-6, 8, (40, *shape[1:])).astype(np.float32)
    return quantize_graph(float_net(shape), x, config or QuantConfig())


def saved(path: Path, graph: Graph, pipeline: Pipeline | None = PIPELINE) -> Path:
    """A model's file that carries a front end."""
    save_tflite(graph, path, front_end_entry(pipeline))
    return path


def wav(
    samples: np.ndarray, *, rate: int = 16_000, channels: int = 1, bits: int = 16, code: int = 1
) -> bytes:
    """A WAV file, a part that nobody knows in front of the samples."""
    data = samples.astype("<i2").tobytes()
    block = channels * bits // 8
    format_ = struct.pack("<HHIIHH", code, channels, rate, rate * block, block, bits)
    parts = [(b"fmt ", format_), (b"LIST", b"odd"), (b"data", data)]
    body = b"".join(n + struct.pack("<I", len(d)) + d + b"\0" * (len(d) % 2) for n, d in parts)
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WAVE" + body
