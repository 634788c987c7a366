"""A graph that a pass nearly applies to, and the check that it leaves it."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.passes.random_net import RandomNet as Net
from tests.passes.test_every_pass import RULES, applied

Made = str | tuple[str, ...]


@dataclass(frozen=True)
class Miss:
    """A pass, the inputs of a graph that it nearly applies to, and the graph.

    Attributes:
        rule: the pass.
        shapes: of the inputs.
        build: makes the outputs.
        reason: what the pass says; nothing where it does not see its pattern at all.

    """

    rule: str
    shapes: tuple[tuple[int, ...], ...]
    build: Callable[[Net], Made]
    reason: str = ""


def read_twice(net: Net, y: str, last: str) -> tuple[str, ...]:
    """The outputs of a model of which one reads what a pass would take away."""
    return last, net.op("abs", (y,))


def check(miss: Miss) -> None:
    """The pass changes nothing, and says why."""
    net = Net(*miss.shapes)
    outputs = miss.build(net)
    graph = net.graph(*([outputs] if isinstance(outputs, str) else outputs))
    after, log = applied(graph, RULES[miss.rule])
    assert after.nodes == graph.nodes
    reasons = list(log.refused.values())
    assert any(miss.reason in reason for reason in reasons) if miss.reason else not reasons, reasons
