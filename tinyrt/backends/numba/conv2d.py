"""conv2d in int8: the padded input read in place, no matrix of patches."""

from __future__ import annotations

from typing import NamedTuple

from tinyrt.backends.lanes import SIGN, lanes_convolution, padded_shape
from tinyrt.backends.numba.abi import Call, row_of
from tinyrt.backends.numba.border import pad_flip
from tinyrt.backends.numba.product import product
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.windowed import ConvolutionS8


class Row(NamedTuple):
    """Arguments of ``conv2d_s8``: sizes, and addresses of what ``pack`` prepared."""

    x: int
    y: int
    scratch: int
    batch: int
    height: int
    width: int
    channels: int
    padded_height: int
    padded_width: int
    top: int
    left: int
    border: int
    pixels: int
    offsets: int
    steps: int
    step_count: int
    w: int
    quant: int
    groups: int
    group_w_bytes: int
    group_quant_bytes: int
    c_in: int
    c_out: int
    y_zp: int
    act_min: int
    act_max: int


def conv2d_s8(address: int) -> None:
    """All samples, one group of channels after the other."""
    p = row_of(address, Row)
    stride = p.groups * p.c_out
    for n in range(p.batch):
        pad_flip(
            p.x + n * p.height * p.width * p.channels,
            p.height,
            p.width,
            p.channels,
            1,
            p.scratch,
            p.padded_height,
            p.padded_width,
            p.top,
            p.left,
            p.border,
        )
        for g in range(p.groups):
            product(
                p.scratch + g * p.c_in,
                p.pixels,
                p.offsets,
                p.steps,
                p.step_count,
                p.w + g * p.group_w_bytes,
                p.quant + g * p.group_quant_bytes,
                p.y + n * p.pixels * stride + g * p.c_out,
                stride,
                p.c_out,
                p.y_zp,
                p.act_min,
                p.act_max,
            )


def pack(node: BoundNode, p: ConvolutionS8, workspace: Workspace) -> Call:
    """Weights per group in the order of the tiles; offsets of pixels and steps as tables."""
    x, y = node.input(0), node.output
    weights = workspace.weights(node)
    c_out, _, _, c_in = weights.shape
    batch, height, width, channels = x.shape
    groups = channels // c_in
    padded = padded_shape(p.window, x.shape)
    workspace.need_scratch(padded[0] * padded[1] * channels)
    packed = lanes_convolution(p.window, x.shape, weights, workspace.bias(node), p.x_zp, p.requant)
    row = Row(
        x=workspace.tensor(x),
        y=workspace.tensor(y),
        scratch=0,
        batch=batch,
        height=height,
        width=width,
        channels=channels,
        padded_height=padded[0],
        padded_width=padded[1],
        top=p.window.before[0],
        left=p.window.before[1],
        border=p.x_zp + SIGN,
        pixels=len(packed.offsets),
        offsets=workspace.pack(packed.offsets),
        steps=workspace.pack(packed.steps),
        step_count=len(packed.steps),
        w=workspace.pack(packed.w),
        quant=workspace.pack(packed.quant),
        groups=groups,
        group_w_bytes=packed.w[0].nbytes,
        group_quant_bytes=packed.quant[0].nbytes,
        c_in=c_in,
        c_out=c_out // groups,
        y_zp=p.requant.y_zp,
        act_min=p.requant.act_min,
        act_max=p.requant.act_max,
    )
    return Call(conv2d_s8, row)
