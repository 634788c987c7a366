"""Live ranges: the steps over which each buffer must be kept."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tinyrt.ir import Graph
from tinyrt.memory.kernels import Kernels
from tinyrt.text import own_name


@dataclass(frozen=True, slots=True)
class Buffer:
    """Bytes that the arena must hold over a span of steps.

    Attributes:
        names: the values that lie in it (more than one where an op's output is a view).
        nbytes: its size.
        first: the step that writes it; -1 for model inputs, written before the first step.
        last: the last step that reads it; the number of steps for model outputs.

    """

    names: tuple[str, ...]
    nbytes: int
    first: int
    last: int

    def alive_with(self, other: Buffer) -> bool:
        """Whether both live ranges have a step in common."""
        return self.first <= other.last and other.first <= self.last


def scratch_name(index: int) -> str:
    """The name under which node ``index``'s scratch memory appears in a plan."""
    return own_name(f"scratch#{index}")


def view_roots(graph: Graph) -> dict[str, str]:
    """View -> the value whose bytes it shares.

    A reshape's output is a view of its input, unless it is a model output (which may lie outside
    the arena) or a view of a constant.
    """
    roots: dict[str, str] = {}
    for node in graph.nodes:
        if node.op != "reshape" or node.output in graph.outputs:
            continue
        if not graph.value(node.inputs[0]).is_constant:
            roots[node.output] = roots.get(node.inputs[0], node.inputs[0])
    return roots


def outside_of(graph: Graph, names: Collection[str]) -> frozenset[str]:
    """Those of these values that are computed or fed, and all views of them."""
    roots = view_roots(graph)
    values = graph.values.items()
    return frozenset(n for n, v in values if not v.is_constant and roots.get(n, n) in names)


def buffers(
    graph: Graph,
    kernels: Kernels,
    outside: Collection[str] = (),
) -> list[Buffer]:
    """Every buffer of the arena: activations, model inputs and outputs, and scratch memory.

    Args:
        graph: the model.
        kernels: the target's; the result includes their scratch memory.
        outside: model inputs and outputs with memory outside the arena.

    """
    roots = view_roots(graph)
    end = len(graph.nodes)
    first = dict.fromkeys(graph.inputs, -1)
    last = dict.fromkeys(graph.inputs, -1)
    members: dict[str, list[str]] = {name: [name] for name in graph.inputs}
    for i, node in enumerate(graph.nodes):
        for name in node.outputs:
            root = roots.get(name, name)
            members.setdefault(root, []).append(name)
            first.setdefault(root, i)
            last[root] = i
        for name in node.inputs:
            root = roots.get(name, name)
            if root in last:
                last[root] = i
    for name in graph.outputs:  # none of them is a view
        if name in last:
            last[name] = end
    result = [
        Buffer(tuple(names), graph.value(root).nbytes, first[root], last[root])
        for root, names in members.items()
        if root not in outside
    ]
    for bound in graph.bound():
        nbytes = kernels.scratch_bytes(bound)
        if nbytes:
            result.append(Buffer((scratch_name(bound.index),), nbytes, bound.index, bound.index))
    return result
