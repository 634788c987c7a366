"""Attributes and constants shared by conv2d and depthwise_conv2d."""

from __future__ import annotations

from dataclasses import dataclass, field

from tinyrt.ops.shared.requant import Requant, WideRequant
from tinyrt.ops.shared.window import Pair, Window


@dataclass(frozen=True, slots=True)
class ConvolutionAttrs:
    """TFLite's options of a convolution.

    ``wide`` is none of them, and no file has it: it says that weights are int16 beside int8
    activations, as some C kernels hold them.
    """

    stride: Pair = (1, 1)
    padding: str = "SAME"
    dilation: Pair = (1, 1)
    activation: str = "NONE"
    wide: bool = field(default=False, repr=False)


@dataclass(frozen=True, slots=True)
class ConvolutionS8:
    """Precomputed constants of the integer kernel."""

    window: Window
    x_zp: int
    requant: Requant


@dataclass(frozen=True, slots=True)
class ConvolutionS16:
    """Precomputed constants of the kernel on int16 activations."""

    window: Window
    requant: WideRequant | Requant
