"""Fields of parameter structs that several kernels share."""

from __future__ import annotations

import numpy as np

from tinyrt.backends.c.kernel import Data, Fields
from tinyrt.ir import Shape
from tinyrt.ops.shared.activation import clamp_of
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.window import Window


def nhwc(shape: Shape) -> Fields:
    """``tinyrt_nhwc``."""
    return dict(zip("nhwc", shape, strict=True))


def window_fields(window: Window) -> Fields:
    """``tinyrt_window``; C code derives the padding after the input from the output's shape."""
    pairs = {
        "kernel_h": window.kernel[0],
        "kernel_w": window.kernel[1],
        "stride_h": window.stride[0],
        "stride_w": window.stride[1],
        "dilation_h": window.dilation[0],
        "dilation_w": window.dilation[1],
    }
    return {**pairs, "pad_top": window.before[0], "pad_left": window.before[1]}


def act_fields(activation: str) -> Fields:
    """The bounds of a fused activation on floats, as kernels have them last."""
    low, high = clamp_of(activation)
    return {"act_min": low, "act_max": high}


def requant_fields(requant: Requant) -> Fields:
    """``tinyrt_requant_params``, with tables of one entry where all channels are alike."""
    mult, shift = requant.mult, requant.shift
    alike = bool((mult == mult[0]).all() and (shift == shift[0]).all())
    if alike:
        mult, shift = mult[:1], shift[:1]
    return {
        "mult": Data("mult", np.asarray(mult), "int32_t"),
        "shift": Data("shift", np.asarray(shift), "int8_t"),
        "step": 0 if alike else 1,
        "y_zp": requant.y_zp,
        "act_min": requant.act_min,
        "act_max": requant.act_max,
    }
