"""What to do about builtin and custom ops of .tflite files that are not read."""

from __future__ import annotations

from collections.abc import Sequence

from tinyrt.convert.advice import (
    ANGLE,
    BOXES,
    NOISE,
    OPEN,
    SOLID,
    SPECTRUM,
    TEXT,
    advice_by_name,
)

OTHERS = {
    **dict.fromkeys(("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5"), BOXES),
    **dict.fromkeys(("WHERE", "UNIQUE"), OPEN),
    **dict.fromkeys(("RFFT2D", "COMPLEX_ABS", "REAL", "IMAG"), SPECTRUM),
    **dict.fromkeys(("HASHTABLE_LOOKUP", "LSH_PROJECTION", "SKIP_GRAM"), TEXT),
    **dict.fromkeys(("RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL", "MULTINOMIAL"), NOISE),
    **dict.fromkeys(("CONV_3D", "CONV_3D_TRANSPOSE"), SOLID),
    "ATAN2": ANGLE,
}
"""Builtin op -> what to do about it."""

FLEX = "CUSTOM (Flex"
"""How TensorFlow's own ops are named, which TensorFlow alone runs."""

CHIP = ("CUSTOM (DISPATCH_OP)", "CUSTOM (ethos-u)", "CUSTOM (edgetpu-custom-op)")
"""Ops that are code for one chip."""


def advice_on(ops: Sequence[str]) -> str:
    """What to do about ops that are not read, by their names."""
    if any(op in CHIP for op in ops):
        return "take the file from before the chip's own compiler"
    if any(op.startswith(FLEX) for op in ops):
        return "convert the model without SELECT_TF_OPS: with TensorFlow Lite's builtin ops alone"
    usual = "replace these ops in the model, or convert the part before them"
    return advice_by_name(ops, OTHERS) or usual
