"""Faults in Python: operators of cosmic-ray, and those that reviews of this code asked for.

cosmic-ray changes arithmetic, comparisons, numbers, conditions and loops; ``rewrites`` what tests
rarely miss.
"""

from __future__ import annotations

import ast
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator

from tools.mutants.faults import Place
from tools.mutants.rewrites import OWN

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

BORROWED = (
    *(f"core/Replace{kind}_{pair}" for kind, pairs in PAIRS.items() for pair in pairs),
    "core/AddNot",
    *(f"core/Replace{pair}" for pair in ("TrueWithFalse", "FalseWithTrue")),
    *(f"core/Replace{pair}" for pair in ("AndWithOr", "OrWithAnd")),
    *(f"core/Replace{pair}" for pair in ("BreakWithContinue", "ContinueWithBreak")),
    "core/NumberReplacer",
    "core/ZeroIterationForLoop",
)


OPERATORS: dict[str, Operator] = {
    **{name: get_operator(name)() for name in BORROWED},
    **OWN,
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
