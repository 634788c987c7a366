"""The choice of kernels for convolutions and dense layers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tinyrt.backends.c.blocks.block import LongBlock, PairBlock
from tinyrt.backends.c.blocks.dense import block_of, counted_kernel, long_row_kernel
from tinyrt.backends.c.blocks.dense import convolution_kernel as block_convolution
from tinyrt.backends.c.blocks.dense import dense_kernel as block_dense
from tinyrt.backends.c.blocks.depthwise import depthwise_kernel as block_depthwise
from tinyrt.backends.c.blocks.depthwise import filters_of
from tinyrt.backends.c.blocks.groups import groups_kernel, groups_of
from tinyrt.backends.c.blocks.more import more_kernel, more_of, takes_all, takes_more
from tinyrt.backends.c.blocks.relu import legacy_scales
from tinyrt.backends.c.chooser import Choosers, always
from tinyrt.backends.c.fields import act_fields, nhwc, window_fields
from tinyrt.backends.c.float_convolutions import (
    convolution_f32,
    depthwise_as_convolution,
    depthwise_in_turns,
    few_channels,
    has_known_bias,
    takes_few,
    transpose_quads,
)
from tinyrt.backends.c.general import general_calls, legacy_call, weighted_call
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Calls, Fields, Kernel, Params, Target, call, unordered
from tinyrt.backends.c.mve.depthwise import depthwise_kernel as mve_depthwise
from tinyrt.backends.c.mve.products import convolution_kernel as mve_convolution
from tinyrt.backends.c.mve.products import dense_kernel as mve_dense
from tinyrt.backends.c.mve.raised import raised_requant
from tinyrt.backends.c.one_channel import along_rows, as_convolution, is_rather_convolution
from tinyrt.backends.c.rvv.strips import convolution_kernel as strips_convolution
from tinyrt.backends.c.rvv.strips import dense_kernel as strips_dense
from tinyrt.backends.c.rvv.strips import depthwise_kernel as strips_depthwise
from tinyrt.backends.c.wide import (
    FILTERS,
    MAX_NARROW_TAPS,
    bias_s64,
    convolution_s16,
    requant_s16_fields,
    weights_of,
)
from tinyrt.backends.c.x86.products import convolution_kernel as x86_convolution
from tinyrt.backends.c.x86.products import dense_kernel as x86_dense
from tinyrt.backends.c.x86.products import depthwise_kernel as x86_depthwise
from tinyrt.ir import BoundNode, DType, Shape
from tinyrt.memory.sweep import Sweep, transposed_windows, windows
from tinyrt.ops import prepared
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.conv2d import window_of as conv2d_window
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.depthwise_conv2d import window_of as depthwise_window
from tinyrt.ops.fully_connected import WEIGHT_AXIS as DENSE_AXIS
from tinyrt.ops.fully_connected import FullyConnectedS8, FullyConnectedS16
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.ops.shared.constants import has_computed_weights, stored_data
from tinyrt.ops.shared.requant import (
    Requant,
    Steps,
    WideRequant,
    legacy_thresholds,
    weighted_requant,
)
from tinyrt.ops.shared.spec import Form
from tinyrt.ops.shared.window import Window
from tinyrt.ops.shared.windowed import ConvolutionS8, ConvolutionS16
from tinyrt.ops.transpose_conv import TransposeConvAttrs, TransposeConvS8, TransposeConvS16
from tinyrt.ops.transpose_conv import window_of as transpose_window

MVE, X86 = InstructionSet.MVE, (InstructionSet.AVX2, InstructionSet.AVX512)

UNITS = (InstructionSet.DSP, InstructionSet.MVE)
"""Instruction sets of cores with a unit for floats."""

STRIP = 16
"""Output channels that ``tinyrt_depthwise_spread_f32`` computes side by side."""


def _image_fields(node: BoundNode, window: Window) -> Fields:
    """Shapes of input and output, and the window between them."""
    x, y = node.input(0).shape, node.output.shape
    return {"x": nhwc(x), "y": nhwc(y), "window": window_fields(window)}


def conv2d_s8(node: BoundNode, target: Target) -> Kernel:
    """The vector kernel, the one for quads of channels, the one for groups, or the general one."""
    p = prepared(node, ConvolutionS8)
    layer = p.window, p.x_zp, p.requant
    groups = _groups(node)
    fields = _image_fields(node, p.window) | {"groups": groups}
    general = partial(general_calls, "tinyrt_conv2d_plain_s8", node, fields, p)
    if has_computed_weights(node):
        return Kernel(general)
    if target.isa is MVE:
        return mve_convolution(node, *layer, target)
    if target.isa in X86:
        return x86_convolution(node, *layer, target.isa)
    if target.strips and groups == 1:
        strips = strips_convolution(node, *layer)
        if strips is not None:
            return strips
    if groups == 1 and p.window.dilation == (1, 1):
        block = block_of(node, p.x_zp, p.requant, target.isa)
        if block is not None:
            return block_convolution(node, block, *layer, target)
        more = more_of(node, p.x_zp, p.requant, target) if takes_more(target) else None
        if more is not None:
            return more_kernel(node, more, p.window, p.requant, target)

    def by_rows() -> Sweep | None:
        return windows(node, p.window)

    by_group = groups_of(node, p.x_zp, p.requant, target.isa)
    if by_group is not None:
        shapes = node.input(0).shape, node.output.shape
        return groups_kernel(node, by_group, shapes, *layer, by_rows)
    assert node.input(1).dtype is not DType.INT16, "wide weights have a kernel"
    return Kernel(general, sweep=by_rows)


def _groups(node: BoundNode) -> int:
    return node.input(0).shape[3] // node.input(1).shape[3]


def conv2d_s16(node: BoundNode, target: Target) -> Kernel:
    """The same kernel everywhere; weights lie as the instruction set reads them."""
    p = prepared(node, ConvolutionS16)
    fields = _image_fields(node, p.window)
    return convolution_s16(node, fields, _groups(node), p.requant, target.isa)


def conv2d_f32(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_conv2d_f32``."""
    del target
    return (convolution_f32(node, _image_fields(node, _conv2d_window(node)), _groups(node)),)


