"""conv2d in int8: the padded input read in place, no matrix of patches."""

from __future__ import annotations

from typing import NamedTuple

from tinyrt.backends.lanes import SIGN, lanes_convolution, padded_shape
from tinyrt.backends.numba.abi import Call, row_of
from tinyrt.backends.numba.border import pad_flip
from tinyrt.backends.numba.product import product, product_of
from tinyrt.backends.numba.rows import Border, Images, Product
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
    groups: int
    w: int
    quant: int
    group_w_bytes: int
    group_quant_bytes: int
    product: Product


def conv2d_s8(address: int) -> None:
    """All samples, one group of channels after the other."""
    p = row_of(address, Row)
    images, per_group = p.images, p.product.channels
    c_in, image_bytes = images.channels // p.groups, images.height * images.width * images.channels
    for n in range(images.batch):
        pad_flip(p.x + n * image_bytes, images, 1, p.scratch, p.border)
        y = p.y + n * p.product.pixels * p.product.stride
        for g in range(p.groups):
            w, quant = p.w + g * p.group_w_bytes, p.quant + g * p.group_quant_bytes
            product(p.scratch + g * c_in, w, quant, y + g * per_group, p.product)


def pack(node: BoundNode, p: ConvolutionS8, workspace: Workspace) -> Call:
    """Weights per group in the order of the tiles; offsets of pixels and steps as tables."""
    x, y = node.input(0), node.output
    weights = workspace.weights(node)
    c_out, _, _, c_in = weights.shape
    groups = x.shape[3] // c_in
    height, width = padded_shape(p.window, x.shape)
    workspace.need_scratch(height * width * x.shape[3])
    packed = lanes_convolution(p.window, x.shape, weights, workspace.bias(node), p.x_zp, p.requant)
    row = Row(
        x=workspace.tensor(x),
        y=workspace.tensor(y),
        scratch=0,
        images=Images(*x.shape),
        border=Border(height, width, *p.window.before, fill=p.x_zp + SIGN),
        groups=groups,
        w=workspace.pack(packed.w),
        quant=workspace.pack(packed.quant),
        group_w_bytes=packed.w[0].nbytes,
        group_quant_bytes=packed.quant[0].nbytes,
        product=product_of(packed, p.requant, c_out, groups, workspace),
    )
    return Call(conv2d_s8, row)
