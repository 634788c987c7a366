"""Borders into the windows behind them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tinyrt.convert.passes.common import producer
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.window import Pair, Window
from tinyrt.ops.shared.windowed import ConvolutionAttrs

LOWEST = float(np.finfo(np.float32).min)

WINDOWED = ("conv2d", "depthwise_conv2d", "max_pool2d")


def fuse_pad(graph: Graph, node: Node) -> Patch | Refusal | None:
    """conv(pad(x), VALID) = conv(x, SAME), where the border is the one that SAME adds.

    Holds for a border of zeros before a convolution, and of minus infinity before max_pool2d.
    """
    pad = producer(graph, node, op="pad")
    if pad is None:
        return None
    border = pad.attrs_as(PadAttrs)
    value = border.value
    if value > LOWEST if node.op == "max_pool2d" else value != 0:
        return Refusal(node.name, f"the border of '{pad.name}' is filled with {value}")
    batch, rows, columns, channels = border.paddings
    if batch != (0, 0) or channels != (0, 0):
        return Refusal(node.name, f"'{pad.name}' pads other dimensions than height and width")
    attrs, kernel = _window_attrs(node), _kernel(graph, node)
    same = replace(attrs, padding="SAME")
    padded, plain = (graph.value(n).shape[1:3] for n in (pad.output, pad.inputs[0]))
    window = _window(attrs, padded, kernel)
    target = _window(same, plain, kernel)
    before = (rows[0] + window.before[0], columns[0] + window.before[1])
    if before != target.before or window.out != target.out:
        return Refusal(
            node.name,
            f"'{pad.name}' pads {before} before and leaves {window.out}, "
            f"SAME {target.before} and {target.out}",
        )
    fused = replace(node, inputs=(pad.inputs[0], *node.inputs[1:]), attrs=same)
    return Patch(remove=(node,), add=(fused,))


def _window_attrs(node: Node) -> ConvolutionAttrs | Pool2dAttrs:
    attrs = node.attrs
    return attrs if isinstance(attrs, ConvolutionAttrs) else node.attrs_as(Pool2dAttrs)


def _kernel(graph: Graph, node: Node) -> Pair:
    if isinstance(node.attrs, Pool2dAttrs):
        return node.attrs.kernel
    _, height, width, _ = graph.value(node.inputs[1]).shape
    return height, width


def _window(attrs: ConvolutionAttrs | Pool2dAttrs, size: tuple[int, ...], kernel: Pair) -> Window:
    dilation = attrs.dilation if isinstance(attrs, ConvolutionAttrs) else (1, 1)
    return Window.of((size[0], size[1]), kernel, attrs.stride, attrs.padding, dilation)


FUSE_PAD = Rule("fuse_pad", WINDOWED, fuse_pad)
