"""What remains of uint8 in files that were converted from it: two entries of their metadata.

LiteRT's kernels for uint8 have an arithmetic of their own. One entry names the weights whose scale
and the input's have a product in float32, the other one the results of layers that are rounded as
there. Other interpreters know neither, and few of their answers differ, by one step.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tinyrt.convert.tflite.metadata import read_entry
from tinyrt.convert.unsigned import LEGACY
from tinyrt.errors import ModelFormatError
from tinyrt.ir import BoundNode, DType, Graph, Node, Value

PRODUCTS = "tinyrt.float32_products"
"""Name of the entry: a JSON list of the weights' names."""


LEGACY_RESULTS = "tinyrt.uint8_rounding"
"""Name of the entry: a JSON list of the names of the results that are rounded as on uint8."""


def products_entry(graph: Graph) -> dict[str, bytes]:
    """The metadata of a file that is written from the graph; empty where it has no such weights."""
    names = [v.name for v in graph.values.values() if v.q is not None and v.q.product_f32]
    return {PRODUCTS: json.dumps(names).encode()} if names else {}


def with_products(model: Any, values: list[Value], subgraph: int) -> list[Value]:
    """The tensors of a file, those of them marked that its metadata name.

    Args:
        model: the file's root table.
        values: tensors of one of its subgraphs.
        subgraph: which one; the entry is about the first.

    Raises:
        ModelFormatError: the entry is not what it should be.

    """
    names = _listed(model, PRODUCTS, subgraph)
    scaled = {value.name for value in values if value.q is not None}
    if not names <= scaled:
        raise ModelFormatError(
            f"metadata '{PRODUCTS}' names '{min(names - scaled)}'",
            expected="tensors of the model that have scales",
        )
    return [_marked(value) if value.name in names else value for value in values]


def legacy_entry(graph: Graph) -> dict[str, bytes]:
    """The metadata of a file that is written from the graph; empty where it has no such layers."""
    names = [n.outputs[0] for n in graph.nodes if n.op in LEGACY and _attrs(n).legacy]
    return {LEGACY_RESULTS: json.dumps(names).encode()} if names else {}


def with_legacy(model: Any, graph: Graph, subgraph: int) -> Graph:
    """The graph of a file, those of its layers marked whose results its metadata names.

    Args:
        model: the file's root table.
        graph: one of its subgraphs.
        subgraph: which one; the entry is about the first.

    Raises:
        ModelFormatError: the entry is not what it should be.

    """
    names = _listed(model, LEGACY_RESULTS, subgraph)
    fitting = {n.output.name for n in graph.bound() if n.op in LEGACY and _is_int8(n)}
    if not names <= fitting:
        raise ModelFormatError(
            f"metadata '{LEGACY_RESULTS}' names '{min(names - fitting)}'",
            expected=f"int8 results of {', '.join(LEGACY)}",
        )
    nodes = (
        replace(n, attrs=replace(_attrs(n), legacy=True)) if n.outputs[0] in names else n
        for n in graph.nodes
    )
    return replace(graph, nodes=tuple(nodes)) if names else graph


def _is_int8(node: BoundNode) -> bool:
    """Whether the node reads and makes int8 with a scale."""
    return all(v.dtype is DType.INT8 and v.q is not None for v in (node.input(0), node.output))


def _attrs(node: Node) -> Any:
    return node.attrs


def _listed(model: Any, entry: str, subgraph: int) -> set[str]:
    """The names that an entry of the first subgraph lists; none where there is no such entry."""
    data = None if subgraph else read_entry(model, entry)
    try:
        return {str(name) for name in json.loads(data or b"[]")}
    except (ValueError, TypeError) as error:
        raise ModelFormatError(
            f"metadata '{entry}' is not a list of names: {error}",
            expected='["NAME", ...] in JSON',
        ) from error


def _marked(value: Value) -> Value:
    assert value.q is not None, "only tensors with scales are named"
    return replace(value, q=replace(value.q, product_f32=True))
