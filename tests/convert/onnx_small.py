"""Small ONNX models of one layer or loop, whose attributes may be wrong."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

from tests.convert.onnx_build import FLOAT, OnnxModel

I64, BOOL = onnx.TensorProto.INT64, onnx.TensorProto.BOOL
NAN = float("nan")


def at(m: OnnxModel, opset: int) -> OnnxModel:
    """The model in another operator set."""
    m.opset = opset
    return m


def untyped(nodes, inputs, outputs):
    """A graph of nodes (op, inputs, outputs), whose values have no shapes."""
    made = [helper.make_node(op, i, o) for op, i, o in nodes]
    infos = [
        [helper.make_tensor_value_info(n, FLOAT, None) for n in ns] for ns in (inputs, outputs)
    ]
    return helper.make_graph(made, "body", *infos)


def lstm(m, x="", r=(1, 8, 2), h0=None, peepholes=None, **attrs):
    inputs = [x or m.input(3, 1, 4), m.weights(1, 8, 4), m.weights(*r), "", ""]
    inputs += [m.weights(*h0) if h0 else "", "", m.weights(*peepholes) if peepholes else ""]
    return m.op("LSTM", *inputs, outputs=3, hidden_size=2, **attrs)


def quantised(m, x, scale=0.1, **attrs):
    return m.op("QuantizeLinear", x, m.const(scale), m.const(3, np.uint8), **attrs)


def dequantised(m, q):
    return m.op("DequantizeLinear", q, m.const(0.1), m.const(3, np.uint8))


def conv(m, *shape, w=(3, 2, 3, 3), **attrs):
    return m.op("Conv", m.input(*(shape or (1, 2, 6, 6))), m.weights(*w), **attrs)


def pool(m, op="MaxPool", **attrs):
    return m.op(op, m.input(1, 2, 6, 6), **({"kernel_shape": [2, 2]} | attrs))


def up(m, w=(2, 3, 3, 3), **attrs):
    return m.op("ConvTranspose", m.input(1, 2, 6, 6), m.weights(*w), **attrs)


def resize(m, scales=None, sizes=None, roi=None, **attrs):
    inputs = [m.input(1, 2, 4, 4), m.const(roi) if roi else ""]
    inputs.append("" if scales is None else m.const(scales))
    return m.op("Resize", *inputs, *([m.ints(*sizes)] if sizes else []), **attrs)


def loop(m, count, nodes, outputs, state=()):
    """A loop on a state that may go on; nodes compute d, whether it does, and other outputs."""
    graph = untyped(nodes, ["i", "c", *(f"s{k}" for k in range(len(state)))], ["d", *outputs])
    always = m.const(True, bool)
    trips = m.const(count, np.int64)
    return m.op("Loop", trips, always, *state, body=graph, outputs=len(outputs))


GOES_ON = ("Identity", ["c"], ["d"])


def scan(m, *operands, node=("Relu", ["e"], ["y"]), takes=("e",), gives=("y",), count=1):
    graph = untyped([node], takes, gives)
    return m.op("Scan", *operands, body=graph, num_scan_inputs=count)


RELU = untyped([("Relu", ["x"], ["y"])], [], ["y"])


def branch(m, condition, then=RELU, otherwise=RELU):
    return m.op("If", condition, then_branch=then, else_branch=otherwise)
