"""Each pass on graphs that are nearly those of its example: it keeps their results.

In a neighbour of an example, a value between its ops is an output, too, or read by another op; or
an op reads one of its operands twice, or two of them the other way round.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from tests.passes.examples import EXAMPLES_OF
from tests.passes.test_every_pass import BEFORE, RULES, applied, made
from tinyrt.errors import TinyrtError
from tinyrt.ir import Graph, Node, Value
from tinyrt.ops import OPS, verify
from tinyrt.ops.shared.spec import NoAttrs


def shown(graph: Graph, name: str) -> Graph:
    """The value is an output, too."""
    return replace(graph, outputs=(*graph.outputs, name))


def read_again(graph: Graph, name: str) -> Graph:
    """Another op reads the value, at the end."""
    y = replace(graph.value(name), name="read_again")
    reader = Node("abs", "read_again", (name,), ("read_again",), NoAttrs())
    more = graph.with_nodes((*graph.nodes, reader), [y])
    return replace(more, outputs=(*graph.outputs, "read_again"))


def with_inputs(graph: Graph, node: Node, inputs: tuple[str, ...]) -> Graph | None:
    """The node with other inputs, and the shapes that follow; None where some op refuses them."""
    values, nodes = dict(graph.values), []
    for each in graph.nodes:
        new = replace(each, inputs=inputs) if each is node else each
        types = [values[n].type if n else None for n in new.inputs]
        try:
            inferred = OPS[new.op].infer(new.attrs, types)
        except TinyrtError:
            return None
        for name, type_ in zip(new.outputs, inferred, strict=True):
            values[name] = replace(values[name], dtype=type_.dtype, shape=type_.shape)
        nodes.append(new)
    return replace(graph, values=values, nodes=tuple(nodes))


def is_number(value: Value) -> bool:
    return value.dtype.numpy == np.float32


def of_values(graph: Graph) -> Iterator[Graph]:
    for node in graph.nodes:
        for name in node.outputs:
            if name not in graph.outputs:
                yield shown(graph, name)
            if is_number(graph.value(name)):
                yield read_again(graph, name)


def of_operands(graph: Graph) -> Iterator[Graph]:
    for node in graph.nodes:
        for i, j in combinations(range(len(node.inputs)), 2):
            first, second = node.inputs[i], node.inputs[j]
            if "" in (first, second):
                continue
            for pair in ((first, first), (second, second), (second, first)):
                inputs = list(node.inputs)
                inputs[i], inputs[j] = pair
                if (neighbour := with_inputs(graph, node, tuple(inputs))) is not None:
                    yield neighbour


@pytest.mark.parametrize("name", EXAMPLES_OF)
@pytest.mark.parametrize("neighbours", [of_values, of_operands])
def test_results_of_its_examples_neighbours_stay(neighbours, name):
    rules = [RULES[other] for other in BEFORE.get(name, ())]
    for graph in neighbours(made(name, EXAMPLES_OF[name].fires)):
        applied(verify(graph), *rules, RULES[name])
