"""Models and data that many tests of options share, made once; nothing is written beside them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.cli.calls import call
from tests.convert.onnx_build import OnnxModel
from tests.graphs import Builder, small_cnn
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.ir import Graph
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.quantize import QuantConfig, quantize_graph


@dataclass(frozen=True, slots=True)
class Made:
    """Paths.

    Attributes:
        net: a float CNN of five classes.
        int8: the same, quantised with preset ``fast``.
        calib: 24 samples.
        test: other 16 samples, with labels.
        wide: the calibration samples, ten times as large.
        tall: an int8 model whose ops gain from running row by row.
        open_conv: an ONNX model whose height is open, channels first.
        gain: an ONNX model of four numbers and one that they are multiplied with.

    """

    net: Path
    int8: Path
    calib: Path
    test: Path
    wide: Path
    tall: Path
    open_conv: Path
    gain: Path


def make(folder: Path) -> Made:
    """All of it, in a folder."""
    rng = np.random.default_rng(11)
    made = Made(
        *(folder / "net.tflite", folder / "int8.tflite", folder / "calib.npz"),
        *(folder / "test.npz", folder / "wide.npz", folder / "tall.tflite", folder / "model.onnx"),
        folder / "gain" / "model.onnx",
    )
    save_tflite(small_cnn(), made.net)
    x = rng.normal(size=(24, 8, 8, 3)).astype(np.float32)
    np.savez(made.calib, x=x)
    np.savez(made.wide, x=10 * x)
    labels = rng.integers(0, 5, 16)
    np.savez(made.test, x=rng.normal(size=(16, 8, 8, 3)).astype(np.float32), y=labels)
    call("quantize", made.net, "-c", made.calib, "-o", made.int8, "--preset", "fast")
    graph = tall()
    x = rng.normal(size=(16, 16, 16, 4)).astype(np.float32)
    save_tflite(quantize_graph(graph, x, QuantConfig()), made.tall)
    m = OnnxModel()
    m.save(folder, m.op("Conv", m.input(1, 3, "rows", 6), m.weights(4, 3, 3, 3)))
    m = OnnxModel()
    made.gain.parent.mkdir()
    m.save(made.gain.parent, m.op("Mul", m.input(1, 4), m.input(name="gain")))
    return made


def tall() -> Graph:
    """Two convolutions over an image, and a layer with many weights.

    What running row by row costs is judged by the model's size, of which these are the most.
    """
    rng = np.random.default_rng(5)
    b = Builder((1, 16, 16, 4))

    def weights(*shape: int) -> tuple[str, str]:
        arrays = (rng.normal(size=shape), rng.normal(size=shape[0]))
        return tuple(b.constant(array.astype(np.float32)) for array in arrays)

    y = b.op("conv2d", ("x", *weights(16, 3, 3, 4)), Conv2dAttrs())
    y = b.op("conv2d", (y, *weights(64, 3, 3, 16)), Conv2dAttrs(stride=(2, 2)))
    y = b.op("mean", (y,), MeanAttrs((1, 2)))
    return b.graph(b.op("fully_connected", (y, *weights(1024, 64)), FullyConnectedAttrs()))


def written(path: Path, *arguments: object) -> Graph:
    """The model that a command writes to the path."""
    call(*arguments, "-o", path)
    return read_tflite(path)
