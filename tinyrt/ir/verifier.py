"""The rules of a valid graph at each stage; they are checked after every pass."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import Any, Protocol

from tinyrt.errors import TinyrtError, VerifyError, error_context
from tinyrt.ir.graph import BoundNode, Graph, Node, Value
from tinyrt.ir.types import DType, TensorType


class Stage(Enum):
    """FLOAT: float32 activations, truth values and indices; INT8: quantised activations.

    In both, some ops take other integers, which stand for themselves. PLANNED: any, each with a
    place in the arena.
    """

    FLOAT = "float"
    INT8 = "int8"
    PLANNED = "planned"


UNQUANTIZED = (DType.FLOAT32, DType.BOOL, DType.INT32, DType.INT64, DType.UINT8)
"""Numbers, truth values and places: what a float graph computes with."""

STORED = (DType.INT4, DType.FLOAT16)
"""Dtypes of constants alone."""

QUANTIZED = (DType.INT8, DType.INT16)
"""Dtypes of quantised activations."""


class OpRules(Protocol):
    """The part of an op's record that verification uses."""

    @property
    def arity(self) -> tuple[int, int]:
        """Least and most number of inputs."""
        ...

    @property
    def attrs(self) -> type[Any]:
        """The type of its attributes."""
        ...

    @property
    def float_only(self) -> bool:
        """Whether the op must be replaced before the graph is quantised."""
        ...

    @property
    def plain_integers(self) -> bool:
        """Whether the op also takes integers that stand for themselves."""
        ...

    def infer(self, attrs: Any, inputs: Sequence[TensorType | None]) -> tuple[TensorType, ...]:
        """Output types from attributes and input types."""
        ...

    def check_quant(self, node: BoundNode) -> None:
        """Raise if the quantisation parameters break the op's rules."""
        ...


def verify(
    graph: Graph,
    rules: Mapping[str, OpRules],
    stage: Stage | None = None,
    placed: Collection[str] = (),
    verified: dict[int, BoundNode] | None = None,
) -> Graph:
    """Check the graph's invariants and return it unchanged.

    Every input is defined before use and every name once, shapes and dtypes are re-derived and
    equal, and the stage's own rules hold. Without a stage, only the structure is checked.

    Args:
        graph: what to check.
        rules: op name -> record.
        stage: whose rules must hold.
        placed: at PLANNED, the values that have a place in the arena.
        verified: nodes that were correct in an earlier check, by identity; nodes that are correct
            now are added. For graphs that are checked again and again.

    Raises:
        VerifyError: an invariant is broken.

    """
    check_order(graph)
    for value in graph.input_values:
        _check_not_stored(value)
    for i, node in enumerate(graph.nodes):
        bound = graph.bind(i)
        if verified is None or not _is_same(verified.get(id(node)), bound):
            with error_context(op=bound.describe()):
                check_types(bound, rules)
                _check_stage(bound, rules[node.op], stage)
        if verified is not None:
            verified[id(node)] = bound
    _check_states(graph)
    if stage is Stage.PLANNED:
        _check_placed(graph, placed)
    return graph


def _check_states(graph: Graph) -> None:
    inputs, outputs = set(graph.inputs), set(graph.outputs)
    for before, after in graph.states:
        if before not in inputs or after not in outputs:
            raise VerifyError(
                f"state '{before}' -> '{after}'",
                expected="an input and an output of the model, each of one state",
            )
        if after in graph.inputs:
            # What several states hold would depend on which of them is copied first.
            raise VerifyError(
                f"state '{before}' -> '{after}'",
                expected="an output that an op computes: reshape what a state keeps as it is",
            )
        inputs.remove(before)
        outputs.remove(after)
        old, new = graph.value(before), graph.value(after)
        if old.type != new.type or old.q != new.q:
            raise VerifyError(
                f"state {old.describe()} becomes {new.describe()}", expected="the same type"
            )


def _is_same(earlier: BoundNode | None, node: BoundNode) -> bool:
    """Whether both are the same node with the same values."""
    if earlier is None or earlier.node is not node.node:
        return False
    pairs = zip((*earlier.inputs, *earlier.outputs), (*node.inputs, *node.outputs), strict=True)
    return all(a is b for a, b in pairs)


def _check_names(graph: Graph, index: int, where: str, defined: set[str]) -> None:
    node = graph.nodes[index]
    for name in node.inputs:
        if name and name not in defined:
            raise VerifyError(
                f"'{name}' is used before it is defined",
                op=where,
                expected="an input, a constant, or the output of an earlier op",
            )
    for name in node.outputs:
        if name in defined or node.outputs.count(name) > 1:
            raise VerifyError(
                f"'{name}' is defined twice",
                op=where,
                expected="a tensor of its own for each output",
            )
        if name not in graph.values:
            raise VerifyError(
                f"output '{name}' has no value",
                op=where,
                expected="its dtype and shape in the graph's values",
            )


