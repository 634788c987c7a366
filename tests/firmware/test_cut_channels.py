"""A model without the channels that no answer depends on, on each kind of core."""

import pytest

from tests.firmware.device import require_core
from tinyrt.api import convert_model, run_emulated

WEIGHTS = {
    "cortex-m0": 38_800,
    "cortex-m3": 39_900,
    "cortex-m4": 39_900,
    "cortex-m55": 38_900,
    "rv32imc": 39_900,
    "rv32imcv": 39_900,
}
"""Core -> most bytes of visual wake words' weights in flash, of 110,568 to 219,752 with all
channels. Scales without a sign take two more for each channel of a convolution."""

SMALL = 38_900
"""Most bytes of code that is made for size, where weights have a smaller form for it."""

INSTRUCTIONS = {
    "cortex-m0": 21_466_000,
    "cortex-m3": 8_919_000,
    "cortex-m4": 5_683_000,
    "cortex-m55": 1_435_000,
    "rv32imc": 14_287_000,
    "rv32imcv": 1_802_000,
}
"""core -> most instructions per inference, half a percent above what was reached."""


@pytest.mark.whole
@pytest.mark.parametrize("core", [*INSTRUCTIONS])
def test_visual_wake_words_is_a_third_of_its_size(zoo, tmp_path, core):
    require_core(core)
    smaller = tmp_path / "smaller.tflite"
    convert_model(zoo / "models" / "mobilenet_vww_int8.tflite", smaller)
    report = run_emulated(smaller, core=core, samples=1)
    assert report.bit_exact
    assert report.flash.weights <= WEIGHTS[core]
    small = run_emulated(smaller, core=core, samples=1, optimize="size")
    assert small.bit_exact
    assert small.flash.weights <= (WEIGHTS[core] if core == "rv32imcv" else SMALL)
    assert report.instructions <= INSTRUCTIONS[core]
