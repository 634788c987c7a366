"""What a quantised ONNX file takes and answers, beside the integers of tinyrt's graph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.public_answers import HALVES, Array
from tinyrt.ir import Graph, Value
from tinyrt.ops.quantize import quantize_array

ON_INTEGERS = re.compile(r"Quantize|Integer|^QLinear|^QGemm$")
"""Names of ops that compute on integers, or go there and back."""
HALF = 128
"""The difference between a uint8 and the int8 of the same real value."""


@dataclass(frozen=True)
class OnnxTypes:
    """Element types of a file.

    Attributes:
        inputs, outputs: by NumPy's names.
        rules: names of the rules that the file gives rise to.

    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    rules: tuple[str, ...]

    @classmethod
    def of(cls, path: Path) -> OnnxTypes:
        """The types of a file."""
        import onnx

        graph = onnx.load(path, load_external_data=False).graph
        constants = {tensor.name for tensor in graph.initializer}
        inputs = [value for value in graph.input if value.name not in constants]

        def types(values: Sequence[onnx.ValueInfoProto]) -> tuple[str, ...]:
            kinds = (value.type.tensor_type.elem_type for value in values)
            return tuple(onnx.helper.tensor_dtype_to_np_dtype(kind).name for kind in kinds)

        integers = any(ON_INTEGERS.search(node.op_type) for node in graph.node)
        taken, given = types(inputs), types(graph.output)
        stored = {onnx.TensorProto.DataType.Name(tensor.data_type) for tensor in graph.initializer}
        halves = not {*HALVES}.isdisjoint({*stored, *(kind.upper() for kind in taken)})
        found = {"ONNX integers": integers, "16-bit floats": halves}
        return cls(taken, given, tuple(rule for rule, applies in found.items() if applies))

    def in_file(self, graph: Graph, sample: Sequence[Array]) -> list[Array]:
        """What a graph takes, as the file takes it."""
        values = map(graph.value, graph.fed)
        return [_as(x, v, t) for x, v, t in zip(sample, values, self.inputs, strict=True)]

    def in_graph(self, graph: Graph, sample: Sequence[Array]) -> list[Array]:
        """What a file takes, as the graph takes it."""
        values = map(graph.value, graph.fed)
        return [_stored(x, v) for x, v in zip(sample, values, strict=True)]

    def answered(self, graph: Graph, answers: Sequence[Array]) -> list[Array]:
        """What a graph answers, as the file answers it."""
        values = map(graph.value, graph.outputs)
        return [_as(x, v, t) for x, v, t in zip(answers, values, self.outputs, strict=True)]


def _as(x: Array, value: Value, dtype: str) -> Array:
    """A tensor of the graph in a file's element type."""
    if value.q is None:
        return x
    if dtype.startswith("float"):
        return np.asarray(value.q.scale * (x.astype(np.float32) - value.q.zero_point), dtype)
    return (x.astype(np.int16) + HALF).astype(dtype) if dtype == "uint8" else x


def _stored(x: Array, value: Value) -> Array:
    """A tensor of a file in the graph's element type."""
    if value.q is None:
        return x.astype(value.dtype.numpy)
    if x.dtype.kind == "f":
        scale = np.float32(value.q.scale)
        return quantize_array(x.astype(np.float32), scale, value.q.zero_point, value.dtype)
    return (x.astype(np.int16) - HALF).astype(np.int8) if x.dtype == np.uint8 else x