def _conv2d_window(node: BoundNode) -> Window:
    return conv2d_window(node.attrs_as(Conv2dAttrs), node.input(0).shape, node.input(1).shape)


def depthwise_s8(node: BoundNode, target: Target) -> Kernel:
    """The vector kernel, the one for packed filters, or the general one."""
    p = prepared(node, ConvolutionS8)
    layer = p.window, p.x_zp, p.requant
    fields = _image_fields(node, p.window)
    general = partial(general_calls, "tinyrt_depthwise_conv2d_plain_s8", node, fields, p)
    if has_computed_weights(node):
        return Kernel(general)
    if target.isa is MVE:
        rows = along_rows(p.window)
        if is_rather_convolution(node, rows, MVE):
            return mve_convolution(as_convolution(node), rows, p.x_zp, p.requant, target)
        return mve_depthwise(node, *layer)
    if target.isa in X86:
        return x86_depthwise(node, *layer)
    if target.strips:
        strips = strips_depthwise(node, *layer)
        if strips is not None:
            return strips
    if is_rather_convolution(node, p.window, target.isa):
        one = as_convolution(node)
        block = block_of(one, p.x_zp, p.requant, target.isa)
        if block is not None:
            return block_convolution(one, block, *layer, target)
    filters = filters_of(node, *layer, target.isa)
    if filters is not None:
        return block_depthwise(node, filters, p.window, p.requant, target)
    return Kernel(general, sweep=lambda: windows(node, p.window))


