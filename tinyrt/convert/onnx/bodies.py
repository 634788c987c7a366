"""The outer values that the bodies inside an ONNX graph read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx

from tinyrt.convert.onnx.proto import OnnxNode
from tinyrt.errors import UnsupportedError


def check_dense(graph: onnx.GraphProto, nodes: Iterable[onnx.NodeProto]) -> None:
    """Raise ``UnsupportedError`` where nodes read sparse constants."""
    read = {name for node in nodes for name in node.input}
    for sparse in graph.sparse_initializer:
        if sparse.values.name in read:
            raise UnsupportedError(
                f"the constant '{sparse.values.name}' is sparse",
                expected="dense constants",
                hint="export the model with dense weights",
            )


def reads(node: OnnxNode) -> Iterator[str]:
    """Names that the node reads: its inputs, and what its bodies take from around them."""
    yield from node.inputs
    for attribute in node.attributes.values():
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield from captured(attribute.g)


def captured(graph: onnx.GraphProto) -> set[str]:
    """Names that a body reads and does not define; protobuf bounds how deep bodies lie."""
    names = {output.name for output in graph.output}
    for node in graph.node:
        names.update(node.input)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                names |= captured(attribute.g)
    defined = {value.name for value in graph.input}
    defined.update(tensor.name for tensor in graph.initializer)
    defined.update(name for node in graph.node for name in node.output)
    return names - defined
