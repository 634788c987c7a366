"""Ops that run row by row on emulated cores: same answers, in far less memory."""

from functools import cache

import numpy as np
import pytest

from tests.firmware.test_zoo import emulate
from tests.memory.nets import random_net, signal_net, u_net, wide_net
from tests.memory.targets import kernels_for
from tests.sampling import sampled
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate import run_emulated
from tinyrt.export import ExportOptions
from tinyrt.memory import plan_by_rows, plan_pushed
from tinyrt.ops.shared.evaluate import evaluate

MAX_GROWTH, MAX_CODE_GROWTH = 1.03, 1.04
"""Of instructions and of code over a program that holds all tensors whole, where ops run row by row
and nobody asks for the smallest arena."""

M4, M55 = "cortex-m4", "cortex-m55"

BY_ROWS = {
    (M4, "resnet8"): (14_784, 12_650_000, 7_600, 280),
    (M4, "dscnn_kws"): (6_112, 3_430_000, 7_200, 348),
    (M4, "mobilenet_vww"): (28_172, 8_650_000, 15_150, 348),
    (M55, "resnet8"): (14_976, 1_993_000, 8_240, 784),
    (M55, "mobilenet_vww"): (28_524, 2_094_000, 25_700, 784),
}
INPUT_ROWS = {
    (M4, "resnet8"): (12_108, 12_660_000, 7_860, 270),
    (M4, "dscnn_kws"): (5_800, 3_440_000, 7_380, 348),
    (M4, "mobilenet_vww"): (14_128, 8_770_000, 15_120, 428),
    (M55, "resnet8"): (15_436, 1_995_000, 8_300, 784),
}
"""Core and model -> most bytes of arena, instructions, bytes of code, and bytes of stack."""

PLAINER = {
    (M4, "resnet8"): 1.35,
    (M4, "dscnn_kws"): 1.15,
    (M4, "mobilenet_vww"): 1.085,
    (M55, "resnet8"): 1.033,
}
"""Models whose kernels for rows are plainer, and most instructions to those without rows: there are
no tiles, depthwise lines go one at a time, and windows in colour are not widened where they lie."""


@pytest.mark.whole
@pytest.mark.parametrize(
    ("core", "name"),
    [*BY_ROWS],
)
def test_models_run_row_by_row_at_little_cost(zoo, tmp_path, plain, core, name):
    report, graph = emulate(zoo, name, tmp_path, core, samples=1, by_rows=True)
    assert report.ram.arena == plan_by_rows(graph, kernels_for(core)).arena_bytes
    assert_at_little_cost(
        report, plain(core, name), BY_ROWS[core, name], PLAINER.get((core, name), MAX_GROWTH)
    )


@pytest.mark.whole
@pytest.mark.parametrize(("core", "name"), [*INPUT_ROWS])
def test_models_take_their_input_row_by_row_at_little_cost(zoo, tmp_path, plain, core, name):
    report, graph = emulate(zoo, name, tmp_path, core, samples=1, input_rows=True)
    assert report.ram.arena == plan_pushed(graph, kernels_for(core)).arena_bytes
    assert_at_little_cost(
        report, plain(core, name), INPUT_ROWS[core, name], PLAINER.get((core, name), MAX_GROWTH)
    )


@pytest.fixture(scope="module")
def plain(zoo, tmp_path_factory):
    """Core and model -> the report of its program without rows."""

    @cache
    def run(core, name):
        return emulate(zoo, name, tmp_path_factory.mktemp(name), core, samples=1)[0]

    return run


def assert_at_little_cost(report, whole, most, growth=MAX_GROWTH):
    arena, instructions, code, stack = most
    assert report.bit_exact
    assert report.ram.static == 0
    assert report.ram.arena <= arena
    assert report.instructions <= min(instructions, growth * whole.instructions)
    assert report.flash.code <= min(code, MAX_CODE_GROWTH * whole.flash.code)
    assert report.ram.stack <= stack


