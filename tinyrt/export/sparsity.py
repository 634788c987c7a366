"""Layers with zeros that the exported code could leave out, and how it stores their weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.kernel import Target
from tinyrt.backends.c.weights import Cost, Stored, Weights
from tinyrt.ir import BoundNode, Graph
from tinyrt.ops import OPS
from tinyrt.ops.shared.spec import is_integer

MIN_ZEROS = 0.25
"""Share of zeros from which on a layer counts as pruned."""


@dataclass(frozen=True, slots=True)
class SparseLayer:
    """A layer with many zeros.

    Attributes:
        index: the node's index.
        name: the node's name.
        zeros: share of its weights that are zero.
        form: how the weights are stored.
        forms: the cost of each possible form, including the dense one; none where no sparse kernel
            takes such a layer.

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
        """The stored form and the reason for it, for a table of facts."""
        what = f"{self.zeros:.0%} zeros, stored {self.form}"
        if not self.forms:
            return f"{what}: no sparse kernel takes such a layer"
        others = ", ".join(
            f"{form} {fast:.2f}x instructions {least:.2f}x bytes"
            for form, (fast, least) in self.ratios.items()
        )
        return f"{what} ({others or 'no pattern that a kernel knows'})"


def sparse_layers(graph: Graph, target: Target) -> tuple[SparseLayer, ...]:
    """Dense layers and convolutions with many zeros, in order, with their stored forms."""
    layers = []
    for node in graph.bound():
        zeros = _zeros(node)
        if zeros >= MIN_ZEROS:
            stored = choose(node, target).stored or Stored(Weights.DENSE, {})
            layers.append(SparseLayer(node.index, node.name, zeros, stored.form, stored.forms))
    return tuple(layers)


def _zeros(node: BoundNode) -> float:
    if not OPS[node.op].traits.skips_zeros or not is_integer(node):
        return 0.0
    w = node.input(1)
    return 0.0 if w.data is None else float(np.mean(np.asarray(w.data) == 0))
