"""What the nodes of an ONNX graph and of its bodies read, and in which order they run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

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
        names.update(_reads(node))
    defined = {value.name for value in graph.input}
    defined.update(tensor.name for tensor in graph.initializer)
    defined.update(name for node in graph.node for name in node.output)
    return names - defined


def in_order(nodes: Sequence[onnx.NodeProto]) -> Sequence[int]:
    """The numbers of nodes so that each stands behind those that it reads.

    ONNX asks for this order and onnxruntime makes it, so there are files without it. Nodes that
    stand in order stay as they are. So do those that read each other in a circle: what reads one of
    them finds it undefined.
    """
    makers = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    before = {i: [makers[n] for n in _reads(node) if n in makers] for i, node in enumerate(nodes)}
    numbers = range(len(nodes))
    if all(first < i for i, makes in before.items() for first in makes):
        return numbers
    try:
        return tuple(TopologicalSorter(before).static_order())
    except CycleError:
        return numbers


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    yield from node.input
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield from captured(attribute.g)
