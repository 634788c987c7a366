"""TFLite ops that index: STRIDED_SLICE with all of its masks, and reversals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tinyrt.convert.tflite.codec import Operands, constant_ints, only, operand
from tinyrt.convert.tflite.parts import Parts
from tinyrt.errors import ModelFormatError
from tinyrt.ir import Shape, Value
from tinyrt.ops.slice import SliceAttrs

MASKED = 32
"""Entries of an index that masks have bits for."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of an index, for one dimension.

    Attributes:
        begin: where it begins, None for the end that the stride comes from.
        end: where it ends, None likewise; or how far from where it begins.
        stride: step from one element to the next.
        is_single: whether the dimension goes.
        is_length: whether the end is counted from where it begins.

    """

    begin: int | None = None
    end: int | None = None
    stride: int = 1
    is_single: bool = False
    is_length: bool = False

    def end_in(self, size: int) -> int | None:
        """Where it ends in a dimension of that size."""
        if not self.is_length or self.end is None:
            return self.end
        first = (0 if self.stride > 0 else -1) if self.begin is None else self.begin
        return self.end + (first + size if first < 0 else first)


def _entries(
    options: Any, lists: Sequence[tuple[int, ...]], rank: int
) -> tuple[list[_Entry], list[int]]:
    """One entry for each dimension, and before which of them there are new ones."""
    begins, ends, strides = lists
    count = len(begins)
    if len({len(numbers) for numbers in lists}) > 1 or count > MASKED or 0 in strides:
        raise ModelFormatError(
            f"begin {list(begins[:8])}, end {list(ends[:8])}, strides {list(strides[:8])}",
            expected=f"lists of one length, at most {MASKED}; strides other than 0",
        )
    is_new = [bool(options.NewAxisMask() >> i & 1) for i in range(count)]
    skips = [bool(options.EllipsisMask() >> i & 1) for i in range(count)]
    named = sum(not new and not skip for new, skip in zip(is_new, skips, strict=True))
    if sum(skips) > 1 or named > rank:
        raise ModelFormatError(
            f"an index of {count} entries", expected=f"at most {rank}, and one ellipsis"
        )
    entries: list[_Entry] = []
    added: list[int] = []
    for i in range(count):
        if skips[i]:
            entries += [_Entry()] * (rank - named)
        elif is_new[i]:
            added.append(len(entries))
        else:
            entries.append(
                _Entry(
                    None if options.BeginMask() >> i & 1 else begins[i],
                    None if options.EndMask() >> i & 1 else ends[i],
                    strides[i],
                    bool(options.ShrinkAxisMask() >> i & 1),
                    bool(options.Offset()),  # newer files may give lengths in place of ends
                )
            )
    return entries + [_Entry()] * (rank - len(entries)), added


def index_of(options: Any, inputs: Operands, shape: Shape) -> tuple[SliceAttrs, list[int]]:
    """The slice of a STRIDED_SLICE on an input of that shape, and the places of new dimensions."""
    lists = [
        constant_ints(inputs, i, name) for i, name in enumerate(("begin", "end", "strides"), 1)
    ]
    entries, added = _entries(options, lists, len(shape))
    begin, size, strides = [], [], []
    for d, entry in zip(shape, entries, strict=True):
        if entry.is_single:
            first = entry.begin or 0
            begin.append(first + d if first < 0 else first)
            size.append(1)
            strides.append(1)
            continue
        places = range(*slice(entry.begin, entry.end_in(d), entry.stride).indices(d))
        begin.append(places.start)
        size.append(len(places))
        strides.append(entry.stride)
    dropped = tuple(i for i, entry in enumerate(entries) if entry.is_single)
    return SliceAttrs(tuple(begin), tuple(size), tuple(strides), dropped), added


def strided_slice(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """A slice, and a reshape where there are new dimensions."""
    x, y = operand(inputs, 0), only(outputs)
    attrs, added = index_of(options, inputs, x.shape)
    if 0 in attrs.size:
        parts.empty.add(y.name)
        return
    if not added:
        parts.add("slice", [x], y, attrs)
        return
    shape = tuple(n for i, n in enumerate(attrs.size) if i not in attrs.dropped)
    cut = parts.add("slice", [x], parts.new(f"{y.name}/cut", x, shape), attrs)
    parts.reshape(cut, parts.state_shape(y, _with_new(attrs, added)))


def _with_new(attrs: SliceAttrs, added: Sequence[int]) -> Shape:
    """The slice's shape with dimensions of one before some of the input's."""
    shape: Shape = ()
    for i in range(len(attrs.size) + 1):
        shape += (1,) * added.count(i)
        shape += attrs.size[i : i + 1] if i not in attrs.dropped else ()
    return shape


def reverse(parts: Parts, options: Any, inputs: Operands, outputs: Sequence[Value]) -> None:
    """Some dimensions from back to front."""
    del options
    x, y = operand(inputs, 0), only(outputs)
    rank = len(x.shape)
    axes = {axis + rank if axis < 0 else axis for axis in constant_ints(inputs, 1, "axes")}
    if not axes <= set(range(rank)):
        raise ModelFormatError(f"axes {sorted(axes)}", expected=f"0 to {rank - 1}")
    begin = tuple(d - 1 if i in axes else 0 for i, d in enumerate(x.shape))
    strides = tuple(-1 if i in axes else 1 for i in range(rank))
    parts.add("slice", [x], y, SliceAttrs(begin, x.shape, strides))
