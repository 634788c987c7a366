"""The rewrite driver: rules return a patch or a refusal; nothing mutates during a walk."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from tinyrt import budget
from tinyrt.errors import VerifyError
from tinyrt.ir.graph import Graph, Node, Value
from tinyrt.ir.rewrite_log import RewriteLog

T = TypeVar("T")

Mark = str | tuple[str]
"""A part of the graph that a rule looks at: a value with its producer, by name; ``(name,)`` stands
for the value's consumers."""

ASK, PASS = 8_000, 8_000
"""Work of trying a rule on a node, and of each node of a graph that has changed."""


@dataclass(frozen=True, slots=True)
class Patch:
    """A change to a graph.

    Attributes:
        remove: nodes that go.
        add: nodes that come, in order, in the place of the last one removed (or of ``anchor``).
            Where all nodes are removed, it is their new order: those that are in both stay.
        values: values that are new, or that replace those of the same name.
        rename: reads of the key, graph outputs included, become reads of the value.
        anchor: a node before which ``add`` goes when nothing is removed.
        swaps: further nodes, each with what comes in its place.

    """

    remove: tuple[Node, ...] = ()
    add: tuple[Node, ...] = ()
    values: tuple[Value, ...] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    anchor: Node | None = None
    swaps: tuple[tuple[Node, tuple[Node, ...]], ...] = ()


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
class _Change:
    """A patch, by its effect at each place of the graph.

    Attributes:
        removed: the nodes that it removes.
        places: identity of a node -> the nodes inserted in front of it; 0 stands for the end.
        patch: the patch.

    """

    removed: list[Node]
    places: dict[int, Sequence[Node]]
    patch: Patch

    @classmethod
    def of(cls, graph: Graph, patch: Patch) -> _Change:
        """The patch's effect; of a patch that replaces the whole list, only the differences."""
        is_whole = len(patch.remove) == len(graph.nodes)
        lasting = {id(n) for n in patch.remove} & {id(n) for n in patch.add} if is_whole else set()
        order = [id(n) for n in patch.remove if id(n) in lasting]
        if not lasting or order != [id(n) for n in patch.add if id(n) in lasting]:
            anchor = patch.remove[-1] if patch.remove else patch.anchor
            come: dict[int, Sequence[Node]] = {id(node): others for node, others in patch.swaps}
            if patch.add:
                place = id(anchor) if anchor else 0
                come[place] = (*patch.add, *come.get(place, ()))
            return cls([*patch.remove, *(node for node, _ in patch.swaps)], come, patch)
        places: dict[int, Sequence[Node]] = {}
        run: list[Node] = []
        for node in patch.add:
            if id(node) not in lasting:
                run.append(node)
            elif run:
                places[id(node)], run = run, []
        if run:
            places[0] = run
        return cls([n for n in patch.remove if id(n) not in lasting], places, patch)

    def nodes(self) -> Iterator[Node]:
        """The nodes that go and those that come."""
        yield from self.removed
        for added in self.places.values():
            yield from added

    def changed(self) -> set[Mark]:
        """The marks of the values that the patch changes."""
        marks: set[Mark] = {value.name for value in self.patch.values}
        for old, new in self.patch.rename.items():
            marks.update((old, (old,), (new,)))
        for node in self.nodes():
            marks.update(node.outputs)
            marks.update((name,) for name in node.inputs)
        return marks

    def named(self) -> set[Mark]:
        """The values that the patch refers to: no other change may remove them."""
        names: set[Mark] = {value.name for value in self.patch.values}
        names.update(self.patch.rename, self.patch.rename.values())
        for node in self.nodes():
            names.update(node.inputs, node.outputs)
        return names


def apply_patch(graph: Graph, patch: Patch) -> Graph:
    """The graph with the patch applied and unreferenced values dropped."""
    return _apply(graph, [_Change.of(graph, patch)])


