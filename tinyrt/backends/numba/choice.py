"""The choice of a node's compiled kernel, or of the NumPy reference instead.

Importing this module imports Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tinyrt.backends.numba import (
    conv2d,
    depthwise_conv2d,
    elementwise,
    fully_connected,
    lstm,
    lut,
    mean,
    movement,
    pool,
    quantize,
    resize,
    softmax,
    svdf,
    transpose_conv,
    wide,
    wide_pairs,
    wide_pool,
    wide_tables,
)
from tinyrt.backends.numba.abi import Call
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.errors import UnsupportedError
from tinyrt.ir import BoundNode
from tinyrt.ops import OPS, TABLES
from tinyrt.ops.shared.constants import has_computed_weights
from tinyrt.ops.shared.spec import CONSTANT_WEIGHTS, Form, form_of

Packer = Callable[[BoundNode, Any, Workspace], Call]
"""Packs a node, from its integer record, for its kernel."""

INT8, INT16X8 = Form.INT8, Form.INT16X8

_INTEGER: dict[str, dict[Form, Packer | None]] = {
    "abs": {INT16X8: None},
    "add": {INT8: elementwise.pack_add, INT16X8: wide_pairs.pack_add},
    "arg_max": {INT8: None, INT16X8: None},
    "arg_min": {INT8: None, INT16X8: None},
    "average_pool2d": {INT8: pool.pack_average, INT16X8: wide_pool.pack_average},
    "batch_matmul": {INT8: None, INT16X8: None},
    "broadcast_to": {INT8: movement.pack_move, INT16X8: None},
    "concatenation": {INT8: movement.pack_concatenation, INT16X8: None},
    "conv2d": {INT8: conv2d.pack, INT16X8: wide.pack_conv2d},
    "cumsum": {INT8: None},
    "depth_to_space": {INT8: movement.pack_move},
    "depthwise_conv2d": {INT8: depthwise_conv2d.pack, INT16X8: wide.pack_depthwise},
    "dequantize": {INT8: quantize.pack_dequantize, INT16X8: None},
    "div": {INT8: None},
    "dynamic_update_slice": {INT8: None, INT16X8: None},
    "embedding": {INT8: None, INT16X8: None},
    "equal": {INT8: None, INT16X8: None},
    "fully_connected": {INT8: fully_connected.pack, INT16X8: wide.pack_dense},
    "gather": {INT8: movement.pack_move, INT16X8: None},
    "gather_nd": {INT8: None, INT16X8: None},
    "greater": {INT8: None, INT16X8: None},
    "greater_equal": {INT8: None, INT16X8: None},
    "l2_normalization": {INT8: None},
    "leaky_relu": {INT16X8: None},
    "less": {INT8: None, INT16X8: None},
    "less_equal": {INT8: None, INT16X8: None},
    "log_softmax": {INT8: None},
    "logistic": {INT16X8: wide_tables.pack_logistic},
    "max_pool2d": {INT8: pool.pack_max, INT16X8: wide_pool.pack_max},
    "maximum": {INT8: elementwise.pack_maximum, INT16X8: None},
    "mean": {INT8: mean.pack, INT16X8: wide_pool.pack_mean},
    "minimum": {INT8: elementwise.pack_minimum, INT16X8: None},
    "mirror_pad": {INT8: movement.pack_move, INT16X8: None},
    "mul": {INT8: elementwise.pack_mul, INT16X8: wide_pairs.pack_mul},
    "not_equal": {INT8: None, INT16X8: None},
    "pad": {INT8: movement.pack_pad, INT16X8: None},
    "prelu": {INT8: None},
    "quantize": {INT8: quantize.pack_quantize, INT16X8: None},
    "reduce_max": {INT8: None, INT16X8: None},
    "reduce_min": {INT8: None, INT16X8: None},
    "reduce_prod": {INT8: None, INT16X8: None},
    "relu": {INT16X8: None},
    "relu6": {INT16X8: None},
    "reshape": {INT8: movement.pack_reshape, INT16X8: movement.pack_reshape},
    "resize_bilinear": {INT8: resize.pack},
    "resize_nearest_neighbor": {INT8: movement.pack_move, INT16X8: None},
    "rsqrt": {INT16X8: None},
    "select_v2": {INT8: None, INT16X8: None},
    "slice": {INT8: movement.pack_move, INT16X8: None},
    "slice_at": {INT8: None, INT16X8: None},
    "softmax": {INT8: softmax.pack, INT16X8: wide_tables.pack_softmax},
    "space_to_depth": {INT8: movement.pack_move},
    "squared_difference": {INT8: None, INT16X8: None},
    "sub": {INT8: elementwise.pack_sub, INT16X8: wide_pairs.pack_sub},
    "sum": {INT8: mean.pack, INT16X8: None},
    "svdf": {INT8: svdf.pack},
    "tanh": {INT16X8: wide_tables.pack_tanh},
    "tile": {INT8: movement.pack_move, INT16X8: None},
    "topk_v2": {INT8: None, INT16X8: None},
    "transpose": {INT8: movement.pack_transpose, INT16X8: None},
    "transpose_conv": {INT8: transpose_conv.pack, INT16X8: None},
    "unidirectional_sequence_lstm": {INT8: lstm.pack, INT16X8: lstm.pack},
}

_FLOAT: dict[Form, Packer | None] = {Form.FLOAT: None}
_TABLE: dict[Form, Packer | None] = {INT8: lut.pack}

KERNELS: Mapping[str, Mapping[Form, Packer | None]] = {
    op: (_FLOAT if spec.ref_f32 else {}) | (_TABLE if op in TABLES else {}) | _INTEGER.get(op, {})
    for op, spec in OPS.items()
}
"""Op -> form -> its packer; None where the NumPy reference computes the op. The reference spends
its time in BLAS on floats; for a few other ops, and for layers whose weights the model computes, a
kernel has not been worth it."""


def packer_of(node: BoundNode) -> Packer | None:
    """The packer of the node; None where the NumPy reference computes the node.

    Raises:
        UnsupportedError: the table does not have an integer node.

    """
    form, packers = form_of(node), KERNELS.get(node.op, {})
    takes_constants = OPS[node.op].quant in CONSTANT_WEIGHTS
    if form is Form.FLOAT or (takes_constants and has_computed_weights(node)):
        return None
    if form not in packers:
        raise UnsupportedError(
            f"backend numba has no {form} kernel for {node.op}",
            op=node.describe(),
            expected=", ".join(sorted(op for op, forms in KERNELS.items() if form in forms)),
            hint="choose backend 'reference'",
        )
    return packers[form]
