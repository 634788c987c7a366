"""Attributes, shape rule and preparation shared by average_pool2d and max_pool2d."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinyrt.ir import BoundNode, Shape, TensorType
from tinyrt.ops.shared.activation import act_range, bounds
from tinyrt.ops.shared.shapes import check_computable, operand
from tinyrt.ops.shared.spec import require_alike, require_same_q
from tinyrt.ops.shared.window import Pair, Window


@dataclass(frozen=True, slots=True)
class Pool2dAttrs:
    """TFLite's Pool2DOptions.

    Attributes:
        kernel: the window's height and width.
        stride: from one window to the next.
        padding: ``SAME`` or ``VALID``.
        activation: fused activation.
        legacy: whether means are rounded as LiteRT does on uint8: halves up. Files have no field
            for it, but an entry of their metadata.

    """

    kernel: Pair
    stride: Pair = (1, 1)
    padding: str = "VALID"
    activation: str = "NONE"
    legacy: bool = False


@dataclass(frozen=True, slots=True)
class Pool2dS8:
    """Precomputed constants of an integer pooling kernel; means are ``legacy`` as in attributes."""

    window: Window
    act_min: int
    act_max: int
    legacy: bool = False


def window_of(attrs: Pool2dAttrs, x: Shape) -> Window:
    """The sliding window for input ``x`` (n, h, w, c)."""
    return Window.of((x[1], x[2]), attrs.kernel, attrs.stride, attrs.padding)


def infer(attrs: Pool2dAttrs, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
    """(n, h, w, c) -> (n, out_h, out_w, c)."""
    x = operand(inputs, 0, "input", 4)
    check_computable(x, "pooling")
    bounds(attrs.activation)
    out = window_of(attrs, x.shape).out
    return (TensorType(x.dtype, (x.shape[0], *out, x.shape[3])),)


def prepare(node: BoundNode) -> Pool2dS8:
    """Window and clamp of one node; input and output share scale and zero point."""
    x, y = node.input(0), node.output
    require_alike(x, y)
    require_same_q(node, x, y)
    attrs = node.attrs_as(Pool2dAttrs)
    limits = act_range(attrs.activation, y)
    return Pool2dS8(window_of(attrs, x.shape), *limits, legacy=attrs.legacy)
