"""Ops that run row by row on emulated cores: same answers, in far less memory."""

import numpy as np
import pytest

from tests.firmware.test_zoo import emulate
from tests.memory.nets import random_net
from tinyrt.convert.tflite_writer import save_tflite
from tinyrt.emulate import run_emulated
from tinyrt.export.target import find_core
from tinyrt.memory import plan_pushed, plan_streamed
from tinyrt.ops.evaluate import evaluate
from tinyrt.ops.spec import InstructionSet

MOST_GROWTH = 1.03
"""Of instructions and of code, where ops run row by row and nobody asks for the smallest arena."""

BY_ROWS = {"resnet8": (14_784, 340), "dscnn_kws": (6_112, 460), "mobilenet_vww": (28_172, 340)}
"""Model -> most bytes of arena and of stack."""

INPUT_ROWS = {
    "resnet8": (12_108, 13_600_000, 6_710, 340),
    "mobilenet_vww": (14_528, 10_581_000, 14_290, 410),
}
"""Model -> most bytes of arena, instructions, bytes of code, and bytes of stack."""


@pytest.mark.parametrize("name", BY_ROWS)
def test_models_run_row_by_row_at_little_cost(zoo, tmp_path, name):
    plain, graph = emulate(zoo, name, tmp_path / "plain", samples=1)
    report, _ = emulate(zoo, name, tmp_path / "rows", samples=1, by_rows=True)
    arena, stack = BY_ROWS[name]
    assert report.bit_exact
    assert report.ram.arena == plan_streamed(graph, InstructionSet.DSP).arena_bytes <= arena
    assert report.ram.static == 0
    assert report.instructions <= MOST_GROWTH * plain.instructions
    assert report.flash.code <= MOST_GROWTH * plain.flash.code
    assert report.ram.stack <= stack


@pytest.mark.parametrize("name", INPUT_ROWS)
def test_models_take_their_input_row_by_row_within_their_budget(zoo, tmp_path, name):
    report, graph = emulate(zoo, name, tmp_path, samples=1, input_rows=True)
    arena, instructions, code, stack = INPUT_ROWS[name]
    assert report.bit_exact
    assert report.ram.arena == plan_pushed(graph, InstructionSet.DSP).arena_bytes <= arena
    assert report.ram.static == 0
    assert report.instructions <= instructions
    assert report.flash.code <= code
    assert report.ram.stack <= stack


def test_a_smaller_arena_for_rows_that_are_pushed_costs_instructions(zoo, tmp_path):
    report, _ = emulate(
        zoo, "mobilenet_vww", tmp_path, samples=1, input_rows=True, max_arena=12_000
    )
    assert report.bit_exact
    assert report.ram.arena <= 11_632
    assert report.instructions <= 10_980_000
    assert report.ram.stack <= 340


def test_a_small_budget_buys_memory_with_instructions(zoo, tmp_path):
    report, _ = emulate(zoo, "dscnn_kws", tmp_path, samples=1, max_arena=4_300)
    assert report.bit_exact
    assert report.ram.arena <= 4_300


def test_vector_kernels_take_batches_of_fewer_rows(zoo, tmp_path):
    report, _ = emulate(zoo, "dscnn_kws", tmp_path, "cortex-m55", samples=2, max_arena=8_500)
    assert report.bit_exact
    assert report.ram.arena <= 8_500


@pytest.mark.parametrize("how", ["by_rows", "input_rows"])
@pytest.mark.parametrize(
    ("core", "seed"),
    [
        ("cortex-m0", 51),
        ("cortex-m4", 7),
        ("cortex-m4", 35),
        ("cortex-m55", 24),
        ("cortex-m4", 66),  # A stage sees padding alone before the first row is pushed.
        ("cortex-m55", 20),  # The same, and a ring is filled before anything is written to it.
        ("cortex-m55", 46),  # No ring ever moves.
        ("cortex-m55", 57),  # An output is held, and read by rows, too.
    ],
)
def test_random_networks_answer_alike_on_every_kind_of_core(tmp_path, core, seed, how):
    graph = random_net(seed)
    rng = np.random.default_rng(seed)
    samples = [rng.integers(-128, 128, graph.value("x").shape).astype(np.int8) for _ in range(3)]
    answers = [evaluate(graph, {"x": x}) for x in samples]
    path = tmp_path / "net.tflite"
    save_tflite(graph, path)
    least = plan_streamed(graph, find_core(core).isa, costly=True)
    assert least.segments
    ways = {"by_rows": {"max_arena": least.arena_bytes}, "input_rows": {"input_rows": True}}
    report = run_emulated(
        path,
        core=core,
        inputs={"x": np.concatenate(samples)},
        expected={n: np.concatenate([a[n] for a in answers]) for n in graph.outputs},
        build_dir=tmp_path / "build",
        **ways[how],
    )
    assert report.bit_exact
