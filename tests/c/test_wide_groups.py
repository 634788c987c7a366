"""Weights beyond int8 in groups, with dilation, and in blobs: by sums behind the taps."""

import numpy as np
import pytest

from tests.c.host import BESIDE, build_program, run_samples
from tests.c.test_blobs import answers_as, build
from tests.c.wide_layers import feeds, grouped, of_all_kinds
from tests.sampling import sampled
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import UnsupportedError
from tinyrt.export import ExportOptions, export_c, export_graph, make_blob
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

CORES = ("cortex-m4", "cortex-m0", "cortex-m3", "cortex-m55")

KERNELS = {"tinyrt_group_more_s8", "tinyrt_depthwise_block_wide_s8"}


@pytest.mark.parametrize("core", sampled(CORES[1:2], CORES))
@pytest.mark.parametrize("seed", range(sampled(1, 10)))
def test_random_layers_equal_the_references(tmp_path, core, seed):
    graph = grouped(seed, sampled(40, 120))
    project = export_graph(
        graph, tmp_path / "project", core=core, options=ExportOptions(memories=BESIDE)
    )
    assert core == "cortex-m55" or set(project.kernels) >= KERNELS
    samples = [feeds(graph, i) for i in range(4)]
    found = run_samples(build_program(project, tmp_path), project, samples, "beside")
    for data, outputs in zip(samples, found, strict=True):
        for name, expected in evaluate(graph, data).items():
            np.testing.assert_array_equal(outputs[name], expected, err_msg=name, strict=True)


ZERO_POINTS = (110, 128, 0, 255, 131)
"""Of the model that is exported, and of later ones, whose weights fit int8 or do not."""

NEAR = (110, 128, 105)
"""The same with vectors, where there is room for so many weights beyond int8."""

IN_BLOBS = {
    "cortex-m4": {"tinyrt_window_more_s8", "tinyrt_group_more_s8"},
    "cortex-m3": {"tinyrt_window_more_s8", "tinyrt_group_more_s8"},
    "cortex-m0": {"tinyrt_window_four_more_raised_s8", "tinyrt_group_more_s8"},
    "cortex-m55": {"tinyrt_conv2d_more_s8", "tinyrt_depthwise_conv2d_wide_s8"},
}
SAMPLE = [
    *(("cortex-m3", False), ("cortex-m55", True)),
]
"""Core, and whether outputs need no sign: they have all kernels but those of a Cortex-M0."""


@pytest.mark.parametrize(
    ("core", "relu"),
    sampled(SAMPLE, [(core, relu) for core in IN_BLOBS for relu in (False, True)]),
)
def test_blobs_may_have_weights_of_any_zero_point(tmp_path, core, relu):
    """The code is the same, whatever weights need."""
    on_vectors = core == "cortex-m55"
    zero_points = (
        NEAR if on_vectors else sampled(ZERO_POINTS[:2], [zp for zp in ZERO_POINTS if zp != 255])
    )
    models = {zp: tmp_path / f"{zp}.tflite" for zp in zero_points}
    for zero_point, path in models.items():
        save_tflite(of_all_kinds(zero_point, relu), path)
    options = ExportOptions(name="mo", blob=True)
    project = export_c(models[ZERO_POINTS[0]], tmp_path / "mo", core=core, options=options)
    own = IN_BLOBS[core]
    assert set(project.kernels) >= ({"tinyrt_group_more_s8"} if relu and not on_vectors else own)
    build(tmp_path, project)
    for zero_point, path in models.items():
        make_blob(path, tmp_path / "mo", tmp_path / f"{zero_point}.blob")
        answers_as(tmp_path, f"{zero_point}.blob", path)


def test_vectors_have_room_for_some_weights_beyond_int8(tmp_path):
    for zero_point in (110, 95):
        save_tflite(of_all_kinds(zero_point, relu=False), tmp_path / f"{zero_point}.tflite")
    options = ExportOptions(name="mo", blob=True)
    export_c(tmp_path / "110.tflite", tmp_path / "mo", core="cortex-m55", options=options)
    with pytest.raises(UnsupportedError, match="does not fit the exported code: op 1: conv2d"):
        make_blob(tmp_path / "95.tflite", tmp_path / "mo", tmp_path / "95.blob")
