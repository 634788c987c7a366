"""Structured pruning: whole channels go, and with them everything that computed or read them.

A channel of one tensor is often tied to others. A residual sum joins channels of two tensors; a
batch norm, an activation, a pool or a depthwise convolution hands each channel on; a dense layer
behind a flattening reads it at many places. ``Channels`` follows every channel through the graph
and finds out which belong together. Such a set leaves the graph as a whole or not at all, and what
is left is a smaller graph of the same kind: nothing is masked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tinyrt.errors import DataError
from tinyrt.ir import BoundNode, Graph, Node, Shape, Value
from tinyrt.ops import OPS, is_weighted, ops_where, verify
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.shared.shapes import axis_of
from tinyrt.ops.shared.traits import Dims
from tinyrt.ops.transpose import TransposeAttrs
from tinyrt.train.channel_scores import channel_scores as channel_scores
from tinyrt.train.channel_scores import is_layer
from tinyrt.train.channel_scores import magnitude_scores as magnitude_scores
from tinyrt.train.core.function import Array
from tinyrt.train.graph_model import applied_once, with_own_constants

Labels = NDArray[np.intp]

CHANNELWISE = ops_where(lambda spec: spec.traits.channelwise)
"""Ops whose output channels each depend on one channel of every input."""

JOINERS = ops_where(lambda spec: spec.arity == (2, 2)) & CHANNELWISE
"""Channelwise ops of two inputs, which combine their channels one by one."""

REDUCERS = ops_where(lambda spec: Dims.AXES in (spec.traits.dims or {}).values()) & CHANNELWISE
"""Channelwise ops along axes; the channels' axis must not be one of them."""

FOLLOWERS = CHANNELWISE - JOINERS - REDUCERS
"""Channelwise ops of one activation, whatever their attributes are."""


