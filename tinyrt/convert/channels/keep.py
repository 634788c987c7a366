"""Which channels stay: those that an output of the model depends on, and those tied to them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tinyrt.convert.channels.layers import (
    fits,
    foldable,
    folded_bias,
    has_constants,
    is_layer,
    read,
)
from tinyrt.convert.channels.links import Kept, Link, links
from tinyrt.convert.values.interval import Bounds
from tinyrt.ir import BoundNode, Graph, Refusal
from tinyrt.ops.depthwise_conv2d import DEPTHWISE_CONV2D

MULTIPLE = 4
"""Channels that kernels take at once: a tensor keeps as many as fill them, where it has them."""


class Keeper:
    """The channels that stay, of every activation.

    A channel goes if nothing depends on it: if all that read it multiply it by 0, or if it is
    constant and what it adds can become part of their biases. Channels that ops hand on one by one
    go together. We begin with none and add what is asked for, until nobody asks for more.

    Args:
        graph: a verified graph.
        bounds: of all its activations.

    Attributes:
        keeps: name -> which of its channels stay.
        refusals: layers that keep constant channels, and why.

    """

    def __init__(self, graph: Graph, bounds: Mapping[str, Bounds]) -> None:
        self._bounds = bounds
        self._nodes = [(node, links_of(node)) for node in graph.bound()]
        self.refusals: list[Refusal] = []
        self.keeps = {name: np.zeros(len(b.low), np.bool_) for name, b in bounds.items()}
        whole = {*graph.inputs, *graph.outputs}
        for node, found in self._nodes:
            if found is None and not is_layer(node):
                whole.update(node.node.inputs, node.node.outputs)
        for name in whole & self.keeps.keys():
            self.keeps[name][:] = True
        self._settle()
        while self._fill() or self._check_biases():
            self._settle()

    def _settle(self) -> None:
        """Ask for channels until nobody asks for more."""
        pending = True
        while pending:
            pending = sum(self._ask(*step) for step in reversed(self._nodes)) > 0

    def _ask(self, node: BoundNode, found: tuple[Link, ...] | None) -> bool:
        """Keep what the node needs for what stays of its output; whether that is new."""
        y = self.keeps[node.output.name]
        if is_layer(node):
            x = node.input(0).name
            if self.keeps[x].all():
                return False
            return self._add(x, read(node, y) & ~foldable(node, self._bounds[x]))
        added = False
        for link in found or ():
            name = node.input(link.index).name
            if name in self.keeps:
                asked = np.zeros_like(self.keeps[name])
                np.logical_or.at(asked, link.taken, y[link.given])
                added |= self._add(name, asked)
                given = np.zeros_like(y)
                np.logical_or.at(given, link.given, self.keeps[name][link.taken])
                added |= self._add(node.output.name, given)
        return added

    def _add(self, name: str, asked: Kept) -> bool:
        keep = self.keeps[name]
        added = bool((asked & ~keep).any())
        keep |= asked
        return added

    def _fill(self) -> bool:
        """Keep one channel at least, and as many as fill kernels; whether there are more now."""
        added = False
        for name, keep in self.keeps.items():
            count = max(int(keep.sum()), 1)
            full = -(-count // MULTIPLE) * MULTIPLE
            wanted = full if full <= len(keep) else count
            more = np.zeros_like(keep)
            more[np.flatnonzero(~keep)[: wanted - int(keep.sum())]] = True
            added |= self._add(name, more)
        return added or self._fill_constants()

    def _fill_constants(self) -> bool:
        """As ``_fill``, for constants that are joined with other tensors."""
        added = False
        for node, found in self._nodes:
            for link in found or ():
                y = self.keeps[node.output.name]
                if node.input(link.index).is_constant and not y[link.given].any():
                    added |= self._add(node.output.name, np.arange(len(y)) == link.given[0])
        return added

    def _check_biases(self) -> bool:
        """Keep the constant channels whose shares a bias has no room for; whether there are any."""
        added = False
        for node, _ in self._nodes:
            if not is_layer(node):
                continue
            x = node.input(0).name
            bias = folded_bias(node, self._bounds[x], ~self.keeps[x])
            if bias is not None and not fits(node, bias[self.keeps[node.output.name]]):
                self.refusals.append(
                    Refusal(node.name, "its bias has no room for what constant channels add")
                )
                added |= self._add(x, foldable(node, self._bounds[x]))
        return added


def links_of(node: BoundNode) -> tuple[Link, ...] | None:
    """The node's links; None where channels cannot be cut, for it has weights that are computed."""
    is_depthwise = node.op == DEPTHWISE_CONV2D.name
    return None if is_depthwise and not has_constants(node) else links(node)
