"""What the zoo's models may cost on emulated cores: instructions, code, stack and arena.

The limits are what was reached, half a percent above for instructions. Counts are exact and
repeatable for one compiler; another release may need new limits.
"""

import pytest

from tests.firmware.test_zoo import emulate
from tests.memory.targets import kernels_for
from tests.sampling import sampled
from tinyrt.memory import plan_memory

LIMITS = {
    ("cortex-m4", "resnet8"): (9_870_000, 11_136, 312),
    ("cortex-m4", "dscnn_kws"): (3_025_000, 9_632, 316),
    ("cortex-m4", "mobilenet_vww"): (8_550_000, 15_104, 324),
    ("cortex-m4", "streaming_wakeword"): (938_000, 6_528, 260),
    ("cortex-m4", "autoencoder_ad"): (311_000, 2_304, 148),
    ("cortex-m3", "resnet8"): (18_350_000, 9_888, 312),
    ("cortex-m3", "dscnn_kws"): (6_002_000, 8_896, 304),
    ("cortex-m3", "mobilenet_vww"): (15_006_000, 15_728, 312),
    ("cortex-m3", "streaming_wakeword"): (1_753_000, 7_984, 272),
    ("cortex-m3", "autoencoder_ad"): (614_000, 1_664, 184),
    ("cortex-m0", "resnet8"): (53_674_000, 8_752, 360),
    ("cortex-m0", "dscnn_kws"): (14_160_000, 10_176, 352),
    ("cortex-m0", "mobilenet_vww"): (35_034_000, 16_864, 352),
    ("cortex-m0", "streaming_wakeword"): (3_998_000, 9_056, 296),
    ("cortex-m0", "autoencoder_ad"): (1_137_000, 1_904, 216),
}
"""(core, model) -> most instructions per inference, bytes of code, and bytes of stack.

Half of mobilenet_vww's channels are dead: sparse kernels add 1.5 to 3.7 KB of code, and take
117 KB of weights away (``WEIGHTS_OVER_MODEL``).
"""

SMALL_CODE = {"dscnn_kws": 5_840, "mobilenet_vww": 10_944, "autoencoder_ad": 1_136}
"""model -> most bytes of code on a Cortex-M4 when it is made for size."""

FAST = {
    "resnet8": (0.885, 13_472),
    "dscnn_kws": (0.99, 11_216),
    "mobilenet_vww": (0.999, 17_728),
    "streaming_wakeword": (0.99, 7_808),
    "autoencoder_ad": (0.988, 2_864),
}
"""model -> most instructions on a Cortex-M4 when it is made for speed, to those that balanced code
takes, and bytes of code."""

WEIGHTS_OVER_MODEL = {"mobilenet_vww": 0.54, "dscnn_kws": 1.15, "streaming_wakeword": 1.11}
"""model -> weights in flash over the model's own weights, biases included; 1.1 for others."""

BY_TILES = {"balanced": 36_100, "speed": 131_000}
"""Most bytes that resnet8's convolutions by tiles add to its weights."""


@pytest.mark.parametrize(("core", "name"), LIMITS)
def test_model_keeps_to_its_budget(zoo, tmp_path, core, name):
    report, graph = emulate(zoo, name, tmp_path, core, samples=1)
    instructions, code, stack = LIMITS[core, name]
    assert report.bit_exact
    assert report.instructions <= instructions
    assert report.flash.code <= code
    assert report.ram.stack <= stack
    assert report.ram.static == 0
    assert report.ram.arena == plan_memory(graph, kernels_for(core)).arena_bytes
    constants = sum(v.nbytes for v in graph.values.values() if v.is_constant)
    by_tiles = name == "resnet8" and core in ("cortex-m3", "cortex-m4")
    more = BY_TILES["balanced"] if by_tiles else 0
    assert report.flash.weights <= WEIGHTS_OVER_MODEL.get(name, 1.1) * constants + more


@pytest.mark.parametrize("name", SMALL_CODE)
def test_code_made_for_size_is_small(zoo, tmp_path, name):
    report, _ = emulate(zoo, name, tmp_path, samples=1, optimize="size")
    assert report.bit_exact
    assert report.flash.code <= SMALL_CODE[name]


@pytest.mark.parametrize("name", sampled(["dscnn_kws", "autoencoder_ad"], [*FAST]))
def test_code_made_for_speed_is_faster(zoo, tmp_path, name):
    balanced, _ = emulate(zoo, name, tmp_path / "balanced", samples=1)
    fast, _ = emulate(zoo, name, tmp_path / "fast", samples=1, optimize="speed")
    ratio, code = FAST[name]
    assert fast.bit_exact
    assert fast.instructions <= ratio * balanced.instructions
    assert fast.flash.code <= code
    more = BY_TILES["speed"] - BY_TILES["balanced"] if name == "resnet8" else 0
    assert fast.flash.weights - balanced.flash.weights <= more
    assert fast.ram.arena == balanced.ram.arena
