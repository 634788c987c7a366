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
    ("cortex-m4", "resnet8"): (9_390_000, 10_016, 260),
    ("cortex-m4", "dscnn_kws"): (2_990_000, 9_088, 312),
    ("cortex-m4", "mobilenet_vww"): (7_990_000, 14_528, 320),
    ("cortex-m4", "streaming_wakeword"): (916_000, 6_528, 264),
    ("cortex-m4", "autoencoder_ad"): (295_500, 2_304, 148),
    ("cortex-m3", "resnet8"): (15_631_000, 11_632, 288),
    ("cortex-m3", "dscnn_kws"): (4_812_000, 9_440, 304),
    ("cortex-m3", "mobilenet_vww"): (12_930_000, 16_064, 312),
    ("cortex-m3", "streaming_wakeword"): (1_342_000, 8_960, 252),
    ("cortex-m3", "autoencoder_ad"): (457_300, 1_664, 184),
    ("cortex-m0", "resnet8"): (37_535_000, 9_024, 320),
    ("cortex-m0", "dscnn_kws"): (10_883_000, 10_464, 320),
    ("cortex-m0", "mobilenet_vww"): (29_724_000, 16_992, 336),
    ("cortex-m0", "streaming_wakeword"): (2_976_500, 9_728, 312),
    ("cortex-m0", "autoencoder_ad"): (765_300, 1_824, 208),
    ("rv32imc", "resnet8"): (25_639_000, 12_522, 324),
    ("rv32imc", "dscnn_kws"): (7_917_000, 9_990, 308),
    ("rv32imc", "mobilenet_vww"): (20_040_000, 15_848, 308),
    ("rv32imc", "streaming_wakeword"): (2_226_000, 9_388, 280),
    ("rv32imc", "autoencoder_ad"): (784_700, 1_902, 184),
    ("rv32imcb", "resnet8"): (25_476_000, 12_102, 324),
    ("rv32imcb", "dscnn_kws"): (7_735_000, 9_630, 308),
    ("rv32imcb", "mobilenet_vww"): (19_510_000, 15_398, 308),
    ("rv32imcb", "streaming_wakeword"): (2_198_500, 9_054, 280),
    ("rv32imcb", "autoencoder_ad"): (784_100, 1_858, 184),
    ("rv32imcv", "resnet8"): (2_643_000, 7_728, 220),
    ("rv32imcv", "dscnn_kws"): (671_900, 8_160, 220),
    ("rv32imcv", "mobilenet_vww"): (2_393_500, 10_400, 220),
    ("rv32imcv", "streaming_wakeword"): (149_200, 5_024, 220),
    ("rv32imcv", "autoencoder_ad"): (54_670, 2_576, 120),
}
"""(core, model) -> most instructions per inference, bytes of code, and bytes of stack.

Half of mobilenet_vww's channels are dead: sparse kernels add 1.5 to 3.7 KB of code, and take
117 KB of weights away (``WEIGHTS_OVER_MODEL``).
"""

SMALL_CODE = {"dscnn_kws": 5_760, "mobilenet_vww": 10_688, "autoencoder_ad": 1_120}
"""model -> most bytes of code on a Cortex-M4 when it is made for size."""

FAST = {
    "resnet8": (0.885, 12_032),
    "dscnn_kws": (0.99, 10_560),
    "mobilenet_vww": (0.999, 16_960),
    "streaming_wakeword": (0.989, 7_808),
    "autoencoder_ad": (0.988, 2_864),
}
"""model -> most instructions on a Cortex-M4 when it is made for speed, to those that balanced code
takes, and bytes of code."""

WEIGHTS_OVER_MODEL = {"mobilenet_vww": 0.55, "dscnn_kws": 1.15, "streaming_wakeword": 1.11}
"""model -> weights in flash over the model's own weights, biases included; 1.1 for others."""

BY_TILES = {"balanced": 35_840, "speed": 131_000}
"""Most bytes that resnet8's convolutions by tiles add to its weights."""

FLASH_BY_TILES = 125_824
"""Most bytes of resnet8's code and weights on a Cortex-M4: 36 KiB more than without tiles."""


SAMPLE = [
    *(("cortex-m4", "resnet8"), ("cortex-m4", "dscnn_kws")),
    ("rv32imc", "streaming_wakeword"),
]
"""Kinds of layers, and cores with dual multiplies and without."""


@pytest.mark.parametrize(("core", "name"), sampled(SAMPLE, [*LIMITS]))
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
    by_tiles = name == "resnet8" and core != "cortex-m0"
    more = BY_TILES["balanced"] if by_tiles else 0
    # Strips of channels have no sparse form.
    share = 1.15 if core == "rv32imcv" else WEIGHTS_OVER_MODEL.get(name, 1.1)
    assert report.flash.weights <= share * constants + more
    if by_tiles and core == "cortex-m4":
        assert report.flash.code + report.flash.weights <= FLASH_BY_TILES


@pytest.mark.parametrize("name", sampled(["autoencoder_ad"], [*SMALL_CODE]))
def test_code_made_for_size_is_small(zoo, tmp_path, name):
    report, _ = emulate(zoo, name, tmp_path, samples=1, optimize="size")
    assert report.bit_exact
    assert report.flash.code <= SMALL_CODE[name]


@pytest.mark.whole
@pytest.mark.parametrize("name", sampled(["autoencoder_ad"], [*FAST]))
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
