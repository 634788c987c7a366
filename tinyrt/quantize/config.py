"""What the user may choose, and the presets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from tinyrt.errors import TinyrtError


class Calibrator(StrEnum):
    """How calibration turns a tensor's values into a range; see ``tinyrt.quantize.observers``."""

    MINMAX = "minmax"
    MOVING_AVERAGE = "moving-average"
    PERCENTILE = "percentile"
    MSE = "mse"
    ENTROPY = "entropy"
    AUTO = "auto"
    """For each tensor, the one of the others with the least error at the model's output."""


class BiasCorrection(StrEnum):
    """How biases make up for the mean error of their layer; see ``tinyrt.quantize.bias``."""

    NONE = "none"
    ANALYTIC = "analytic"
    EMPIRICAL = "empirical"


class Preset(StrEnum):
    """How much work quantisation may do."""

    FAST = "fast"
    BALANCED = "balanced"
    BEST = "best"


class QuantizationWarning(UserWarning):
    """The calibration data leave a tensor's range in doubt."""


@dataclass(frozen=True, slots=True)
class QuantConfig:
    """What the user may choose.

    Attributes:
        calibrator: how ranges are found.
        percentile: share of a tensor's values, in percent, that calibrator ``percentile`` keeps
            inside the range; above 50, at most 100.
        per_channel_dense: one scale per output channel for fully connected layers too.
        equalize: rescale channels so that they share their tensor's range well.
        optimize_rounding: round weights so that layer outputs, not weights, are closest.
        bias_correction: how biases make up for the mean error of their layer.
        tune_ranges: adjust activation ranges by the error at the model's output.

    Raises:
        TinyrtError: the percentile is out of range.

    """

    calibrator: Calibrator = Calibrator.MINMAX
    percentile: float = 99.99
    per_channel_dense: bool = False
    equalize: bool = False
    optimize_rounding: bool = False
    bias_correction: BiasCorrection = BiasCorrection.NONE
    tune_ranges: bool = False

    def __post_init__(self) -> None:
        if not 50 < self.percentile <= 100:
            raise TinyrtError(
                f"percentile {self.percentile}", expected="above 50 and at most 100", hint="99.99"
            )

    @property
    def optimizes(self) -> bool:
        """Whether anything beyond calibration runs the model."""
        methods = self.equalize or self.optimize_rounding or self.tune_ranges
        corrected = self.bias_correction is not BiasCorrection.NONE
        return methods or corrected or self.calibrator is Calibrator.AUTO


PRESETS = {
    Preset.FAST: QuantConfig(),
    Preset.BALANCED: QuantConfig(
        per_channel_dense=True, equalize=True, bias_correction=BiasCorrection.ANALYTIC
    ),
    Preset.BEST: QuantConfig(
        per_channel_dense=True,
        equalize=True,
        optimize_rounding=True,
        bias_correction=BiasCorrection.EMPIRICAL,
        tune_ranges=True,
    ),
}
"""Preset -> the choices that it stands for."""


def configure(preset: Preset, **choices: Any) -> QuantConfig:
    """The preset's choices, each replaced by the one given unless that is None.

    Args:
        preset: where to start.
        choices: fields of ``QuantConfig``.

    """
    return replace(PRESETS[preset], **{n: c for n, c in choices.items() if c is not None})
