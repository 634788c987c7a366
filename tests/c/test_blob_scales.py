"""Updates whose scales are one for each channel, where the first model had one for all."""

import numpy as np
import pytest

from tests.c.test_blobs import answers_as, build
from tests.sampling import sampled
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.export import ExportOptions, export_c, make_blob
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.conv2d import Conv2dAttrs

pytestmark = pytest.mark.slow


def convolution(shape, scales):
    """A convolution of a 7 x 6 image with such weights, and a scale for each channel."""
    w = np.random.default_rng(5).integers(-127, 128, shape).astype(np.int8)
    values = [
        Value("x", DType.INT8, (1, 7, 6, 4), QParams((0.5,), 3)),
        Value.constant("w", w, QParams(scales, axis=0)),
        Value("y", DType.INT8, (1, 5, 4, len(w)), QParams((0.5,), -7)),
    ]
    node = Node("conv2d", "conv", ("x", "w"), ("y",), Conv2dAttrs(padding="VALID"))
    return verify(Graph("conv", ("x",), ("y",), {v.name: v for v in values}, (node,)))


@pytest.mark.parametrize(
    ("shape", "slices", "kernel", "count"),
    [
        ((4, 3, 3, 2), None, "_group_block_", 0),
        ((32, 3, 3, 4), 3000, "_window_part_", 10),
    ],
)
def test_scales_of_channels_may_come_apart(tmp_path, shape, slices, kernel, count):
    """They were alike when the code was written, and are not later; and back."""
    one, several = (0.002,) * shape[0], tuple(0.001 + 0.0002 * i for i in range(shape[0]))
    models = {"alike": one, "apart": several}
    for name, scales in models.items():
        save_tflite(convolution(shape, scales), tmp_path / f"{name}.tflite")
    for first in sampled(["alike"], models):
        path, folder = tmp_path / f"{first}.tflite", tmp_path / first
        folder.mkdir()
        options = ExportOptions(name="mo", blob=True, slices=slices)
        project = export_c(path, folder / "mo", core="host", options=options)
        assert any(kernel in name for name in project.kernels)
        assert (project.slices.count if slices else 0) >= count
        build(folder, project)
        for name in models:
            make_blob(tmp_path / f"{name}.tflite", folder / "mo", folder / f"{name}.blob")
            answers_as(folder, f"{name}.blob", tmp_path / f"{name}.tflite")
