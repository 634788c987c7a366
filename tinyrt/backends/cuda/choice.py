"""The choice of a node's GPU kernel, as the function that writes its call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tinyrt.backends.cuda import elementwise, moves, recurrent, reduce, weighted
from tinyrt.backends.cuda.writer import C_TYPES, DeviceWriter
from tinyrt.ir import BoundNode
from tinyrt.ops import OPS, TABLES
from tinyrt.ops.shared.constants import has_computed_weights
from tinyrt.ops.shared.spec import CONSTANT_WEIGHTS, Form, form_of

Emitter = Callable[[BoundNode, Any, DeviceWriter], None]
"""Writes the call for a node, from its integer record."""

INT8, INT16X8 = Form.INT8, Form.INT16X8


def _both(emitter: Emitter) -> dict[Form, Emitter]:
    return {INT8: emitter, INT16X8: emitter}


_TABLE: dict[Form, Emitter] = {INT8: elementwise.emit_table}
_WIDE_TABLE: dict[Form, Emitter] = {INT16X8: elementwise.emit_table_wide}

_OTHERS: dict[str, dict[Form, Emitter]] = {
    "abs": _WIDE_TABLE,
    "add": _both(elementwise.emit_add),
    "arg_max": _both(reduce.emit_arg_max),
    "arg_min": _both(reduce.emit_arg_min),
    "average_pool2d": _both(reduce.emit_average_pool2d),
    "batch_matmul": _both(weighted.emit_batch_matmul),
    "broadcast_to": _both(moves.emit_move),
    "concatenation": _both(moves.emit_concatenation),
    "conv2d": _both(weighted.emit_conv2d),
    "cumsum": {INT8: reduce.emit_cumsum},
    "depth_to_space": {INT8: moves.emit_move},
    "depthwise_conv2d": _both(weighted.emit_depthwise_conv2d),
    "dequantize": _both(elementwise.emit_dequantize),
    "div": {INT8: elementwise.emit_pair_table},
    "dynamic_update_slice": _both(moves.emit_update),
    "embedding": _both(moves.emit_embedding),
    "equal": _both(elementwise.emit_comparison),
    "fully_connected": _both(weighted.emit_fully_connected),
    "gather": _both(moves.emit_move),
    "gather_nd": _both(moves.emit_gather_nd),
    "greater": _both(elementwise.emit_comparison),
    "greater_equal": _both(elementwise.emit_comparison),
    "l2_normalization": {INT8: reduce.emit_l2_normalization},
    "leaky_relu": _WIDE_TABLE,
    "less": _both(elementwise.emit_comparison),
    "less_equal": _both(elementwise.emit_comparison),
    "log_softmax": {INT8: reduce.emit_log_softmax},
    "logistic": _WIDE_TABLE,
    "max_pool2d": _both(reduce.emit_max_pool2d),
    "maximum": _both(elementwise.emit_maximum),
    "mean": _both(reduce.emit_sum),
    "minimum": _both(elementwise.emit_minimum),
    "mirror_pad": _both(moves.emit_move),
    "mul": _both(elementwise.emit_mul),
    "not_equal": _both(elementwise.emit_comparison),
    "pad": _both(moves.emit_pad),
    "prelu": {INT8: elementwise.emit_prelu},
    "quantize": _both(elementwise.emit_quantize),
    "reduce_max": _both(reduce.emit_reduce_max),
    "reduce_min": _both(reduce.emit_reduce_min),
    "reduce_prod": _both(reduce.emit_product),
    "relu": _WIDE_TABLE,
    "relu6": _WIDE_TABLE,
    "reshape": _both(moves.emit_reshape),
    "resize_bilinear": {INT8: reduce.emit_resize_bilinear},
    "resize_nearest_neighbor": _both(moves.emit_move),
    "rsqrt": _WIDE_TABLE,
    "select_v2": _both(elementwise.emit_select),
    "slice": _both(moves.emit_move),
    "slice_at": _both(moves.emit_slice_at),
    "softmax": {INT8: reduce.emit_softmax, INT16X8: reduce.emit_softmax_wide},
    "space_to_depth": {INT8: moves.emit_move},
    "squared_difference": _both(elementwise.emit_squared_difference),
    "sub": _both(elementwise.emit_sub),
    "sum": _both(reduce.emit_sum),
    "svdf": {INT8: recurrent.emit_svdf},
    "tanh": _WIDE_TABLE,
    "tile": _both(moves.emit_move),
    "topk_v2": _both(reduce.emit_topk),
    "transpose": _both(moves.emit_transpose),
    "transpose_conv": _both(weighted.emit_transpose_conv),
    "unidirectional_sequence_lstm": _both(recurrent.emit_lstm),
}

KERNELS: Mapping[str, Mapping[Form, Emitter]] = {
    op: (_TABLE if op in TABLES else {}) | _OTHERS.get(op, {})
    for op in sorted({*TABLES} | _OTHERS.keys())
}
"""Op -> form -> the function that writes its call."""


def emitter_of(node: BoundNode) -> Emitter | None:
    """The function that writes the node's call; None where the GPU has no kernel for it."""
    return KERNELS.get(node.op, {}).get(form_of(node)) if _is_integer_form(node) else None


def _is_integer_form(node: BoundNode) -> bool:
    """Whether weights are constants, and all activations have types that device code has."""
    values = [v for v in (*node.inputs, *node.outputs) if v is not None]
    if any(not v.is_constant and v.dtype not in C_TYPES for v in values):
        return False
    if not any(v is not None and not v.is_constant for v in node.inputs):
        return False  # it converts a float op's weights to float
    return OPS[node.op].quant not in CONSTANT_WEIGHTS or not has_computed_weights(node)