def check_order(graph: Graph) -> Graph:
    """Check the names and the order of the nodes, and return the graph unchanged.

    Raises:
        VerifyError: a value is used before it is defined, or defined twice.

    """
    defined = _defined(graph)
    for i, node in enumerate(graph.nodes):
        _check_names(graph, i, f"{node.op} '{node.name}'", defined)
        defined.update(node.outputs)
    for name in graph.outputs:
        if name not in defined:
            raise VerifyError(
                f"output '{name}' is never computed",
                expected="an input, a constant, or the output of an op",
            )
    return graph


def _defined(graph: Graph) -> set[str]:
    """Names of the inputs and constants, which are defined before the first op."""
    defined = {n for n, v in graph.values.items() if v.is_constant}
    inputs: set[str] = set()
    for name in graph.inputs:
        if name not in graph.values:
            raise VerifyError(
                f"input '{name}' has no value", expected="its dtype and shape in the graph's values"
            )
        what = graph.value(name).describe()
        if name in inputs:
            raise VerifyError(
                "two inputs of the model are one tensor", tensor=what, expected="a tensor for each"
            )
        if name in defined:
            raise VerifyError(
                "an input of the model is a constant", tensor=what, expected="a tensor without data"
            )
        inputs.add(name)
    return defined | inputs


def check_arity(node: Node, spec: OpRules) -> None:
    """Raise ``VerifyError`` unless the op has as many inputs as it takes."""
    least, most = spec.arity
    if not least <= len(node.inputs) <= most:
        raise VerifyError(
            f"{len(node.inputs)} inputs",
            expected=f"{least}" if least == most else f"{least}-{most}",
        )
    for i, name in enumerate(node.inputs[:least]):
        if not name:
            raise VerifyError(f"input {i} is missing", expected="a tensor")


def check_types(node: BoundNode, rules: Mapping[str, OpRules]) -> None:
    """Derive a node's outputs from its inputs.

    Raises:
        VerifyError: there is no such op, or its attributes, its inputs' number or its outputs are
            others.
        ShapeError: dtypes, shapes and attributes do not fit together.

    """
    if node.op not in rules:
        raise VerifyError(
            f"there is no op '{node.op}'", expected="an op of the table that 'tinyrt ops' prints"
        )
    spec = rules[node.op]
    check_arity(node.node, spec)
    if not isinstance(node.attrs, spec.attrs):
        raise VerifyError(f"attributes are {node.attrs}", expected=f"a {spec.attrs.__name__}")
    types = tuple(v.type for v in node.outputs)
    derived = spec.infer(node.attrs, [v.type if v else None for v in node.inputs])
    if types != derived:
        raise VerifyError(
            f"output is {', '.join(map(str, types))}",
            tensor=node.output.describe(),
            expected=", ".join(map(str, derived)),
        )


def _check_stage(node: BoundNode, spec: OpRules, stage: Stage | None) -> None:
    activations = [v for v in (*node.inputs, *node.outputs) if v and not v.is_constant]
    if stage is Stage.FLOAT:
        for value in activations:
            if value.dtype not in UNQUANTIZED and (value.q is not None or not spec.plain_integers):
                raise _wrong(value, "float32 activations before quantisation")
    elif stage is Stage.INT8 and spec.float_only and any(v.q for v in activations):
        raise VerifyError("the op has no integer form", hint="fold or replace it before quantising")
    for value in activations:
        _check_not_stored(value)
        if value.dtype in QUANTIZED and value.q is None and not spec.plain_integers:
            raise _wrong(value, "quantisation parameters on every int8 and int16 tensor")
    if any(v.q for v in activations):
        spec.check_quant(node)


def _check_not_stored(value: Value) -> None:
    if value.dtype in STORED:
        raise _wrong(value, "activations in another dtype: this one is for constants alone")


def _check_placed(graph: Graph, placed: Collection[str]) -> None:
    names = [*graph.inputs, *(o for n in graph.nodes for o in n.outputs)]
    for name in names:
        if name not in placed:
            raise VerifyError(
                "no place in the arena",
                tensor=graph.value(name).describe(),
                expected="a place for each input, and for each output of an op",
            )


def _wrong(value: Value, expected: str) -> TinyrtError:
    return VerifyError(
        "a tensor does not fit its stage", tensor=value.describe(), expected=expected
    )
