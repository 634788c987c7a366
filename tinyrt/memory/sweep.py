"""The order in which an op's kernel reads its inputs and writes its output.

A kernel that sweeps over its output from front to back may write it over an input that has no later
reader, as long as the writes stay behind the reads (Abbas et al., "Diagonal Memory Optimisation for
Machine Learning on Micro-controllers", 2020). A sweep states that order as data. From it the
planner derives the distance between output and input; the checker replays it byte by byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from tinyrt import budget
from tinyrt.ir import BoundNode, Value
from tinyrt.memory.indices import Places, ends_of
from tinyrt.ops.shared.window import Window

Span = tuple[int, int]
"""Bytes [start, stop) of a tensor."""

ELEMENT_STEPS = 64
"""Steps of an element-wise sweep; a kernel may take smaller steps."""


MAX_STEPS = 150_000
"""Limit of steps of one sweep: more would take seconds and save few bytes."""

STEP = 2_500
"""Work of making a step, in units of ``budget``."""


class SweepStep(NamedTuple):
    """One step of a sweep; steps happen one after the other.

    Attributes:
        reads: for each input, the bytes that the step reads; None where it reads nothing.
        writes: the bytes of the output that it writes.
        reads_first: whether all its reads come before its writes; else they may interleave.
        planes: number of interleaved planes (channels: bytes with equal address modulo ``planes``).
            The kernel runs all steps of the sweep for one plane, then for the next. All steps of a
            sweep have the same number of planes.

    """

    reads: tuple[Span | None, ...]
    writes: Span
    reads_first: bool = False
    planes: int = 1


Sweep = tuple[SweepStep, ...]
"""The steps of a kernel, in their order."""


def limited(steps: Iterable[SweepStep]) -> Sweep | None:
    """The steps as a sweep; None where there are too many, and then nothing overlaps.

    Raises:
        BudgetError: making the steps takes more work than the budget has left.

    """
    sweep = tuple(islice(steps, MAX_STEPS + 1))
    budget.current().spend(STEP * len(sweep), "finding out in which order kernels read and write")
    return None if len(sweep) > MAX_STEPS else sweep


def planes_of(sweep: Sweep) -> int:
    """The number of interleaved planes of a sweep."""
    return max((step.planes for step in sweep), default=1)


def elementwise(node: BoundNode) -> Sweep | None:
    """Element by element from the front; each step reads the whole of a broadcast input.

    The last element is a step of its own: it reads broadcast inputs once more after all other
    elements are written.
    """
    y = node.output
    if y.dtype.itemsize > min(v.dtype.itemsize for v in node.inputs if v is not None):
        return None
    count, to = y.size, y.dtype.itemsize
    size, last = -(-count // ELEMENT_STEPS), count - 1
    spans = [(start, min(start + size, last)) for start in range(0, last, size)]
    spans.append((last, count))
    reads = [_element_reads(value, count, spans) for value in node.inputs]
    return tuple(
        SweepStep(read, (start * to, stop * to), reads_first=True)
        for read, (start, stop) in zip(zip(*reads, strict=True), spans, strict=True)
    )


def _element_reads(value: Value | None, count: int, spans: Sequence[Span]) -> list[Span | None]:
    """The bytes of an input that each of these spans of output elements reads."""
    if value is None or value.is_constant:
        return [None] * len(spans)
    if value.size != count:
        return [(0, value.nbytes)] * len(spans)
    size = value.dtype.itemsize
    return [(start * size, stop * size) for start, stop in spans]


def in_order(node: BoundNode, places: Sequence[Places]) -> Sweep:
    """The output from front to back; each output element reads input elements known beforehand.

    Reads and writes of a step interleave: its writes must lie before its own reads and later ones.

    Args:
        node: the op.
        places: for each input, the elements that each output element reads.

    """
    y = node.output
    size = -(-y.size // ELEMENT_STEPS)
    return tuple(
        SweepStep(
            tuple(
                _hull(v, at, start, min(start + size, y.size))
                for v, at in zip(node.inputs, places, strict=True)
            ),
            _bytes(y, start, min(start + size, y.size)),
        )
        for start in range(0, y.size, size)
    )


def _hull(value: Value | None, places: Places, start: int, stop: int) -> Span | None:
    """The bytes from the first to the last input element that outputs [start, stop) read."""
    if value is None or value.is_constant:
        return None
    ends = ends_of(places, start, stop)
    return None if ends is None else _bytes(value, ends[0], ends[1] + 1)


def windows(node: BoundNode, window: Window, *, reads_first: bool = False) -> Sweep | None:
    """Row by row of the output; each reads the input rows under its window."""
    steps = _row_steps(node, window, lambda top, bottom, loaded: (top, bottom))
    return limited(SweepStep(step.reads, step.writes, reads_first) for step in steps)


def windows_together(node: BoundNode, window: Window, count: int) -> Sweep | None:
    """As ``windows``, some rows of each image's output at a time."""
    steps = list(_row_steps(node, window, lambda top, bottom, loaded: (top, bottom)))
    height = node.output.shape[1]
    images = (steps[i : i + height] for i in range(0, len(steps), height))
    return limited(
        _joined(image[i : i + count]) for image in images for i in range(0, height, count)
    )