class Channels:
    """Which channels of a graph's tensors belong together.

    A tensor's channels are its last dimension. Each has a label; channels with equal labels after
    ``find`` can only be removed together. Channels of inputs and outputs are fixed: they stay. So
    do those that an unsupported op reads or writes.

    Args:
        graph: a float graph.

    """

    def __init__(self, graph: Graph) -> None:
        self.graph = with_own_constants(graph)
        self._parent: list[int] = []
        self._fixed: set[int] = set()
        self.labels: dict[str, Labels] = {}
        for value in self.graph.input_values:
            self.labels[value.name] = self._fix(self._new(value.shape[-1]))
        for node in self.graph.bound():
            self.labels[node.output.name] = self._follow(node)
            for state in node.outputs[1:]:
                self.labels[state.name] = self._fix(self._new(state.shape[-1]))
        for name in self.graph.outputs:
            self._fix(self.labels[name])

    def find(self, labels: Labels) -> Labels:
        """The label that stands for each one's set."""
        return np.asarray([self._root(int(a)) for a in labels], np.intp)

    def removable(self, name: str) -> Labels:
        """The sets that a tensor's channels belong to, without those that must stay."""
        fixed = {self._root(a) for a in self._fixed}
        return np.asarray([a for a in np.unique(self.find(self.labels[name])) if a not in fixed])

    def without(self, labels: Labels) -> Graph:
        """The graph without these sets of channels."""
        return _Remover(self, labels).run()

    def read_labels(self, node: BoundNode) -> Labels:
        """Labels of the channels that a weighted op sums over, one per row of its weights."""
        labels = self.labels[node.input(0).name]
        return np.tile(labels, node.input(1).shape[-1] // len(labels))

    def _root(self, label: int) -> int:
        while self._parent[label] != label:
            self._parent[label] = self._parent[self._parent[label]]
            label = self._parent[label]
        return label

    def _new(self, count: int) -> Labels:
        first = len(self._parent)
        self._parent.extend(range(first, first + count))
        return np.arange(first, first + count)

    def _fix(self, labels: Labels) -> Labels:
        self._fixed.update(int(a) for a in labels)
        return labels

    def _join(self, first: Labels, second: Labels) -> None:
        for a, b in zip(first, second, strict=True):
            self._parent[self._root(int(b))] = self._root(int(a))

    def _follow(self, node: BoundNode) -> Labels:
        """Labels of the node's output channels."""
        read = [self.labels[v.name] for v in node.inputs if v is not None and v.data is None]
        output_labels = self._labels_behind(node, read)
        if output_labels is None:
            for labels in read:
                self._fix(labels)
            return self._fix(self._new((node.output.shape or (1,))[-1]))
        return output_labels

    def _labels_behind(self, node: BoundNode, read: list[Labels]) -> Labels | None:
        """As ``_follow``; None where channels cannot be told apart behind the node."""
        y, op = node.output.shape, node.op
        if is_layer(node) and not applied_once(self.graph, node):
            return None
        if op == "depthwise_conv2d":
            return np.repeat(read[0], y[-1] // len(read[0]))
        if is_weighted(node):
            return self._weighted(node, read)
        if op in JOINERS:
            return self._joined(node, read)
        if op == "concatenation":
            if axis_of(node.attrs_as(ConcatenationAttrs).axis, len(y)) == len(y) - 1:
                return np.concatenate(read) if len(read) == len(node.inputs) else None
            return self._all_joined(read)
        if op == "reshape":
            times = _repetitions(node.input(0).shape, y)
            return None if times is None else np.tile(read[0], times)
        if op in REDUCERS:
            x = node.input(0).shape
            axes = {axis_of(a, len(x)) for a in node.attrs_as(MeanAttrs).axes}
            return None if len(x) - 1 in axes else read[0]
        if op == "transpose":
            is_last = node.attrs_as(TransposeAttrs).perm[-1] == len(y) - 1
            return read[0] if is_last else None
        if op == "pad":
            return read[0] if y[-1] == len(read[0]) and len(read) == 1 else None
        return read[0] if op in FOLLOWERS and len(read) == 1 else None

    def _weighted(self, node: BoundNode, read: list[Labels]) -> Labels | None:
        """New channels, where each sums over all input channels, with constant weights."""
        w = node.input(1)
        whole = w.shape[-1] % len(read[0]) == 0
        if node.op != "fully_connected":
            whole = w.shape[-1] == len(read[0])  # else it is grouped
        return self._new(w.shape[0]) if whole and len(read) == 1 else None

    def _joined(self, node: BoundNode, read: list[Labels]) -> Labels | None:
        constants = [v.shape for v in node.inputs if v is not None and v.data is not None]
        channels = node.output.shape[-1]
        widths = {len(r) for r in read} | {s[-1] for s in constants if s and s[-1] != 1}
        return self._all_joined(read) if widths == {channels} else None

    def _all_joined(self, read: list[Labels]) -> Labels:
        for other in read[1:]:
            self._join(read[0], other)
        return read[0]


class _Remover:
    """The graph without some channels, being built."""

    def __init__(self, channels: Channels, removed: Labels) -> None:
        self.channels, self.graph = channels, channels.graph
        self.removed = {int(a) for a in removed}
        self.values: dict[str, Value] = {}

    def run(self) -> Graph:
        self.values.update((v.name, v) for v in self.graph.input_values)
        nodes = tuple(self._node(n) for n in self.graph.bound())
        return verify(replace(self.graph, nodes=nodes, values=self.values))

    def _survivors(self, labels: Labels) -> Labels:
        roots = self.channels.find(labels)
        return np.flatnonzero([int(r) not in self.removed for r in roots])

    def _node(self, node: BoundNode) -> Node:
        survivors = self._survivors(self.channels.labels[node.output.name])
        present = [v for v in node.inputs if v is not None]
        names = [self._input(node, i, v, survivors) for i, v in enumerate(present)]
        attrs = node.attrs
        if isinstance(attrs, ReshapeAttrs):
            attrs = ReshapeAttrs((*attrs.new_shape[:-1], len(survivors)))
        new = replace(node.node, inputs=tuple(names), attrs=attrs)
        inferred = OPS[node.op].infer(attrs, [self.values[n].type for n in names])
        for value, type_ in zip(node.outputs, inferred, strict=True):
            self.values[value.name] = replace(value, shape=type_.shape)
        return new

    def _input(self, node: BoundNode, i: int, value: Value, survivors: Labels) -> str:
        if value.data is None:
            return value.name
        data = value.data
        if is_weighted(node) and i == 1:
            axis = OPS[node.op].weight_axis
            data = np.take(data, survivors, axis)
            if node.op != "depthwise_conv2d" and self._sums_over_all(node):
                data = np.take(data, self._survivors(self.channels.read_labels(node)), -1)
        elif data.ndim and data.shape[-1] == len(self.channels.labels[node.output.name]):
            data = np.take(data, survivors, -1)
        return self._constant(value, np.ascontiguousarray(data))

    def _sums_over_all(self, node: BoundNode) -> bool:
        labels = self.channels.labels[node.input(0).name]
        return node.op == "fully_connected" or node.input(1).shape[-1] == len(labels)

    def _constant(self, value: Value, data: Array) -> str:
        """The constant under its name, or another where the name stands for something else."""
        name, i = value.name, 0
        while name in self.values and not _same(self.values[name], data):
            i += 1
            name = f"{value.name}_{i}"
        self.values[name] = Value.constant(name, data)
        return name


def prune_channels(
    graph: Graph, scores: Mapping[str, Array], *, macs: float, multiple: int = 1, least: int = 4
) -> Graph:
    """The graph without the channels that matter least for the multiply-accumulates they cost.

    Args:
        graph: a float graph; batch norms need not be folded.
        scores: value name -> how much each of its channels matters, as from ``channel_scores``.
        macs: share of the multiply-accumulates that may be left, above 0.
        multiple: channels that are left of a layer are a multiple of this, where it has as many:
            kernels for cores with SIMD work on 4 at a time.
        least: channels that are left of each layer at least.

    Raises:
        DataError: so few cannot be reached.

    """
    limit = macs * macs_of(graph)
    search = _Search(graph, scores, multiple, least)
    best = search.first(lambda smaller: macs_of(smaller) <= limit)
    if best is None:
        raise DataError(
            f"{macs:.0%} of the multiply-accumulates cannot be reached by removing channels",
            expected=f"at least {macs_of(search.smallest) / macs_of(graph):.0%} with {least} in "
            "each layer",
        )
    return best


def prune_to_fit(
    graph: Graph,
    scores: Mapping[str, Array],
    fits: Callable[[Graph], bool],
    *,
    multiple: int = 1,
    least: int = 4,
) -> Graph | None:
    """The graph without as few channels as make it fit; None where no number of them does.

    Args:
        graph: as for ``prune_channels``.
        scores: likewise.
        fits: whether a smaller graph costs as little as it may: bytes, instructions, ... on a core.
            Where one fits, those with fewer channels are taken to fit as well.
        multiple: as for ``prune_channels``.
        least: likewise.

    """
    return _Search(graph, scores, multiple, least).first(fits)


class _Search:
    """Looks for how many channels must go, those first that matter least for what they cost."""

    def __init__(
        self, graph: Graph, scores: Mapping[str, Array], multiple: int, least: int
    ) -> None:
        self._channels = Channels(graph)
        self._order = _cheapest_first(self._channels, scores)
        self._multiple, self._least = multiple, least

    @property
    def smallest(self) -> Graph:
        """The graph without all that may go."""
        return self._channels.without(np.asarray(self._removed(len(self._order)), np.intp))

    def first(self, fits: Callable[[Graph], bool]) -> Graph | None:
        """The graph with the most channels that fits: those with fewer never cost more."""
        judged: dict[tuple[int, ...], bool] = {}  # several counts come to the same
        low, high = 0, len(self._order)
        best: Graph | None = None
        while low <= high:
            count = (low + high) // 2
            removed = tuple(self._removed(count))
            smaller = self._channels.without(np.asarray(removed, np.intp))
            if removed not in judged:
                judged[removed] = fits(smaller)
            if judged[removed]:
                best, high = smaller, count - 1
            else:
                low = count + 1
        return best

    def _removed(self, count: int) -> list[int]:
        return _rounded(self._channels, self._order, count, self._multiple, self._least)


def macs_of(graph: Graph) -> int:
    """Multiply-accumulates of one inference."""
    return sum(OPS[node.op].macs(node) for node in graph.bound())


def _cheapest_first(channels: Channels, scores: Mapping[str, Array]) -> list[int]:
    """Removable sets, by what they matter per multiply-accumulate that goes with them."""
    worth: dict[int, float] = {}
    for name, values in scores.items():
        free = set(channels.removable(name).tolist())
        for label, value in zip(channels.find(channels.labels[name]), values, strict=True):
            if int(label) in free:
                worth[int(label)] = worth.get(int(label), 0.0) + float(value)
    costs = _costs(channels)
    return sorted(worth, key=lambda label: worth[label] / costs[label])


def _costs(channels: Channels) -> dict[int, float]:
    """Multiply-accumulates that compute or read each set of channels."""
    costs: dict[int, float] = {}
    for node in channels.graph.bound():
        if not is_weighted(node):
            continue
        macs = OPS[node.op].macs(node)
        sides = [channels.labels[node.output.name]]
        if node.op != "depthwise_conv2d":
            sides.append(channels.read_labels(node))
        for labels in sides:
            for label in channels.find(labels):
                costs[int(label)] = costs.get(int(label), 0.0) + macs / len(labels)
    return costs


def _rounded(
    channels: Channels, order: list[int], count: int, multiple: int, least: int
) -> list[int]:
    """The first ``count`` sets, less those that a layer needs for its least or for a multiple."""
    removed = set(order[:count])
    rank = {label: i for i, label in enumerate(order)}
    for node in channels.graph.bound():
        if not is_weighted(node):
            continue
        labels = {int(a) for a in channels.find(channels.labels[node.output.name])}
        missing = sorted(labels & removed, key=lambda label: -rank[label])
        rest = len(labels) - len(missing)
        target = min(len(labels), -(-max(least, rest) // multiple) * multiple)
        removed.difference_update(missing[: target - rest])
    return [label for label in order if label in removed]


def _repetitions(x: Shape, y: Shape) -> int | None:
    """How often a reshape lays the channels side by side in the last dimension; None: otherwise."""
    for i in range(len(x) - 1, -1, -1):
        merged = int(np.prod(x[i:]))
        if merged == y[-1]:
            return int(np.prod(x[i:-1]))
    return None


def _same(value: Value, data: Array) -> bool:
    return value.data is not None and np.array_equal(value.data, data)
