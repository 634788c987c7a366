"""conv2d in int8: the padded input read in place, no matrix of patches."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from tinyrt.backends.finishes import SIGN, Weighted
from tinyrt.backends.lanes import lanes_convolution, padded_shape
from tinyrt.backends.numba.abi import Call, row_of
from tinyrt.backends.numba.border import pad_flip
from tinyrt.backends.numba.fully_connected import is_single_row, pack_row
from tinyrt.backends.numba.product import SHAPES, product, product_of
from tinyrt.backends.numba.rows import Border, Groups, Images, Product
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ir import BoundNode
from tinyrt.ops.shared.windowed import ConvolutionS8


class Row(NamedTuple):
    """Arguments of ``conv2d_s8``: sizes, and addresses of what ``pack`` prepared."""

    x: int
    y: int
    scratch: int
    images: Images
    border: Border
    w: int
    quant: int
    groups: Groups
    product: Product


def conv2d_s8(address: int) -> None:
    """Compute all samples, one group of channels after the other."""
    p = row_of(address, Row)
    images, groups, per_group = p.images, p.groups, p.product.channels
    image_bytes = images.height * images.width * images.channels
    c_in = images.channels // groups.number
    for n in range(images.batch):
        pad_flip(p.x + n * image_bytes, images, 1, p.scratch, p.border)
        y = p.y + n * p.product.pixels * p.product.stride
        for g in range(groups.number):
            w, quant = p.w + g * groups.w_bytes, p.quant + g * groups.quant_bytes
            product(p.scratch + g * c_in, w, quant, y + g * per_group, p.product)


def pack(node: BoundNode, p: ConvolutionS8, workspace: Workspace) -> Call:
    """Weights per group in the order of the tiles; offsets of pixels and steps as tables."""
    x, y = node.input(0), node.output
    weights = workspace.weights(node)
    c_out, _, _, c_in = weights.shape
    groups = x.shape[3] // c_in
    layer = Weighted(weights, workspace.bias(node), p.x_zp, p.requant)
    if weights.size == c_out * c_in and is_single_row(x, c_in):
        return pack_row(node, replace(layer, w=weights.reshape(c_out, c_in)), workspace)
    height, width = padded_shape(p.window, x.shape)
    workspace.need_scratch(height * width * x.shape[3])
    packed = lanes_convolution(p.window, x.shape, layer, SHAPES)
    row = Row(
        x=workspace.tensor(x),
        y=workspace.tensor(y),
        scratch=0,
        images=Images(*x.shape),
        border=Border(height, width, *p.window.before, fill=p.x_zp + SIGN),
        w=workspace.pack(packed.w),
        quant=workspace.pack(packed.quant),
        groups=Groups(groups, packed.w[0].nbytes, packed.quant[0].nbytes),
        product=product_of(packed, p.requant, c_out, groups, workspace),
    )
    return Call(conv2d_s8, row)