def _joined(steps: Sequence[SweepStep]) -> SweepStep:
    """One step in place of several, whose reads and writes interleave."""
    read = [spans for spans in (step.reads[0] for step in steps) if spans is not None]
    others = steps[0].reads[1:]
    return SweepStep(
        ((read[0][0], read[-1][1]), *others), (steps[0].writes[0], steps[-1].writes[1])
    )


def transposed_windows(node: BoundNode, window: Window) -> Sweep | None:
    """Row by row of the output; each reads the input rows whose windows it lies under."""
    return limited(_transposed_steps(node, window))


def _transposed_steps(node: BoundNode, window: Window) -> Iterator[SweepStep]:
    x, y = node.input(0), node.output
    others = (None,) * (len(node.inputs) - 1)
    (high, _), (step, _) = window.kernel, window.stride
    for n in range(y.shape[0]):
        for oy in range(y.shape[1]):
            at = oy + window.before[0]
            first, last = max(-((high - 1 - at) // step), 0), min(at // step + 1, x.shape[1])
            read = _rows(x, n, first, last) if first < last else None
            yield SweepStep((read, *others), _rows(y, n, oy, oy + 1))


def planes_by_rows(node: BoundNode, window: Window, copied: bool) -> Sweep | None:
    """Channel by channel, each row by row.

    The kernel writes an output after it has read everything up to the end of the output's window.
    With ``copied``, it first copies the input rows that are new to an output row.
    """

    def reads(top: int, bottom: int, loaded: int) -> Span:
        return max(top, loaded) if copied else top, bottom

    return _planes(node, _row_steps(node, window, reads))


def _planes(node: BoundNode, steps: Iterable[SweepStep]) -> Sweep | None:
    planes = node.output.shape[3]
    return limited(SweepStep(step.reads, step.writes, True, planes) for step in steps)


def row_bands(node: BoundNode, window: Window, band: int) -> Sweep | None:
    """Channel by channel, some output rows (a band) at a time, from a copy of their input rows.

    The kernel reads a row once: rows that the next band needs, too, stay in the copy.
    """
    return _planes(node, _band_steps(node, window, band))


def _band_steps(node: BoundNode, window: Window, band: int) -> Iterator[SweepStep]:
    x, y = node.input(0), node.output
    others = (None,) * (len(node.inputs) - 1)
    for n in range(y.shape[0]):
        loaded = 0
        for start in range(0, y.shape[1], band):
            stop = min(start + band, y.shape[1])
            reach = (window.kernel[0] - 1) * window.dilation[0] + 1
            last = (stop - 1) * window.stride[0] - window.before[0] + reach
            last = min(last, x.shape[1])
            read = _rows(x, n, loaded, last) if loaded < last else None
            yield SweepStep((read, *others), _rows(y, n, start, stop))
            loaded = last


def whole_images(node: BoundNode) -> Sweep | None:
    """Channel by channel; the kernel copies a whole channel before it writes its output."""
    x, y = node.input(0), node.output
    others = (None,) * (len(node.inputs) - 1)
    return _planes(
        node,
        (
            SweepStep((_rows(x, n, 0, x.shape[1]), *others), _rows(y, n, 0, y.shape[1]))
            for n in range(y.shape[0])
        ),
    )


def planes_by_lines(node: BoundNode, window: Window, down: bool) -> Sweep | None:
    """Channel by channel along the rows, or down the columns, of 3 x 3 windows.

    The kernel writes an output after it has read everything up to the end of the output's window.
    With stride 1, it reads the line before the output's own line from a copy; with a longer one,
    each line that it reads again is the first under the window.
    """
    if down:
        return _planes(node, _column_steps(node, window))
    steps = _row_steps(node, window, lambda top, bottom, loaded: (max(top, loaded - 1), bottom))
    return _planes(node, steps)


def _column_steps(node: BoundNode, window: Window) -> Iterator[SweepStep]:
    """Output by output down the columns: reads of new pixels of two columns, then a write."""
    x, y = node.input(0), node.output
    others = (None,) * (len(node.inputs) - 1)
    for n in range(y.shape[0]):
        for ox in range(y.shape[2]):
            # The kernel reads the line before with the first column, and then keeps it.
            columns = (ox + 1 - window.before[1] if ox else 0, ox + 3 - window.before[1])
            loaded = 0
            for oy in range(y.shape[1]):
                bottom = min(oy + 3 - window.before[0], x.shape[1])
                for row in range(loaded, bottom):
                    yield SweepStep((_pixels(x, n, row, columns), *others), (0, 0))
                loaded = bottom
                yield SweepStep((None, *others), _pixels(y, n, oy, (ox, ox + 1)))


def _row_steps(
    node: BoundNode, window: Window, reads: Callable[[int, int, int], Span]
) -> Iterator[SweepStep]:
    x, y = node.input(0), node.output
    others = (None,) * (len(node.inputs) - 1)
    height, x_row, y_row = x.shape[1], _row_bytes(x), _row_bytes(y)
    stride, before = window.stride[0], window.before[0]
    reach = (window.kernel[0] - 1) * window.dilation[0] + 1
    for n in range(y.shape[0]):
        loaded = 0
        for oy in range(y.shape[1]):
            top = oy * stride - before
            bottom = min(top + reach, height)
            first, last = reads(max(top, 0), bottom, loaded)
            loaded = bottom
            at, to = n * height + first, n * y.shape[1] + oy
            read = (at * x_row, (at + last - first) * x_row) if first < last else None
            yield SweepStep((read, *others), (to * y_row, (to + 1) * y_row))


def columns(node: BoundNode, rows: int, at_once: int) -> Sweep | None:
    """Some rows of a matrix at a time; the kernel copies them before it writes their outputs.

    Args:
        node: input and output are matrices of ``rows`` rows.
        rows: pixels of a pointwise convolution, samples of a dense layer.
        at_once: rows that the kernel copies together.

    """
    x, y = node.input(0), node.output
    others = (None,) * (len(node.inputs) - 1)
    x_row, y_row = x.nbytes // rows, y.nbytes // rows

    def step(start: int) -> SweepStep:
        stop = min(start + at_once, rows)
        read, write = (start * x_row, stop * x_row), (start * y_row, stop * y_row)
        return SweepStep((read, *others), write, reads_first=True)

    return limited(map(step, range(0, rows, at_once)))


def _rows(value: Value, n: int, first: int, last: int) -> Span:
    row, image = _row_bytes(value), n * value.shape[1]
    return (image + first) * row, (image + last) * row


def _row_bytes(value: Value) -> int:
    return value.shape[2] * value.shape[3] * value.dtype.itemsize


def _pixels(value: Value, n: int, row: int, columns: Span) -> Span:
    """The bytes of some columns of a row, cut off at the row's end."""
    first, last = columns[0], min(columns[1], value.shape[2])
    pixel = (n * value.shape[1] + row) * value.shape[2]
    return _bytes(value, (pixel + first) * value.shape[3], (pixel + last) * value.shape[3])


def _bytes(value: Value, start: int, stop: int) -> Span:
    size = value.dtype.itemsize
    return start * size, stop * size
