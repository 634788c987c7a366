"""How each op is written to and read from a .tflite file: dull pairs, one per op.

Attributes that TFLite keeps in constant input tensors (axes, paddings, permutations, shapes) are
moved to and from the op's record here, so that nothing else needs to know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.tflite import schema
from tinyrt.convert.tflite.codec import (
    Codec,
    Decoded,
    Encoded,
    Operands,
    activation_of,
    constant_ints,
    encode_plain,
    finite,
    i32,
    is_s8,
    is_s16,
    of_rank,
    plain,
    ranked,
    since_s8,
    widening,
)
from tinyrt.convert.tflite.detection import DETECTION
from tinyrt.convert.tflite.layers import LAYERS
from tinyrt.convert.tflite.moves import MOVES, slice_codec
from tinyrt.convert.tflite.reductions import REDUCTIONS
from tinyrt.convert.tflite.signal import SIGNAL
from tinyrt.convert.tflite.stateful import STATEFUL
from tinyrt.convert.tflite.topk import TOPK_V2
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import BoundNode, DType, Value
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.gelu import GeluAttrs
from tinyrt.ops.leaky_relu import LeakyReluAttrs
from tinyrt.ops.mul import MulAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.quantize import QuantizeAttrs, quantize_array
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.ops.shared.spec import qparams
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.transpose import TransposeAttrs

FIRST_VERSION = (
    "ceil",
    "cos",
    "elu",
    "floor",
    "hard_swish",
    "neg",
    "round",
    "sign",
    "sin",
    "square",
)
"""Ops without attributes that have had one version so far."""


def _mul_version(node: BoundNode) -> int:
    if is_s16(node):
        return 4
    if not is_s8(node):
        return 1
    a, b, y = (qparams(v)[0] for v in (node.input(0), node.input(1), node.output))
    return 3 if a * b / y >= 1 else 2


def _quantize_version(node: BoundNode) -> int:
    return 2 if node.output.dtype is DType.INT16 else 1


_pad_version = of_rank(4, since_s8(2, s16=3, boolean=5))


def _transpose_version(node: BoundNode) -> int:
    if len(node.input(0).shape) > 5:
        return 6
    return of_rank(4, since_s8(2, s16=5, boolean=3))(node)


def _dequantize_version(node: BoundNode) -> int:
    x = node.input(0)
    if x.dtype is DType.INT4:
        return 6
    if x.q is not None and len(x.q.scales) > 1:
        return 5
    return 2 if x.dtype is DType.INT8 else 3


def _encode_binary(node: BoundNode) -> Encoded:
    return Encoded({"FusedActivationFunction": schema.ACTIVATION[fused_activation(node)]})


def _encode_sum(node: BoundNode) -> Encoded:
    """int16 sums are of any scales here: without this option, only of powers of two."""
    fields = dict(_encode_binary(node).fields)
    return Encoded({**fields, "PotScaleInt16": False} if is_s16(node) else fields)


def _decode_binary(attrs: type[AddAttrs | MulAttrs]) -> Callable[[Any, Operands, Value], Decoded]:
    def decode(options: Any, inputs: Operands, output: Value) -> Decoded:
        del output
        return Decoded(attrs(activation=activation_of(options)), len(inputs))

    return decode


def _encode_concatenation(node: BoundNode) -> Encoded:
    a = node.attrs_as(ConcatenationAttrs)
    return Encoded({"Axis": a.axis, "FusedActivationFunction": schema.ACTIVATION[a.activation]})


def _decode_concatenation(options: Any, inputs: Operands, output: Value) -> Decoded:
    del output
    attrs = ConcatenationAttrs(axis=options.Axis(), activation=activation_of(options))
    return Decoded(attrs, len(inputs))


def _encode_pad(node: BoundNode) -> Encoded:
    return Encoded(extra=(("paddings", i32(node.attrs_as(PadAttrs).paddings)),))


def _encode_padv2(node: BoundNode) -> Encoded:
    """PADV2 carries the fill as a tensor of the input's dtype and quantisation."""
    fill: NDArray[Any] = np.asarray([node.attrs_as(PadAttrs).value], np.float32)
    if node.output.q is not None:
        fill = quantize_array(fill, *qparams(node.output), node.output.dtype)
    return Encoded(extra=(*_encode_pad(node).extra, ("fill", fill)), fill_q=node.output.q)


