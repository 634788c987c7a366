"""Models of the zoo on the emulated Cortex-M4: golden outputs, arena, repeatable counts."""

import numpy as np
import pytest

from tests.asked import asked
from tests.memory.targets import DSP
from tests.sampling import sampled
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.emulate import run_emulated
from tinyrt.memory import plan_memory

MODELS = ("autoencoder_ad", "dscnn_kws", "mobilenet_vww", "resnet8", "streaming_wakeword")


def emulate(zoo, name, build_dir, core="cortex-m4", samples=None, board=None, **options):
    """A run over the golden inputs, or the first of them, and the graph."""
    path = zoo / "models" / f"{name}_int8.tflite"
    graph = read_tflite(path)
    golden = np.load(zoo / "golden" / f"{name}_int8.npz")
    (x,), (y,) = graph.input_values, graph.output_values
    report = run_emulated(
        path,
        core=core,
        inputs={x.name: golden["inputs"].reshape(-1, *x.shape[1:])[:samples]},
        expected={y.name: golden["outputs"].reshape(-1, *y.shape[1:])[:samples]},
        build_dir=build_dir,
        board=board,
        **asked(**options),
    )
    return report, graph


WITHOUT_BUDGETS = ["autoencoder_ad", "mobilenet_vww", "streaming_wakeword"]
"""Models whose answers on a Cortex-M4 no sample of ``test_budgets`` has."""


@pytest.mark.parametrize("name", sampled(WITHOUT_BUDGETS, MODELS))
def test_device_answers_what_is_golden(zoo, tmp_path, name):
    report, graph = emulate(zoo, name, tmp_path)
    assert report.bit_exact
    assert report.baseline > report.instructions
    assert report.ram.arena == plan_memory(graph, DSP).arena_bytes
    assert report.ram.static == 0
    assert 0 < report.ram.stack <= report.ram.stack_bound < 512
    assert report.flash.code == sum(
        (report.flash.kernels, report.flash.model, report.flash.tables, report.flash.library)
    )
    assert min(report.flash.kernels, report.flash.model, report.flash.tables) > 0


OTHERS = ["cortex-m7", "cortex-m33", "cortex-m0", "cortex-m3", "cortex-m55"]


@pytest.mark.whole
@pytest.mark.parametrize("core", OTHERS)
def test_every_core_gives_the_same_answers(zoo, tmp_path, core):
    report, _ = emulate(zoo, "autoencoder_ad", tmp_path, core)
    assert report.bit_exact


@pytest.mark.whole
def test_counts_repeat_to_the_instruction(zoo, tmp_path):
    first, second = (emulate(zoo, "autoencoder_ad", tmp_path / run)[0] for run in ("a", "b"))
    assert first.instructions == second.instructions
    assert first.ram == second.ram
    assert first.flash == second.flash
