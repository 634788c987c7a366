"""The rewrite driver: rules return a patch or a refusal; nothing mutates during a walk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tinyrt.errors import VerifyError
from tinyrt.ir.graph import Graph, Node, Value


@dataclass(frozen=True, slots=True)
class Patch:
    """A change to a graph.

    Attributes:
        remove: nodes that go.
        add: nodes that come, in order, in the place of the last one removed (or of ``anchor``).
        values: values that are new, or that replace those of the same name.
        rename: reads of the key, graph outputs included, become reads of the value.
        anchor: a node before which ``add`` goes when nothing is removed.

    """

    remove: tuple[Node, ...] = ()
    add: tuple[Node, ...] = ()
    values: tuple[Value, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    anchor: Node | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a rule that nearly applied did not."""

    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rewrite of one pattern.

    Attributes:
        name: as shown by ``--explain``.
        ops: ops that the pattern may start at; empty for any.
        apply: a patch, a refusal with its reason, or None where the pattern is not there.

    """

    name: str
    ops: tuple[str, ...]
    apply: Callable[[Graph, Node], Patch | Refusal | None]


@dataclass(slots=True)
class RewriteLog:
    """What each rule did, in order, and what it refused."""

    applied: list[tuple[str, str]] = field(default_factory=list)
    refused: dict[tuple[str, str], str] = field(default_factory=dict)


def apply_patch(graph: Graph, patch: Patch) -> Graph:
    """The graph with the patch applied and unreferenced values dropped."""
    gone = {id(n) for n in patch.remove}
    anchor = patch.remove[-1] if patch.remove else patch.anchor
    nodes: list[Node] = []
    for node in graph.nodes:
        if node is anchor:
            nodes.extend(patch.add)
        if id(node) not in gone:
            nodes.append(_renamed(node, patch.rename))
    if anchor is None:
        nodes.extend(patch.add)
    outputs = tuple(patch.rename.get(n, n) for n in graph.outputs)
    merged = replace(graph, outputs=outputs).with_nodes(nodes, patch.values)
    return drop_unused_values(merged)


def drop_unused_values(graph: Graph) -> Graph:
    """The graph without values that nothing refers to."""
    used = {*graph.inputs, *graph.outputs}
    for node in graph.nodes:
        used.update(node.inputs, node.outputs)
    return replace(graph, values={k: v for k, v in graph.values.items() if k in used})


def _renamed(node: Node, rename: Mapping[str, str]) -> Node:
    if not any(n in rename for n in node.inputs):
        return node
    return replace(node, inputs=tuple(rename.get(n, n) for n in node.inputs))


def rewrite(
    graph: Graph,
    rules: Sequence[Rule],
    verify: Callable[[Graph], Graph],
    log: RewriteLog | None = None,
    limit: int = 100_000,
) -> Graph:
    """Apply the rules in order until none applies any more; verify after every patch.

    Raises:
        VerifyError: a patch broke an invariant (the message names the rule), or the rules
            did not settle within ``limit`` patches.

    """
    log = log if log is not None else RewriteLog()
    for _ in range(limit):
        step = _first_patch(graph, rules, log)
        if step is None:
            return graph
        rule, patch = step
        graph = apply_patch(graph, patch)
        try:
            verify(graph)
        except VerifyError as error:
            error.problem = f"after rule '{rule.name}': {error.problem}"
            raise
    raise VerifyError(f"rewriting did not settle after {limit} patches")


def _first_patch(graph: Graph, rules: Iterable[Rule], log: RewriteLog) -> tuple[Rule, Patch] | None:
    for rule in rules:
        for node in graph.nodes:
            if rule.ops and node.op not in rule.ops:
                continue
            result = rule.apply(graph, node)
            if isinstance(result, Patch):
                log.applied.append((rule.name, node.name))
                return rule, result
            if isinstance(result, Refusal):
                log.refused[(rule.name, result.node)] = result.reason
    return None
