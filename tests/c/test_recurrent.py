"""LSTM and SVDF over packed weights, under sanitizers: random shapes, and ends of all ranges."""

import numpy as np
import pytest

from tests.c.conformance import graph_of
from tests.c.host import BESIDE, build_program, run_program
from tests.c.packed_cases import lstm, narrow_lstm, svdf
from tests.c.programs import one_graph
from tests.ops.build import build_s16
from tests.ops.corners import thinned
from tests.ops.corners.recurrent import recurrent
from tests.sampling import sampled
from tinyrt.export import ExportOptions, export_graph
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

CORES = ("cortex-m3", "cortex-m4")
SHAPES = range(100, 100 + sampled(10, 1000))
KERNELS = {"tinyrt_lstm_block_s8", "tinyrt_svdf_block_s8", "tinyrt_svdf_block_s8_s16"}


@pytest.mark.parametrize("core", sampled(CORES[:1], CORES))
def test_random_shapes_equal_the_references(tmp_path, core):
    graph, feeds = graph_of({"lstm": lstm, "svdf": svdf}, SHAPES)
    project = export_graph(
        graph, tmp_path / "project", core=core, options=ExportOptions(memories=BESIDE)
    )
    assert set(project.kernels) >= KERNELS
    found = run_program(build_program(project, tmp_path), project, feeds, "beside")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name, strict=True)


@pytest.mark.parametrize("core", sampled(CORES[1:], CORES))
def test_random_shapes_of_int16_equal_the_references(tmp_path, core):
    graph, feeds = graph_of({"lstm": lstm}, SHAPES, build_s16)
    project = export_graph(
        graph, tmp_path / "project", core=core, options=ExportOptions(memories=BESIDE)
    )
    assert "tinyrt_lstm_block_s16" in project.kernels
    found = run_program(build_program(project, tmp_path), project, feeds, "beside")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name, strict=True)


@pytest.mark.parametrize("core", sampled(CORES[:1], CORES))
def test_random_shapes_of_four_bits_equal_the_references(tmp_path, core):
    graph, feeds = graph_of({"lstm": lstm}, SHAPES, narrow_lstm)
    project = export_graph(
        graph, tmp_path / "project", core=core, options=ExportOptions(memories=BESIDE)
    )
    assert "tinyrt_lstm_block_s4" in project.kernels
    assert "tinyrt_lstm_block_s8" not in project.kernels
    found = run_program(build_program(project, tmp_path), project, feeds, "beside")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name, strict=True)


@pytest.mark.parametrize("core", sampled(CORES[:1], CORES))
def test_corners_equal_the_references(tmp_path, core):
    graph, feeds = one_graph(thinned(recurrent(), sampled(3, 1)))
    project = export_graph(
        graph, tmp_path / "project", core=core, options=ExportOptions(memories=BESIDE)
    )
    found = run_program(build_program(project, tmp_path), project, feeds, "beside")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name, strict=True)
