"""The ReLU family, leaky_relu and prelu, where no other op could absorb them."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from tinyrt.backends.c.chooser import Choosers, always
from tinyrt.backends.c.floats import clamp_f32, zip_f32, zip_params
from tinyrt.backends.c.kernel import Calls, Data, Fields, Function, Params, Target, call
from tinyrt.backends.c.rescale import rescale_calls
from tinyrt.fixedpoint import INT16_MAX, INT16_MIN
from tinyrt.ir import BoundNode
from tinyrt.memory.sweep import elementwise
from tinyrt.ops import prepared
from tinyrt.ops.leaky_relu import LeakyReluAttrs, LeakyReluS16
from tinyrt.ops.prelu import PreluS8
from tinyrt.ops.relu import ClampS16
from tinyrt.ops.shared.spec import Form
from tinyrt.ops.shared.walks import broadcast_fields


def relu_s16_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_rescale_s16``."""
    del target
    p = prepared(node, ClampS16)
    return rescale_calls(node, (p.act_min, p.act_max), (p.mult, p.shift))


def leaky_relu_s16_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_rescale_s16``, with a multiplier for each side."""
    del target
    p = prepared(node, LeakyReluS16)
    below = (p.neg_mult, p.neg_shift)
    return rescale_calls(node, (INT16_MIN, INT16_MAX), (p.mult, p.shift), below)


def leaky_relu_f32_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_zip_f32``: prelu with one slope for all."""
    del target
    x, y = node.input(0), node.output
    params = zip_params({"rank": 1, "dims": [x.size], "a_strides": [1], "b_strides": [0]})
    alpha = Data("alpha", np.array([node.attrs_as(LeakyReluAttrs).alpha], np.float32), "float")
    return (call("tinyrt_zip_f32", params, Function("tinyrt_preluf"), x, alpha, y),)


def prelu_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_prelu_s8``."""
    del target
    fields: Fields = {"shape": broadcast_fields(node), **asdict(prepared(node, PreluS8))}
    params = Params("tinyrt_prelu_s8_params", fields)
    return (call("tinyrt_prelu_s8", params, *node.inputs, node.output),)


KERNELS: Choosers = {
    "leaky_relu": {
        Form.INT16X8: always(leaky_relu_s16_calls, elementwise),
        Form.FLOAT: always(leaky_relu_f32_calls, elementwise),
    },
    "prelu": {
        Form.INT8: always(prelu_calls, elementwise),
        Form.FLOAT: always(zip_f32("tinyrt_preluf"), elementwise),
    },
    "relu": {
        Form.INT16X8: always(relu_s16_calls, elementwise),
        Form.FLOAT: always(clamp_f32("RELU"), elementwise),
    },
    "relu6": {
        Form.INT16X8: always(relu_s16_calls, elementwise),
        Form.FLOAT: always(clamp_f32("RELU6"), elementwise),
    },
    "relu_0_to_1": {
        Form.FLOAT: always(clamp_f32("RELU_0_TO_1"), elementwise),
    },
    "relu_n1_to_1": {
        Form.FLOAT: always(clamp_f32("RELU_N1_TO_1"), elementwise),
    },
}
