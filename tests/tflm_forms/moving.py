"""Ops that move, pick and resize."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from tests.convert.raw_tflite import Tensor
from tests.tflm_forms.form import (
    DTYPES,
    KINDS,
    QUANTISED,
    OneOp,
    Param,
    array_type,
    drawn,
    ints,
    number,
    one_op,
    tensor,
)

ALIKE, OTHER = (0.05, -7), (0.02, 11)
X = (2, 3, 4)


class Mover:
    """Makes forms of one dtype, whose outputs have the input's scale or another."""

    def __init__(self, kind: str, q: Param) -> None:
        self.kind, self.q = kind, q

    def x(self, *shape: int, name: str = "x") -> Tensor:
        return tensor(name, shape, self.kind)

    def y(self, *shape: int, name: str = "y") -> Tensor:
        return tensor(name, shape, self.kind, self.q)

    def value(self, shape: tuple[int, ...]) -> Tensor:
        """A constant in the output's steps."""
        data = np.full(shape, 1, array_type(self.kind))
        return tensor("v", shape, self.kind, self.q, data)

    def form(
        self, op: str, label: str, tensors: list[Tensor], table: str | None = None, **fields: Any
    ) -> OneOp:
        other = " other" * (self.q != ALIKE)
        return one_op(
            op, f"{self.kind}{f' {label}' * bool(label)}{other}", tensors, table, **fields
        )


def pairs(*rows: tuple[int, int]) -> Tensor:
    return Tensor("p", (len(rows), 2), "INT32", np.array(rows, np.int32))


def shapes(m: Mover) -> Iterator[OneOp]:
    yield m.form("RESHAPE", "", [m.x(*X), ints("s", 4, -1), m.y(4, 6)], "ReshapeOptions")
    yield m.form("SQUEEZE", "", [m.x(2, 1, 4, 1), m.y(2, 4)], "SqueezeOptions")
    yield m.form("EXPAND_DIMS", "", [m.x(*X), ints("s", 1), m.y(2, 1, 3, 4)])
    for name, a, b in (("SPACE_TO_DEPTH", (1, 4, 6, 3), (1, 2, 3, 12)),
                       ("DEPTH_TO_SPACE", (1, 2, 3, 12), (1, 4, 6, 3))):  # fmt: skip
        table = f"{name.title().replace('_', '')}Options"
        yield m.form(name, "", [m.x(*a), m.y(*b)], table, BlockSize=2)
    for perm in ((1, 0, 2), (2, 0, 1), (0, 2, 1)):
        y = m.y(*(X[i] for i in perm))
        yield m.form("TRANSPOSE", str(perm), [m.x(*X), ints("p", *perm), y], "TransposeOptions")
    yield m.form("BROADCAST_TO", "", [m.x(3, 1), ints("s", *X[:2], 4), m.y(*X[:2], 4)])
    yield m.form("TILE", "", [m.x(3, 2), ints("s", 2, 3), m.y(6, 6)])
    yield m.form("SHAPE", "", [m.x(3, 2), tensor("y", (2,), "s32")], "ShapeOptions", OutType=2)
    yield m.form("FILL", "", [ints("s", 2, 3), tensor("v", (), m.kind), m.y(2, 3)], "FillOptions")
    for axes in ((1,), (0, 1), (-1,)):
        tensors = [m.x(*X), ints("axes", *axes), m.y(*X)]
        yield m.form("REVERSE_V2", str(axes), tensors, "ReverseV2Options")


def paddings(m: Mover) -> Iterator[OneOp]:
    cases = {
        "4d": ((1, 3, 4, 2), ((0, 0), (1, 2), (0, 1), (0, 0))),
        "3d": ((3, 4, 3), ((1, 2), (0, 1), (2, 0))),
        "2d": ((3, 4), ((1, 2), (0, 1))),
    }
    for name, (shape, rows) in cases.items():
        y = m.y(*(n + a + b for n, (a, b) in zip(shape, rows, strict=True)))
        yield m.form("PAD", name, [m.x(*shape), pairs(*rows), y], "PadOptions")
        for value in (m.value(()), m.value((1,)), tensor("v", (1,), m.kind, m.q)):
            label = f"{name}{' computed' * (value.data is None)} of rank {len(value.shape)}"
            yield m.form("PADV2", label, [m.x(*shape), pairs(*rows), value, y], "PadV2Options")
        for mode in (0, 1):
            tensors = [m.x(*shape), pairs(*rows), y]
            yield m.form(
                "MIRROR_PAD", f"{name} mode {mode}", tensors, "MirrorPadOptions", Mode=mode
            )