def _apply(graph: Graph, changes: Sequence[_Change]) -> Graph:
    """The graph with changes applied that are independent of each other."""
    removed = {id(n) for change in changes for n in change.removed}
    rename = {old: new for change in changes for old, new in change.patch.rename.items()}
    places: dict[int, list[Node]] = {}
    for change in changes:
        for anchor, added in change.places.items():
            places.setdefault(anchor, []).extend(added)
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes.extend(places.get(id(node), ()))
        if id(node) not in removed:
            nodes.append(_renamed(node, rename) if rename else node)
    nodes.extend(places.get(0, ()))
    outputs = tuple(rename.get(n, n) for n in graph.outputs)
    values = [value for change in changes for value in change.patch.values]
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

    The first rule that applies anywhere is applied everywhere that its patches are independent of
    each other. Then the list starts again with the first rule. Rules look at the graph through its
    methods alone: a rule is tried again on a node only when something that it looked at has
    changed.

    Raises:
        VerifyError: a patch broke an invariant (the message names the rule), or the rules
            did not settle within ``limit`` patches.

    """
    log = log if log is not None else RewriteLog()
    pending = _Pending(rules, graph)
    count = 0
    while True:
        step = _next_changes(graph, rules, pending, log)
        if step is None:
            return graph
        rule, changes = step
        count += len(changes)
        if count > limit:
            raise VerifyError(f"rewriting did not settle after {limit} patches", expected="fewer")
        before = graph
        budget.current().spend(PASS * len(graph.nodes), f"the pass '{rule.name}'")
        graph = _apply(graph, changes)
        pending.follow(before, graph, changes)
        try:
            verify(graph)
        except VerifyError as error:
            error.problem = f"after rule '{rule.name}': {error.problem}"
            raise


class _Names(tuple[str, ...]):
    """Names that are looked up in constant time."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)

    def __contains__(self, name: object) -> bool:
        return name in self._names


class _Recorder(Graph):
    """A graph that records the queries of a rule.

    Attributes:
        marks: the parts of the graph that the rule has looked at.
        new_names: names of the values that the pending changes add.

    """

    marks: set[Mark]
    new_names: set[str]

    @classmethod
    def of(cls, graph: Graph) -> _Recorder:
        """A recorder of the same graph."""
        own = {f.name: getattr(graph, f.name) for f in fields(Graph)}
        own |= {"inputs": _Names(graph.inputs), "outputs": _Names(graph.outputs)}
        recorder = cls(**own)
        object.__setattr__(recorder, "marks", set())
        object.__setattr__(recorder, "new_names", set())
        return recorder

    def has_value(self, name: str) -> bool:
        """As ``Graph.has_value``; also true where another pending change adds the name."""
        return name in self.new_names or super().has_value(name)

    def value(self, name: str) -> Value:
        """As ``Graph.value``."""
        self.marks.add(name)
        return super().value(name)

    def consumers(self, name: str) -> tuple[Node, ...]:
        """As ``Graph.consumers``."""
        self.marks.add((name,))
        return super().consumers(name)

    def producer(self, name: str) -> Node | None:
        """As ``Graph.producer``."""
        self.marks.add(name)
        return super().producer(name)

    def noted(self, key: Hashable, find: Callable[[], T]) -> T:
        """As ``Graph.noted``; a note that is read counts as the queries that made it."""

        def find_watched() -> tuple[T, set[Mark]]:
            before, marks = set(self.marks), self.marks
            marks.clear()
            result = find()
            new_marks = set(marks)
            marks |= before
            return result, new_marks

        result, new_marks = super().noted(key, find_watched)
        self.marks |= new_marks
        return result


