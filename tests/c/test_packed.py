"""The kernels of scalar and DSP cores on this machine, under sanitizers.

DSP instructions have twins in C, so that the bodies of these cores' kernels run here, too.
"""

import numpy as np
import pytest

from benchmarks.nets import Net
from tests.c import thresholds
from tests.c.conformance import C_OPS, graph_of, other_data
from tests.c.host import BESIDE, build_program, run_program, run_samples
from tests.c.packed_cases import (
    INT4_CASES,
    PACKED_CASES,
    RELU_CASES,
    SPARSE_CASES,
    int4_weights,
    relu_outputs,
    sparse_weights,
    sparse_window_rows,
    window_rows,
)
from tests.ops.build import build_s8
from tests.ops.cases import CASES
from tests.ops.corners.given import Given, corner, q_of
from tests.sampling import sampled
from tinyrt.backends.c.blocks import fours
from tinyrt.export import ExportOptions, export_graph
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

SEEDS = (0, 1, 3, 7, 8)
"""Between them they reach every kernel that ten in a row do."""
CORES = ("cortex-m3", "cortex-m4")
"""A sample has the first one: tests/firmware/test_packed.py has the other in QEMU."""
SAMPLES = sampled(6, 500)
MIN_LAYERS = 200
PACKED = {
    "tinyrt_dense_s8",
    "tinyrt_dense_row_s8",
    "tinyrt_dense_row_long_s8",
    "tinyrt_window_block_s8",
    "tinyrt_depthwise_block_s8",
    "tinyrt_depthwise3x3_s8",
    "tinyrt_group_block_s8",
    "tinyrt_group_block_long_s8",
    "tinyrt_depthwise_block_fine_s8",
    "tinyrt_depthwise_block_spread_s8",
    "tinyrt_linear_sum_s8",
    "tinyrt_linear_sum_rows_s8",
    "tinyrt_sum_s8",
    "tinyrt_times_s8",
    "tinyrt_clamp_s8",
    "tinyrt_max_pool2d_s8",
    "tinyrt_softmax_s8",
    "tinyrt_lstm_block_s8",
    "tinyrt_svdf_block_s8",
    "tinyrt_svdf_block_s8_s16",
}
PACKED_INT4 = {
    "tinyrt_dense_s4",
    "tinyrt_dense_row_s4",
    "tinyrt_window_block_s4",
    "tinyrt_depthwise_block_s4",
    "tinyrt_depthwise3x3_s4",
}

RELU = {"tinyrt_dense_relu_s8", "tinyrt_window_block_relu_s8"}
RELU_OF = {"cortex-m3": RELU, "cortex-m4": RELU | {"tinyrt_dense_row_relu_s8"}}
"""Core -> kernels that need no sign; where rows take eight channels, they keep theirs."""

SPARSE_BLOCKS = {
    "tinyrt_dense_sparse_s8",
    "tinyrt_dense_row_sparse_s8",
    "tinyrt_window_block_sparse_s8",
}
SPARSE = {"balanced": SPARSE_BLOCKS, "size": {"tinyrt_dense_n_of_4_s8"}}
"""What the code is made for -> kernels that some of the sparse layers take then."""


@pytest.fixture(scope="module")
def cases():
    """Layers of every op and of every packed kernel, each with many inputs, and all answers."""
    rng = np.random.default_rng(7)
    packed = {f"packed {name}": case for name, case in PACKED_CASES.items()}
    graph, feeds = graph_of({op: CASES[op] for op in C_OPS} | packed, SEEDS)
    samples = [feeds, *(other_data(feeds, rng) for _ in range(SAMPLES - 1))]
    assert len(graph.nodes) >= MIN_LAYERS
    return graph, samples, [evaluate(graph, data) for data in samples]


