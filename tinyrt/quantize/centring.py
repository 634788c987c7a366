"""What is centred has the steps of what it is centred from: all channels are rounded alike."""

from __future__ import annotations

from collections.abc import Mapping

from tinyrt.ir import DType, Graph
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.shared.activation import fused_activation
from tinyrt.quantize.ranges import Range

FAR = 1.5
"""Squares of widths further apart than this stay: other readers would lose too much."""


def centred_pairs(graph: Graph) -> dict[str, str]:
    """What is centred over its last dimension -> what it is centred from."""
    found = {}
    for node in graph.nodes:
        mean = graph.producer(node.inputs[1]) if node.op == "sub" else None
        if mean is None or mean.op != "mean" or mean.inputs[0] != node.inputs[0]:
            continue
        attrs, last = mean.attrs_as(MeanAttrs), len(graph.value(node.inputs[0]).shape) - 1
        over_last = tuple(axis % (last + 1) for axis in attrs.axes) == (last,)
        if attrs.keep_dims and over_last and fused_activation(node) == "NONE":
            found[node.output] = node.inputs[0]
    return found


def with_equal_steps(
    graph: Graph, shared: Mapping[tuple[str, ...], Range], dtypes: Mapping[str, DType]
) -> dict[tuple[str, ...], Range]:
    """The ranges, those of what is centred and of what it is centred from equally wide.

    Then all channels of a row are rounded alike. Dense layers that ``blind_to_shifts`` made do not
    see it. Behind others, the next norm takes away most of it. Both are to be about as wide.

    Args:
        graph: the float graph.
        shared: tensors that share their parameters -> range.
        dtypes: value name -> dtype.

    """
    group = {name: names for names in shared for name in names}
    widths = {names: found.width for names, found in shared.items()}
    pairs = [
        (group[centred], group[source])
        for centred, source in centred_pairs(graph).items()
        if all(name in group and dtypes.get(name) is DType.INT8 for name in (centred, source))
    ]
    near = [pair for pair in pairs if _are_near(*(widths[names] for names in pair))]
    for _ in near:  # two norms of one tensor: the widest of all three
        for pair in near:
            widths.update(dict.fromkeys(pair, max(widths[names] for names in pair)))
    return {names: _widened(found, widths[names]) for names, found in shared.items()}


def _are_near(a: float, b: float) -> bool:
    return max(a, b) ** 2 <= FAR * min(a, b) ** 2


def _widened(found: Range, width: float) -> Range:
    more, whole = (width - found.width) / 2, found.with_zero()
    return Range(whole.low - more, whole.high + more) if more > 0 else found
