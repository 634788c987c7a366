"""Kernels that all float ops share: they take a C function, or the bounds of an activation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tinyrt.backends.c.fields import act_fields
from tinyrt.backends.c.kernel import Calls, Field, Fields, Function, Params, Target, call
from tinyrt.errors import UnsupportedError
from tinyrt.ir import BoundNode, DType
from tinyrt.ops.shared.activation import clamp_of, fused_activation
from tinyrt.ops.shared.walks import broadcast_fields, reduction_fields

MakeCalls = Callable[[BoundNode, Target], Calls]
"""Finds the calls of a node."""


def map_f32(function: str) -> MakeCalls:
    """The call of ``tinyrt_map_f32`` with a C function of one float."""

    def make_calls(node: BoundNode, target: Target) -> Calls:
        del target
        x, y = node.input(0), node.output
        return (call("tinyrt_map_f32", Function(function), y.size, x, y),)

    return make_calls


def zip_f32(function: str, whole: str = "") -> MakeCalls:
    """The call of ``tinyrt_zip_f32`` with a C function of two floats.

    Args:
        function: the function.
        whole: one of two int32, for ``tinyrt_zip_s32``. The calls raise ``UnsupportedError`` for
            other tensors of integers that stand for no real numbers.

    """

    def make_calls(node: BoundNode, target: Target) -> Calls:
        del target
        a, b, y = node.input(0), node.input(1), node.output
        if whole and y.dtype is DType.INT32:
            shape = Params("tinyrt_broadcast", broadcast_fields(node))
            return (call("tinyrt_zip_s32", shape, Function(whole), a, b, y),)
        if y.dtype is not DType.FLOAT32:
            raise UnsupportedError(
                f"{node.op} has no C kernel for {y.dtype.value} tensors",
                tensor=y.describe(),
                expected="float32, or int8 or int16 with scales",
                hint="compute places and sizes before export, or run the model on the host",
            )
        activation = fused_activation(node)
        params = zip_params(broadcast_fields(node), activation)
        return (call("tinyrt_zip_f32", params, Function(function), a, b, y),)

    return make_calls


def zip_params(shape: Mapping[str, Field], activation: str = "NONE") -> Params:
    """``tinyrt_zip_f32_params``.

    Args:
        shape: ``tinyrt_broadcast`` of both inputs.
        activation: the fused one.

    """
    return Params("tinyrt_zip_f32_params", {"shape": shape, **act_fields(activation)})


def clamp_f32(activation: str) -> MakeCalls:
    """The call of ``tinyrt_clamp_f32`` with the bounds of an activation."""

    def make_calls(node: BoundNode, target: Target) -> Calls:
        del target
        x, y = node.input(0), node.output
        low, high = clamp_of(activation)
        return (call("tinyrt_clamp_f32", y.size, float(low), float(high), x, y),)

    return make_calls


def fold_f32(
    node: BoundNode, function: str, start: float, axes: Sequence[int], divisor: int = 1
) -> Calls:
    """The call of ``tinyrt_fold_f32`` with a C function of two floats.

    Args:
        node: the op.
        function: takes the accumulator and an element, and returns the new accumulator.
        start: initial value of the accumulator.
        axes: the reduced dimensions, counted from the front.
        divisor: divisor of the result.

    """
    x = node.input(0)
    fields: Fields = {
        "axes": reduction_fields(x.shape, axes),
        "start": float(start),
        "divisor": float(divisor),
    }
    params = Params("tinyrt_fold_f32_params", fields)
    return (call("tinyrt_fold_f32", params, Function(function), x, node.output),)
