"""How reductions, arithmetic of two inputs and logic are written to and read from a .tflite."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tinyrt.convert.tflite import schema
from tinyrt.convert.tflite.codec import (
    Codec,
    Decoded,
    Encoded,
    Operands,
    activation_of,
    constant_ints,
    encode_plain,
    i32,
    is_s8,
    plain,
    since_s8,
    widening,
)
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import BoundNode, DType, Value
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.batch_matmul import BatchMatmulAttrs
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.cumsum import CumsumAttrs
from tinyrt.ops.div import DivAttrs
from tinyrt.ops.l2_normalization import L2NormalizationAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.reduce import ReduceAttrs
from tinyrt.ops.shared.activation import fused_activation


def _encode_reduce(node: BoundNode) -> Encoded:
    attrs = node.attrs_as(MeanAttrs)
    return Encoded({"KeepDims": attrs.keep_dims}, (("axes", i32(attrs.axes)),))


def _decode_reduce(
    attrs: type[MeanAttrs], options: Any, inputs: Operands, output: Value
) -> Decoded:
    del output
    axes = constant_ints(inputs, 1, "axes")
    return Decoded(attrs(axes=axes, keep_dims=bool(options.KeepDims())), 1)


def _reduce(op: str, s16: int, attrs: type[MeanAttrs] = ReduceAttrs) -> Codec:
    """The codec of an op over axes; s16 is its first version with int16."""
    decode = partial(_decode_reduce, attrs)
    return Codec(op, op.upper(), "ReducerOptions", _encode_reduce, decode, since_s8(2, s16=s16))


def _encode_arg(node: BoundNode) -> Encoded:
    attrs = node.attrs_as(ArgAttrs)
    fields = {"OutputType": schema.TENSOR_TYPE[attrs.dtype]}
    return Encoded(fields, (("axis", i32([attrs.axis])),))


def _decode_arg(options: Any, inputs: Operands, output: Value) -> Decoded:
    del options
    axis = constant_ints(inputs, 1, "axis")
    if len(axis) != 1:
        raise ModelFormatError(f"axes {list(axis)}", expected="one axis")
    return Decoded(ArgAttrs(axis[0], output.dtype), 1)


def _decode_cast(options: Any, inputs: Operands, output: Value) -> Decoded:
    del options
    return Decoded(CastAttrs(output.dtype), len(inputs))


def _encode_div(node: BoundNode) -> Encoded:
    return Encoded({"FusedActivationFunction": schema.ACTIVATION[fused_activation(node)]})


def _decode_div(options: Any, inputs: Operands, output: Value) -> Decoded:
    del output
    return Decoded(DivAttrs(activation=activation_of(options)), len(inputs))


def _encode_matmul(node: BoundNode) -> Encoded:
    attrs = node.attrs_as(BatchMatmulAttrs)
    return Encoded({"AdjX": attrs.adj_x, "AdjY": attrs.adj_y})


def _decode_matmul(options: Any, inputs: Operands, output: Value) -> Decoded:
    del output
    return Decoded(BatchMatmulAttrs(bool(options.AdjX()), bool(options.AdjY())), len(inputs))


def _encode_cumsum(node: BoundNode) -> Encoded:
    a = node.attrs_as(CumsumAttrs)
    fields = {"Exclusive": a.exclusive, "Reverse": a.reverse}
    return Encoded(fields, (("axis", np.asarray(a.axis, np.int32)),))


def _decode_cumsum(options: Any, inputs: Operands, output: Value) -> Decoded:
    del output
    axis = constant_ints(inputs, 1, "axis")
    if len(axis) != 1:
        raise ModelFormatError(f"axes {list(axis)}", expected="one axis")
    return Decoded(CumsumAttrs(axis[0], bool(options.Exclusive()), bool(options.Reverse())), 1)


def _encode_l2(node: BoundNode) -> Encoded:
    del node
    return Encoded({"FusedActivationFunction": schema.ACTIVATION["NONE"]})


def _decode_l2(options: Any, inputs: Operands, output: Value) -> Decoded:
    del output
    activation = activation_of(options)
    if activation != "NONE":
        raise UnsupportedError(f"L2_NORMALIZATION with {activation}", expected="NONE")
    return Decoded(L2NormalizationAttrs(), len(inputs))


def _first(node: BoundNode) -> int:
    del node
    return 1


def _cast_version(node: BoundNode) -> int:
    if is_s8(node):
        return 3
    return 2 if DType.UINT32 in (node.input(0).dtype, node.output.dtype) else 1


def _of_floats(node: BoundNode) -> int:
    return 2 if node.output.dtype is DType.FLOAT32 else 1


REDUCTIONS: tuple[Codec, ...] = (
    _reduce("mean", 3, MeanAttrs),
    _reduce("sum", 1),
    _reduce("reduce_max", 3),
    _reduce("reduce_min", 3),
    _reduce("reduce_prod", 2),
    *(
        Codec(op, op.upper(), table, _encode_arg, _decode_arg, since_s8(2))
        for op, table in (("arg_max", "ArgMaxOptions"), ("arg_min", "ArgMinOptions"))
    ),
    Codec("cumsum", "CUMSUM", "CumsumOptions", _encode_cumsum, _decode_cumsum, _first),
    # Old files have no options here: the tensors themselves tell the types.
    Codec("cast", "CAST", None, encode_plain, _decode_cast, _cast_version),
    Codec("div", "DIV", "DivOptions", _encode_div, _decode_div, widening(2, _first)),
    Codec(
        "batch_matmul",
        "BATCH_MATMUL",
        "BatchMatMulOptions",
        _encode_matmul,
        _decode_matmul,
        since_s8(2, s16=3),
    ),
    plain("prelu", "PRELU", _first),
    plain("pow", "POW", _first),
    plain("floor_div", "FLOOR_DIV", _of_floats),
    plain("floor_mod", "FLOOR_MOD", _first),
    plain("squared_difference", "SQUARED_DIFFERENCE", since_s8(2)),
    plain("select_v2", "SELECT_V2", _first),
    plain("log_softmax", "LOG_SOFTMAX", since_s8(2)),
    Codec(
        "l2_normalization",
        "L2_NORMALIZATION",
        "L2NormOptions",
        _encode_l2,
        _decode_l2,
        since_s8(2),
    ),
    *(
        plain(op, op.upper(), since_s8(2, s16=s16))
        for op, s16 in (
            ("equal", 4),
            ("not_equal", 4),
            ("less", 3),
            ("less_equal", 1),
            ("greater", 1),
            ("greater_equal", 3),
        )
    ),
    *(plain(op, op.upper(), _first) for op in ("logical_and", "logical_or", "logical_not")),
)
"""Codecs of reductions, arithmetic and logic."""
