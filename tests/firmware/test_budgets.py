"""What the zoo's models may cost on emulated cores: instructions, code, stack and arena.

The limits are what was reached, half a percent above for instructions. Counts are exact and
repeatable for one compiler; another release may need new limits.
"""

import pytest

from tests.firmware.test_zoo import emulate
from tinyrt.export import find_core
from tinyrt.memory import plan_memory

LIMITS = {
    ("cortex-m4", "resnet8"): (13_649_000, 6_640, 400),
    ("cortex-m4", "dscnn_kws"): (3_719_000, 7_808, 384),
    ("cortex-m4", "mobilenet_vww"): (11_997_000, 11_360, 400),
    ("cortex-m4", "streaming_wakeword"): (1_015_000, 6_400, 368),
    ("cortex-m4", "autoencoder_ad"): (323_000, 1_584, 240),
    ("cortex-m3", "resnet8"): (25_011_000, 8_160, 384),
    ("cortex-m3", "dscnn_kws"): (6_068_000, 8_896, 384),
    ("cortex-m3", "mobilenet_vww"): (18_699_000, 12_448, 384),
    ("cortex-m3", "streaming_wakeword"): (1_760_000, 8_256, 368),
    ("cortex-m3", "autoencoder_ad"): (615_000, 1_792, 192),
    ("cortex-m0", "resnet8"): (55_724_000, 9_216, 464),
    ("cortex-m0", "dscnn_kws"): (14_187_000, 10_208, 448),
    ("cortex-m0", "mobilenet_vww"): (42_860_000, 13_792, 448),
    ("cortex-m0", "streaming_wakeword"): (4_005_000, 9_152, 416),
    ("cortex-m0", "autoencoder_ad"): (1_137_000, 1_952, 208),
}
"""(core, model) -> most instructions per inference, bytes of code, and bytes of stack."""

SMALL_CODE = {"dscnn_kws": 5_920, "mobilenet_vww": 9_472, "autoencoder_ad": 1_200}
"""model -> most bytes of code on a Cortex-M4 when it is made for size."""

WEIGHTS_OVER_MODEL = 1.1
"""Weights in flash over the model's own weights, biases included."""


@pytest.mark.parametrize(("core", "name"), LIMITS)
def test_model_keeps_to_its_budget(zoo, tmp_path, core, name):
    report, graph = emulate(zoo, name, tmp_path, core, samples=1)
    instructions, code, stack = LIMITS[core, name]
    assert report.bit_exact
    assert report.instructions <= instructions
    assert report.flash.code <= code
    assert report.ram.stack <= stack
    assert report.ram.static == 0
    assert report.ram.arena == plan_memory(graph, find_core(core).isa).arena_bytes
    constants = sum(v.nbytes for v in graph.values.values() if v.is_constant)
    assert report.flash.weights <= WEIGHTS_OVER_MODEL * constants


@pytest.mark.parametrize("name", SMALL_CODE)
def test_code_made_for_size_is_small(zoo, tmp_path, name):
    report, _ = emulate(zoo, name, tmp_path, samples=1, optimize="size")
    assert report.bit_exact
    assert report.flash.code <= SMALL_CODE[name]
