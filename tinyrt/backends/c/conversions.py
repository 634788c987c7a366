"""From one element type to another: quantize, dequantize and cast."""

from __future__ import annotations

from tinyrt.backends.c.chooser import Choosers, always
from tinyrt.backends.c.joins import reshape_calls
from tinyrt.backends.c.kernel import Calls, Fields, Function, Params, Target, call
from tinyrt.backends.c.rescale import rescale_calls
from tinyrt.backends.c.tables import lut_calls
from tinyrt.errors import UnsupportedError
from tinyrt.ir import BoundNode
from tinyrt.ops import OPS, prepared
from tinyrt.ops.quantize import Affine, QuantizeAttrs, Rescale, StoredWeights
from tinyrt.ops.shared.lut import LutS8
from tinyrt.ops.shared.spec import Form, limits_of


def quantize_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_quantize_f32_s8``, of a table between types of 8 bits, or a copy."""
    if node.attrs_as(QuantizeAttrs).kept:
        return reshape_calls(node, target)
    p: Affine | LutS8 = OPS[node.op].prepared(node)
    x, y = node.input(0), node.output
    if isinstance(p, LutS8):
        return lut_calls(p, x, y)
    fields: Fields = {"size": y.size, "scale": p.scale, "y_zp": p.zero_point}
    params = Params("tinyrt_quantize_f32_s8_params", fields)
    return (call("tinyrt_quantize_f32_s8", params, x, y),)


def quantize_s16_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_quantize_f32_s16``, of a change of scale, or a copy."""
    if node.attrs_as(QuantizeAttrs).kept:
        return reshape_calls(node, target)
    p: Affine | Rescale = OPS[node.op].prepared(node)
    x, y = node.input(0), node.output
    if isinstance(p, Affine):
        return (call("tinyrt_quantize_f32_s16", y.size, p.scale, x, y),)
    zero_points = (p.x_zp, p.y_zp)
    return rescale_calls(node, limits_of(p.dtype), (p.mult, p.shift), zero_points=zero_points)


def dequantize_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_dequantize_s8_f32``.

    Raises:
        UnsupportedError: the input is a constant, and the model's own output what it becomes.

    """
    del target
    p: Affine | StoredWeights = OPS[node.op].prepared(node)
    x, y = node.input(0), node.output
    if isinstance(p, StoredWeights):
        raise UnsupportedError(
            "an output of the model is a constant that is stored in integers",
            tensor=x.describe(),
            hint="leave the output out: it is the same for every input",
        )
    fields: Fields = {"size": y.size, "scale": p.scale, "x_zp": p.zero_point}
    params = Params("tinyrt_dequantize_s8_f32_params", fields)
    return (call("tinyrt_dequantize_s8_f32", params, x, y),)


def dequantize_s16_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_dequantize_s16_f32``."""
    del target
    p = prepared(node, Affine)
    y = node.output
    return (call("tinyrt_dequantize_s16_f32", y.size, p.scale, node.input(0), y),)


def cast_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_cast``, or a copy where the types are the same."""
    x, y = node.input(0), node.output
    if x.dtype is y.dtype:
        return reshape_calls(node, target)
    sizes: Fields = {"size": y.size, "x_bytes": x.dtype.itemsize, "y_bytes": y.dtype.itemsize}
    conversion = Function(f"tinyrt_{x.dtype.short}_to_{y.dtype.short}")
    return (call("tinyrt_cast", Params("tinyrt_cast_params", sizes), conversion, x, y),)


KERNELS: Choosers = {
    "quantize": {Form.INT8: always(quantize_calls), Form.INT16X8: always(quantize_s16_calls)},
    "dequantize": {Form.INT8: always(dequantize_calls), Form.INT16X8: always(dequantize_s16_calls)},
    "cast": {Form.FLOAT: always(cast_calls)},
}
