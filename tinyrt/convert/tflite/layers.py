"""How convolutions, dense layers and poolings are written to and read from a .tflite file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyrt.convert.tflite import schema
from tinyrt.convert.tflite.codec import (
    Codec,
    Decoded,
    Encoded,
    Operands,
    activation_of,
    constant_ints,
    i32,
    is_s8,
    is_s16,
    padding_of,
    since_s8,
)
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import BoundNode, DType, Value
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.ops.shared.pool import Pool2dAttrs
from tinyrt.ops.shared.windowed import ConvolutionAttrs
from tinyrt.ops.transpose_conv import TransposeConvAttrs


def _conv_version(node: BoundNode) -> int:
    if node.input(0).shape[3] != node.input(1).shape[3]:
        return 6  # grouped
    if is_s16(node):
        return 4
    if is_s8(node):
        return 7 if node.input(1).dtype is DType.INT4 else 3
    return 1


def _depthwise_version(node: BoundNode) -> int:
    if is_s16(node):
        return 5
    if is_s8(node):
        return 7 if node.input(1).dtype is DType.INT4 else 3
    return 2 if node.attrs_as(DepthwiseConv2dAttrs).dilation != (1, 1) else 1


def _dense_version(node: BoundNode) -> int:
    weights = node.input(1).q
    if weights is not None and len(weights.scales) > 1:
        return 12
    if node.input(1).dtype is DType.INT4:
        return 10
    if is_s16(node):
        return 7
    if node.attrs_as(FullyConnectedAttrs).keep_num_dims:
        return 5
    return 4 if is_s8(node) else 1


def _window_fields(attrs: ConvolutionAttrs | Pool2dAttrs | TransposeConvAttrs) -> dict[str, Any]:
    return {
        "Padding": schema.PADDING[attrs.padding],
        "StrideH": attrs.stride[0],
        "StrideW": attrs.stride[1],
        "FusedActivationFunction": schema.ACTIVATION[attrs.activation],
    }


def _encode_conv(node: BoundNode) -> Encoded:
    a = node.attrs_as(ConvolutionAttrs)
    fields = _window_fields(a)
    fields.update(DilationHFactor=a.dilation[0], DilationWFactor=a.dilation[1])
    if node.op == "depthwise_conv2d":
        fields["DepthMultiplier"] = node.input(1).shape[3] // node.input(0).shape[3]
    return Encoded(fields)


def _decode_conv(attrs: type[ConvolutionAttrs]) -> Callable[[Any, Operands, Value], Decoded]:
    def decode(options: Any, inputs: Operands, output: Value) -> Decoded:
        del output
        return Decoded(
            attrs(
                stride=(options.StrideH(), options.StrideW()),
                padding=padding_of(options),
                dilation=(options.DilationHFactor(), options.DilationWFactor()),
                activation=activation_of(options),
            ),
            len(inputs),
        )

    return decode


def _encode_transpose_conv(node: BoundNode) -> Encoded:
    """The output's shape comes first, then weights, input and bias."""
    count, fields = len(node.inputs), _window_fields(node.attrs_as(TransposeConvAttrs))
    extra = (("shape", i32(node.output.shape)),)
    return Encoded(fields, extra, order=(count, 1, 0, *range(2, count)))


def _decode_transpose_conv(options: Any, inputs: Operands, output: Value) -> Decoded:
    given = inputs[0] if inputs else None
    # A shape that comes from elsewhere is the one that the file declares, as in TFLM.
    computed = given is not None and not given.is_constant
    shape = list(output.shape) if computed else constant_ints(inputs, 0, "the output's shape")
    if len(shape) != 4 or len(inputs) < 3:
        raise ModelFormatError(f"an output shape {list(shape)}", expected="(n, h, w, c)")
    attrs = TransposeConvAttrs(
        size=(shape[1], shape[2]),
        stride=(options.StrideH(), options.StrideW()),
        padding=padding_of(options),
        activation=activation_of(options),
    )
    return Decoded(attrs, len(inputs), picked=(2, 1, *range(3, len(inputs))))


def _transpose_conv_version(node: BoundNode) -> int:
    if fused_activation(node) != "NONE":
        return 4
    if node.optional(2) is not None:
        return 3
    return 2 if is_s8(node) or is_s16(node) else 1


def _encode_pool(node: BoundNode) -> Encoded:
    attrs = node.attrs_as(Pool2dAttrs)
    height, width = attrs.kernel
    return Encoded(_window_fields(attrs) | {"FilterHeight": height, "FilterWidth": width})


def _decode_pool(options: Any, inputs: Operands, output: Value) -> Decoded:
    del output
    return Decoded(
        Pool2dAttrs(
            kernel=(options.FilterHeight(), options.FilterWidth()),
            stride=(options.StrideH(), options.StrideW()),
            padding=padding_of(options),
            activation=activation_of(options),
        ),
        len(inputs),
    )


def _encode_dense(node: BoundNode) -> Encoded:
    attrs = node.attrs_as(FullyConnectedAttrs)
    return Encoded(
        {
            "FusedActivationFunction": schema.ACTIVATION[attrs.activation],
            "KeepNumDims": attrs.keep_num_dims,
        }
    )


def _decode_dense(options: Any, inputs: Operands, output: Value) -> Decoded:
    del output
    if options.WeightsFormat() != 0:
        raise UnsupportedError("the weights are shuffled", expected="plain row-major weights")
    return Decoded(
        FullyConnectedAttrs(
            keep_num_dims=bool(options.KeepNumDims()), activation=activation_of(options)
        ),
        len(inputs),
    )


LAYERS = (
    Codec(
        "conv2d", "CONV_2D", "Conv2DOptions", _encode_conv, _decode_conv(Conv2dAttrs), _conv_version
    ),
    Codec(
        "depthwise_conv2d",
        "DEPTHWISE_CONV_2D",
        "DepthwiseConv2DOptions",
        _encode_conv,
        _decode_conv(DepthwiseConv2dAttrs),
        _depthwise_version,
    ),
    Codec(
        "transpose_conv",
        "TRANSPOSE_CONV",
        "TransposeConvOptions",
        _encode_transpose_conv,
        _decode_transpose_conv,
        _transpose_conv_version,
    ),
    Codec(
        "fully_connected",
        "FULLY_CONNECTED",
        "FullyConnectedOptions",
        _encode_dense,
        _decode_dense,
        _dense_version,
    ),
    Codec(
        "average_pool2d",
        "AVERAGE_POOL_2D",
        "Pool2DOptions",
        _encode_pool,
        _decode_pool,
        since_s8(2, s16=3),
    ),
    Codec(
        "max_pool2d",
        "MAX_POOL_2D",
        "Pool2DOptions",
        _encode_pool,
        _decode_pool,
        since_s8(2, s16=3),
    ),
)
"""Codecs of layers that move a window, and of dense ones."""