def joins(m: Mover) -> Iterator[OneOp]:
    for count, axis, rank in product((2, 3), (0, 1, -1), (2, 4)):
        shape = [2, 3, 4, 2][:rank]
        parts = [m.x(*shape, name=f"x{i}") for i in range(count)]
        longer = list(shape)
        longer[axis] *= count
        label = f"of {count} axis {axis} rank {rank}"
        table = "ConcatenationOptions"
        yield m.form("CONCATENATION", label, [*parts, m.y(*longer)], table, Axis=axis)
        packed = list(shape)
        packed.insert(axis if axis >= 0 else rank, count)
        fields = {"ValuesCount": count, "Axis": axis}
        yield m.form("PACK", label, [*parts, m.y(*packed)], "PackOptions", **fields)
    if m.kind in QUANTISED:
        parts = [m.x(2, 3, name="x0"), tensor("x1", (2, 3), m.kind, (0.03, 9))]
        table = "ConcatenationOptions"
        yield m.form("CONCATENATION", "mixed", [*parts, m.y(2, 6)], table, Axis=1)


def cuts(m: Mover) -> Iterator[OneOp]:
    for axis in (0, 1, -1):
        shape, count = [n for i, n in enumerate(X) if i != axis % 3], X[axis]
        parts = [m.y(*shape, name=f"y{i}") for i in range(count)]
        fields = {"Num": count, "Axis": axis}
        yield m.form("UNPACK", f"axis {axis}", [m.x(*X), *parts], "UnpackOptions", **fields)
        whole, half, first, rest = (4, 4, 6), [4, 4, 6], [4, 4, 6], [4, 4, 6]
        half[axis] //= 2
        first[axis], rest[axis] = 1, rest[axis] - 1
        tensors = [number("axis", axis), m.x(*whole), m.y(*half, name="y0"), m.y(*half, name="y1")]
        yield m.form("SPLIT", f"axis {axis}", tensors, "SplitOptions", NumSplits=2)
        tensors = [m.x(*whole), ints("sizes", 1, -1), number("axis", axis)]
        tensors += [m.y(*first, name="y0"), m.y(*rest, name="y1")]
        yield m.form("SPLIT_V", f"axis {axis}", tensors, "SplitVOptions", NumSplits=2)
    strided = (
        ((0, 1, 0), (2, 3, 4), (1, 1, 2), 0, 0, (2, 2, 2)),
        ((1, 0, -1), (2, 3, -5), (1, 1, -1), 0, 1, (3, 4)),
        ((0, 0, 0), (2, 3, 4), (1, 2, 1), 7, 0, (2, 2, 4)),
    )
    for begin, end, step, masks, dropped, shape in strided:
        tensors = [m.x(*X), ints("b", *begin), ints("e", *end), ints("s", *step), m.y(*shape)]
        fields = {"BeginMask": masks, "EndMask": masks, "ShrinkAxisMask": dropped}
        yield m.form("STRIDED_SLICE", str(begin), tensors, "StridedSliceOptions", **fields)


def slices(m: Mover) -> Iterator[OneOp]:
    for wide, size in product((False, True), ((2, 2, 2), (-1, 2, 2), (2, -1, 2))):
        whole = "s64" if wide else "s32"
        y = m.y(*(n if s == -1 else s for n, s in zip((2, 2, 2), size, strict=True)))
        sizes = Tensor("sizes", (3,), DTYPES[whole], np.array(size, array_type(whole)))
        label = f"{whole} size {size}"
        for known in (True, False):
            begin = tensor("b", (3,), whole, data=np.array([0, 1, 2], array_type(whole)))
            begin = begin if known else tensor("start" if -1 in size else "b", (3,), whole)
            name = label if known else f"{label} computed begin"
            shape = (2, 3, 4) if known else tuple(2 if s == -1 else 4 for s in size)
            yield m.form("SLICE", name, [m.x(*shape), begin, sizes, y], "SliceOptions")
    begin, sizes = ints("b", 0, 1, 1), tensor("sizes", (3,), "s32")
    yield m.form("SLICE", "computed size", [m.x(*X), begin, sizes, m.y(2, 2, 2)], "SliceOptions")