class _Pending:
    """The pairs of rule and node that are still to be tried, after each change too."""

    def __init__(self, rules: Sequence[Rule], graph: Graph) -> None:
        self._rules = rules
        self._by_op: dict[str, list[int]] = {}
        self._open: list[dict[int, Node]] = [{} for _ in rules]
        self._readers: dict[Mark, set[tuple[int, int]]] = {}
        # References to all nodes, so that no new node gets the identity of an old one.
        self._nodes: dict[int, Node] = {}
        self._enter(graph)

    def _enter(self, graph: Graph) -> None:
        """Queue every rule for the new nodes."""
        for node in graph.nodes:
            if id(node) not in self._nodes:
                self._nodes[id(node)] = node
                for number in self._rules_at(node.op):
                    self._open[number][id(node)] = node

    def _rules_at(self, op: str) -> list[int]:
        """The rules that may start at an op."""
        if op not in self._by_op:
            ops = (rule.ops for rule in self._rules)
            self._by_op[op] = [i for i, starts in enumerate(ops) if not starts or op in starts]
        return self._by_op[op]

    def of(self, rule: int, places: dict[int, int]) -> list[Node]:
        """The nodes on which a rule is to be tried, in graph order."""
        return sorted(self._open[rule].values(), key=lambda node: places[id(node)])

    def __bool__(self) -> bool:
        return any(self._open)

    def settle(self, rule: int, node: Node, marks: Iterable[Mark]) -> None:
        """Record that a rule does not apply to the node; ``marks`` are what it looked at."""
        del self._open[rule][id(node)]
        key = (rule, id(node))
        for mark in {*marks, *node.inputs, *node.outputs}:
            self._readers.setdefault(mark, set()).add(key)

    def follow(self, before: Graph, after: Graph, changes: Sequence[_Change]) -> None:
        """Queue the rules that looked at something that has changed, and the new nodes."""
        alive = {id(node) for node in after.nodes}
        for change in changes:
            for mark in change.changed():
                for rule, identity in self._readers.pop(mark, ()):
                    # A new node may have the identity of a removed one: it is queued anyway.
                    node = self._nodes.get(identity)
                    if node and identity in alive and rule in self._rules_at(node.op):
                        self._open[rule][identity] = node
        for identity in self._nodes.keys() - alive:
            for rule in self._rules_at(self._nodes.pop(identity).op):
                self._open[rule].pop(identity, None)
        if before.outputs != after.outputs:
            self._nodes, self._readers = {}, {}
        self._enter(after)


def _keep(patch: Patch) -> None:
    """Hold the memory of the constants that a patch brings."""
    limits = budget.current()
    for value in patch.values:
        if value.data is not None:
            limits.keep(value.data, f"the constant '{value.name}'")


def _next_changes(
    graph: Graph, rules: Sequence[Rule], pending: _Pending, log: RewriteLog
) -> tuple[Rule, list[_Change]] | None:
    """The first rule that applies anywhere, and its changes that are independent of each other."""
    if not pending:
        return None
    recorder, limits = _Recorder.of(graph), budget.current()
    places = {id(node): i for i, node in enumerate(graph.nodes)}
    for number, rule in enumerate(rules):
        nodes = pending.of(number, places)
        limits.spend(ASK * len(nodes), f"the pass '{rule.name}'")
        changes: list[_Change] = []
        changed: set[Mark] = set()
        read_marks: set[Mark] = set()
        removed: set[int] = set()
        for node in nodes:
            if id(node) in removed or any((name,) in changed for name in node.outputs):
                continue  # an earlier change removes it, or what reads it
            recorder.marks.clear()
            result = rule.apply(recorder, node)
            if not isinstance(result, Patch):
                pending.settle(number, node, recorder.marks)
                if isinstance(result, Refusal):
                    log.refused[(rule.name, result.node)] = result.reason
                continue
            _keep(result)
            change = _Change.of(graph, result)
            own_changes, marks = change.changed(), recorder.marks | change.named()
            if changes and not (changed.isdisjoint(marks) and read_marks.isdisjoint(own_changes)):
                continue
            changes.append(change)
            recorder.new_names.update(value.name for value in result.values)
            removed.update(map(id, change.removed))
            log.applied.append((rule.name, node.name))
            changed |= own_changes
            read_marks |= marks
        if changes:
            return rule, changes
    return None
