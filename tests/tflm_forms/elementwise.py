"""Element-wise ops, reductions and conversions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tests.convert.raw_tflite import Tensor
from tests.tflm_forms.form import (
    DTYPES,
    KINDS,
    QUANTISED,
    OneOp,
    Param,
    drawn,
    ints,
    number,
    one_op,
    tensor,
)

X = (2, 3, 4, 5)
SAME = (0.05, -7)
UNARY = {
    "ABS": "AbsOptions", "CEIL": None, "COS": "CosOptions", "ELU": None, "EXP": "ExpOptions",
    "FLOOR": None, "HARD_SWISH": "HardSwishOptions", "L2_NORMALIZATION": "L2NormOptions",
    "LOG": None, "LOGICAL_NOT": "LogicalNotOptions", "LOGISTIC": None,
    "LOG_SOFTMAX": "LogSoftmaxOptions", "NEG": "NegOptions", "RELU": None, "RELU6": None,
    "ROUND": None, "RSQRT": None, "SIN": None, "SQRT": None, "SQUARE": "SquareOptions",
    "TANH": None, "ZEROS_LIKE": "ZerosLikeOptions",
}  # fmt: skip
RESULTS: tuple[tuple[Param, Param], ...] = (
    (SAME, SAME), (SAME, (0.021, 11)), ((0.03, 5), (0.09, -128)), (SAME, (1 / 256, -128)),
    ((2**-11, 0), (2**-15, 0)), (SAME, (1 / 128, 0)), (SAME, (16 / 256, 127)),
    ((0.001, 0), (0.5, 3)),
)  # fmt: skip
"""Scale and zero point of the input and of the output."""
BINARY = {
    "ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "DIV": "DivOptions",
    "MAXIMUM": "MaximumMinimumOptions", "MINIMUM": "MaximumMinimumOptions",
    "SQUARED_DIFFERENCE": "SquaredDifferenceOptions", "FLOOR_DIV": "FloorDivOptions",
    "FLOOR_MOD": "FloorModOptions", "PRELU": None,
}  # fmt: skip
LOGIC = {
    "EQUAL": "EqualOptions", "NOT_EQUAL": "NotEqualOptions", "GREATER": "GreaterOptions",
    "GREATER_EQUAL": "GreaterEqualOptions", "LESS": "LessOptions",
    "LESS_EQUAL": "LessEqualOptions", "LOGICAL_AND": "LogicalAndOptions",
    "LOGICAL_OR": "LogicalOrOptions",
}  # fmt: skip
FUSING = ("ADD", "SUB", "MUL", "DIV")
SHAPES = {
    "same": (X, X, X), "scalar": (X, (), X), "row": (X, (5,), X), "mid": (X, (3, 1, 5), X),
    "both": ((2, 1, 4, 1), (3, 1, 5), X), "first": ((1, 5), (2, 3, 5), (2, 3, 5)),
}  # fmt: skip
SCALES: dict[str, tuple[Param, Param, Param]] = {
    "alike": (SAME, SAME, SAME),
    "other": (SAME, (0.02, 9), (0.08, 3)),
    "far": ((0.5, 0), (0.004, 0), (0.02, -128)),
}
REDUCED = (
    ((1, 2), True, (2, 1, 1, 5)), ((1, 2), False, (2, 5)), ((3,), False, (2, 3, 4)),
    ((-1,), True, (2, 3, 4, 1)), ((0, 1, 2, 3), False, ()), ((0,), False, (3, 4, 5)),
    ((0, 2), False, (3, 5)),
)  # fmt: skip


def scales_of(kind: str) -> dict[str, tuple[Param, Param, Param]]:
    return SCALES if kind in QUANTISED else {"alike": SCALES["alike"]}


def unary() -> Iterator[OneOp]:
    for (op, table), kind in product(UNARY.items(), KINDS):
        for x, y in RESULTS if kind in QUANTISED else RESULTS[:1]:
            label = f"{kind} {x[0]:.3g},{x[1]} to {y[0]:.3g},{y[1]}"
            yield one_op(op, label, [tensor("x", X, kind, x), tensor("y", X, kind, y)], table)
    for kind, alpha, (x, y) in product(QUANTISED, (0.1, 0.0, -0.5, 1.5), RESULTS[:3]):
        tensors = [tensor("x", X, kind, x), tensor("y", X, kind, y)]
        label = f"{kind} alpha {alpha} {x[0]:.3g} to {y[0]:.3g}"
        yield one_op("LEAKY_RELU", label, tensors, "LeakyReluOptions", Alpha=alpha)


def pairs() -> Iterator[OneOp]:
    for (op, table), kind, (form, shapes) in product(
        {**BINARY, **LOGIC}.items(), KINDS, SHAPES.items()
    ):
        for scales, (a, b, y) in scales_of(kind).items():
            for constant, act in product((False, True), range(4) if op in FUSING else (0,)):
                if act and (form != "same" or scales == "far"):
                    continue
                data = drawn(shapes[1], kind, op, 1, 20) if constant else None
                tensors = [
                    tensor("x", shapes[0], kind, a),
                    tensor("c", shapes[1], kind, b, data),
                    tensor("y", shapes[2], "bool" if op in LOGIC else kind, y),
                ]
                label = f"{kind} {form} {scales}{' constant' * constant} act {act}"
                fields = {"FusedActivationFunction": act} if act else {}
                yield one_op(op, label, tensors, table, **fields)


def sums_of_several() -> Iterator[OneOp]:
    for kind, count, alike in product(KINDS, (2, 3, 5), (True, False)):
        y = SAME if alike else (0.11, 3)
        tensors = [tensor(f"x{i}", X, kind) for i in range(count)]
        label = f"{kind} of {count} {'alike' if alike else 'other'}"
        yield one_op("ADD_N", label, [*tensors, tensor("y", X, kind, y)], "AddNOptions")


def reductions() -> Iterator[OneOp]:
    ops = ("SUM", "MEAN", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_ANY", "REDUCE_ALL")
    for op, kind, (axes, keep, shape) in product(ops, KINDS, REDUCED):
        for scales, (x, _, y) in scales_of(kind).items():
            tensors = [tensor("x", X, kind, x), ints("axes", *axes), tensor("y", shape, kind, y)]
            label = f"{kind} {axes}{' kept' * keep} {scales}"
            yield one_op(op, label, tensors, "ReducerOptions", KeepDims=keep)
    for op, kind, axis, wide in product(("Max", "Min"), KINDS, (0, 1, -1), (False, True)):
        shape = tuple(n for i, n in enumerate(X) if i != axis % 4)
        tensors = [tensor("x", X, kind), number("axis", axis)]
        tensors.append(tensor("y", shape, "s64" if wide else "s32"))
        label = f"{kind} axis {axis}{' wide' * wide}"
        fields = {"OutputType": 4 if wide else 2}
        yield one_op(f"ARG_{op.upper()}", label, tensors, f"Arg{op}Options", **fields)


def softmaxes() -> Iterator[OneOp]:
    wanted: tuple[tuple[str, Param], ...] = (
        ("f32", SAME), ("s8", (1 / 256, -128)), ("s16", (1 / 32768, 0)), ("s16", (1 / 65536, 0)),
        ("s8", (1 / 128, 0)),
    )  # fmt: skip
    for kind, (to, y), beta in product(KINDS, wanted, (0.5, 1.0, 2.0)):
        label = f"{kind} to {to} {y[0]:.3g} beta {beta}"
        tensors = [tensor("x", X, kind), tensor("y", X, to, y)]
        yield one_op("SOFTMAX", label, tensors, "SoftmaxOptions", Beta=beta)


def conversions() -> Iterator[OneOp]:
    for a, b in product(KINDS, repeat=2):
        plain = [Tensor(n, X, DTYPES[k]) for n, k in (("x", a), ("y", b))]
        yield one_op("CAST", f"{a} to {b}", plain, "CastOptions")
        for name, zero_points in (("", (3, 9)), (" no zero point", (0, 0))):
            x, y = (
                Tensor(n, X, DTYPES[k], scale=s, zero_point=z)
                for n, k, s, z in zip("xy", (a, b), (0.05, 0.03), zero_points, strict=True)
            )
            yield one_op("QUANTIZE", f"{a} to {b}{name}", [x, y], "QuantizeOptions")
            real = [x, Tensor("y", X, DTYPES[b])]
            yield one_op("DEQUANTIZE", f"{a} to {b}{name}", real, "DequantizeOptions")


def forms() -> Iterator[OneOp]:
    """All forms of this file."""
    for family in (unary, pairs, sums_of_several, reductions, softmaxes, conversions):
        yield from family()