@pytest.mark.parametrize("core", sampled(CORES[:1], CORES))
def test_thousands_of_random_cases(cases, tmp_path, monkeypatch, core):
    """Two pixels at a time; four of them have a test of their own."""
    monkeypatch.setattr(fours, "fits", lambda block, pixels, target: False)
    graph, samples, expected = cases
    project = export_graph(
        graph, tmp_path / "project", core=core, options=ExportOptions(memories=BESIDE)
    )
    assert set(project.kernels) >= PACKED
    assert ("tinyrt_depthwise3x3_signed_s8" in project.kernels) == (core == "cortex-m4")
    found = run_samples(build_program(project, tmp_path), project, samples, "beside")
    for answers, outputs in zip(expected, found, strict=True):
        for name, answer in answers.items():
            np.testing.assert_array_equal(outputs[name], answer, err_msg=name, strict=True)


@pytest.mark.parametrize("core", sampled(CORES[:1], CORES))
def test_packed_int4_weights_equal_the_references(tmp_path, core):
    graph, feeds = graph_of(INT4_CASES, range(sampled(5, 10)), int4_weights)
    project = export_graph(
        graph, tmp_path / "project", core=core, options=ExportOptions(memories=BESIDE)
    )
    assert set(project.kernels) >= PACKED_INT4
    outputs = run_program(build_program(project, tmp_path), project, feeds, "beside")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(outputs[name], expected, err_msg=name, strict=True)


@pytest.mark.parametrize(
    ("rows", "kernel"), [(1, "tinyrt_dense_row_long_s8"), (3, "tinyrt_group_block_long_s8")]
)
def test_long_sums_are_exact_to_the_last_bit(tmp_path, rows, kernel):
    """Weights are great, but inputs stand for 0 but for three: outputs are the sums themselves."""
    x, w = np.full((rows, 1200), 5, np.int8), np.full((8, 1200), 127, np.int8)
    w[:, ::2] = -127
    for place, value in ((3, 1), (600, -1), (1199, 2)):
        x[:, place] += value * np.arange(1, rows + 1, dtype=np.int8)
        w[:, place] = np.arange(8) * value + place % 7
    given = [Given(x, 1.0, 5), Given(w, [1.0] * 8, 0, True, 0)]
    built = corner("fully_connected", FullyConnectedAttrs(), given, q_of(1.0, -5))
    options = ExportOptions(memories=BESIDE)
    project = export_graph(built.graph, tmp_path / "project", core="cortex-m3", options=options)
    assert kernel in project.kernels
    found = run_program(build_program(project, tmp_path), project, built.feeds, "beside")
    wanted = (x - 5).astype(int) @ w.T.astype(int) - 5
    assert len(np.unique(wanted)) == 8 * rows
    np.testing.assert_array_equal(found["out"], wanted)


@pytest.mark.parametrize("core", CORES)
def test_products_take_what_is_left_of_fours_rows_and_columns(tmp_path, core):
    rng = np.random.default_rng(2)
    a, b = (rng.permuted(np.arange(21).reshape(3, 7) % 5 - 2).astype(np.int8) for _ in range(2))
    given = [Given(a, 1.0, 1), Given(b, 1.0, -1)]
    built = corner("batch_matmul", BatchMatmulAttrs(adj_y=True), given, q_of(1.0, 3))
    project = export_graph(built.graph, tmp_path / "project", core=core)
    found = run_program(build_program(project, tmp_path), project, built.feeds, "arena")
    wanted = (a - 1).astype(int) @ (b + 1).T.astype(int) + 3
    assert np.abs(wanted).max() < 127
    np.testing.assert_array_equal(found["out"], wanted)


@pytest.mark.parametrize(("core", "kernels"), [*RELU_OF.items()][sampled(1, 0) :])
def test_outputs_that_need_no_sign_equal_the_references(tmp_path, monkeypatch, core, kernels):
    monkeypatch.setattr(fours, "fits", lambda block, pixels, target: False)
    graph, feeds = graph_of(RELU_CASES, range(sampled(20, 600)), relu_outputs)
    options = ExportOptions(memories=BESIDE)
    project = export_graph(graph, tmp_path / "project", core=core, options=options)
    assert {name for name in project.kernels if "_relu_" in name} >= kernels
    assert ("tinyrt_dense_row_relu_s8" in project.kernels) is (core == "cortex-m4")
    samples = [feeds, other_data(feeds, np.random.default_rng(5))]
    found = run_samples(build_program(project, tmp_path), project, samples, "beside")
    for data, outputs in zip(samples, found, strict=True):
        for name, expected in evaluate(graph, data).items():
            np.testing.assert_array_equal(outputs[name], expected, err_msg=name, strict=True)


