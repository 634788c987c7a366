"""Updates whose scales are one for each channel, where the first model had one for all."""

import numpy as np
import pytest

from tests.c.test_blobs import answers_as, build
from tests.sampling import sampled
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.export import ExportOptions, export_c, make_blob
from tinyrt.fixedpoint import INT8_MIN
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.conv2d import Conv2dAttrs

pytestmark = pytest.mark.slow


def convolution(shape, scales, zero_point=-7):
    """A convolution of a 7 x 6 image, or of one pixel, and a scale for each channel."""
    height, width = (7, 6) if shape[3] < 9 else (1, 1)
    w = np.random.default_rng(5).integers(-127, 128, shape).astype(np.int8)
    y_q = QParams((0.5,), zero_point)
    values = [
        Value("x", DType.INT8, (1, height, width, max(4, shape[3])), QParams((0.5,), 3)),
        Value.constant("w", w, QParams(scales, axis=0)),
        Value("y", DType.INT8, (1, height + 1 - shape[1], width + 1 - shape[2], len(w)), y_q),
    ]
    node = Node("conv2d", "conv", ("x", "w"), ("y",), Conv2dAttrs(padding="VALID"))
    return verify(Graph("conv", ("x",), ("y",), {v.name: v for v in values}, (node,)))


@pytest.mark.parametrize(
    ("core", "shape", "slices", "kernel", "count"),
    [
        ("host", (4, 3, 3, 2), None, "_group_block_", 0),
        ("host", (32, 3, 3, 4), 3000, "_window_part_", 10),
        ("cortex-m0", (9, 3, 3, 4), None, "_window_four_raised_", 0),
        pytest.param(
            *("rv32imc", (32, 3, 3, 4), 5000, "_window_four_part_", 10), marks=pytest.mark.whole
        ),
        ("cortex-m0", (32, 1, 1, 4), 3000, "_dense_four_part_", 10),
    ],
)
def test_scales_of_channels_may_come_apart(tmp_path, core, shape, slices, kernel, count):
    """They were alike when the code was written, and are not later; and back."""
    models = {
        "alike": convolution(shape, one_scale(shape)),
        "apart": convolution(shape, several(shape)),
    }
    for first in sampled(["alike"], models):
        project = check_each_for(first, models, tmp_path, core, slices)
        assert any(kernel in name for name in project.kernels)
        assert (project.slices.count if slices else 0) >= count


@pytest.mark.parametrize(
    ("shape", "slices", "kernels"),
    [
        ((32, 3, 3, 4), None, {"window_block"}),
        *sampled(
            [],
            [
                ((32, 3, 3, 4), 3000, {"window_part"}),
                ((16, 6, 4, 4), 5000, {"window_pixels"}),
                ((12, 1, 1, 4), None, {"dense"}),
                ((96, 1, 1, 4), 1000, {"dense_part"}),
            ],
        ),
        ((9, 1, 1, 24), None, {"dense_row"}),
    ],
)
@pytest.mark.parametrize("core", sampled(["cortex-m4"], ["cortex-m3", "cortex-m4"]))
def test_outputs_may_need_a_sign_later(tmp_path, core, shape, slices, kernels):
    """Where those of the first model did not; its scales may be alike, and others' not."""
    models = {
        "alike": convolution(shape, one_scale(shape), INT8_MIN),
        "apart": convolution(shape, several(shape), INT8_MIN),
        "signed": convolution(shape, several(shape)),
        "signed and alike": convolution(shape, one_scale(shape)),
    }
    # Products take about twice as many instructions there.
    cut = slices and slices * (2 if core == "cortex-m3" else 1)
    project = check_each_for("alike", models, tmp_path, core, cut)
    # Rows of eight channels have kernels with a sign alone.
    without = kernels - {"dense_row"} if core == "cortex-m3" else kernels
    assert set(project.kernels) >= {f"tinyrt_{kernel}_any_s8" for kernel in without}


def one_scale(shape):
    """One for all channels."""
    return (0.002,) * shape[0]


def several(shape):
    """One for each channel."""
    return tuple(0.001 + 0.0002 * i for i in range(shape[0]))


def check_each_for(first, models, tmp_path, core, slices):
    """Export one model, and check that its code answers as each, by a blob of that."""
    for name, graph in models.items():
        save_tflite(graph, tmp_path / f"{name}.tflite")
    folder = tmp_path / f"for_{first}"
    folder.mkdir()
    options = ExportOptions(name="mo", blob=True, slices=slices)
    project = export_c(tmp_path / f"{first}.tflite", folder / "mo", core=core, options=options)
    build(folder, project)
    for name in models:
        make_blob(tmp_path / f"{name}.tflite", folder / "mo", folder / f"{name}.blob")
        answers_as(folder, f"{name}.blob", tmp_path / f"{name}.tflite")
    return project
