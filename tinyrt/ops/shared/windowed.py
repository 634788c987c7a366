"""What convolutions share, whichever channels their filters read."""

from __future__ import annotations

from dataclasses import dataclass

from tinyrt.ops.shared.requant import Requant, WideRequant
from tinyrt.ops.shared.window import Pair, Window


@dataclass(frozen=True, slots=True)
class ConvolutionAttrs:
    """TFLite's options of a convolution."""

    stride: Pair = (1, 1)
    padding: str = "SAME"
    dilation: Pair = (1, 1)
    activation: str = "NONE"


@dataclass(frozen=True, slots=True)
class ConvolutionS8:
    """What the integer kernel knows beforehand."""

    window: Window
    x_zp: int
    requant: Requant


@dataclass(frozen=True, slots=True)
class ConvolutionS16:
    """What the kernel on int16 activations knows beforehand."""

    window: Window
    requant: WideRequant | Requant