def picks(m: Mover) -> Iterator[OneOp]:
    cases = (
        (0, 0, (3,), (3, 3, 4)), (1, 0, (2, 2), (2, 2, 2, 4)), (-1, 0, (2,), (2, 3, 2)),
        (1, 1, (2, 2), (2, 2, 4)), (0, 0, (), (3, 4)),
    )  # fmt: skip
    for known, whole in product((True, False), ("s32", "s64")):
        how = f"{whole}{'' if known else ' computed'}"

        def places(shape: tuple[int, ...], known: bool = known, whole: str = whole) -> Tensor:
            return tensor(
                "idx", shape, whole, data=drawn(shape, whole, "i", 0, 1) if known else None
            )

        for axis, batch, index, shape in cases:
            fields = {"Axis": axis, "BatchDims": batch}
            label = f"{how} axis {axis} batch {batch} places {index}"
            yield m.form("GATHER", label, [m.x(*X), places(index), m.y(*shape)], "GatherOptions",
                         **fields)  # fmt: skip
        tensors = [m.x(*X), places((3, 2)), m.y(3, 4)]
        yield m.form("GATHER_ND", how, tensors, "GatherNdOptions")
        tensors = [m.x(3, 4), m.x(2, 2, name="u"), tensor("at", (2,), whole), m.y(3, 4)]
        if not known:
            yield m.form("DYNAMIC_UPDATE_SLICE", how, tensors, "DynamicUpdateSliceOptions")
    table = tensor("t", (5, 4), m.kind, data=drawn((5, 4), m.kind, "table"))
    yield m.form("EMBEDDING_LOOKUP", "", [tensor("row", (3,), "s32"), table, m.y(3, 4)])


def blocks(m: Mover) -> Iterator[OneOp]:
    space, batch = "SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND"
    for name, a, block, rows, b in (
        ("4d", (2, 4, 5, 3), (2, 3), ((0, 0), (0, 1)), (12, 2, 2, 3)),
        ("3d", (1, 6, 3), (2,), ((0, 2),), (2, 4, 3)),
    ):
        tensors = [m.x(*a), ints("block", *block), pairs(*rows), m.y(*b)]
        yield m.form(space, name, tensors, "SpaceToBatchNDOptions")
        tensors = [m.x(*b), ints("block", *block), pairs(*rows), m.y(*a)]
        yield m.form(batch, name, tensors, "BatchToSpaceNDOptions")


def resizes(m: Mover) -> Iterator[OneOp]:
    for (align, half), size in product(
        ((False, False), (True, False), (False, True)), ((6, 8), (2, 3), (7, 5))
    ):
        for name in ("Bilinear", "NearestNeighbor"):
            op = {"Bilinear": "RESIZE_BILINEAR"}.get(name, "RESIZE_NEAREST_NEIGHBOR")
            tensors = [m.x(1, 3, 4, 2), ints("size", *size), m.y(1, *size, 2)]
            label = f"to {size}{' corners' * align}{' half' * half}"
            fields = {"AlignCorners": align, "HalfPixelCenters": half}
            yield m.form(op, label, tensors, f"Resize{name}Options", **fields)


def others(m: Mover) -> Iterator[OneOp]:
    for exclusive, reverse in product((False, True), repeat=2):
        tensors = [m.x(*X), number("axis", 1), m.y(*X)]
        label = f"{'exclusive' * exclusive} {'reverse' * reverse}"
        fields = {"Exclusive": exclusive, "Reverse": reverse}
        yield m.form("CUMSUM", label, tensors, "CumsumOptions", **fields)
    for name, condition, a in (
        ("same", (2, 3), (2, 3)),
        ("row", (2, 1), (2, 3)),
        ("a", (2, 3), ()),
    ):
        tensors = [tensor("c", condition, "bool"), m.x(*a, name="x"), m.x(2, 3, name="x2")]
        yield m.form("SELECT_V2", name, [*tensors, m.y(2, 3)], "SelectV2Options")


FAMILIES: tuple[Callable[[Mover], Iterator[OneOp]], ...] = (
    shapes, paddings, joins, cuts, slices, picks, blocks, resizes, others,
)  # fmt: skip


def forms() -> Iterator[OneOp]:
    """All forms of this file."""
    for kind, family in product(KINDS, FAMILIES):
        for q in (ALIKE, OTHER) if kind in QUANTISED else (ALIKE,):
            yield from family(Mover(kind, q))
