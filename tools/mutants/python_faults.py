"""Faults in Python: operators of cosmic-ray, and those that reviews of this code asked for.

cosmic-ray changes arithmetic, comparisons, numbers, conditions and loops. The operators here take
away what tests rarely miss: checks, arguments that reach something, copies, statements.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import parso
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator

from tools.mutants.faults import Place

Position = tuple[tuple[int, int], tuple[int, int]]
Node = Any

PAIRS = {
    "BinaryOperator": (
        *("Add_Sub", "Sub_Add", "Mul_Add", "Mul_FloorDiv", "Div_Mul", "FloorDiv_Mul", "Mod_Add"),
        *("Pow_Mul", "RShift_LShift", "LShift_RShift", "BitOr_BitAnd", "BitAnd_BitOr"),
    ),
    "ComparisonOperator": (
        *("Eq_NotEq", "NotEq_Eq", "Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Lt_GtE", "Gt_LtE"),
        *("LtE_Gt", "GtE_Lt", "Is_IsNot", "IsNot_Is"),
    ),
    "UnaryOperator": ("Delete_USub", "Delete_Not"),
}
COUNTERPARTS = {
    **{"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum"},
    **{"any": "all", "all": "any", "ceil": "floor", "floor": "ceil", "sorted": "list"},
    **{"rint": "trunc", "round": "int", "argmax": "argmin", "argmin": "argmax"},
}
"""Function -> what is called in its place."""
CONDITIONS = ("and_test", "or_test")
"""What parso calls conditions of several operands."""

BORROWED = (
    *(f"core/Replace{kind}_{pair}" for kind, pairs in PAIRS.items() for pair in pairs),
    "core/AddNot",
    *(f"core/Replace{pair}" for pair in ("TrueWithFalse", "FalseWithTrue")),
    *(f"core/Replace{pair}" for pair in ("AndWithOr", "OrWithAnd")),
    *(f"core/Replace{pair}" for pair in ("BreakWithContinue", "ContinueWithBreak")),
    "core/NumberReplacer",
    "core/ZeroIterationForLoop",
)


class _Statements(Operator):
    """Takes statements of a kind away."""

    def mutation_positions(self, node: Node) -> Iterator[Position]:
        """Every statement of the kind."""
        if self.suits(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Node, index: int) -> Node:
        """``pass`` in its place."""
        return parso.parse(f"{node.get_first_leaf().prefix}pass")

    @staticmethod
    @abstractmethod
    def suits(node: Node) -> bool:
        """Whether the statement is of the kind."""

    @classmethod
    def examples(cls) -> Sequence[Any]:
        """None: cosmic-ray's own tests ask for them."""
        return ()


class RemoveRaise(_Statements):
    """A check that refuses nothing."""

    @staticmethod
    def suits(node: Node) -> bool:
        """Raises something, not again."""
        return bool(node.type == "raise_stmt")


class RemoveCall(_Statements):
    """A call for its effect that is not made."""

    @staticmethod
    def suits(node: Node) -> bool:
        """Nothing takes its result."""
        is_call = node.type == "atom_expr" and node.children[-1].type == "trailer"
        return bool(is_call and node.parent.type in ("simple_stmt",))


class RemoveKeyword(Operator):
    """An argument by keyword that is not handed on."""

    def mutation_positions(self, node: Node) -> Iterator[Position]:
        """Every argument by keyword, but no ``**``."""
        nodes = [node.children[i] for i in _keywords(node)]
        return ((argument.start_pos, argument.end_pos) for argument in nodes)

    def mutate(self, node: Node, index: int) -> Node:
        """The call without that argument."""
        i = _keywords(node)[index]
        if node.type == "trailer":
            del node.children[i]
        else:
            # With the comma behind it, or before it where it is the last.
            first = i if i + 1 < len(node.children) else i - 1
            del node.children[first : first + 2]
        return node

    @classmethod
    def examples(cls) -> Sequence[Any]:
        """None."""
        return ()