@pytest.mark.whole
def test_a_smaller_arena_for_rows_that_are_pushed_costs_instructions(zoo, tmp_path):
    report, _ = emulate(
        zoo, "mobilenet_vww", tmp_path, samples=1, input_rows=True, max_arena=12_000
    )
    assert report.bit_exact
    assert report.ram.arena <= 11_632
    assert report.instructions <= 9_540_000
    assert report.flash.code <= 14_940
    assert report.ram.stack <= 340


@pytest.mark.whole
def test_a_small_budget_buys_memory_with_instructions(zoo, tmp_path):
    report, _ = emulate(zoo, "dscnn_kws", tmp_path, samples=1, max_arena=4_300)
    assert report.bit_exact
    assert report.ram.arena <= 4_300


@pytest.mark.whole
def test_vector_kernels_take_batches_of_fewer_rows(zoo, tmp_path):
    report, _ = emulate(zoo, "dscnn_kws", tmp_path, "cortex-m55", samples=2, max_arena=6_500)
    assert report.bit_exact
    assert report.ram.arena <= 6_500
    assert report.instructions <= 923_500


@pytest.mark.whole
def test_vector_kernels_take_pushed_rows_in_the_arena_of_a_few(zoo, tmp_path):
    report, _ = emulate(zoo, "mobilenet_vww", tmp_path, "cortex-m55", samples=1, input_rows=True)
    assert report.bit_exact
    assert report.ram.arena <= 14_896
    assert report.instructions <= 2_457_000


NETS = [
    ("cortex-m0", random_net, 51),
    # A stage sees padding alone before the first row is pushed.
    ("cortex-m4", random_net, 66),
    ("cortex-m55", random_net, 46),  # No ring ever moves.
    # As 66, and a ring is filled before anything is written to it.
    ("cortex-m55", random_net, 20),
    ("cortex-m55", random_net, 57),  # An output is held, and read by rows, too.
    ("cortex-m4", wide_net, 4),
    ("cortex-m0", signal_net, 0),
    ("cortex-m55", u_net, 1),
]
MORE_NETS = [
    ("cortex-m4", random_net, 7),
    ("cortex-m4", random_net, 35),
    ("cortex-m55", random_net, 24),
    ("cortex-m55", wide_net, 13),
    ("cortex-m4", signal_net, 1),
    ("cortex-m55", signal_net, 2),
    ("cortex-m4", u_net, 0),
]


HOW = ["by_rows", "input_rows"]


@pytest.mark.parametrize(
    ("core", "net", "seed", "how"),
    sampled(
        [(*NETS[1], HOW[1]), (*NETS[4], HOW[0])],
        [(*net, how) for net in (*NETS, *MORE_NETS) for how in HOW],
    ),
)
def test_random_networks_answer_alike_on_every_kind_of_core(tmp_path, core, net, seed, how):
    graph, samples, answers, least = case_of(core, net, seed)
    path = tmp_path / "net.tflite"
    save_tflite(graph, path)
    ways = {"by_rows": {"max_arena": least.arena_bytes}, "input_rows": {"input_rows": True}}
    report = run_emulated(
        path,
        core=core,
        inputs={"x": np.concatenate(samples)},
        expected={n: np.concatenate([a[n] for a in answers]) for n in graph.outputs},
        build_dir=tmp_path / "build",
        options=ExportOptions(**ways[how]),
    )
    assert report.bit_exact


@cache
def case_of(core, net, seed):
    """A network, three samples, their answers, and its smallest plan: the same both ways."""
    graph = net(seed)
    rng = np.random.default_rng(seed)
    x = graph.value("x")
    kind = np.iinfo(x.dtype.numpy)
    samples = [rng.integers(kind.min, kind.max + 1, x.shape).astype(kind.dtype) for _ in range(3)]
    least = plan_by_rows(graph, kernels_for(core), costly=True)
    assert least.segments
    return graph, samples, [evaluate(graph, {"x": x}) for x in samples], least
