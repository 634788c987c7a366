"""The rewrite driver: rules return a patch or a refusal; nothing mutates during a walk."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from tinyrt import budget
from tinyrt.errors import VerifyError
from tinyrt.ir.graph import Graph, Node, Value

T = TypeVar("T")


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

    def final_refusals(self) -> dict[tuple[str, str], str]:
        """(rule, node) -> reason, without those where the rule applied later on."""
        applied = set(self.applied)
        return {key: reason for key, reason in self.refused.items() if key not in applied}


def apply_patch(graph: Graph, patch: Patch) -> Graph:
    """The graph with the patch applied and unreferenced values dropped."""
    return _apply_patches(graph, [patch])


def _apply_patches(graph: Graph, patches: Sequence[Patch]) -> Graph:
    """The graph with patches applied that have nothing to do with each other."""
    gone = {id(n) for patch in patches for n in patch.remove}
    rename = {old: new for patch in patches for old, new in patch.rename.items()}
    places: dict[int, list[Node]] = {}
    nodes: list[Node] = []
    for patch in patches:
        anchor = patch.remove[-1] if patch.remove else patch.anchor
        if anchor is not None:
            places.setdefault(id(anchor), []).extend(patch.add)
    for node in graph.nodes:
        nodes.extend(places.get(id(node), ()))
        if id(node) not in gone:
            nodes.append(_renamed(node, rename))
    for patch in patches:
        if not patch.remove and patch.anchor is None:
            nodes.extend(patch.add)
    outputs = tuple(rename.get(n, n) for n in graph.outputs)
    values = [value for patch in patches for value in patch.values]
    return drop_unused_values(replace(graph, outputs=outputs).with_nodes(nodes, values))


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
    """Apply the rules in order until none applies any more; verify whenever the graph changed.

    The first rule that applies anywhere is applied everywhere, wherever its patches have nothing
    to do with each other; then the first rule has its turn again. Rules look at the graph through
    its methods alone: a rule is asked again about a node only when something that it had looked at
    has changed.

    Raises:
        VerifyError: a patch broke an invariant (the message names the rule), or the rules
            did not settle within ``limit`` patches.

    """
    log = log if log is not None else RewriteLog()
    settled = _Settled(rules)
    count = 0
    while True:
        step = _next_patches(graph, rules, settled, log)
        if step is None:
            return graph
        rule, patches = step
        count += len(patches)
        if count > limit:
            raise VerifyError(f"rewriting did not settle after {limit} patches")
        before = graph
        graph = _apply_patches(graph, patches)
        settled.forget(before, graph, patches)
        try:
            verify(graph)
        except VerifyError as error:
            error.problem = f"after rule '{rule.name}': {error.problem}"
            raise


class _Watched(Graph):
    """A graph that notes the values it is asked about."""

    seen: set[str]

    @classmethod
    def of(cls, graph: Graph) -> _Watched:
        """The same graph, watched."""
        own = {f.name: getattr(graph, f.name) for f in fields(Graph)}
        watched = cls(**own)
        object.__setattr__(watched, "seen", set())
        return watched

    def value(self, name: str) -> Value:
        """As ``Graph.value``."""
        self.seen.add(name)
        return super().value(name)

    def consumers(self, name: str) -> list[Node]:
        """As ``Graph.consumers``."""
        self.seen.add(name)
        return super().consumers(name)

    def producer(self, name: str) -> Node | None:
        """As ``Graph.producer``."""
        self.seen.add(name)
        return super().producer(name)

    def noted(self, key: Hashable, find: Callable[[], T]) -> T:
        """As ``Graph.noted``; whoever takes note has looked at what was looked at to find it."""

        def find_watched() -> tuple[T, set[str]]:
            before, found = set(self.seen), self.seen
            found.clear()
            result = find()
            looked_at = set(found)
            found |= before
            return result, looked_at

        result, looked_at = super().noted(key, find_watched)
        self.seen |= looked_at
        return result


class _Settled:
    """Which rules need not be asked about which nodes, until a value changes."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._done: list[dict[int, Node]] = [{} for _ in rules]
        self._readers: dict[str, set[tuple[int, int]]] = {}

    def __contains__(self, key: tuple[int, Node]) -> bool:
        rule, node = key
        return id(node) in self._done[rule]

    def add(self, rule: int, node: Node, seen: Iterable[str]) -> None:
        """Note that rule number ``rule`` does not apply to the node, by what it has seen."""
        # Kept, so that no other node gets its identity.
        self._done[rule][id(node)] = node
        for name in (*seen, *node.inputs, *node.outputs):
            self._readers.setdefault(name, set()).add((rule, id(node)))

    def forget(self, before: Graph, after: Graph, patches: Sequence[Patch]) -> None:
        """Drop what had been found out from values that the patches have changed."""
        if before.outputs != after.outputs:
            self._done = [{} for _ in self._done]
            self._readers = {}
        for patch in patches:
            for name in _touched(patch):
                for rule, node in self._readers.pop(name, ()):
                    self._done[rule].pop(node, None)


def _touched(patch: Patch) -> set[str]:
    """Values whose type, producer or readers the patch changes."""
    kept = {id(n) for n in patch.remove} & {id(n) for n in patch.add}
    names = {value.name for value in patch.values} | {*patch.rename, *patch.rename.values()}
    for node in (*patch.remove, *patch.add):
        if id(node) not in kept:
            names.update(node.inputs, node.outputs)
    return names


def _keep(patch: Patch) -> None:
    """Hold the memory of the constants that a patch brings."""
    held = budget.current()
    for value in patch.values:
        if value.data is not None:
            held.keep(value.data, f"the constant '{value.name}'")


def _next_patches(
    graph: Graph, rules: Sequence[Rule], settled: _Settled, log: RewriteLog
) -> tuple[Rule, list[Patch]] | None:
    """The first rule that applies anywhere, and its patches that are free of each other."""
    watched = _Watched.of(graph)
    for number, rule in enumerate(rules):
        patches: list[Patch] = []
        changed: set[str] = set()
        looked_at: set[str] = set()
        for node in graph.nodes:
            if (rule.ops and node.op not in rule.ops) or (number, node) in settled:
                continue
            watched.seen.clear()
            result = rule.apply(watched, node)
            if not isinstance(result, Patch):
                settled.add(number, node, watched.seen)
                if isinstance(result, Refusal):
                    log.refused[(rule.name, result.node)] = result.reason
                continue
            _keep(result)
            touched = _touched(result)
            seen = watched.seen | touched
            is_whole = len(result.remove) == len(graph.nodes)
            meets = not (changed.isdisjoint(seen) and looked_at.isdisjoint(touched))
            if patches and (is_whole or meets):
                continue
            patches.append(result)
            log.applied.append((rule.name, node.name))
            changed |= touched
            looked_at |= seen
            if is_whole:
                break  # it says where every node goes
        if patches:
            return rule, patches
    return None
