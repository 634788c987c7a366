"""Which element-wise ops int8 models compute as one table."""

from __future__ import annotations

from collections.abc import Mapping

from tinyrt.convert.pointwise import PointwiseRegion, gather
from tinyrt.ir import DType, Graph, Node
from tinyrt.ops import OPS
from tinyrt.ops.shared.spec import Form
from tinyrt.quantize.config import QuantConfig
from tinyrt.quantize.ranges import Range
from tinyrt.quantize.schemes import ACTIVATIONS, named_schemes

NARROW = 0.5
"""What part of the prescribed range the answers may cover at most: less costs more than a bit."""


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


def free_ranges(graph: Graph, ranges: Mapping[str, Range], config: QuantConfig) -> Graph:
    """The graph with a table in place of each op whose prescribed range is mostly not needed.

    Logistic and tanh answer in steps of 1/256 and 1/128, whatever their answers are. A table has
    the steps of what it answers. The model's outputs keep the prescribed ones, which nothing
    exceeds.

    Args:
        graph: an optimised float graph.
        ranges: value name -> range, from calibration.
        config: the user's choices; ops that its patterns name stay as they are.

    """
    named = named_schemes(graph, config)

    def is_narrow(node: Node) -> bool:
        form = OPS[node.op].forms.get(Form.INT8)
        is_kept = node.output in named or node.output in graph.outputs
        if form is None or form.fixed_output is None or is_kept or node.output not in ranges:
            return False
        found = ranges[node.output].finite()
        return max(found.high, 0) - min(found.low, 0) <= NARROW * 255 * form.fixed_output[0]

    if not config.tables or ACTIVATIONS[config.scheme] is not DType.INT8:
        return graph
    return gather(graph, lambda region: True, is_narrow)


def saves(region: PointwiseRegion) -> bool:
    """Whether a table replaces several ops, or one op without an int8 form."""
    return len(region.nodes) > 1 or _lacks_a_form(region)


def _lacks_a_form(region: PointwiseRegion) -> bool:
    return not all(map(_has_form, region.nodes))


def _has_form(node: Node) -> bool:
    return Form.INT8 in OPS[node.op].forms