def _decode_pad(options: Any, inputs: Operands, output: Value) -> Decoded:
    del options, output
    flat, rank = constant_ints(inputs, 1, "paddings"), len(ranked(inputs, 0).shape)
    if len(flat) != 2 * rank:
        raise ModelFormatError(
            f"{len(flat)} paddings", expected=f"two for each of {rank} dimensions"
        )
    value = _fill(inputs[2]) if len(inputs) > 2 else 0.0
    return Decoded(PadAttrs(tuple(zip(flat[::2], flat[1::2], strict=True)), value), 1)


def _fill(value: Value | None) -> float:
    if value is None or value.data is None or value.size != 1:
        raise UnsupportedError(
            "what to pad with is computed at run time",
            tensor=value.describe() if value else None,
            expected="a constant scalar",
        )
    fill = value.data.item()
    return float(fill) if value.q is None else value.q.scale * (int(fill) - value.q.zero_point)


def _encode_reshape(node: BoundNode) -> Encoded:
    return Encoded(extra=(("shape", i32(node.attrs_as(ReshapeAttrs).new_shape)),))


def _decode_reshape(options: Any, inputs: Operands, output: Value) -> Decoded:
    del options
    # Old files keep the shape in the options, and some compute it: the output's own shape counts.
    constant = len(inputs) > 1 and inputs[1] is not None and inputs[1].is_constant
    return Decoded(ReshapeAttrs(constant_ints(inputs, 1, "shape") if constant else output.shape), 1)


def _encode_kept(node: BoundNode) -> Encoded:
    return Encoded(extra=(("shape", i32(node.output.shape)),))


def _encode_transpose(node: BoundNode) -> Encoded:
    return Encoded(extra=(("perm", i32(node.attrs_as(TransposeAttrs).perm)),))


def _decode_transpose(options: Any, inputs: Operands, output: Value) -> Decoded:
    del options, output
    return Decoded(TransposeAttrs(constant_ints(inputs, 1, "perm")), 1)


def _encode_softmax(node: BoundNode) -> Encoded:
    return Encoded({"Beta": node.attrs_as(SoftmaxAttrs).beta})


def _decode_softmax(options: Any, inputs: Operands, output: Value) -> Decoded:
    first = inputs[0] if inputs else None
    widen = first is not None and first.dtype is DType.INT8 and output.dtype is DType.INT16
    return Decoded(SoftmaxAttrs(finite(options.Beta(), "beta"), widen), len(inputs))


def _encode_leaky_relu(node: BoundNode) -> Encoded:
    return Encoded({"Alpha": node.attrs_as(LeakyReluAttrs).alpha})


def _decode_leaky_relu(options: Any, inputs: Operands, output: Value) -> Decoded:
    del output
    return Decoded(LeakyReluAttrs(alpha=finite(options.Alpha(), "alpha")), len(inputs))


def _encode_gelu(node: BoundNode) -> Encoded:
    return Encoded({"Approximate": node.attrs_as(GeluAttrs).approximate})


def _decode_gelu(options: Any, inputs: Operands, output: Value) -> Decoded:
    del output
    return Decoded(GeluAttrs(approximate=bool(options.Approximate())), len(inputs))


def _decode_quantize(options: Any, inputs: Operands, output: Value) -> Decoded:
    del options
    return Decoded(QuantizeAttrs(output.dtype), len(inputs))


