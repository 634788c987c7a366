"""A scheme for every op: what it costs, and which single changes there are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from glob import escape

from tinyrt.errors import UnsupportedError
from tinyrt.ir import BoundNode, Graph
from tinyrt.ops import OPS, is_weighted
from tinyrt.quantize.config import QuantConfig, Scheme
from tinyrt.quantize.schemes import ACTIVATIONS, Layout, lay_out

Assignment = Mapping[str, Scheme]
"""Node output name -> scheme, of ops that do not have the default one."""

WIDER = (Scheme.INT4, Scheme.INT8, Scheme.INT16X8, Scheme.FLOAT)
"""Schemes that are chosen among, each more precise and dearer than the one before."""
WEIGHT_BITS = {
    Scheme.INT4: 4,
    Scheme.INT8: 8,
    Scheme.INT16X8: 8,
    Scheme.WEIGHTS_INT8: 8,
    Scheme.WEIGHTS_FLOAT16: 16,
    Scheme.FLOAT: 32,
}


def configured(config: QuantConfig, assignment: Assignment) -> QuantConfig:
    """The user's choices with the assigned schemes."""
    rules = ((escape(name), scheme) for name, scheme in assignment.items())
    return replace(config, scheme_for=(*config.scheme_for, *rules))


def bit_operations(layout: Layout) -> int:
    """Bit operations of one inference.

    The measure of van Baalen et al., "Bayesian Bits", NeurIPS 2020, section 4; every output element
    counts as one multiplication more, so that ops without any are not free.
    """
    total = 0
    for node in layout.graph.bound():
        scheme = layout.schemes[node.output.name]
        bits = WEIGHT_BITS[scheme] * 8 * ACTIVATIONS[scheme].itemsize
        total += (OPS[node.op].macs(node) + node.output.size) * bits
    return total


def try_layout(graph: Graph, config: QuantConfig, assignment: Assignment) -> Layout | None:
    """The layout; None where an op has no form in its scheme."""
    try:
        return lay_out(graph, configured(config, assignment))
    except UnsupportedError:
        return None


def raised(
    graph: Graph,
    layout: Layout,
    assignment: Assignment,
    groups: Iterable[tuple[str, ...]],
    fixed: Collection[str],
    allowed: Collection[Scheme],
) -> Iterator[tuple[Scheme, dict[str, Scheme]]]:
    """The assignments that are one step more precise.

    A step gives one op a wider scheme, or all ops that compute or read one tensor: a tensor is as
    precise as the narrowest of these.

    Args:
        graph: the float graph.
        layout: that of the present assignment.
        assignment: the present one.
        groups: tensors that share their parameters.
        fixed: output names of ops whose scheme the user has named.
        allowed: the schemes to choose among.

    Yields:
        The wider scheme, and the whole new assignment.

    """
    alone = [(n.output,) for n in graph.nodes if is_weighted(n)]
    schemes = layout.op_schemes()
    for scheme in [s for s in WIDER[1:] if s in allowed]:
        around = [_around(graph, names) for names in groups] if scheme is not Scheme.INT8 else []
        tried = set()
        for ops in [*alone, *around]:
            wider = {
                name: scheme
                for name in ops
                if name not in fixed and _is_wider(scheme, schemes[name])
            }
            if wider and tuple(wider) not in tried:
                tried.add(tuple(wider))
                yield scheme, {**assignment, **wider}


def _is_wider(scheme: Scheme, than: Scheme) -> bool:
    return than in WIDER and WIDER.index(scheme) > WIDER.index(than)


def _around(graph: Graph, names: tuple[str, ...]) -> tuple[str, ...]:
    """Output names of the ops that compute or read any of the tensors."""
    return tuple(
        node.output
        for node in graph.nodes
        if node.output in names or any(name in names for name in node.inputs)
    )


def weight_bytes(node: BoundNode, scheme: Scheme) -> int:
    """Bytes of a weighted op's weights, without biases and scales."""
    return (node.input(1).size * WEIGHT_BITS[scheme] + 7) // 8
