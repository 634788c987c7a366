"""The user's choices, and the presets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from tinyrt.errors import TinyrtError


class Calibrator(StrEnum):
    """How calibration turns a tensor's values into a range; see ``calibration.observers``."""

    MINMAX = "minmax"
    MOVING_AVERAGE = "moving-average"
    PERCENTILE = "percentile"
    MSE = "mse"
    ENTROPY = "entropy"
    AUTO = "auto"
    """For each tensor, the one of those above with the least error at the model's output."""
    MEASURED = "measured"
    """For all tensors, min-max, percentile or MSE, whichever has the least error there."""


CHOOSING = {
    Calibrator.AUTO: tuple(Calibrator)[:5],
    Calibrator.MEASURED: (Calibrator.MINMAX, Calibrator.PERCENTILE, Calibrator.MSE),
}
"""Calibrators that choose -> what they choose among, the first where it makes no difference."""


REFINING = frozenset({"optimize_rounding", "tune_ranges"})
"""Fields of ``QuantConfig`` whose methods are fitted last, and left out together or by turns."""

MEASURED = frozenset({"equalize", "smooth", "bias_correction"}) | REFINING
"""Fields of ``QuantConfig`` whose methods may be left out."""


class Scheme(StrEnum):
    """The dtypes of an op's activations and weights."""

    INT8 = "int8"
    """int8 activations and weights."""
    INT16X8 = "int16x8"
    """int16 activations, int8 weights."""
    INT4 = "int4"
    """int8 activations, int4 weights: of convolutions and dense layers; others' weights int8."""
    WEIGHTS_INT8 = "weights-int8"
    """float32 activations; weights stored in int8 and widened before use."""
    WEIGHTS_FLOAT16 = "weights-float16"
    """float32 activations; weights stored in float16 and widened before use."""
    FLOAT = "float"
    """float32 all through."""


class BiasCorrection(StrEnum):
    """How biases make up for the mean error of their layer; see ``methods.layerwise``."""

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
    """The user's choices.

    Attributes:
        calibrator: how ranges are found.
        percentile: share of a tensor's values, in percent, that calibrator ``percentile`` keeps
            inside the range; above 50, at most 100.
        per_channel_dense: one scale per output channel for fully connected layers too.
        equalize: rescale channels so that they share their tensor's range well.
        smooth: the same behind layer norms.
        optimize_rounding: round weights so that layer outputs, not weights, are closest.
        bias_correction: how biases make up for the mean error of their layer.
        tune_ranges: adjust activation ranges by the error at the model's output.
        measured: fields of methods that are left out where they do not help samples that they were
            not fitted to; of ``MEASURED``.
        scheme: of ops that no pattern names.
        scheme_for: patterns, each with the scheme of the ops that it matches by name, kind or
            output; ``*`` and ``?`` stand for any. Where several match, the last one counts.
        keep_float: patterns of ops that stay in float; they count after ``scheme_for``.
        float_io: float32 model inputs and outputs.
        tables: element-wise ops of one tensor that follow each other become one table; otherwise
            only those that have no int8 form of their own.

    Raises:
        TinyrtError: the percentile is out of range, or the default scheme is float.

    """

    calibrator: Calibrator = Calibrator.MINMAX
    percentile: float = 99.99
    per_channel_dense: bool = False
    equalize: bool = False
    smooth: bool = False
    optimize_rounding: bool = False
    bias_correction: BiasCorrection = BiasCorrection.NONE
    tune_ranges: bool = False
    measured: frozenset[str] = frozenset()
    scheme: Scheme = Scheme.INT8
    scheme_for: tuple[tuple[str, Scheme], ...] = ()
    keep_float: tuple[str, ...] = ()
    float_io: bool = False
    tables: bool = True

    def __post_init__(self) -> None:
        if not 50 < self.percentile <= 100:
            raise TinyrtError(
                f"percentile {self.percentile}", expected="above 50 and at most 100", hint="99.99"
            )

        if self.scheme is Scheme.FLOAT:
            raise TinyrtError(
                "the default scheme is float",
                expected=", ".join(s for s in Scheme if s is not Scheme.FLOAT),
                hint="tinyrt convert writes float models; --keep-float keeps single ops in float",
            )

    @property
    def needs_data(self) -> bool:
        """Whether any choice but patterns makes ranges, or anything else, depend on data."""
        in_float = self.scheme in (Scheme.WEIGHTS_INT8, Scheme.WEIGHTS_FLOAT16)
        return not in_float or bool(self.scheme_for) or self.optimizes

    @property
    def optimizes(self) -> bool:
        """Whether anything beyond calibration runs the model."""
        methods = self.equalize or self.smooth or self.optimize_rounding or self.tune_ranges
        corrected = self.bias_correction is not BiasCorrection.NONE
        return methods or corrected or self.calibrator in CHOOSING


PRESETS = {
    Preset.FAST: QuantConfig(),
    Preset.BALANCED: QuantConfig(
        calibrator=Calibrator.MEASURED,
        per_channel_dense=True,
        equalize=True,
        smooth=True,
        bias_correction=BiasCorrection.EMPIRICAL,
        measured=MEASURED,
    ),
    Preset.BEST: QuantConfig(
        calibrator=Calibrator.MEASURED,
        per_channel_dense=True,
        equalize=True,
        smooth=True,
        optimize_rounding=True,
        bias_correction=BiasCorrection.EMPIRICAL,
        tune_ranges=True,
        measured=MEASURED,
    ),
}
"""Preset -> the choices that it stands for."""

USUAL_PRESETS = {
    Scheme.INT8: Preset.BALANCED,
    Scheme.INT4: Preset.BEST,
    Scheme.INT16X8: Preset.BEST,
    Scheme.WEIGHTS_INT8: Preset.FAST,
    Scheme.WEIGHTS_FLOAT16: Preset.FAST,
    Scheme.FLOAT: Preset.FAST,
}
"""Scheme of most ops -> the preset where none is named."""


def configure(preset: Preset | None, **choices: Any) -> QuantConfig:
    """The preset's choices, each replaced by the one given unless that is None.

    A method that is given is applied whether it helps or not.

    Args:
        preset: where to start; by default ``balanced`` for int8, ``best`` where weights are what
            costs accuracy, as in int4 or beside int16 activations, and ``fast``, which needs no
            data, for weights alone.
        choices: fields of ``QuantConfig``.

    """
    if preset is None:
        preset = USUAL_PRESETS[choices.get("scheme") or Scheme.INT8]
    given = {n: c for n, c in choices.items() if c is not None}
    return replace(PRESETS[preset], measured=PRESETS[preset].measured - given.keys(), **given)