def _binary(
    op: str,
    attrs: type[AddAttrs | MulAttrs],
    version: Callable[[BoundNode], int],
    encode: Callable[[BoundNode], Encoded] = _encode_binary,
) -> Codec:
    table = f"{op.capitalize()}Options"
    return Codec(op, op.upper(), table, encode, _decode_binary(attrs), version)


_ALL = (
    *LAYERS,
    _binary("add", AddAttrs, since_s8(2, s16=3), _encode_sum),
    _binary("sub", AddAttrs, widening(3, since_s8(2, s16=5)), _encode_sum),
    _binary("mul", MulAttrs, _mul_version),
    Codec("pad", "PAD", None, _encode_pad, _decode_pad, _pad_version),
    Codec("pad", "PADV2", None, _encode_padv2, _decode_pad, _pad_version),
    Codec("reshape", "RESHAPE", None, _encode_reshape, _decode_reshape, lambda node: 1),
    Codec("transpose", "TRANSPOSE", None, _encode_transpose, _decode_transpose, _transpose_version),
    Codec(
        "concatenation",
        "CONCATENATION",
        "ConcatenationOptions",
        _encode_concatenation,
        _decode_concatenation,
        since_s8(2, s16=3),
    ),
    Codec(
        "softmax", "SOFTMAX", "SoftmaxOptions", _encode_softmax, _decode_softmax, since_s8(2, s16=3)
    ),
    plain("relu", "RELU", since_s8(2, s16=3)),
    plain("relu6", "RELU6", since_s8(2, s16=3)),
    plain("relu_n1_to_1", "RELU_N1_TO_1", lambda node: 1),
    plain("relu_0_to_1", "RELU_0_TO_1", lambda node: 1),
    Codec(
        "leaky_relu",
        "LEAKY_RELU",
        "LeakyReluOptions",
        _encode_leaky_relu,
        _decode_leaky_relu,
        since_s8(1, s16=2),
    ),
    Codec("gelu", "GELU", "GeluOptions", _encode_gelu, _decode_gelu, since_s8(2)),
    *(plain(op, op.upper(), since_s8(2)) for op in ("exp", "log", "sqrt")),
    *(plain(op, op.upper(), since_s8(2, s16=3)) for op in ("abs", "rsqrt")),
    *(plain(op, op.upper(), lambda node: 1) for op in FIRST_VERSION),
    plain("logistic", "LOGISTIC", since_s8(2, s16=3)),
    plain("tanh", "TANH", since_s8(2, s16=3)),
    plain("minimum", "MINIMUM", widening(3, since_s8(2, s16=4))),
    plain("maximum", "MAXIMUM", widening(3, since_s8(2, s16=4))),
    *MOVES,
    *REDUCTIONS,
    *SIGNAL,
    *STATEFUL,
    DETECTION,
    TOPK_V2,
    Codec("quantize", "QUANTIZE", None, encode_plain, _decode_quantize, _quantize_version),
    plain("dequantize", "DEQUANTIZE", _dequantize_version),
)

KEPT = Codec("quantize", "RESHAPE", None, _encode_kept, _decode_reshape, lambda node: 1)
"""How integers that stay and stand for other numbers are written: runtimes copy them."""

DECODERS: dict[str, Codec] = {codec.builtin: codec for codec in _ALL}
"""Builtin op name -> codec, for reading."""

WRITTEN = frozenset(codec.op for codec in _ALL)
"""Ops that the format has."""


def codec_for(node: BoundNode) -> Codec:
    """The codec that writes the node.

    Raises:
        UnsupportedError: the format has no op for it.

    """
    if node.op == "slice":
        return slice_codec(node)
    if node.op == "quantize" and node.attrs_as(QuantizeAttrs).kept:
        return KEPT
    if node.op == "pad" and node.attrs_as(PadAttrs).value != 0:
        return DECODERS["PADV2"]
    for codec in _ALL:
        if codec.op == node.op:
            return codec
    raise UnsupportedError(
        f"the .tflite format has no op for '{node.op}'",
        op=node.describe(),
        hint="run the graph passes first: they fold or replace it",
    )
