"""Code that notes what its expressions were, and computes what it did."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from types import CodeType

from tools.differing.places import COMPARE, COMPUTE, ROUND, SYMMETRIC, TWIN_OF, Places

NOTED = "_noted_by_differing"
"""The ``Places`` that instrumented code calls."""

COMPILED = {"compiled", "intrinsic", "njit", "overload", "subroutine"}
"""What has Numba compile a function, as a decorator or by a call: it is left as it is."""
UNORDERED = {
    "getattr",
    "hasattr",
    "isinstance",
    "issubclass",
    "max",
    "min",
    "print",
    "range",
    "zip",
}
"""Functions whose arguments have no neighbours of their kind, or any order."""

Which = str | int | bool | None


def code_of(places: Places, source: str, file: str) -> CodeType:
    """A module's code that notes in ``places``."""
    tree = ast.parse(source)
    tree = _Expressions(places, file, _compiled_by_calls(tree)).visit(tree)
    return compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)


class _Expressions(ast.NodeTransformer):
    def __init__(self, places: Places, file: str, compiled: set[str]) -> None:
        self._places, self._file, self._compiled = places, file, compiled
        self._whole: set[int] = set()

    def _noted(
        self,
        method: str,
        node: ast.expr | ast.arg,
        text: str,
        arguments: list[ast.expr],
        *,
        kind: str = "",
        which: Iterable[Which] = (None,),
    ) -> ast.expr:
        place = (self._file, node.lineno, node.col_offset, kind or method)
        for w in which:
            self._places.texts[*place, w] = text
        function = ast.Attribute(ast.Name(NOTED, ast.Load()), method, ast.Load())
        at = ast.parse(repr(place), mode="eval").body
        return ast.copy_location(ast.Call(function, [at, *arguments], []), node)

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.MatchValue:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        if (
            node.name in self._compiled
            or COMPILED & set(map(_function, node.decorator_list))
            or _is_kernel(node)
        ):
            return node
        given = [
            ast.Expr(self._noted("parameter", p, f"{node.name}({p.arg})", [_name(p.arg), default]))
            for p, default in _defaults(node.args)
            if isinstance(default, ast.Constant)
        ]
        body = [self.visit(statement) for statement in node.body]
        documented = ast.get_docstring(node) is not None
        node.body = body[:documented] + given + body[documented:]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        text = _text(node)
        self.generic_visit(node)
        operands = [node.left, *node.comparators]
        kinds = [type(op).__name__ for op in node.ops]
        if not set(kinds) <= COMPARE.keys() or not all(map(_is_plain, operands[1:-1])):
            return node
        links = [
            self._noted("limit", node, text, [ast.Constant(kind), a, b], kind=f"limit {i + 1}")
            for i, (kind, a, b) in enumerate(zip(kinds, operands, operands[1:], strict=False))
        ]
        return (
            links[0] if len(links) == 1 else ast.copy_location(ast.BoolOp(ast.And(), links), node)
        )

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        text, kind = _text(node), type(node.op).__name__
        self.generic_visit(node)
        if kind not in COMPUTE or isinstance(getattr(node.left, "value", None), str):
            return node
        which = ("left", "right") if kind in SYMMETRIC else ("right",)
        arguments = [ast.Constant(kind), node.left, node.right]
        return self._noted("operands", node, text, arguments, kind=kind, which=which)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        text = _text(node)
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        part = node.slice
        if isinstance(part, ast.Slice) and part.step is None:
            bounds = {"start": part.lower, "stop": part.upper}
            arguments = [node.value, *(b or ast.Constant(None) for b in bounds.values())]
            which = [name for name, bound in bounds.items() if bound is not None]
            return self._noted("cut", node, text, arguments, which=which)
        return self._noted("at", node, text, [node.value, part]) if _is_index(part) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        text = _text(node)
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or node.attr not in TWIN_OF:
            return node
        return self._noted("twin", node, text, [node.value, ast.Constant(node.attr)])

    def visit_For(self, node: ast.For) -> ast.For:
        text = _text(node.iter)
        self.generic_visit(node)
        node.iter = self._noted("loop", node.iter, text, [node.iter])
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        self._whole.add(id(node.test))
        return self.generic_visit(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        self._whole.add(id(node.test))
        return self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self._whole.add(id(node.value))
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.IfExp:
        node.test = self._condition(node.test, "choice")
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        tests, node.ifs = node.ifs, []
        self.generic_visit(node)
        node.ifs = [self._condition(test, "filter") for test in tests]
        return node

    def _condition(self, test: ast.expr, kind: str) -> ast.expr:
        """A condition that branches of the code do not show."""
        text = _text(test)
        self._whole.add(id(test))
        return self._noted(
            "condition", test, text, [self.visit(test)], kind=kind, which=(True, False)
        )

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if id(node) in self._whole:
            self._whole.add(id(node.operand))
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.BoolOp:
        """All parts of a condition; of a value, ``given or 3``, those before the last."""
        texts = list(map(_text, node.values))
        whole = id(node) in self._whole
        if whole:
            self._whole.update(map(id, node.values))
        self.generic_visit(node)
        deciding = ast.Constant(isinstance(node.op, ast.Or))
        noted = len(node.values) if whole else len(node.values) - 1
        for i, text in enumerate(texts[:noted]):
            value = node.values[i]
            if not isinstance(value, ast.Constant):
                node.values[i] = self._noted("part", value, text, [value, deciding])
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        text, function, given = _text(node), node.func, list(node.args)
        if not _is_plain(function):
            node.func = self.visit(function)
        node.args = [self.visit(argument) for argument in given]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        name = _function(function)
        positional = bool(given) and not any(isinstance(a, ast.Starred) for a in given)
        is_limit = _is_builtin(function, "max", "min") and not node.keywords
        if is_limit and positional and len(given) > 1:
            arguments = [ast.Constant(name), *node.args]
            return self._noted("best", node, text, arguments, kind=name, which=range(len(given)))
        if name in ROUND and positional and len(given) == 1 and not node.keywords:
            return self._noted("rounded", node, text, [node.func, *node.args], kind=name)
        if _is_builtin(function, "any", "all") and isinstance(given[0], ast.GeneratorExp):
            return self._noted("several", node, text, [ast.Constant(name), *node.args], kind=name)
        if _is_builtin(function, "sorted") and positional:
            call = self._noted("ordered", node, text, node.args)
            assert isinstance(call, ast.Call)
            call.keywords = node.keywords
            return call
        if _is_plain(function):
            self._keywords(node, text, name, given)
            if positional and name not in UNORDERED and isinstance(function, ast.Name):
                self._neighbours(node, text, given)
        return node

    def _keywords(self, node: ast.Call, text: str, name: str, given: list[ast.expr]) -> None:
        of_field = name == "replace" and bool(given) and _is_plain(given[0])
        owner = given[0] if of_field else node.func
        for keyword in node.keywords:
            value = keyword.value
            if keyword.arg is None or isinstance(value, ast.Constant | ast.Lambda):
                continue
            method = "replaced" if of_field else "keyword"
            arguments = [owner, ast.Constant(keyword.arg), value]
            keyword.value = self._noted(method, value, f"{keyword.arg} of {text}", arguments)

    def _neighbours(self, node: ast.Call, text: str, given: list[ast.expr]) -> None:
        if len(given) < 2 or any(isinstance(a, ast.Constant | ast.Lambda) for a in given):
            return
        values = self._noted("swapped", node, text, node.args, which=range(len(given) - 1))
        node.args = [ast.copy_location(ast.Starred(values, ast.Load()), node)]


def _defaults(arguments: ast.arguments) -> list[tuple[ast.arg, ast.expr]]:
    placed = [*arguments.posonlyargs, *arguments.args]
    last = placed[len(placed) - len(arguments.defaults) :]
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return [
        *zip(last, arguments.defaults, strict=True),
        *((a, d) for a, d in named if d is not None),
    ]


def _is_builtin(function: ast.expr, *names: str) -> bool:
    """Whether a call is of one of these: ``np.max`` takes an axis, and not a second value."""
    return isinstance(function, ast.Name) and function.id in names


def _compiled_by_calls(tree: ast.Module) -> set[str]:
    calls = (n for n in ast.walk(tree) if isinstance(n, ast.Call) and _function(n) in COMPILED)
    return {a.id for call in calls for a in call.args if isinstance(a, ast.Name)}


def _is_kernel(node: ast.FunctionDef) -> bool:
    """Whether a function has the form of those that ``backends.numba.abi`` compiles."""
    match [p.annotation for p in node.args.args], node.returns:
        case [ast.Name("int")], ast.Constant(None):
            return True
    return False


def _function(node: ast.expr) -> str:
    """The last name of a function, or of what a call calls."""
    return ast.unparse(node).split("(")[0].split(".")[-1]


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _text(node: ast.expr) -> str:
    return " ".join(ast.unparse(node).split())[:100]


def _is_plain(node: ast.expr) -> bool:
    """Whether it may be computed twice: a name, or what a name has."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_plain(node.value))


def _is_index(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _is_index(node.operand)
    return isinstance(node, ast.Constant) and type(node.value) is int
