"""Which layers of a graph have zeros that the exported code could leave out, and what it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyrt.ir import BoundNode, DType, Graph
from tinyrt.ops import OPS
from tinyrt.ops.blocks import BLOCK_SETS, block_of, convolution_block, sparse_costs
from tinyrt.ops.sparse import Cost, Weights, cheapest
from tinyrt.ops.spec import InstructionSet, is_integer
from tinyrt.ops.window import Window

LEAST_ZEROS = 0.25
"""Share of zeros from which on a layer counts as pruned."""


@dataclass(frozen=True, slots=True)
class SparseLayer:
    """A layer with many zeros.

    Attributes:
        index: of the node.
        name: of the node.
        zeros: share of its weights.
        form: how they are stored.
        forms: what each form that they could have takes, the dense one among them; none where the
            instruction set has no sparse kernels.

    """

    index: int
    name: str
    zeros: float
    form: Weights
    forms: Mapping[Weights, Cost]

    @property
    def ratios(self) -> dict[str, tuple[float, float]]:
        """Instructions and bytes of each sparse form, relative to the dense one's."""
        if not self.forms:
            return {}
        dense = self.forms[Weights.DENSE]
        return {
            str(form): (cost.instructions / dense.instructions, cost.nbytes / dense.nbytes)
            for form, cost in self.forms.items()
            if form is not Weights.DENSE
        }

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for ``--json``."""
        ratios = {
            form: {"instructions": round(fast, 3), "bytes": round(least, 3)}
            for form, (fast, least) in self.ratios.items()
        }
        facts = {"index": self.index, "name": self.name, "zeros": round(self.zeros, 3)}
        return {**facts, "stored": str(self.form), "relative_to_dense": ratios}

    def __str__(self) -> str:
        """What is done, and why, for a table of facts."""
        what = f"{self.zeros:.0%} zeros, stored {self.form}"
        if not self.forms:
            return f"{what}: no sparse kernels for this instruction set"
        others = ", ".join(
            f"{form} {fast:.2f}x instructions {least:.2f}x bytes"
            for form, (fast, least) in self.ratios.items()
        )
        return f"{what} ({others or 'no pattern that a kernel knows'})"


def sparse_layers(graph: Graph, isa: InstructionSet, small: bool) -> tuple[SparseLayer, ...]:
    """Dense layers and convolutions with many zeros, in order, and what becomes of them."""
    forms = forms_of(graph, isa)
    found = []
    for node in graph.bound():
        zeros = _zeros(node)
        if zeros >= LEAST_ZEROS:
            own = forms.get(node.index, {})
            form = cheapest(own, small) if own else Weights.DENSE
            found.append(SparseLayer(node.index, node.name, zeros, form, own))
    return tuple(found)


def forms_of(graph: Graph, isa: InstructionSet) -> dict[int, dict[Weights, Cost]]:
    """Node index -> what each form of its weights takes, for layers that have packed kernels."""
    found = {}
    for node in graph.bound():
        if node.op not in ("conv2d", "fully_connected") or not is_integer(node):
            continue
        if isa not in BLOCK_SETS or node.input(0).dtype is not DType.INT8:
            continue
        p = OPS[node.op].form(node).prepare(node)
        window = p.window if node.op == "conv2d" else None
        wanted = (p.x_zp, p.requant, isa)
        if isinstance(window, Window):
            block = convolution_block(node, window, *wanted)
        else:
            block = block_of(node, *wanted)
        if block is not None:
            found[node.index] = sparse_costs(node, block, window, isa)
    return found


def _zeros(node: BoundNode) -> float:
    if node.op not in ("conv2d", "fully_connected") or not is_integer(node):
        return 0.0
    w = node.input(1)
    return 0.0 if w.data is None else float(np.mean(np.asarray(w.data) == 0))