@pytest.mark.parametrize(
    ("core", "by_fours"), [("cortex-m3", True), ("cortex-m3", False), ("cortex-m4", False)]
)
def test_every_output_without_a_sign_begins_at_its_sum(tmp_path, monkeypatch, core, by_fours):
    if not by_fours:
        monkeypatch.setattr(fours, "fits", lambda block, pixels, target: False)
    graph, feeds = thresholds.layer()
    options = ExportOptions(memories=BESIDE)
    project = export_graph(graph, tmp_path / "project", core=core, options=options)
    kernel = "tinyrt_dense_four_relu_s8" if by_fours else "tinyrt_dense_relu_s8"
    assert kernel in project.kernels
    outputs = run_program(build_program(project, tmp_path), project, feeds, "beside")
    np.testing.assert_array_equal(outputs["y"], evaluate(graph, feeds)["y"], strict=True)


@pytest.mark.parametrize(
    ("core", "optimize", "kernels"),
    sampled(
        [(core, *each) for core, each in zip(CORES[::-1], SPARSE.items(), strict=True)],
        [(core, *each) for core in CORES for each in SPARSE.items()],
    ),
)
def test_sparse_weights_equal_the_references(tmp_path, core, optimize, kernels):
    graph, feeds = graph_of(SPARSE_CASES, range(sampled(12, 30)), sparse_weights)
    project = export_graph(
        graph,
        tmp_path / "project",
        core=core,
        optimize=optimize,
        options=ExportOptions(memories=BESIDE),
    )
    assert set(project.kernels) >= kernels
    outputs = run_program(build_program(project, tmp_path), project, feeds, "beside")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(outputs[name], expected, err_msg=name, strict=True)


ROWS = [
    ("tinyrt_window_rows_relu_s8", window_rows, relu_outputs),
    ("tinyrt_window_rows_s8", window_rows, build_s8),
    ("tinyrt_window_rows_s4", window_rows, int4_weights),
    ("tinyrt_window_rows_sparse_s8", sparse_window_rows, sparse_weights),
]
"""Kernel, cases, and how they are built."""


@pytest.mark.parametrize(
    ("core", "kernel", "case", "build"),
    sampled(
        [(CORES[i % 2], *row) for i, row in enumerate(ROWS)],
        [(core, *row) for core in CORES for row in ROWS],
    ),
)
def test_rows_equal_the_references(tmp_path, core, kernel, case, build):
    graph, feeds = graph_of({"rows": case}, range(sampled(20, 60)), build)
    project = export_graph(
        graph, tmp_path / "project", core=core, options=ExportOptions(memories=BESIDE)
    )
    assert kernel in project.kernels
    outputs = run_program(build_program(project, tmp_path), project, feeds, "beside")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(outputs[name], expected, err_msg=name, strict=True)


@pytest.mark.parametrize("images", [False, True])
def test_one_kernel_serves_rows_and_images(tmp_path, images):
    """The one for rows is smaller: it is there only where no convolution is on a whole image."""
    net = Net(1, 32, 32, 4)
    x = net.conv(net.conv("x", 16, size=3), 8, size=3, stride=2)
    graph = net.graph("net", net.conv(net.turned(x, 0, 2, 1, 3), 8, size=3) if images else x)
    project = export_graph(
        graph, tmp_path / "project", options=ExportOptions(by_rows=True, max_arena=16_000)
    )
    assert "tinyrt_rows" in project.kernels
    assert ("tinyrt_window_block_s8" in project.kernels) == images
    assert ("tinyrt_window_rows_s8" in project.kernels) != images
    feeds = {"x": np.random.default_rng(0).integers(-128, 128, (1, 32, 32, 4), np.int8)}
    outputs = run_program(build_program(project, tmp_path), project, feeds, "arena")
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_array_equal(outputs[name], expected, err_msg=name, strict=True)
