"""Passes by what values may be: they keep the answers of integer graphs in every bit.

They look at the bounds of all tensors together, and so are no rules on patterns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from tinyrt.convert.channels.cut import without
from tinyrt.convert.channels.keep import Keeper
from tinyrt.convert.channels.lost import LostChannels, note_lost
from tinyrt.convert.channels.reasons import is_told, reason
from tinyrt.convert.passes.narrow import NARROW, narrow_integers
from tinyrt.convert.passes.unchanged import unchanged
from tinyrt.convert.values.bounds import behind, bounds_of
from tinyrt.convert.values.elementwise import of_value
from tinyrt.convert.values.interval import FLOATS, Bounds
from tinyrt.ir import BoundNode, DType, Graph, Node, RewriteLog, Value
from tinyrt.ir.rewriter import drop_unused_values
from tinyrt.ops import OPS, verify
from tinyrt.ops.shared.activation import act_range, clamp_of, fused_activation, with_activation
from tinyrt.ops.shared.places import counting, counts_from_end
from tinyrt.ops.shared.spec import limits_of

DROP_CLAMP, DROP_UNCHANGED, KNOWN_TRUTH, FROM_FRONT = PLAINER = (
    "drop_clamp",
    "drop_unchanged",
    "known_truth",
    "count_from_front",
)
CUT_CHANNELS = "cut_channels"

KNOWN_PASSES = (*PLAINER, NARROW, CUT_CHANNELS)
"""The passes, in order."""


def apply_known(
    graph: Graph,
    passes: Collection[str],
    log: RewriteLog | None = None,
    lost: LostChannels | None = None,
) -> Graph:
    """Apply these of the passes until none applies any more.

    Args:
        graph: a verified graph, float or quantised.
        passes: names from ``KNOWN_PASSES``; others are ignored.
        log: what was applied and refused is added to it.
        lost: the channels that go are added to it.

    Returns:
        The graph itself where nothing applies.

    """
    log = log if log is not None else RewriteLog()
    lost = lost if lost is not None else {}
    while True:
        before = graph
        graph = _plainer(graph, passes, log)
        if NARROW in passes:
            graph = narrow_integers(graph, log)
        if CUT_CHANNELS in passes:
            graph = _fewer_channels(graph, log, lost)
        if graph is before:
            return graph


def _fewer_channels(graph: Graph, log: RewriteLog, lost: LostChannels) -> Graph:
    """The graph without the channels that no answer depends on."""
    bounds = bounds_of(graph)
    keeper = Keeper(graph, bounds)
    for refusal in keeper.refusals:
        log.refused[CUT_CHANNELS, refusal.node] = refusal.reason
    if all(keep.all() for keep in keeper.keeps.values()):
        return graph
    for node in graph.bound():
        keep = keeper.keeps[node.output.name]
        if is_told(node) and not keep.all():
            log.note(CUT_CHANNELS, node.name, reason(node, keep, bounds))
    note_lost(lost, keeper.keeps, bounds)
    return without(graph, keeper.keeps, bounds)


def _plainer(graph: Graph, passes: Collection[str], log: RewriteLog) -> Graph:
    """The graph without clamps and ops that change nothing, and with known truth as constants."""
    bounds, nodes = bounds_of(graph), []
    renamed: dict[str, str] = {}
    constants: dict[str, Value] = {}
    for node in graph.bound():
        new = replace(node.node, inputs=tuple(renamed.get(name, name) for name in node.node.inputs))
        inner = node.output.name not in graph.outputs
        source = unchanged(node, bounds) if inner and DROP_UNCHANGED in passes else None
        if source is not None:
            log.note(DROP_UNCHANGED, node.name, "it gives what it takes, whatever comes")
            renamed[node.output.name] = renamed.get(source, source)
        elif inner and KNOWN_TRUTH in passes and _is_known_truth(node, bounds):
            truth = bounds[node.output.name].low.astype(np.bool_)
            data = np.array(np.broadcast_to(truth, node.output.shape))
            constants[node.output.name] = replace(node.output, data=data)
            log.note(KNOWN_TRUTH, node.name, "its answer does not depend on the model's inputs")
        elif DROP_CLAMP in passes and _clamps_nothing(node, bounds):
            b = bounds[node.output.name]
            told = f"without {fused_activation(node)}, outputs are from {b.low.min():g}"
            log.note(DROP_CLAMP, node.name, f"{told} to {b.high.max():g}, too")
            nodes.append(replace(new, attrs=with_activation(node, "NONE")))
        elif FROM_FRONT in passes and _is_inside_front(node, bounds):
            log.note(FROM_FRONT, node.name, "none of its places is below 0")
            nodes.append(replace(new, attrs=counting(node, from_end=False)))
        else:
            nodes.append(new)
    if nodes == list(graph.nodes):
        return graph
    values = {**graph.values, **constants}
    live = _live(nodes, graph.outputs)
    return verify(drop_unused_values(replace(graph, nodes=live, values=values)))


def _is_known_truth(node: BoundNode, bounds: Mapping[str, Bounds]) -> bool:
    """Whether an op on truth values, or a comparison of integers, always says the same."""
    return node.output.dtype is DType.BOOL and bool(bounds[node.output.name].constant.all())


def _is_inside_front(node: BoundNode, bounds: Mapping[str, Bounds]) -> bool:
    """Whether places that may count from the end never do."""
    return counts_from_end(node) and bool((of_value(node.input(1), bounds).low >= 0).all())


def _clamps_nothing(node: BoundNode, bounds: Mapping[str, Bounds]) -> bool:
    """Whether the outputs keep to the fused activation without it, and it costs something."""
    activation, y = fused_activation(node), node.output
    if activation == "NONE" or not OPS[node.op].traits.fuses:
        return False
    if y.dtype in FLOATS:
        low, high = clamp_of(activation)
    else:
        low, high = act_range(activation, y)
        if (low, high) == limits_of(y.dtype):
            return False
    free = replace(node, node=replace(node.node, attrs=with_activation(node, "NONE")))
    found = behind(free, bounds)
    return found is not None and bool((found.low >= low).all() and (found.high <= high).all())


def _live(nodes: Collection[Node], outputs: Collection[str]) -> tuple[Node, ...]:
    """The nodes that an output depends on."""
    read, live = set(outputs), []
    for node in reversed(tuple(nodes)):
        if not read.isdisjoint(node.outputs):
            read.update(node.inputs)
            live.append(node)
    return tuple(reversed(live))