class RemoveOperand(Operator):
    """A part of a condition that is not asked."""

    def mutation_positions(self, node: Node) -> Iterator[Position]:
        """Every operand of ``and`` and of ``or``."""
        if node.type in CONDITIONS:
            yield from ((part.start_pos, part.end_pos) for part in node.children[::2])

    def mutate(self, node: Node, index: int) -> Node:
        """The condition without that operand."""
        # With the word behind it, or before it where it is the last.
        first = min(2 * index, len(node.children) - 2)
        taken = slice(first, first + 2) if 2 * index == first else slice(first, None)
        before = node.get_first_leaf().prefix
        del node.children[taken]
        node.get_first_leaf().prefix = before
        return node if len(node.children) > 1 else node.children[0]

    @classmethod
    def examples(cls) -> Sequence[Any]:
        """None."""
        return ()


class SwapName(Operator):
    """The name of a function that is another's counterpart."""

    def mutation_positions(self, node: Node) -> Iterator[Position]:
        """Every call of such a function."""
        if node.type == "name" and node.value in COUNTERPARTS and _is_called(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Node, index: int) -> Node:
        """The other name."""
        node.value = COUNTERPARTS[node.value]
        return node

    @classmethod
    def examples(cls) -> Sequence[Any]:
        """None."""
        return ()


class RemoveCopy(Operator):
    """A copy that is not made: ``x.copy()`` is ``x``."""

    def mutation_positions(self, node: Node) -> Iterator[Position]:
        """Every call of a method ``copy``."""
        calls = [node.children[i] for i in _copies(node)]
        return ((call.start_pos, call.end_pos) for call in calls)

    def mutate(self, node: Node, index: int) -> Node:
        """The value without the call."""
        i = _copies(node)[index]
        del node.children[i : i + 2]
        return node

    @classmethod
    def examples(cls) -> Sequence[Any]:
        """None."""
        return ()


OWN: dict[str, type[Operator]] = {
    kind.__name__: kind
    for kind in (RemoveRaise, RemoveCall, RemoveKeyword, RemoveOperand, SwapName, RemoveCopy)
}
BLIND = frozenset(OWN)
"""The kinds that tests are blind to unless written for them."""
OPERATORS: dict[str, Operator] = {
    **{name: get_operator(name)() for name in BORROWED},
    **{name: kind() for name, kind in OWN.items()},
}


def places(root: Path, path: str) -> list[Place]:
    """Every place where some operator can change the file."""
    counts = dict.fromkeys(OPERATORS, 0)
    found = []
    for node in ast_nodes(get_ast((root / path).read_text())):
        for name, operator in OPERATORS.items():
            for (line, _), _ in operator.mutation_positions(node):
                found.append(Place(path, name, counts[name], line))
                counts[name] += 1
    return found


def changed(before: str, place: Place) -> str | None:
    """The file with the fault; none where it says the same, or is no Python."""
    after = mutate_code(before, OPERATORS[place.operator], place.occurrence)
    if after is None:
        return None
    try:
        return None if meaning(after) == meaning(before) else after
    except SyntaxError:
        return None


def meaning(source: str) -> str:
    """The syntax tree without annotations, docstrings and ``strict`` of ``zip``."""
    return ast.dump(_Bare().visit(ast.parse(source)))


class _Bare(ast.NodeTransformer):
    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == "zip":
            node.keywords = []  # a check of the code's own loops
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return ast.Pass() if is_text else self.generic_visit(node)


def _keywords(node: Node) -> list[int]:
    """Which children of a list of arguments are by keyword."""
    if node.type not in ("arglist", "trailer"):
        return []
    return [
        i
        for i, child in enumerate(node.children)
        if child.type == "argument" and len(child.children) == 3 and child.children[1] == "="
    ]


def _is_called(node: Node) -> bool:
    following = node.get_next_leaf()
    return bool(following is not None and following == "(" and node.parent.type != "funcdef")


def _copies(node: Node) -> list[int]:
    """Which children begin a call of ``copy`` without arguments."""
    if node.type != "atom_expr":
        return []
    codes = [child.get_code(include_prefix=False) for child in node.children]
    return [i for i in range(1, len(codes) - 1) if codes[i : i + 2] == [".copy", "()"]]
