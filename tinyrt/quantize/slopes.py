"""prelu in int16, which no runtime has, is written out in ops that they have."""

from __future__ import annotations

from tinyrt.convert.passes.formula import Formula
from tinyrt.ir import Graph, Node, Patch, Rule, Stage, rewrite
from tinyrt.ops import OPS, verify
from tinyrt.quantize.config import QuantConfig
from tinyrt.quantize.schemes import ACTIVATIONS, FORMS, named_schemes


def write_out_prelu(graph: Graph, node: Node) -> Patch:
    """prelu(x, a) = relu(x) + a * min(x, 0)."""
    (x, slopes), f = node.inputs, Formula(graph, node)
    rising = f.emit("relu", "rising", x)
    falling = f.emit("mul", "falling", f.emit("minimum", "low", x, 0.0), slopes)
    f.emit("add", "sum", rising, falling)
    return f.patch()


def with_slopes_written_out(graph: Graph, config: QuantConfig) -> Graph:
    """The graph without prelu where its scheme has none; those that patterns name stay.

    Args:
        graph: an optimised float graph.
        config: the user's choices.

    Raises:
        TinyrtError: a pattern matches no op.

    """
    form = FORMS.get(ACTIVATIONS[config.scheme])
    if form is None or form in OPS["prelu"].forms:
        return graph
    named = named_schemes(graph, config)

    def unless_named(graph: Graph, node: Node) -> Patch | None:
        return None if node.output in named else write_out_prelu(graph, node)

    rule = Rule("write_out_prelu", ("prelu",), unless_named)
    return rewrite(graph, (rule,), lambda g: verify(g, Stage.FLOAT))
