"""REVERSE_SEQUENCE: each row has its first elements from back to front; lengths are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from tinyrt.convert.tflite.codec import Operands, constant_ints, only, operand
from tinyrt.convert.tflite.parts import Parts
from tinyrt.errors import ModelFormatError
from tinyrt.ir import Value
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.slice import SliceAttrs


def reverse_sequence(
    parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]
) -> None:
    """Rows of one length are a slice from back to front, the rest of them, and both joined."""
    x, y = operand(inputs, 0), only(outputs)
    along, by, rank = options.SeqDim(), options.BatchDim(), len(x.shape)
    if along == by or not {along, by} <= set(range(rank)):
        raise ModelFormatError(
            f"sequences along dimension {along}, and one for each of dimension {by}",
            tensor=x.describe(),
            expected=f"two different ones of 0 to {rank - 1}",
        )
    lengths = constant_ints(inputs, 1, "lengths")
    if len(lengths) != x.shape[by] or not all(0 <= n <= x.shape[along] for n in lengths):
        raise ModelFormatError(
            f"lengths {list(lengths[:8])}",
            tensor=x.describe(),
            expected=f"{x.shape[by]} numbers from 0 to {x.shape[along]}",
        )
    rows, first = [], 0
    for length, group in groupby(lengths):
        count = len(tuple(group))
        row = _Row(parts, x, y, (by, first, count), along)
        rows.append(row.turned(length))
        first += count
    parts.add("concatenation", rows, y, ConcatenationAttrs(by))


@dataclass(frozen=True, slots=True)
class _Row:
    """Elements of the input with places ``first`` to ``first + count`` in one dimension."""

    parts: Parts
    x: Value
    y: Value
    places: tuple[int, int, int]
    along: int

    def turned(self, length: int) -> Value:
        """The row, its first elements from back to front."""
        most = self.x.shape[self.along]
        if length < 2:
            return self._taken(0, most, 1)
        head = self._taken(length - 1, length, -1)
        if length == most:
            return head
        rest = self._taken(length, most - length, 1)
        shape = (*head.shape[: self.along], most, *head.shape[self.along + 1 :])
        whole = self.parts.new(f"{self.y.name}/row", self.x, shape)
        return self.parts.add("concatenation", [head, rest], whole, ConcatenationAttrs(self.along))

    def _taken(self, start: int, size: int, stride: int) -> Value:
        by, first, count = self.places
        begin, sizes = [0] * len(self.x.shape), list(self.x.shape)
        strides = [1] * len(sizes)
        begin[by], sizes[by] = first, count
        begin[self.along], sizes[self.along], strides[self.along] = start, size, stride
        part = self.parts.new(f"{self.y.name}/part", self.x, tuple(sizes))
        attrs = SliceAttrs(tuple(begin), tuple(sizes), tuple(strides))
        return self.parts.add("slice", [self.x], part, attrs)
