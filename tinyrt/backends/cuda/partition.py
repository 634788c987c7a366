"""Which ops of a model run on the GPU, and which on the CPU between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tinyrt.backends.cuda.choice import emitter_of
from tinyrt.ir import BoundNode, Graph

GPU, CPU = "gpu", "cpu"


@dataclass(frozen=True, slots=True)
class DeviceSegment:
    """Ops in a row that run in one place.

    Attributes:
        device: ``gpu`` or ``cpu``.
        nodes: their indices in the graph.
        ops: their names.

    """

    device: str
    nodes: tuple[int, ...]
    ops: tuple[str, ...]

    def describe(self) -> str:
        """``gpu: #0 to #3 (conv2d, add)``."""
        first, last = self.nodes[0], self.nodes[-1]
        where = f"#{first}" if first == last else f"#{first} to #{last}"
        return f"{self.device}: {where} ({', '.join(dict.fromkeys(self.ops))})"

    def as_dict(self) -> dict[str, object]:
        """The same for ``--json``."""
        return {"device": self.device, "nodes": list(self.nodes), "ops": list(self.ops)}


def segments_of(graph: Graph) -> tuple[DeviceSegment, ...]:
    """The graph's ops in order, by where they can run."""
    return tuple(
        DeviceSegment(device, tuple(n.index for n in nodes), tuple(n.op for n in nodes))
        for device, group in groupby(graph.bound(), key=_device_of)
        for nodes in (list(group),)
    )


def _device_of(node: BoundNode) -> str:
    return CPU if emitter_of(node) is None else GPU


def subgraph(graph: Graph, nodes: Sequence[int]) -> Graph:
    """These nodes as a graph of their own; its ports are the tensors shared with other nodes."""
    inside = [graph.nodes[i] for i in nodes]
    outputs_inside = {name for node in inside for name in node.outputs}
    read = dict.fromkeys(name for node in inside for name in node.inputs if name)
    others = {
        name for i, node in enumerate(graph.nodes) if i not in set(nodes) for name in node.inputs
    }
    inputs = tuple(n for n in read if n not in outputs_inside and not graph.value(n).is_constant)
    outputs = tuple(n for n in outputs_inside if n in others or n in graph.outputs)
    values = {n: graph.value(n) for n in (*read, *outputs_inside)}
    ordered = tuple(n for node in inside for n in node.outputs if n in outputs)
    return replace(
        graph, inputs=inputs, outputs=ordered, values=values, nodes=tuple(inside), states=()
    )