def depthwise_s16(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_depthwise_quads_s16``, of its like with vectors, or the general one."""
    p = prepared(node, ConvolutionS16)
    kernel, channels = p.window.kernel, node.output.shape[3]
    in_quads = channels == node.input(0).shape[3] and channels % FILTERS == 0
    raised = raised_requant(node, p.requant, 3) if in_quads and target.isa is MVE else None
    if raised is not None:
        fields = _image_fields(node, p.window) | raised.own
        params = Params("tinyrt_depthwise_raised_s16_params", fields)
        tensors = node.input(0), node.input(1), raised.bias, node.output
        return (call("tinyrt_depthwise_raised_s16", params, *tensors),)
    fits = kernel[0] * kernel[1] <= MAX_NARROW_TAPS and not has_computed_weights(node)
    form = "depthwise_quads" if in_quads and fits else "depthwise_conv2d"
    general = "tinyrt_depthwise_conv2d_s16"
    return _wide_calls(f"tinyrt_{form}_s16", node, p.window, p.requant, general)


def _wide_calls(
    function: str,
    node: BoundNode,
    window: Window,
    requant: WideRequant | Requant,
    general: str | None = None,
) -> Calls:
    """The call of a kernel on int16 activations that reads the weights as they are.

    Args:
        function: its name.
        node: the op.
        window: how it slides.
        requant: its requantisation.
        general: the kernel whose parameters it has; its own by default.

    """
    if not has_computed_weights(node):
        weights_of(node)
    fields = _image_fields(node, window) | {"requant": requant_s16_fields(requant)}
    params = Params(f"{general or function}_params", fields)
    tensors = node.input(0), node.input(1), bias_s64(node), node.output
    return (call(function, params, *tensors),)


def depthwise_f32(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_depthwise_quads_f32``, of one for several filters, or of the general."""
    c_in, c_out = node.input(0).shape[3], node.output.shape[3]
    window = _depthwise_window(node)
    general = "tinyrt_depthwise_conv2d_f32"
    filters = c_out // c_in
    by_strips = c_out % STRIP == 0 and filters.bit_count() == 1 and filters >= FILTERS
    if c_in > 1 and by_strips and target.isa in UNITS:
        return _float_calls("tinyrt_depthwise_spread_f32", node, window, general=general)
    if takes_few(node) and target.isa in UNITS:
        return (few_channels(node, _image_fields(node, window)),)
    if c_in == c_out >= FILTERS:
        return _float_calls("tinyrt_depthwise_quads_f32", node, window, general=general)
    w = node.input(1).data
    if w is None:
        return _float_calls(general, node, window)
    if c_in >= FILTERS and has_known_bias(node):
        return (depthwise_in_turns(node, w, _image_fields(node, window)),)
    if filters < FILTERS:
        return _float_calls(general, node, window)
    return (depthwise_as_convolution(node, w, _image_fields(node, window)),)


def _depthwise_window(node: BoundNode) -> Window:
    return depthwise_window(
        node.attrs_as(DepthwiseConv2dAttrs), node.input(0).shape, node.input(1).shape
    )


def _float_calls(
    function: str, node: BoundNode, window: Window, *, general: str | None = None
) -> Calls:
    """The call of a float kernel that reads the weights as they are; see ``_wide_calls``."""
    fields = _image_fields(node, window) | act_fields(fused_activation(node))
    params = Params(f"{general or function}_params", fields)
    tensors = node.input(0), node.input(1), node.optional(2), node.output
    return (call(function, params, *tensors),)


def transpose_conv_s8(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_transpose_conv_s8``."""
    del target
    p = prepared(node, TransposeConvS8)
    fields = _image_fields(node, _transpose_window(node))
    return general_calls("tinyrt_transpose_conv_s8", node, fields, p)


def transpose_conv_s16(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_transpose_conv_s16``."""
    del target
    p = prepared(node, TransposeConvS16)
    return _wide_calls("tinyrt_transpose_conv_s16", node, _transpose_window(node), p.requant)


def transpose_conv_f32(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_transpose_quads_f32``, or of the general kernel."""
    window = _transpose_window(node)
    del target
    if node.input(1).data is None:
        return _float_calls("tinyrt_transpose_conv_f32", node, window)
    return (transpose_quads(node, _image_fields(node, window)),)


def _transpose_window(node: BoundNode) -> Window:
    return transpose_window(node.attrs_as(TransposeConvAttrs), node.input(1).shape)


def fully_connected_s8(node: BoundNode, target: Target) -> Kernel:
    """The vector kernel, one for quads of channels, one for convolutions, or a general one."""
    p = prepared(node, FullyConnectedS8)
    requant, x_zp = p.requant, p.x_zp
    c_out, c_in = node.input(1).shape
    fields: Fields = {"rows": node.input(0).size // c_in, "c_in": c_in, "c_out": c_out}
    if isinstance(requant, Steps):
        counted = _counted(node, x_zp, target)
        return counted or Kernel(lambda: (legacy_call(node, fields, x_zp, requant),))

    def general() -> Calls:
        return (weighted_call("tinyrt_fully_connected_plain_s8", node, fields, x_zp, requant),)

    if has_computed_weights(node):
        return Kernel(general)
    if target.isa is MVE:
        return mve_dense(node, x_zp, requant, target)
    if target.isa in X86:
        return x86_dense(node, x_zp, requant, target.isa)
    if target.strips:
        strips = strips_dense(node, x_zp, requant)
        if strips is not None:
            return strips
    block = block_of(node, x_zp, requant, target.isa)
    if block is not None:
        return block_dense(node, block, requant, target)
    more = more_of(node, x_zp, requant, target) if takes_more(target) else None
    if more is not None:
        return more_kernel(node, more, _as_pixels(node)[2], requant, target)
    groups = groups_of(node, x_zp, requant, target.isa)
    if groups is not None and fields["rows"] == 1 and isinstance(groups.blocks[0], LongBlock):
        return long_row_kernel(node, groups.blocks[0], requant)
    if groups is not None:
        x, y, window = _as_pixels(node)
        return groups_kernel(node, groups, (x, y), window, x_zp, requant, unordered)
    return Kernel(general)


def _counted(node: BoundNode, x_zp: int, target: Target) -> Kernel | None:
    """The kernel for quads of channels of a dense layer that is rounded as on uint8, or None."""
    if has_computed_weights(node) or not takes_all(target):
        return None
    requant = weighted_requant(node, DENSE_AXIS)
    block = block_of(node, x_zp, requant, target.isa)
    if not isinstance(block, PairBlock) or target.small:
        return None
    if not block.layer.is_as(stored_data(node.input(1)), requant):
        return None
    scales = node.noted_of_constants(
        ("counted", target.isa),
        lambda: legacy_scales(block.layer, x_zp, requant.y_zp, legacy_thresholds(node, DENSE_AXIS)),
    )
    return None if scales is None else counted_kernel(node, block, requant, scales, target)


def fully_connected_s16(node: BoundNode, target: Target) -> Kernel:
    """A convolution whose pixels are rows."""
    p = prepared(node, FullyConnectedS16)
    return convolution_s16(node, _pixel_fields(node), 1, p.requant, target.isa)


def fully_connected_f32(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_conv2d_f32``, with rows as pixels."""
    del target
    return (convolution_f32(node, _pixel_fields(node), 1),)


def _pixel_fields(node: BoundNode) -> Fields:
    x, y, window = _as_pixels(node)
    return {"x": nhwc(x), "y": nhwc(y), "window": window_fields(window)}


def _as_pixels(node: BoundNode) -> tuple[Shape, Shape, Window]:
    """Input and output as images of one row, and the window of one pixel."""
    c_out, c_in = node.input(1).shape
    rows = node.input(0).size // c_in
    window = Window.of((1, rows), (1, 1), (1, 1), "VALID")
    return (1, 1, rows, c_in), (1, 1, rows, c_out), window


def _transposed(node: BoundNode) -> Sweep | None:
    """Rows from the front; no order where weights are computed, as they are read to the end."""
    if has_computed_weights(node):
        return None
    return transposed_windows(node, _transpose_window(node))


def _rows(window_of: Callable[[BoundNode], Window]) -> Callable[[BoundNode], Sweep | None]:
    """As ``_transposed``, of other layers."""
    return lambda node: None if has_computed_weights(node) else windows(node, window_of(node))


KERNELS: Choosers = {
    "conv2d": {
        Form.INT8: conv2d_s8,
        Form.INT16X8: conv2d_s16,
        Form.FLOAT: always(conv2d_f32, _rows(_conv2d_window)),
    },
    "depthwise_conv2d": {
        Form.INT8: depthwise_s8,
        Form.INT16X8: always(depthwise_s16),
        Form.FLOAT: always(depthwise_f32, _rows(_depthwise_window)),
    },
    "fully_connected": {
        Form.INT8: fully_connected_s8,
        Form.INT16X8: fully_connected_s16,
        Form.FLOAT: always(fully_connected_f32),
    },
    "transpose_conv": {
        Form.INT8: always(transpose_conv_s8, _transposed),
        Form.INT16X8: always(transpose_conv_s16, _transposed),
        Form.FLOAT: always(transpose_conv_f32, _transposed),
    },
}
"""Op -> form -> chooser."""
