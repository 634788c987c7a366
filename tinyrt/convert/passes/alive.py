"""How many bytes an order of ops keeps alive at once."""

from __future__ import annotations

from collections.abc import Sequence

from tinyrt.ir import Graph, Node, Value


def most_alive(graph: Graph, nodes: Sequence[Node], new_values: Sequence[Value] = ()) -> int:
    """The most bytes of activations that are alive at once, where ops run in that order.

    A reshape shares the bytes of what it reads. The planner finds better orders and more to share:
    this compares two graphs.

    Args:
        graph: has the inputs, the outputs and the values.
        nodes: in order; the graph's own or others.
        new_values: of nodes that the graph does not have.

    """
    new = {value.name: value for value in new_values}
    owner: dict[str, str] = {}
    for node in nodes:
        if node.op == "reshape":
            owner[node.output] = owner.get(node.inputs[0], node.inputs[0])
    last = {owner.get(name, name): i for i, node in enumerate(nodes) for name in node.inputs}
    last |= {owner.get(output.name, output.name): len(nodes) for output in graph.output_values}
    ends: dict[int, list[str]] = {}
    for name, i in last.items():
        ends.setdefault(i, []).append(name)
    bytes_of = {value.name: value.nbytes for value in graph.input_values}
    alive = most = sum(bytes_of.values())
    for i, node in enumerate(nodes):
        for value in (new.get(name) or graph.value(name) for name in node.outputs):
            if value.name not in owner:
                bytes_of[value.name] = value.nbytes
                alive += value.nbytes
        most = max(most, alive)
        gone = {*ends.get(i, ()), *(name for name in node.outputs if name not in last)}
        alive -= sum(bytes_of.pop(name, 0) for name in gone)
    return most
