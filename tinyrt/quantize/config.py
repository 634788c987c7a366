"""What the user may choose."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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

    Raises:
        TinyrtError: the percentile is out of range.

    """

    calibrator: Calibrator = Calibrator.MINMAX
    percentile: float = 99.99
    per_channel_dense: bool = False

    def __post_init__(self) -> None:
        if not 50 < self.percentile <= 100:
            raise TinyrtError(
                f"percentile {self.percentile}", expected="above 50 and at most 100", hint="99.99"
            )
