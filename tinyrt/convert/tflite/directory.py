"""The tensors and signatures of a .tflite file, by the file's own indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.budget import OP, current
from tinyrt.errors import ModelFormatError
from tinyrt.ir import Graph, Shape, Value

PORT = 1000
"""Work and bytes of one argument of an op or a signature."""


@dataclass(frozen=True, slots=True, eq=False)
class TensorEntry:
    """One tensor of the file.

    Attributes:
        name: as the file has it; several tensors may have the same one.
        value: the tensor under its unique name in the graph.
        shape_signature: the shape with -1 for dimensions that the author left open.
        scales: float32, empty where the tensor is not quantised.
        zero_points: int32, one per scale.
        quantized_dimension: the dimension that the scales belong to.

    """

    name: str
    value: Value
    shape_signature: Shape
    scales: NDArray[np.float32]
    zero_points: NDArray[np.int32]
    quantized_dimension: int


@dataclass(frozen=True, slots=True)
class Signature:
    """A named way to call the model: argument and result names -> tensor numbers.

    Attributes:
        inputs: of arguments.
        outputs: of results.
        subgraph: whose tensors these are.

    """

    inputs: dict[str, int]
    outputs: dict[str, int]
    subgraph: int = 0


@dataclass(frozen=True, slots=True)
class Directory:
    """Tensors by number, signatures by key."""

    tensors: tuple[TensorEntry, ...]
    signatures: dict[str, Signature] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: Graph) -> Directory:
        """The directory of a graph that comes from no file: values in the graph's order."""
        return cls(tuple(_entry_of(value) for value in graph.values.values()))


def read_directory(model: Any, graph: Any, values: Sequence[Value]) -> Directory:
    """The directory of a parsed file.

    Args:
        model: the file's root table.
        graph: the subgraph that is read.
        values: the subgraph's tensors, by number.

    Raises:
        ModelFormatError: a signature names a tensor or a subgraph that is not there.

    """
    entries = tuple(_entry(graph.Tensors(i), value) for i, value in enumerate(values))
    signatures, budget = {}, current()
    for i in range(model.SignatureDefsLength()):
        signature = model.SignatureDefs(i)
        ports = signature.InputsLength() + signature.OutputsLength()
        budget.spend(OP + OP // 2 * ports, "reading signatures")
        budget.hold(PORT * (1 + ports), "signatures")
        key = (signature.SignatureKey() or b"").decode()
        inputs = [signature.Inputs(j) for j in range(signature.InputsLength())]
        outputs = [signature.Outputs(j) for j in range(signature.OutputsLength())]
        subgraph = int(signature.SubgraphIndex())
        if not 0 <= subgraph < model.SubgraphsLength():
            raise ModelFormatError(
                f"signature '{key}' is subgraph {subgraph} of {model.SubgraphsLength()}",
                expected=f"0 to {model.SubgraphsLength() - 1}",
            )
        count = model.Subgraphs(subgraph).TensorsLength()
        signatures[key] = Signature(_ports(inputs, count), _ports(outputs, count), subgraph)
    return Directory(entries, signatures)


def _ports(maps: Sequence[Any], count: int) -> dict[str, int]:
    ports = {(m.Name() or b"").decode(): int(m.TensorIndex()) for m in maps}
    for name, index in ports.items():
        if index >= count:
            raise ModelFormatError(
                f"signature argument '{name}' is tensor {index} of {count}",
                expected=f"0 to {count - 1}",
            )
    return dict(sorted(ports.items()))


def _entry(tensor: Any, value: Value) -> TensorEntry:
    q = tensor.Quantization()
    quantized = q is not None and q.ScaleLength() > 0
    count = q.ScaleLength() if quantized else 0
    given = q.ZeroPointAsNumpy() if quantized and q.ZeroPointLength() else np.zeros(1)
    return TensorEntry(
        name=(tensor.Name() or b"").decode(),
        value=value,
        shape_signature=signature_of(tensor, value),
        scales=np.array(q.ScaleAsNumpy() if quantized else (), np.float32),
        zero_points=np.array(np.broadcast_to(given, count), np.int32),
        quantized_dimension=int(q.QuantizedDimension()) if quantized else 0,
    )


def signature_of(tensor: Any, value: Value) -> Shape:
    """The tensor's shape, with -1 for dimensions that the author left open."""
    if tensor.ShapeSignatureLength() != len(value.shape) or not value.shape:
        return value.shape
    return tuple(int(n) for n in tensor.ShapeSignatureAsNumpy())


def _entry_of(value: Value) -> TensorEntry:
    q = value.q
    return TensorEntry(
        name=value.name,
        value=value,
        shape_signature=value.shape,
        scales=np.array(q.scales if q else (), np.float32),
        zero_points=np.full(len(q.scales) if q else 0, q.zero_point if q else 0, np.int32),
        quantized_dimension=(q.axis or 0) if q else 0,
    )
