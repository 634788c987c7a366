"""Ops with several outputs stay as long as anything reads one of them."""

from dataclasses import replace

import pytest

from tests.graphs import lstm_net
from tests.passes.run import ops
from tests.passes.test_every_pass import RULES, applied
from tinyrt.convert.passes.prune import REMOVE_DEAD
from tinyrt.ir import Graph, Node
from tinyrt.ops.shared.spec import NoAttrs

OP = "unidirectional_sequence_lstm"


def lstms(*outputs: str, count: int = 1) -> Graph:
    """LSTMs that compute the same, the negative of each of their outputs, and what is given.

    They give ``all.0``, ``hidden.0``, ``cell.0``, ``all.1``, ...; negatives have ``-`` in front.
    """
    graph = lstm_net()
    (node,) = graph.nodes
    values, nodes = {n: graph.value(n) for n in node.inputs if n}, []
    for i in range(count):
        names = tuple(f"{name}.{i}" for name in node.outputs)
        nodes.append(replace(node, name=names[0], outputs=names))
        for name, old in zip(names, node.outputs, strict=True):
            for new in (name, f"-{name}"):
                values[new] = replace(graph.value(old), name=new)
            nodes.append(Node("neg", f"-{name}", (name,), (f"-{name}",), NoAttrs()))
    return Graph("g", graph.inputs, outputs, values, tuple(nodes))


@pytest.mark.parametrize("read", ["all.0", "hidden.0", "cell.0", "-all.0", "-hidden.0", "-cell.0"])
def test_a_node_is_dead_where_none_of_its_outputs_is_read(read):
    after, _ = applied(lstms(read), REMOVE_DEAD)
    assert ops(after) == [OP] + ["neg"] * read.startswith("-")


@pytest.mark.parametrize("inner", ["-all.1", "-hidden.1", "-cell.1"])
@pytest.mark.parametrize(
    ("given", "left"), [("all.1", 2), ("hidden.1", 2), ("cell.1", 2), ("-all.1", 1)]
)
def test_twins_are_one_where_the_model_gives_none_of_their_outputs(given, left, inner):
    """Names of the model's outputs stay, and a node has all of its own."""
    graph = lstms("-all.0", "-hidden.0", "-cell.0", given, inner, count=2)
    after, log = applied(graph, RULES["merge_duplicates"], REMOVE_DEAD)
    assert after.outputs == graph.outputs
    assert ops(after).count(OP) == left
    reasons = {node: reason for (_, node), reason in log.final_refusals().items()}
    assert ("it has other outputs, too" in reasons.values()) is (left == 2)
