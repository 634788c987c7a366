"""fully_connected in int8."""

from __future__ import annotations

from typing import NamedTuple

from tinyrt.backends.lanes import Weighted, lanes_dense
from tinyrt.backends.numba.abi import Call, row_of
from tinyrt.backends.numba.border import flip
from tinyrt.backends.numba.product import product, product_of
from tinyrt.backends.numba.rows import Product
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ir import BoundNode
from tinyrt.ops.fully_connected import FullyConnectedS8


class Row(NamedTuple):
    """Arguments of ``fully_connected_s8``: sizes, and addresses of what ``pack`` prepared."""

    x: int
    y: int
    scratch: int
    length: int
    w: int
    quant: int
    product: Product


def fully_connected_s8(address: int) -> None:
    """Compute all rows."""
    p = row_of(address, Row)
    flip(p.x, p.scratch, p.product.pixels * p.length)
    product(p.scratch, p.w, p.quant, p.y, p.product)


def pack(node: BoundNode, p: FullyConnectedS8, workspace: Workspace) -> Call:
    """Weights in the order of the tiles."""
    x, y = node.input(0), node.output
    weights = workspace.weights(node)
    c_out, length = weights.shape
    workspace.need_scratch(x.size)
    layer = Weighted(weights, workspace.bias(node), p.x_zp, p.requant)
    packed = lanes_dense(x.size // length, layer)
    row = Row(
        x=workspace.tensor(x),
        y=workspace.tensor(y),
        scratch=0,
        length=length,
        w=workspace.pack(packed.w),
        quant=workspace.pack(packed.quant),
        product=product_of(packed, p.requant, c_out, 1, workspace),
    )
    return Call(fully_connected_s8, row)
