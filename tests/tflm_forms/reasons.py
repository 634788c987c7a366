"""Why tinyrt refuses forms that TFLM runs, or answers otherwise."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """One reason.

    Attributes:
        word: refused or differs.
        forms: which forms it is for: a regular expression of their whole names.
        says: what a refusal says somewhere.
        why: one sentence for the page.

    """

    word: str
    forms: str
    says: str
    why: str

    def explains(self, name: str, word: str, told: str) -> bool:
        """Whether it is why a form came to that end."""
        return word == self.word and self.says in told and bool(re.fullmatch(self.forms, name))


REASONS = (
    Reason("refused", r"LOGICAL_(AND|OR) (?!bool).*", "inputs are",
           "Numbers in place of truth values. TFLM takes their first bytes for truth values, which "
           "C++ leaves undefined; LiteRT refuses them."),
    Reason("refused", r"FULLY_CONNECTED s16 .*computed zero point 3.*", "the zero point is 3",
           "Computed weights beside int16 have a zero point, which no converter writes."),
    Reason("refused", r"FULLY_CONNECTED .*zero point 3.*", "weights have zero point 3",
           "Weights of FULLY_CONNECTED have a zero point beside int16, or beside a scale for each "
           "channel, which the format does not allow."),
    Reason("refused", r"GREATER s16 .*", "scales",
           "Of other scales on int16, LiteRT compares the integers, and TFLM answers false."),
    Reason("refused", r"ADD_N s8 .*", "ADD_N on int8",
           "TFLM adds the zero point once too often, and no other runtime has it."),
    Reason("refused", r"(QUANTIZE|DEQUANTIZE) .*(s16|s32).*", "zero point",
           "int16 or int32 with a zero point, which the format does not allow."),
    Reason("refused", r"SLICE .*computed size.*", "size is computed at run time",
           "The size of a part is computed while the model runs."),
    Reason("refused", r"SQUARED_DIFFERENCE s16 .* far .*", "differ by a factor",
           "The output's scale is so small that TFLM's arithmetic can overflow."),
    Reason("differs", r"DEPTHWISE_CONV_2D s16 .*bias s32.*|TRANSPOSE_CONV s16 .*bias s32.*", "",
           "A bias of 32 bits beside int16: TFLM and LiteRT read it as one of 64 bits, beyond its "
           "end. tinyrt takes it as it is."),
    Reason("differs", r"ADD s32 .* act [123]", "",
           "TFLM leaves out the activation that an ADD of int32 is fused with. tinyrt's answers "
           "are LiteRT's."),
    Reason("differs", r"DIV s8 .*", "",
           "Quotients below a step: TFLM and LiteRT shift by more bits than a number has, which C "
           "leaves undefined. tinyrt rounds to the nearest. By zero, it answers with a limit."),
    Reason("differs", r"GREATER s16 .* alike .*", "",
           "On int16 TFLM answers false, whatever is compared. tinyrt and LiteRT compare the "
           "integers."),
    Reason("differs", r"RELU6 (s8|s16) .*", "",
           "RELU6 to another scale: TFLM does not rescale. tinyrt's answers are LiteRT's."),
    Reason("differs", r"SPACE_TO_BATCH_ND (s8|f32) .*", "",
           "TFLM pads with the integer 0, and floats with a byte that it has not set, now and then "
           "0. The format's zeros are zero points, and tinyrt's answers are LiteRT's."),
)  # fmt: skip
"""The first that explains a form counts."""


def reason_of(name: str, word: str, told: str) -> Reason | None:
    """Why a form came to that end; None where nobody knows."""
    return next((r for r in REASONS if r.explains(name, word, told)), None)
