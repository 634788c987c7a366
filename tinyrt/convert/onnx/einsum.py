"""ONNX's Einsum: every product of two operands is a batch of matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinyrt.convert.onnx.call import Call, Operand
from tinyrt.convert.onnx.grid import Quantized
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import Value

LONGEST_EQUATION = 1000
"""Characters; what ranks and operands allow is far less."""

ELLIPSIS_LABELS = "0123456789"
"""Labels of dimensions that an ellipsis stands for, counted from the back."""


@dataclass(frozen=True, slots=True)
class Term:
    """An operand and its dimensions' labels; ``known`` where it is not computed."""

    value: Value
    labels: str

    def size(self, label: str) -> int:
        """The size of a dimension."""
        return self.value.shape[self.labels.index(label)]


def einsum(call: Call) -> Value:
    """The sum over all labels that the output does not have."""
    operands = call.operands()
    terms_text, output = _equation(call, [len(o.shape) for o in operands])
    terms = [_term(call, i, labels) for i, labels in enumerate(terms_text)]
    for i, term in enumerate(terms):
        others = output + "".join(t.labels for j, t in enumerate(terms) if j != i)
        terms[i] = _summed(call, term, [c for c in term.labels if c not in others], f"sum{i}")
    result = terms[0]
    for i, term in enumerate(terms[1:], start=1):
        later = output + "".join(t.labels for t in terms[i + 1 :])
        result = _product(call, result, term, later, f"product{i}")
    return _ordered(call, result, output, "ordered").value


def _equation(call: Call, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The operands' labels and the output's, with digits in place of ellipses."""
    text = call.node.get_string("equation", "").replace(" ", "")
    if len(text) > LONGEST_EQUATION:
        raise ModelFormatError(
            f"an equation of {len(text)} characters", expected=f"at most {LONGEST_EQUATION}"
        )
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ModelFormatError(f"equation '{text}'", expected=f"{len(ranks)} operands")
    widest = 0
    for i, (term, rank) in enumerate(zip(terms, ranks, strict=True)):
        hidden = rank - len(term.replace("...", ""))
        if hidden < 0 or (hidden > 0 and "..." not in term) or hidden > len(ELLIPSIS_LABELS):
            raise ModelFormatError(f"'{term}' in '{text}'", expected=f"{rank} labels")
        terms[i] = term.replace("...", ELLIPSIS_LABELS[:hidden][::-1])
        widest = max(widest, hidden)
    every = "".join(terms)
    if not arrow:
        once = sorted(c for c in set(every) if c.isalpha() and every.count(c) == 1)
        right = ("..." if "..." in left else "") + "".join(once)
    output = right.replace("...", ELLIPSIS_LABELS[:widest][::-1])
    if any(len(set(t)) != len(t) for t in (*terms, output)):
        raise UnsupportedError(
            f"Einsum '{text}' with a label twice in one operand",
            expected="products, sums and permutations",
            hint="take the diagonal outside of Einsum",
        )
    if not set(output) <= set(every):
        raise ModelFormatError(f"equation '{text}'", expected="an output of the operands' labels")
    return terms, output


def _term(call: Call, i: int, labels: str) -> Term:
    operand: Operand = call.operand(i)
    if isinstance(operand, Value | Quantized) or operand.ndim:
        return Term(call.value(i), labels)
    return Term(call.constant(call.node.inputs[i], np.atleast_1d(operand)), "#")


def _summed(call: Call, term: Term, labels_summed: Sequence[str], name: str) -> Term:
    if not labels_summed:
        return term
    axes = tuple(term.labels.index(c) for c in labels_summed)
    name = f"{call.result}.{name}"
    y = call.emit("sum", term.value, name=name, axes=axes, keep_dims=False)
    return Term(y, "".join(c for c in term.labels if c not in labels_summed))


def _ordered(call: Call, term: Term, labels: str, name: str) -> Term:
    """The term with its dimensions in another order."""
    perm = tuple(term.labels.index(c) for c in labels)
    return Term(call.transpose(term.value, perm, f"{call.result}.{name}"), labels)


def _product(call: Call, a: Term, b: Term, output: str, name: str) -> Term:
    """The product of two terms, summed over shared labels that the output lacks."""
    shared = [c for c in a.labels if c in b.labels]
    batch = [c for c in shared if c in output]
    inner = [c for c in shared if c not in output]
    rows = [c for c in a.labels if c not in shared]
    columns = [c for c in b.labels if c not in shared]
    if not inner:
        return _elementwise(call, a, b, batch, rows, columns, name)
    if any(a.size(c) != b.size(c) for c in inner):
        raise ModelFormatError(f"operands {a.value.type} and {b.value.type}", expected="same sizes")
    left = _matrices(call, a, batch, rows, inner, f"{name}.left")
    right = _matrices(call, b, batch, inner, columns, f"{name}.right")
    y = _multiplied(call, left, right, f"{call.result}.{name}")
    lead = np.broadcast_shapes(tuple(a.size(c) for c in batch), tuple(b.size(c) for c in batch))
    shape = (*lead, *(a.size(c) for c in rows), *(b.size(c) for c in columns))
    flat = call.reshape(y, shape, f"{call.result}.{name}.parts")
    return Term(flat, "".join([*batch, *rows, *columns]))


def _multiplied(call: Call, left: Value, right: Value, name: str) -> Value:
    """Products of matrices; a dense layer where one operand is a constant matrix."""
    if right.is_constant and all(d == 1 for d in right.shape[:-2]):
        assert right.data is not None, "it is constant"
        matrix = right.data.reshape(right.shape[-2:]).T
        weights = call.constant(f"{right.name}.weights", np.ascontiguousarray(matrix))
        keep = len(left.shape) > 2
        return call.emit("fully_connected", left, weights, name=name, keep_num_dims=keep)
    return call.emit("batch_matmul", left, right, name=name)


def _matrices(
    call: Call, term: Term, batch: list[str], rows: list[str], columns: list[str], name: str
) -> Value:
    """A term as (batch..., rows, columns)."""
    matrices = _ordered(call, term, "".join([*batch, *rows, *columns]), name).value
    shape = (
        *(term.size(c) for c in batch),
        int(np.prod([term.size(c) for c in rows], dtype=np.int64)),
        int(np.prod([term.size(c) for c in columns], dtype=np.int64)),
    )
    if matrices.data is not None:
        return call.constant(f"{matrices.name}.matrix", matrices.data.reshape(shape))
    return call.reshape(matrices, shape, f"{call.result}.{name}.matrix")


def _elementwise(
    call: Call,
    a: Term,
    b: Term,
    batch: list[str],
    rows: list[str],
    columns: list[str],
    name: str,
) -> Term:
    """A product without a sum."""
    labels = "".join([*batch, *rows, *columns])
    left = _ordered(call, a, "".join([*batch, *rows]), f"{name}.left").value
    right = _ordered(call, b, "".join([*batch, *columns]), f"{name}.right").value
    lead, tail = right.shape[: len(batch)], right.shape[len(batch) :]
    left = call.reshape(left, (*left.shape, *[1] * len(columns)), f"{call.result}.{name}.wide")
    right = call.reshape(right, (*lead, *[1] * len(rows), *tail), f"{call.result}.{name}.tall")
    return Term(call.emit("mul", left, right, name=f"{call.result}.{name}"), labels)
