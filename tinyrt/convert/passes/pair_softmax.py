"""Softmax of pairs that do not lie side by side: where they are, without moving them."""

from __future__ import annotations

from dataclasses import replace

from tinyrt.convert.passes.common import Names, producer
from tinyrt.ir import Graph, Node, Patch, Refusal, Rule
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.transpose import TransposeAttrs


def pair_softmax(graph: Graph, node: Node) -> Patch | Refusal | None:
    """softmax(transpose((a, b))) = transpose(logistic((a, b) - (b, a))), for pairs apart."""
    turn = producer(graph, node, op="transpose")
    if turn is None or graph.value(node.output).shape[-1] != 2:
        return None
    perm, source = turn.attrs_as(TransposeAttrs).perm, graph.value(turn.inputs[0])
    axis, output = perm[-1], graph.value(node.output)
    readers = graph.consumers(output.name)
    if axis == len(perm) - 1 or not all(n.op == "transpose" for n in readers):
        return Refusal(node.name, "its pairs are to lie side by side")
    if node.attrs != SoftmaxAttrs() or output.name in graph.outputs:
        return Refusal(node.name, "it scales its input, or is the model's own")
    names = Names(graph)
    swapped, apart, share = (
        replace(source, name=names.new(f"{output.name}.{what}"))
        for what in ("swapped", "apart", "share")
    )
    swap = GatherAttrs(axis, (1, 0), (2,))
    nodes = (
        Node("gather", swapped.name, (source.name,), (swapped.name,), swap),
        Node("sub", apart.name, (source.name, swapped.name), (apart.name,), AddAttrs()),
        Node("logistic", share.name, (apart.name,), (share.name,), NoAttrs()),
        Node("transpose", node.name, (share.name,), node.outputs, TransposeAttrs(perm)),
    )
    return Patch(remove=(node,), add=nodes, values=(swapped, apart, share))


PAIR_SOFTMAX = Rule("pair_softmax", ("softmax",), pair_softmax)
