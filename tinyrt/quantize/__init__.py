"""Post-training quantisation: calibrate, plan, apply."""

from tinyrt.quantize.apply import apply_plan
from tinyrt.quantize.calibration.collect import calibrate
from tinyrt.quantize.config import (
    PRESETS,
    BiasCorrection,
    Calibrator,
    Preset,
    QuantConfig,
    QuantizationWarning,
    Scheme,
)
from tinyrt.quantize.pipeline import quantize_graph
from tinyrt.quantize.plan import QuantPlan, make_plan

__all__ = [
    "PRESETS",
    "BiasCorrection",
    "Calibrator",
    "Preset",
    "QuantConfig",
    "QuantPlan",
    "QuantizationWarning",
    "Scheme",
    "apply_plan",
    "calibrate",
    "make_plan",
    "quantize_graph",
]
