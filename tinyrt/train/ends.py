"""What a graph in training gives for each output, and whether it takes several samples at once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tinyrt.answering import logits_name
from tinyrt.errors import ShapeError, UnsupportedError
from tinyrt.ir import Graph
from tinyrt.train.batched import batched


def ends_of(graph: Graph) -> tuple[str, ...]:
    """For each output, the value before a final softmax, else itself; see ``logits_name``."""
    return tuple(logits_name(replace(graph, outputs=(name,))) for name in graph.outputs)


def at_ends(graph: Graph) -> Graph:
    """The graph that gives what ``ends_of`` names, for the interpreter."""
    return replace(graph, outputs=tuple(dict.fromkeys(ends_of(graph))))


def mixes_samples(graph: Graph) -> bool:
    """Whether the graph cannot take several samples at once."""
    try:
        batched(graph, 2)
    except ShapeError:
        return True
    return False


def require_one_by_one(graph: Graph, ends: Collection[str]) -> None:
    """Refuse what would be wrong if samples went through one after the other."""
    for node in graph.bound():
        if node.op == "batch_norm":
            raise UnsupportedError(
                "batch norms want the samples of a batch together, but the model moves their axis",
                op=node.describe(),
                expected="a first axis that every op leaves alone",
                hint="train the optimised graph, in which batch norms are folded, or leave the "
                "batch first in the model",
            )
    for name in ends:
        if graph.value(name).shape[:1] != (1,):
            raise UnsupportedError(
                "the model moves the samples' axis away from the front of an output",
                tensor=graph.value(name).describe(),
                expected="(1, ...)",
                hint="give the batch first where the model is exported",
            )


def needed_for(graph: Graph, ends: Collection[str]) -> frozenset[str]:
    """Names of the nodes that lead to these values."""
    wanted, needed = set(ends), []
    for node in reversed(graph.nodes):
        if not wanted.isdisjoint(node.outputs):
            wanted.update(node.inputs)
            needed.append(node.name)
    return frozenset(needed)
