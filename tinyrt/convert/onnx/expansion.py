"""How the nodes are made that an ONNX op stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from tinyrt.convert.onnx.proto import OnnxNode

MICROSOFT = "com.microsoft"
"""The domain of the ops that onnxruntime adds."""

WINDOW = (
    *("auto_pad", "ceil_mode", "count_include_pad", "dilations", "group", "kernel_shape"),
    *("pads", "strides"),
)
"""Attributes of ops with a window."""


def stands_for(op: str, inputs: Sequence[str], output: str, **attrs: Any) -> onnx.NodeProto:
    """A node of one output, by which it is called."""
    return helper.make_node(op, list(inputs), [output], name=output, **attrs)


class Expansion:
    """The nodes that an op stands for, with its own inputs and attributes."""

    def __init__(self, node: OnnxNode) -> None:
        self.node = node
        self.nodes: list[onnx.NodeProto] = []

    def name(self, i: int) -> str:
        """The name of input ``i``, empty where it is absent."""
        return self.node.inputs[i] if i < len(self.node.inputs) else ""

    def real(self, i: int, axis: int = 0, names: Sequence[str] = ()) -> str:
        """Input ``i``, whose scale and zero point follow it, as real numbers."""
        x, scale, zero_point = names or (self.name(i), self.name(i + 1), self.name(i + 2))
        output = f"{self.node.outputs[0]}/real{i}"
        self.nodes.append(stands_for("DequantizeLinear", (x, scale, zero_point), output, axis=axis))
        return output

    def bias(self, i: int, x_scale: str, w_scale: str) -> str:
        """Input ``i``, integers in steps of the product of both scales; empty where absent."""
        if not self.name(i):
            return ""
        product = f"{self.node.outputs[0]}/bias_scale"
        self.nodes.append(stands_for("Mul", (x_scale, w_scale), product))
        return self.real(i, names=(self.name(i), product, ""))

    def ones(self, i: int) -> str:
        """A scale of 1 for each zero point, input ``i``, or one where that is absent."""
        output = f"{self.node.outputs[0]}/ones{i}"
        if not self.name(i):
            self.nodes.append(stands_for("Constant", (), output, value_float=1.0))
            return output
        self.nodes.append(stands_for("Shape", (self.name(i),), f"{output}/shape"))
        one = helper.make_tensor("one", onnx.TensorProto.FLOAT, [1], [1.0])
        self.nodes.append(stands_for("ConstantOfShape", (f"{output}/shape",), output, value=one))
        return output

    def constant(self, data: NDArray[np.generic]) -> str:
        """A constant; its name."""
        output = self._free("constant")
        value = numpy_helper.from_array(np.asarray(data), output)
        self.nodes.append(stands_for("Constant", (), output, value=value))
        return output

    def number(self, number: float) -> str:
        """A constant of one number; its name."""
        return self.constant(np.array(number, np.float32))

    def split(self, x: str, sizes: Sequence[int]) -> list[str]:
        """Parts of the last dimension; their names."""
        outputs = [f"{self.node.outputs[0]}/part{len(self.nodes)}.{i}" for i in range(len(sizes))]
        lengths = self.constant(np.asarray(sizes, np.int64))
        self.nodes.append(helper.make_node("Split", [x, lengths], outputs, outputs[0], axis=-1))
        return outputs

    def _free(self, op: str) -> str:
        """A name that no node has yet."""
        name = f"{self.node.outputs[0]}/{op}"
        taken = any(node.name == name for node in self.nodes)
        return f"{name}{len(self.nodes)}" if taken else name

    def op(self, op: str, inputs: Sequence[str], keep: Sequence[str] = (), **attrs: Any) -> str:
        """A float op with the attributes named in ``keep``; its output's name."""
        output = self._free(op)
        proto = stands_for(op, inputs, output, **attrs)
        for name in keep:
            if name in self.node.attributes:
                proto.attribute.append(self.node.attributes[name])
        self.nodes.append(proto)
        return output

    def quantized(self, x: str, scale: int) -> list[onnx.NodeProto]:
        """All nodes, the last of which brings ``x`` to the scale, input number ``scale``."""
        inputs = (x, self.name(scale), self.name(scale + 1))
        return [*self.nodes, stands_for("QuantizeLinear", inputs, self.node.outputs[0])]

    def ended(self) -> list[onnx.NodeProto]:
        """All nodes, the last of which has the op's own output."""
        self.nodes[-1].output[0] = self.node.outputs[0]
        return self.nodes
