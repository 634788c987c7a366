"""Borders into the windows behind them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tinyrt.convert.passes.common import producer
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule
from tinyrt.ops.shared.window import Pair, Window

LOWEST = float(np.finfo(np.float32).min)

WINDOWED = ("conv2d", "depthwise_conv2d", "max_pool2d")


def fuse_pad(graph: Graph, node: Node) -> Patch | Refusal | None:
    """conv(pad(x), VALID) = conv(x, SAME), where the border is the one that SAME adds.

    Holds for a border of zeros before a convolution, and of minus infinity before max_pool2d.
    """
    pad = producer(graph, node, op="pad")
    if pad is None:
        return None
    value = pad.attrs.value
    if value > LOWEST if node.op == "max_pool2d" else value != 0:
        return Refusal(node.name, f"the border of '{pad.name}' is filled with {value}")
    (batch, rows, columns, channels) = pad.attrs.paddings
    if batch != (0, 0) or channels != (0, 0):
        return Refusal(node.name, f"'{pad.name}' pads other dimensions than height and width")
    kernel = _kernel(graph, node)
    padded, plain = (graph.value(n).shape[1:3] for n in (pad.outputs[0], pad.inputs[0]))
    window = _window(node, padded, kernel, node.attrs.padding)
    target = _window(node, plain, kernel, "SAME")
    before = (rows[0] + window.before[0], columns[0] + window.before[1])
    if before != target.before or window.out != target.out:
        return Refusal(
            node.name,
            f"'{pad.name}' pads {before} before and leaves {window.out}, "
            f"SAME {target.before} and {target.out}",
        )
    attrs = replace(node.attrs, padding="SAME")
    fused = replace(node, inputs=(pad.inputs[0], *node.inputs[1:]), attrs=attrs)
    return Patch(remove=(node,), add=(fused,))


def _kernel(graph: Graph, node: Node) -> Pair:
    if node.op == "max_pool2d":
        kernel: Pair = node.attrs.kernel
        return kernel
    _, height, width, _ = graph.value(node.inputs[1]).shape
    return height, width


def _window(node: Node, size: tuple[int, ...], kernel: Pair, padding: str) -> Window:
    dilation = getattr(node.attrs, "dilation", (1, 1))
    return Window.of((size[0], size[1]), kernel, node.attrs.stride, padding, dilation)


FUSE_PAD = Rule("fuse_pad", WINDOWED, fuse_pad)
