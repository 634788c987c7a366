"""Which integer ops a GPU has kernels for: op -> what writes its call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyrt.cuda import emit_elementwise as elementwise
from tinyrt.cuda import emit_moves as moves
from tinyrt.cuda import emit_recurrent as recurrent
from tinyrt.cuda import emit_reduce as reduce
from tinyrt.cuda import emit_weighted as weighted
from tinyrt.cuda.writer import C_TYPES, DeviceWriter
from tinyrt.ir import BoundNode, Value
from tinyrt.ops import OPS
from tinyrt.ops.spec import Form, Quant, form_of, is_integer
from tinyrt.ops.svdf import STATE
from tinyrt.ops.unidirectional_sequence_lstm import HIDDEN

Emit = Callable[[BoundNode, Any, DeviceWriter], None]

KERNELS: dict[str, Emit] = {
    "abs": elementwise.emit_table,
    "add": elementwise.emit_add,
    "arg_max": reduce.emit_arg_max,
    "arg_min": reduce.emit_arg_min,
    "average_pool2d": reduce.emit_average_pool2d,
    "batch_matmul": weighted.emit_batch_matmul,
    "broadcast_to": moves.emit_move,
    "concatenation": moves.emit_concatenation,
    "conv2d": weighted.emit_conv2d,
    "cumsum": reduce.emit_cumsum,
    "depth_to_space": moves.emit_move,
    "depthwise_conv2d": weighted.emit_depthwise_conv2d,
    "dequantize": elementwise.emit_dequantize,
    "div": elementwise.emit_pair_table,
    "elu": elementwise.emit_table,
    "embedding": moves.emit_embedding,
    "equal": elementwise.emit_comparison,
    "exp": elementwise.emit_table,
    "fully_connected": weighted.emit_fully_connected,
    "gather": moves.emit_move,
    "gelu": elementwise.emit_table,
    "greater": elementwise.emit_comparison,
    "greater_equal": elementwise.emit_comparison,
    "hard_swish": elementwise.emit_table,
    "l2_normalization": reduce.emit_l2_normalization,
    "leaky_relu": elementwise.emit_table,
    "less": elementwise.emit_comparison,
    "less_equal": elementwise.emit_comparison,
    "log": elementwise.emit_table,
    "log_softmax": reduce.emit_log_softmax,
    "logistic": elementwise.emit_table,
    "max_pool2d": reduce.emit_max_pool2d,
    "maximum": elementwise.emit_maximum,
    "mean": reduce.emit_sum,
    "minimum": elementwise.emit_minimum,
    "mirror_pad": moves.emit_move,
    "mul": elementwise.emit_mul,
    "not_equal": elementwise.emit_comparison,
    "pad": moves.emit_pad,
    "pointwise": elementwise.emit_table,
    "prelu": elementwise.emit_prelu,
    "quantize": elementwise.emit_quantize,
    "reduce_max": reduce.emit_reduce_max,
    "reduce_min": reduce.emit_reduce_min,
    "reduce_prod": reduce.emit_product,
    "relu": elementwise.emit_table,
    "relu6": elementwise.emit_table,
    "relu_0_to_1": elementwise.emit_table,
    "relu_n1_to_1": elementwise.emit_table,
    "reshape": moves.emit_reshape,
    "resize_bilinear": reduce.emit_resize_bilinear,
    "resize_nearest_neighbor": moves.emit_move,
    "rsqrt": elementwise.emit_table,
    "select_v2": elementwise.emit_select,
    "slice": moves.emit_move,
    "softmax": reduce.emit_softmax,
    "space_to_depth": moves.emit_move,
    "sqrt": elementwise.emit_table,
    "squared_difference": elementwise.emit_squared_difference,
    "sub": elementwise.emit_sub,
    "sum": reduce.emit_sum,
    "svdf": recurrent.emit_svdf,
    "tanh": elementwise.emit_table,
    "tile": moves.emit_move,
    "transpose": moves.emit_transpose,
    "transpose_conv": weighted.emit_transpose_conv,
    "unidirectional_sequence_lstm": recurrent.emit_lstm,
}
"""int8 ops."""

KERNELS_S16: dict[str, Emit] = {
    op: KERNELS[op]
    for op in (
        "add",
        "arg_max",
        "arg_min",
        "average_pool2d",
        "batch_matmul",
        "broadcast_to",
        "concatenation",
        "conv2d",
        "depthwise_conv2d",
        "dequantize",
        "embedding",
        "equal",
        "fully_connected",
        "gather",
        "greater",
        "greater_equal",
        "less",
        "less_equal",
        "max_pool2d",
        "maximum",
        "mean",
        "minimum",
        "mirror_pad",
        "mul",
        "not_equal",
        "pad",
        "quantize",
        "reduce_max",
        "reduce_min",
        "reduce_prod",
        "reshape",
        "resize_nearest_neighbor",
        "select_v2",
        "slice",
        "sub",
        "sum",
        "tile",
        "transpose",
        "transpose_conv",
        "unidirectional_sequence_lstm",
    )
} | {
    "leaky_relu": elementwise.emit_table_wide,
    "logistic": elementwise.emit_table_wide,
    "relu": elementwise.emit_table_wide,
    "relu6": elementwise.emit_table_wide,
    "softmax": reduce.emit_softmax_wide,
    "tanh": elementwise.emit_table_wide,
}
"""Ops on int16 activations."""


def emitter_of(node: BoundNode) -> Emit | None:
    """What writes the node; None where the GPU has no kernel for it."""
    if not is_integer(node) or not _is_known(node):
        return None
    table = KERNELS_S16 if form_of(node) is Form.INT16X8 else KERNELS
    return table.get(node.op)


def _is_known(node: BoundNode) -> bool:
    """Whether weights are constants, and all activations have types that device code has."""
    values = [v for v in (*node.inputs, *node.outputs) if v is not None]
    if any(not v.is_constant and v.dtype not in C_TYPES for v in values):
        return False
    if not any(v is not None and not v.is_constant for v in node.inputs):
        return False  # weights of float ops, on their way to float
    return all(v is None or v.is_constant for v in _weights(node))


def _weights(node: BoundNode) -> tuple[Value | None, ...]:
    """Inputs that are repacked; states are not."""
    if OPS[node.op].quant is Quant.STATEFUL:
        return node.inputs[1 : HIDDEN if node.op == "unidirectional_sequence_lstm" else STATE]
    return node.inputs[1:] if OPS[node.op].quant is Quant.WEIGHTED else ()
