"""From a layer's error figures to its likely cause and its remedy, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

GOOD_DB = 45.0
"""A layer that alone leaves the output this close is not worth a change."""
WIDE = 100.0
"""Channels further apart than this leave some with two steps or none."""
WIDE_NORM = 10.0
"""The same behind a layer norm, whose factors --smooth can take off."""


@dataclass(frozen=True, slots=True)
class Symptoms:
    """The error figures of one layer.

    Attributes:
        impact_db: SQNR of the model's output if this layer alone is quantised.
        rounding_db: SQNR of the tensor if only its own values are rounded.
        saturation: share of the float values outside the int8 range.
        outlier: the int8 range over the 99.9th percentile of the values' magnitudes.
        channel_spread: largest over smallest peak of the tensor's channels.
        weights_db: SQNR of the tensor if only the layer's weights and bias are rounded.
        weight_spread: largest over smallest peak of the weights' output channels; None without.
        input_spread: the same of the weights' input channels, where each output reads them all.
        per_tensor: whether the weights have one scale in all.
        mean_share: share of the weights' error power that is a constant per channel.
        weight_bits: bits of a stored weight.
        behind_norm: whether the tensor is a layer norm's, scaled per channel.

    """

    impact_db: float
    rounding_db: float
    saturation: float
    outlier: float
    channel_spread: float
    weights_db: float = math.inf
    weight_spread: float | None = None
    input_spread: float = 1.0
    per_tensor: bool = False
    mean_share: float = 0.0
    weight_bits: int = 8
    behind_norm: bool = False


def diagnose(s: Symptoms) -> tuple[str, str | None]:
    """The likely cause and the option of ``tinyrt quantize`` that cures it, if one is needed."""
    if s.impact_db >= GOOD_DB:
        return "nothing to gain here", None
    if s.weights_db < s.rounding_db:
        return _weights(s)
    if s.channel_spread > (WIDE_NORM if s.behind_norm else WIDE):
        spread = f"channels differ {s.channel_spread:,.0f}-fold in range and share one scale"
        return spread, "--smooth" if s.behind_norm else "--equalize"
    if s.saturation > 0.001:
        cut = f"{100 * s.saturation:.2g} % of the values lie beyond the range and are cut off"
        return cut, "more calibration samples, or --calibrator minmax"
    if s.outlier > 2:
        outliers = f"a few values {s.outlier:.1f} times beyond the rest set the range"
        return outliers, "--calibrator auto"
    return "256 steps are few for this tensor", "--preset best, or --scheme-for LAYER=int16x8"


def _weights(s: Symptoms) -> tuple[str, str]:
    if s.input_spread > (WIDE_NORM if s.behind_norm else WIDE):
        spread = f"weights of its input channels differ {s.input_spread:,.0f}-fold in range"
        return spread, "--smooth" if s.behind_norm else "--equalize"
    if s.per_tensor and s.weight_spread is not None and s.weight_spread > 4:
        spread = f"weight rows differ {s.weight_spread:,.0f}-fold and share one scale"
        return spread, "--per-channel-dense"
    if s.mean_share > 0.5:
        return "rounded weights shift the outputs' means", "--bias-correction empirical"
    methods = "--optimize-rounding --bias-correction empirical"
    if s.weight_bits == 4:
        return "15 steps are few for its weights", f"{methods}, or --scheme-for LAYER=int8"
    return "rounded weights", methods
