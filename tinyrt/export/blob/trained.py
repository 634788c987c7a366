"""Which numbers of a call follow from training, so that the blob holds them; the others are code.

A number that is missing here is compiled in. Then a model for which it differs has another
structure, and no update is made of it: a gap costs an update, never a wrong answer.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FIELDS = _words(
    """
    a_factor a_mult a_shift a_zp act_max act_min addend alpha_zp b_addend b_factor b_mult
    b_shift b_zp back_mult back_shift below cell_clip diff_min feature_even feature_mult
    feature_next feature_odd feature_rounding feature_shift first forget_mult forget_shift
    h_scale h_zp half left left_shift move mult neg_mult neg_shift next next_shift only_positive
    output_mult output_shift plain_factor pos_mult pos_shift rescaled_factor right rounding
    scale scaled_addend scaled_factor scaled_mult scaled_shift shift state_zp tanh_mult
    tanh_right time_mult time_shift update_mult update_shift value w_scale x_mult x_scale
    x_shift x_zp y_mult y_scale y_shift y_zp
    """
)
"""Fields of parameter structs that follow from scales, zero points and weights."""

BYTES = frozenset({"value"})
"""Of these, arrays of bytes; all others are int32 or float."""

COMPILED_IN = frozenset({"row_bytes", "sums"})
"""Roles of tables that say where a kernel writes: whatever a blob holds, that is the code's."""

ARGUMENTS = {
    "tinyrt_clamp_s8": (1, 2),
    "tinyrt_clamp_f32": (1, 2),
    "tinyrt_l2_normalization_s8": (2,),
    "tinyrt_quantize_f32_s16": (1,),
    "tinyrt_dequantize_s16_f32": (1,),
    "tinyrt_rsqrt_s16": (1, 2),
}
"""Function -> which of its arguments are such numbers."""
