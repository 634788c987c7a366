"""Faults that reviews of this code asked for: what a person forgets, or takes for another.

Each function names parts of a node of parso's tree, and the code that comes in their place. Checks,
arguments, operands, elements, filters and copies are taken away; one branch, one item or all but
one are taken for all; names and arguments that are of one kind are taken for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from cosmic_ray.operators.operator import Operator
from parso.python.tree import Name

from tools.differing.places import TWIN_OF

Position = tuple[tuple[int, int], tuple[int, int]]
Node = Any

COUNTERPARTS = {
    **{"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum"},
    **{"any": "all", "all": "any", "ceil": "floor", "floor": "ceil", "sorted": "list"},
    **{"rint": "trunc", "round": "int", "argmax": "argmin", "argmin": "argmax"},
}
"""Function -> what is called in its place."""
SYMMETRIC = ("max", "min", "maximum", "minimum", "gcd", "lcm", "array_equal", "allclose", "add")
"""Functions whose arguments may stand in any order."""
CONDITIONS = ("and_test", "or_test")
"""What parso calls conditions of several operands."""
LOOPS = ("for_stmt", "comp_for", "sync_comp_for")
MOST_ELEMENTS = 12
"""Longer displays are tables, which would be most of what is drawn."""


class Rewrite(NamedTuple):
    """One fault: the part that is replaced, by what, and where it is seen."""

    part: Node
    text: str
    at: Node


Rewrites = Callable[[Node], Iterable[Rewrite]]


class Rewriter(Operator):
    """An operator of cosmic-ray made of a function that names rewrites."""

    def __init__(self, rewrites: Rewrites) -> None:
        self.rewrites = rewrites

    def mutation_positions(self, node: Node) -> Iterator[Position]:
        """Where the node can be changed."""
        return ((at.start_pos, at.end_pos) for _, _, at in list(self.rewrites(node)))

    def mutate(self, node: Node, index: int) -> Node:
        """The node with that change."""
        part, text, _ = list(self.rewrites(node))[index]
        prefix = part.get_first_leaf().prefix if text else ""
        new = Name(text, part.start_pos, prefix)
        new.parent = part.parent
        if part is node:
            return new
        siblings = part.parent.children
        siblings[next(i for i, child in enumerate(siblings) if child is part)] = new
        return node

    @classmethod
    def examples(cls) -> Sequence[Any]:
        """None: cosmic-ray's own tests ask for them."""
        return ()


# What is taken away


def remove_raise(node: Node) -> Iterator[Rewrite]:
    """A check that refuses nothing."""
    if node.type == "raise_stmt":
        yield Rewrite(node, "pass", node)


def remove_call(node: Node) -> Iterator[Rewrite]:
    """A call for its effect that is not made."""
    is_call = node.type == "atom_expr" and node.children[-1].type == "trailer"
    if is_call and node.parent.type == "simple_stmt":
        yield Rewrite(node, "pass", node)


def remove_return(node: Node) -> Iterator[Rewrite]:
    """A case that goes on as if it were none."""
    if node.type == "return_stmt" and node.parent.type == "simple_stmt":
        suite = node.parent.parent
        if suite.type == "suite" and suite.parent.type == "if_stmt":
            yield Rewrite(node, "pass", node)


def remove_keyword(node: Node) -> Iterator[Rewrite]:
    """An argument by keyword that is not handed on."""
    if node.type == "arglist":
        parts = _parts(node)
        for i, part in enumerate(parts):
            if _is_keyword(part):
                yield Rewrite(node, _joined(parts[:i] + parts[i + 1 :]), part[0])
    if node.type == "trailer" and _is_keyword(node.children[1]):
        yield Rewrite(node.children[1], "", node.children[1])


def remove_operand(node: Node) -> Iterator[Rewrite]:
    """A part of a condition that is not asked."""
    if node.type in CONDITIONS:
        operands = node.children[::2]
        word = f" {node.children[1].value} "
        for i, operand in enumerate(operands):
            rest = operands[:i] + operands[i + 1 :]
            yield Rewrite(node, word.join(map(_code, rest)), operand)


def remove_element(node: Node) -> Iterator[Rewrite]:
    """An element that a list, tuple, set or dictionary lacks."""
    if node.type not in ("testlist_comp", "dictorsetmaker") or _is_target(node.parent):
        return
    parts = _parts(node)
    if node.children[-1].type in LOOPS or not 2 <= len(parts) <= MOST_ELEMENTS:
        return
    end = "," if node.parent.children[0] == "(" else ""
    for i, part in enumerate(parts):
        yield Rewrite(node, _joined(parts[:i] + parts[i + 1 :]) + end, part[0])


def remove_filter(node: Node) -> Iterator[Rewrite]:
    """A comprehension that takes all."""
    if node.type == "comp_if":
        yield Rewrite(node, "", node)


def remove_copy(node: Node) -> Iterator[Rewrite]:
    """A copy that is not made: ``x.copy()`` is ``x``."""
    if node.type == "atom_expr":
        codes = [_code(child) for child in node.children]
        for i in range(1, len(codes) - 1):
            if codes[i : i + 2] == [".copy", "()"]:
                yield Rewrite(node, "".join(codes[:i] + codes[i + 2 :]), node.children[i])


# What is taken for all


def choose_branch(node: Node) -> Iterator[Rewrite]:
    """One of two values whatever the condition says."""
    if node.type == "test":
        for branch in (node.children[0], node.children[4]):
            yield Rewrite(node, _code(branch), branch)


def choose_items(node: Node) -> Iterator[Rewrite]:
    """A loop over the first item only, and one over all the others."""
    if node.type in LOOPS:
        items = node.children[3]
        for some in (":1", "1:"):
            yield Rewrite(items, f"[*({_code(items)})][{some}]", items)


