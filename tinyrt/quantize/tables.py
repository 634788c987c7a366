"""Which element-wise ops int8 models compute as one table."""

from __future__ import annotations

from tinyrt.convert.pointwise import PointwiseRegion, gather
from tinyrt.ir import DType, Graph, Node
from tinyrt.ops import OPS
from tinyrt.ops.shared.spec import Form
from tinyrt.quantize.config import QuantConfig
from tinyrt.quantize.schemes import ACTIVATIONS, named_schemes


def gather_tables(graph: Graph, config: QuantConfig, *, chains: bool = True) -> Graph:
    """The graph with a ``pointwise`` in place of element-wise ops of one input.

    A table holds the results of the float ops, rounded once. It costs one look-up, whatever the
    number of ops. It has 256 entries: only ops on int8 are gathered.

    Args:
        graph: an optimised float graph.
        config: the user's choices; ops that its patterns name stay as they are, but for those
            that have no int8 form of their own.
        chains: also where each op has an int8 form; else only those that have none.

    Raises:
        TinyrtError: a pattern matches no op.

    """
    named = named_schemes(graph, config)

    def on_int8(node: Node) -> bool:
        scheme = named.get(node.output, config.scheme)
        return ACTIVATIONS[scheme] is DType.INT8

    def belongs(node: Node) -> bool:
        return on_int8(node) and (node.output not in named or not _has_form(node))

    def accepts(region: PointwiseRegion) -> bool:
        return saves(region) if chains else _lacks_a_form(region)

    return gather(graph, accepts, belongs)


def saves(region: PointwiseRegion) -> bool:
    """Whether a table replaces several ops, or one op without an int8 form."""
    return len(region.nodes) > 1 or _lacks_a_form(region)


def _lacks_a_form(region: PointwiseRegion) -> bool:
    return not all(map(_has_form, region.nodes))


def _has_form(node: Node) -> bool:
    return Form.INT8 in OPS[node.op].forms
