"""Depthwise convolutions of one input channel: every filter reads all there is, as a convolution's.

Then the kernels of convolutions take them where these are faster, and need less working memory: an
image is read once for all filters.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tinyrt.backends.c.blocks.cost import depthwise_list_cost, window_cost
from tinyrt.backends.c.blocks.layer import BLOCK_SETS
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.mve import cost as mve
from tinyrt.ir import BoundNode, Node
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.shared.window import Window

SPREAD = 1.2
"""Instructions of the depthwise kernel for several filters of a channel, to those of one."""


def is_rather_convolution(node: BoundNode, window: Window, isa: InstructionSet) -> bool:
    """Whether a depthwise convolution is one of all channels, and faster so by the formulas.

    Its weights are constant.
    """
    channels, c_out = node.input(0).shape[3], node.output.shape[3]
    if channels != 1 or c_out == 1:
        return False
    if isa is InstructionSet.MVE:
        one = as_convolution(node)
        return mve.convolution_cost(one, window) < mve.depthwise_cost(node, window)
    if isa not in BLOCK_SETS or window.dilation != (1, 1):
        return False
    images, pixels = node.output.shape[0], window.out[0] * window.out[1]
    border = window.before != (0, 0) or window.after != (0, 0)
    own = depthwise_list_cost(isa, window.out, window.kernel, c_out, window.stride[0], border)
    return window_cost(isa, images * pixels, window.kernel, 1, c_out) < SPREAD * images * own


def along_rows(window: Window) -> Window:
    """The window for kernels with vectors, whose lines may be columns: here they are rows.

    So the output, which is larger, may begin where the input's first rows end.
    """
    return replace(window, on_rows=True)


def as_convolution(node: BoundNode) -> BoundNode:
    """The depthwise convolution of one channel as a conv2d; the same each time."""
    return node.noted("as a convolution", lambda: _as_convolution(node))


def _as_convolution(node: BoundNode) -> BoundNode:
    w, attrs = node.input(1), node.attrs_as(DepthwiseConv2dAttrs)
    data = np.ascontiguousarray(np.asarray(w.data).transpose(3, 1, 2, 0))
    q = w.q if w.q is None or w.q.axis is None else replace(w.q, axis=0)
    shape = (w.shape[3], *w.shape[1:3], 1)
    filters = replace(w, shape=shape, q=q, data=data)
    own = Conv2dAttrs(attrs.stride, attrs.padding, attrs.dilation, attrs.activation)
    made = Node("conv2d", node.name, node.node.inputs, node.node.outputs, own)
    return BoundNode(node.index, made, (node.input(0), filters, *node.inputs[2:]), node.outputs)