# What is taken for another


def swap_function(node: Node) -> Iterator[Rewrite]:
    """The name of a function that is another's counterpart."""
    if node.type == "name" and node.value in COUNTERPARTS and _is_called(node):
        yield Rewrite(node, COUNTERPARTS[node.value], node)


def swap_arguments(node: Node) -> Iterator[Rewrite]:
    """Two arguments that stand beside each other."""
    if node.type != "arglist" or node.parent.type != "trailer":
        return
    if node.parent.get_previous_leaf().value in SYMMETRIC:
        return
    parts = _parts(node)
    for i, (one, other) in enumerate(pairwise(parts)):
        are_plain = not any(part[0].type == "argument" or part[0] == "*" for part in (one, other))
        if are_plain and _joined([one]) != _joined([other]):
            yield Rewrite(node, _joined([*parts[:i], other, one, *parts[i + 2 :]]), one[0])


def swap_name(node: Node) -> Iterator[Rewrite]:
    """An argument of the type of the one which is meant, or a target of the same assignment."""
    if node.type != "funcdef":
        return
    twin_of = _twins([*_typed_parameters(node), *_targets(node)])
    for leaf in _leaves(node.children[-1]):
        if leaf.type == "name" and leaf.value in twin_of and _is_read(leaf):
            yield Rewrite(leaf, twin_of[leaf.value], leaf)


def swap_attribute(node: Node) -> Iterator[Rewrite]:
    """An attribute that is easily confused, or a field of its class that is of the same type."""
    if node.type == "trailer" and node.children[0] == ".":
        name = node.children[1]
        if name.value in TWIN_OF:
            yield Rewrite(name, TWIN_OF[name.value], name)
    if node.type == "classdef":
        twin_of = _twins(_fields(node))
        for leaf in _leaves(node):
            if leaf.value in twin_of and _is_of_self(leaf) and not leaf.is_definition():
                yield Rewrite(leaf, twin_of[leaf.value], leaf)


OWN: dict[str, Rewriter] = {
    "".join(word.title() for word in function.__name__.split("_")): Rewriter(function)
    for function in (
        *(remove_raise, remove_call, remove_return, remove_keyword, remove_operand),
        *(remove_element, remove_filter, remove_copy, choose_branch, choose_items),
        *(swap_function, swap_arguments, swap_name, swap_attribute),
    )
}


# Parts of the tree


def _code(node: Node) -> str:
    return str(node.get_code(include_prefix=False))


def _parts(node: Node) -> list[list[Node]]:
    """The children between commas."""
    parts: list[list[Node]] = [[]]
    for child in node.children:
        if child == ",":
            parts.append([])
        else:
            parts[-1].append(child)
    return [part for part in parts if part]


def _joined(parts: Iterable[Iterable[Node]]) -> str:
    return ", ".join(" ".join(map(_code, part)) for part in parts)


def _is_keyword(part: Node | list[Node]) -> bool:
    """Not one with stars, nor a generator."""
    node = part[0] if isinstance(part, list) else part
    return bool(node.type == "argument" and len(node.children) == 3 and node.children[1] == "=")


def _is_called(node: Node) -> bool:
    following = node.get_next_leaf()
    return bool(following is not None and following == "(" and node.parent.type != "funcdef")


def _is_target(display: Node) -> bool:
    """Whether values are assigned to what stands in brackets."""
    return any(leaf.type == "name" and leaf.is_definition() for leaf in _leaves(display))


def _is_read(name: Node) -> bool:
    """A variable's use: no attribute, no keyword, no assignment."""
    if name.get_previous_leaf() == "." or name.is_definition():
        return False
    return not (name.parent.type == "argument" and name.parent.children[0] is name)


def _is_of_self(name: Node) -> bool:
    dot = name.get_previous_leaf()
    return bool(dot == "." and dot.get_previous_leaf().value == "self")


def _leaves(node: Node) -> Iterator[Node]:
    leaf, last = node.get_first_leaf(), node.get_last_leaf()
    while leaf is not last:
        yield leaf
        leaf = leaf.get_next_leaf()
    yield last


def _twins(groups: Iterable[list[str]]) -> dict[str, str]:
    """Each name's next in its group, the first for the last."""
    return {
        name: group[(i + 1) % len(group)]
        for group in groups
        if len(group) > 1
        for i, name in enumerate(group)
    }


def _typed_parameters(function: Node) -> list[list[str]]:
    of_type: dict[str, list[str]] = {}
    for parameter in function.get_params():
        if parameter.annotation is not None:
            of_type.setdefault(_code(parameter.annotation), []).append(parameter.name.value)
    return list(of_type.values())


def _targets(function: Node) -> Iterator[list[str]]:
    """The names on the left of assignments and in loops that take several values apart."""
    for leaf in _leaves(function.children[-1]):
        parent = leaf.parent
        is_first = parent.type in ("testlist_star_expr", "exprlist") and parent.children[0] is leaf
        if is_first and leaf.type == "name" and leaf.is_definition():
            names = [child for child in parent.children[::2] if child.type == "name"]
            yield [name.value for name in names if name.value != "_"]


def _fields(kind: Node) -> list[list[str]]:
    """The annotated names in a class's body, by their type."""
    of_type: dict[str, list[str]] = {}
    for statement in kind.children[-1].children:
        first = statement.children[0] if statement.type == "simple_stmt" else statement
        if first.type == "expr_stmt" and first.children[1].type == "annassign":
            annotation = _code(first.children[1].children[1])
            of_type.setdefault(annotation, []).append(first.children[0].value)
    return list(of_type.values())
