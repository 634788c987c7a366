"""Ops that run row by row on emulated cores: same answers, in far less memory."""

import numpy as np
import pytest

from tests.firmware.test_zoo import emulate
from tests.memory.nets import random_net
from tinyrt.convert.tflite_writer import save_tflite
from tinyrt.emulate import run_emulated
from tinyrt.memory import plan_pushed, plan_streamed
from tinyrt.ops.evaluate import evaluate
from tinyrt.ops.spec import InstructionSet

LIMITS = {
    ("resnet8", "by_rows"): (14_784, 13_852_000, 7_104, 432),
    ("resnet8", "input_rows"): (13_220, 13_856_000, 7_200, 432),
    ("dscnn_kws", "by_rows"): (4_612, 4_458_000, 7_680, 432),
    ("mobilenet_vww", "by_rows"): (28_172, 10_752_000, 15_008, 432),
    ("mobilenet_vww", "input_rows"): (12_776, 11_022_000, 15_264, 432),
}
"""(model, how it runs) -> most bytes of arena, instructions, bytes of code, and bytes of stack."""


@pytest.mark.parametrize(("name", "how"), LIMITS)
def test_models_run_row_by_row_within_their_budget(zoo, tmp_path, name, how):
    report, graph = emulate(zoo, name, tmp_path, samples=1, **{how: True})
    arena, instructions, code, stack = LIMITS[name, how]
    plan = (plan_streamed if how == "by_rows" else plan_pushed)(graph, InstructionSet.DSP)
    assert report.bit_exact
    assert report.ram.arena == plan.arena_bytes <= arena
    assert report.ram.static == 0
    assert report.instructions <= instructions
    assert report.flash.code <= code
    assert report.ram.stack <= stack


@pytest.mark.parametrize("how", ["by_rows", "input_rows"])
@pytest.mark.parametrize(
    ("core", "seed"), [("cortex-m0", 51), ("cortex-m4", 7), ("cortex-m55", 24)]
)
def test_random_networks_answer_alike_on_every_kind_of_core(tmp_path, core, seed, how):
    graph = random_net(seed)
    rng = np.random.default_rng(seed)
    samples = [rng.integers(-128, 128, graph.value("x").shape).astype(np.int8) for _ in range(3)]
    answers = [evaluate(graph, {"x": x}) for x in samples]
    path = tmp_path / "net.tflite"
    save_tflite(graph, path)
    report = run_emulated(
        path,
        core=core,
        inputs={"x": np.concatenate(samples)},
        expected={n: np.concatenate([a[n] for a in answers]) for n in graph.outputs},
        build_dir=tmp_path / "build",
        **{how: True},
    )
    assert report.bit_exact
