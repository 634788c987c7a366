"""A quantised model that lost channels, with these again, beside the float model that has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.channels.cut import cuts_of
from tinyrt.convert.channels.layers import is_layer
from tinyrt.convert.channels.links import Kept
from tinyrt.convert.channels.lost import Lost
from tinyrt.convert.values.interval import channels_of
from tinyrt.errors import DataError
from tinyrt.ir import BoundNode, Graph, Node, QParams, Value
from tinyrt.ops import is_weighted
from tinyrt.ops.quantize import quantize_array
from tinyrt.quantize.methods.layers import by_output, input_channels, weight_axis
from tinyrt.quantize.ranges import quantize_bias, quantize_weights, weight_params

Array = NDArray[Any]


def restored(quantized: Graph, graph: Graph, lost: Mapping[str, Lost]) -> Graph:
    """The quantised model with all channels, to look up grids, weights and biases in.

    What was cut comes from the float model, and is rounded: rows of weights on grids of their own,
    columns on their rows' grids. Biases give up what constant channels had become in them. It is
    not for running: ``with_lost`` has what its tensors hold.

    Args:
        quantized: the quantised model.
        graph: the float model, as ``as_quantized`` gives it; tensors are matched by name.
        lost: the channels that the quantised one lost.

    Raises:
        DataError: the quantised model was made from another one.

    """
    if not lost:
        return quantized
    partners = {node.output.name: node for node in graph.bound()}
    restorer = _Restorer(quantized, lost)
    nodes = []
    for node in quantized.bound():
        partner = partners.get(node.output.name)
        matches = partner is not None and partner.op == node.op
        nodes.append(restorer.node(node, partner) if partner and matches else node.node)
    return replace(quantized, nodes=tuple(nodes), values={**quantized.values, **restorer.values})


def other_shape(exact: Value, stored: Value) -> DataError:
    """The refusal of a float model that the quantised one was not made from."""
    return DataError(
        "the tensor has another shape in the quantised model",
        tensor=exact.describe(),
        expected=stored.describe(),
        hint="pass the float model that the quantised one was made from",
    )


def with_lost(array: Array, exact: Array, q: QParams | None, lost: Lost) -> Array:
    """What a tensor of the quantised model held, with the channels that it lost.

    Args:
        array: its real values, (..., channels left).
        exact: the float model's, (..., channels). Lost channels that varied are taken from here:
            whoever read them multiplied them by 0.
        q: how the tensor is stored; None for floats.
        lost: the tensor's channels.

    """
    held = lost.held(q)
    whole = np.where(np.isnan(held), exact, held).astype(array.dtype)
    whole[..., lost.kept] = array.reshape(*exact.shape[:-1], -1)
    return np.asarray(whole)


class _Restorer:
    """The model's nodes with whole constants.

    Attributes:
        values: by name, those that are new or have changed.

    """

    def __init__(self, quantized: Graph, lost: Mapping[str, Lost]) -> None:
        self._lost = lost
        self.values = {
            name: replace(value, shape=(*value.shape[:-1], len(entry.kept)))
            for name, entry in lost.items()
            for value in [quantized.value(name)]
        }

    def node(self, node: BoundNode, partner: BoundNode) -> Node:
        """The node with constants as large as those of the float model's node."""
        if self._lost.keys().isdisjoint((*node.node.inputs, *node.node.outputs)):
            return node.node
        for theirs, ours in self._activations(node, partner):
            channels = len(self._kept(ours.name, channels_of(theirs.shape)))
            if channels != channels_of(theirs.shape):
                raise other_shape(theirs, self.values[ours.name])
        inputs, whole = list(node.node.inputs), list(node.inputs)
        for i, stored in enumerate(node.inputs):
            if stored is None or stored.data is None:
                continue
            if not is_weighted(node):
                new = self._constant(node, partner, i)
            else:
                new = self._weights(node, partner) if i == 1 else self._bias(node, partner, whole)
            inputs[i] = f"{node.output.name}.whole.{i}"
            self.values[inputs[i]] = whole[i] = replace(new, name=inputs[i])
        return replace(node.node, inputs=tuple(inputs))

    def _activations(self, node: BoundNode, partner: BoundNode) -> list[tuple[Value, Value]]:
        """The float node's activations with the quantised one's, which may have other names.

        An op that gave what it took may have gone from between.
        """
        pairs = zip((*partner.inputs, partner.output), (*node.inputs, node.output), strict=False)
        return [(a, b) for a, b in pairs if a and b and not a.is_constant]

    def _kept(self, name: str, channels: int) -> Kept:
        return self._lost[name].kept if name in self._lost else np.ones(channels, np.bool_)

    def _filled(self, node: BoundNode, partner: BoundNode, index: int, exact: Array) -> Value:
        """A whole constant, with what is stored in the places that were not cut."""
        keeps = {
            theirs.name: self._kept(ours.name, channels_of(theirs.shape))
            for theirs, ours in self._activations(node, partner)
        }
        cuts, whole, stored = cuts_of(partner, index, keeps), exact.copy(), node.input(index)
        kept = [cuts.get(i, np.ones(n, np.bool_)) for i, n in enumerate(whole.shape)]
        if tuple(int(k.sum()) for k in kept) != stored.shape:
            raise other_shape(partner.input(index), stored)
        whole[np.ix_(*kept)] = stored.data
        return replace(stored, shape=whole.shape, data=whole)

    def _constant(self, node: BoundNode, partner: BoundNode, index: int) -> Value:
        exact, stored = np.asarray(partner.input(index).data), node.input(index)
        if stored.q is not None:
            scale = np.float32(stored.q.scale)
            exact = quantize_array(exact, scale, stored.q.zero_point, stored.dtype)
        return self._filled(node, partner, index, exact)

    def _weights(self, node: BoundNode, partner: BoundNode) -> Value:
        x, stored, exact = node.input(0), node.input(1), np.asarray(partner.input(1).data)
        q, axis = stored.q, weight_axis(partner)
        if is_layer(partner) and x.name in self._lost:
            # What varied and was cut had weights of 0 in the quantised model.
            entry = self._lost[x.name]
            varied = ~entry.kept & np.isnan(entry.constants)
            exact = np.where(np.tile(varied, exact.shape[-1] // len(varied)), 0, exact)
        if q is None:
            return self._filled(node, partner, 1, exact)
        if q.axis is not None:
            found = weight_params(exact, None, 1.0, axis, stored.dtype)
            scales = np.asarray(found.scales)
            scales[self._kept(node.output.name, len(scales))] = q.scales
            q = replace(q, scales=tuple(float(s) for s in scales))
        whole = quantize_weights(exact, q, stored.dtype)
        return replace(self._filled(node, partner, 1, whole), q=q)

    def _bias(self, node: BoundNode, partner: BoundNode, whole: list[Value | None]) -> Value:
        x, w, stored = node.input(0), whole[1], node.input(2)
        assert w is not None, "weights come before the bias"
        weights, q = by_output(np.asarray(w.data), weight_axis(partner)), stored.q
        rows, given = self._kept(node.output.name, len(weights)), partner.optional(2)
        exact = np.zeros(len(rows)) if given is None else np.asarray(given.data)
        if x.q is not None and w.q is not None:
            exact, q = quantize_bias(exact, x.q.scale, w.q, stored.dtype)
        exact = exact.astype(stored.dtype.numpy)
        exact[rows] = stored.data
        if is_layer(partner) and x.name in self._lost:
            zero = x.q.zero_point if x.q is not None else 0
            held = np.nan_to_num(self._lost[x.name].constants - zero)
            folded = (weights * held[input_channels(partner)]).sum(axis=1)
            exact[rows] -= folded[rows].astype(exact.dtype)
        return replace(stored, shape=exact.shape, data=exact, q=q)
