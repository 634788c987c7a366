"""What the zoo's models may cost on emulated cores: instructions, code, stack and arena.

The limits are what was reached, half a percent above for instructions. Counts are exact and
repeatable for one compiler; another release may need new limits.
"""

import pytest

from tests.firmware.test_zoo import emulate
from tinyrt.export import find_core
from tinyrt.memory import plan_memory

LIMITS = {
    ("cortex-m4", "resnet8"): (13_671_000, 8_256, 416),
    ("cortex-m4", "dscnn_kws"): (3_845_000, 10_080, 416),
    ("cortex-m4", "mobilenet_vww"): (12_265_000, 22_528, 416),
    ("cortex-m4", "streaming_wakeword"): (1_161_000, 9_856, 352),
    ("cortex-m4", "autoencoder_ad"): (386_000, 1_920, 256),
    ("cortex-m3", "resnet8"): (25_172_000, 9_472, 416),
    ("cortex-m3", "dscnn_kws"): (6_196_000, 11_648, 416),
    ("cortex-m3", "mobilenet_vww"): (18_910_000, 24_000, 416),
    ("cortex-m3", "streaming_wakeword"): (1_943_000, 10_880, 352),
    ("cortex-m3", "autoencoder_ad"): (615_000, 2_432, 240),
    ("cortex-m0", "resnet8"): (56_089_000, 10_368, 448),
    ("cortex-m0", "dscnn_kws"): (14_378_000, 12_672, 448),
    ("cortex-m0", "mobilenet_vww"): (43_420_000, 25_024, 448),
    ("cortex-m0", "streaming_wakeword"): (4_240_000, 11_328, 384),
    ("cortex-m0", "autoencoder_ad"): (1_131_000, 2_560, 288),
}
"""(core, model) -> most instructions per inference, bytes of code, and bytes of stack."""

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
