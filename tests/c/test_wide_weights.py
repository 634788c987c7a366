"""Weights beyond int8 on M0, M3, M4 and M55: whole in 16 bits, or by taps that are read again."""

from itertools import pairwise

import numpy as np
import pytest

from tests.c.host import BESIDE, build_program, run_samples
from tests.c.wide_layers import chain, feeds, net
from tests.memory.targets import kernels_for
from tests.sampling import sampled
from tinyrt.backends.c.rejoined import rejoined
from tinyrt.export import ExportOptions, export_graph
from tinyrt.memory import plan_by_rows
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

LAYERS, FIRST = sampled((70, 30), (150, 0))
"""Layers of a net, and the first seed, whose layers have the kernels below."""

WIDE = {f"tinyrt_depthwise{kind}_wide_s8" for kind in ("3x3", "_block", "_block_spread")}
PAIRS = {f"tinyrt_{kind}_more_{end}s8" for kind in ("dense", "window") for end in ("", "relu_")}
FOURS = {f"tinyrt_window_four_more_{end}s8" for end in ("", "relu_")}
KERNELS = {
    ("cortex-m4", "balanced"): PAIRS | WIDE | {"tinyrt_dense_row_relu_s8", "tinyrt_dense_relu_s8"},
    ("cortex-m3", "balanced"): FOURS | WIDE,
    ("cortex-m0", "balanced"): WIDE | {"tinyrt_window_four_more_raised_s8"},
    ("cortex-m3", "size"): WIDE | {"tinyrt_dense_more_s8", "tinyrt_window_more_s8"},
    ("cortex-m55", "balanced"): {"tinyrt_conv2d_more_s8", "tinyrt_depthwise_conv2d_wide_s8"},
}
SAMPLE = [("cortex-m4", "balanced"), ("cortex-m3", "balanced")]
"""The other cores compute them in QEMU: tests/firmware/test_wide_weights.py."""


@pytest.mark.parametrize(("core", "optimize"), sampled(SAMPLE, KERNELS))
@pytest.mark.parametrize("seed", range(FIRST, FIRST + sampled(1, 12)))
def test_random_layers_equal_the_references(tmp_path, core, optimize, seed):
    graph = net(seed, LAYERS)
    options = ExportOptions(memories=BESIDE)
    project = export_graph(
        graph, tmp_path / "project", core=core, optimize=optimize, options=options
    )
    assert seed != FIRST or set(project.kernels) >= KERNELS[core, optimize]
    samples = [feeds(graph, i) for i in range(4)]
    found = run_samples(build_program(project, tmp_path), project, samples, "beside")
    for data, outputs in zip(samples, found, strict=True):
        for name, expected in evaluate(graph, data).items():
            np.testing.assert_array_equal(outputs[name], expected, err_msg=name, strict=True)


CORES = ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55")
ROWS = {
    "cortex-m4": {"tinyrt_window_more_s8", "tinyrt_depthwise_rows3_wide_s8"},
    "cortex-m3": {"tinyrt_window_more_s8", "tinyrt_depthwise_rows3_wide_s8"},
    "cortex-m55": {"tinyrt_conv2d_more_s8", "tinyrt_depthwise_conv2d_wide_s8"},
}


@pytest.mark.parametrize("core", sampled(["cortex-m55"], [*ROWS]))
def test_rows_of_a_chain_equal_the_references(tmp_path, core):
    graph, kernels_of_core = chain(3), kernels_for(core)
    called = rejoined(graph, kernels_of_core.target)
    least = plan_by_rows(called, kernels_of_core, costly=True)
    options = ExportOptions(by_rows=True, max_arena=least.arena_bytes)
    project = export_graph(graph, tmp_path / "project", core=core, options=options)
    assert project.segments
    files = {path.stem for path in (project.directory / "tinyrt").glob("*.c")}
    assert files >= ROWS[core]
    samples = [feeds(graph, i) for i in range(4)]
    found = run_samples(build_program(project, tmp_path), project, samples, "beside")
    for data, outputs in zip(samples, found, strict=True):
        for name, expected in evaluate(graph, data).items():
            assert len(np.unique(expected)) > 1 or data["x0"].min() == data["x0"].max()
            np.testing.assert_array_equal(outputs[name], expected, err_msg=name, strict=True)


@pytest.mark.parametrize("core", sampled(["cortex-m3", "cortex-m4"], CORES))
@pytest.mark.parametrize("seed", range(sampled(1, 8)))
def test_outputs_may_lie_on_inputs(tmp_path, core, seed):
    """As the planner has them: an arena has less room than an input and its output take."""
    graph = chain(seed)
    project = export_graph(graph, tmp_path / "project", core=core)
    sizes = [graph.value(n.output).nbytes for n in rejoined(graph, kernels_for(core).target).nodes]
    assert project.arena_bytes < max(a + b for a, b in pairwise(sizes))
    samples = [feeds(graph, i) for i in range(4)]
    found = run_samples(build_program(project, tmp_path), project, samples, "beside")
    for data, outputs in zip(samples, found, strict=True):
        for name, expected in evaluate(graph, data).items():
            np.testing.assert_array_equal(outputs[name], expected, err_msg=name, strict=True)
