"""The order in which kernels go through images: what each step reads and writes."""

from dataclasses import replace

import numpy as np
import pytest

from tests.memory.test_overlap import depthwise_graph
from tinyrt.memory.sweep import (
    planes_by_lines,
    planes_by_rows,
    row_bands,
    transposed_windows,
    whole_images,
    windows,
    windows_together,
)
from tinyrt.ops.shared.window import ROWS, Window


@pytest.mark.parametrize(
    ("band", "dilation", "read"),
    [(2, 1, [60, 40, 20]), (4, 1, [100, 20]), (6, 1, [120]), (2, 2, [80, 40]), (6, 2, [120])],
)
def test_bands_of_every_image_read_and_write_each_row_once(band, dilation, read):
    (node,) = depthwise_graph((2, 6, 5, 4)).bound()
    window = Window.of((6, 5), (3, 3), (1, 1), "SAME", (dilation, dilation))
    steps = list(row_bands(node, window, band))
    reads = [step.reads[0] for step in steps if step.reads[0] is not None]
    for spans, nbytes in ((reads, node.input(0).nbytes), ([s.writes for s in steps], 2 * 6 * 20)):
        ends = [0, *(end for _, end in spans)]
        assert [begin for begin, _ in spans] == ends[:-1]
        assert ends[-1] == nbytes
    assert [end - begin for begin, end in reads] == 2 * read


SWEEPS = {
    "windows": windows,
    "together": lambda node, window: windows_together(node, window, 4),
    "transposed": transposed_windows,
    "rows": lambda node, window: planes_by_rows(node, window, copied=False),
    "copied rows": lambda node, window: planes_by_rows(node, window, copied=True),
    "bands": lambda node, window: row_bands(node, window, 4),
    "whole": lambda node, _: whole_images(node),
    "lines": lambda node, window: planes_by_lines(node, window, down=False),
    "columns": lambda node, window: planes_by_lines(node, window, down=True),
}
"""How kernels go through images; called with the node and its window."""


@pytest.mark.parametrize("name", SWEEPS)
def test_every_image_is_read_and_each_of_its_outputs_is_written_once(name):
    """Of three images, neither of whose sides is three."""
    (node,) = depthwise_graph((3, 6, 5, 4)).bound()
    sweep = SWEEPS[name](node, Window.of((6, 5), (3, 3), (1, 1), "SAME", (1, 1)))
    read, written = np.zeros(node.input(0).nbytes, int), np.zeros(node.output.nbytes, int)
    for step in sweep:
        for counts, span in ((read, step.reads[0]), (written, step.writes)):
            if span is not None:
                assert 0 <= span[0] <= span[1] <= len(counts)
                counts[slice(*span)] += 1
    assert read.all()
    assert (written == 1).all()


def _image_node(x_hw, y_hw):
    """Two images of four channels in, two of three out."""
    (node,) = depthwise_graph((2, *x_hw, 4)).bound()
    return replace(node, outputs=(replace(node.output, shape=(2, *y_hw, 3)),))


def _under(window, axis, place):
    """Rows (0) or columns (1) of the padded input under the window of an output."""
    first = place * window.stride[axis] - window.before[axis]
    return range(first, first + (window.kernel[axis] - 1) * window.dilation[axis] + 1)


def _rows(value, span):
    """The rows, counted through all images, that these bytes consist of; none of None."""
    row = value.nbytes // (value.shape[0] * value.shape[1])
    start, stop = span or (0, 0)
    assert start % row == stop % row == 0
    return range(start // row, stop // row)


UNEVEN = {
    "tall": ((9, 8), (3, 2), (2, 1), "SAME", (1, 3)),
    "low": ((9, 8), (2, 3), (1, 2), "SAME", (3, 1)),
    "wide": ((7, 9), (1, 5), (1, 3), "VALID", (2, 1)),
    "sparse": ((7, 9), (1, 2), (2, 1), "VALID", (1, 1)),
    "pads below": ((8, 9), (5, 3), (3, 1), "SAME", (2, 2)),
    "3 x 3, rows come padded": ((8, 6), (3, 3), (1, 1), ROWS, (1, 1)),
    "3 x 3, columns are padded": ((6, 5), (3, 3), (2, 2), "SAME", (1, 1)),
    "3 x 3, long steps down": ((6, 6), (3, 3), (2, 1), "SAME", (1, 1)),
}
"""Windows of which rows and columns differ, and the size of the input."""


@pytest.mark.parametrize("high", [2, 9])
def test_a_whole_image_is_read_before_its_output_however_high_that_is(high):
    node = _image_node((6, 5), (high, 5))
    rows = [
        (_rows(node.input(0), s.reads[0]), _rows(node.output, s.writes)) for s in whole_images(node)
    ]
    assert rows == [(range(6), range(high)), (range(6, 12), range(high, 2 * high))]


@pytest.mark.parametrize(
    ("name", "uneven"),
    [
        (name, uneven)
        for name in ("windows", "together", "rows", "copied rows", "bands", "lines")
        for uneven in UNEVEN
        if name != "lines" or uneven.startswith("3 x 3")
    ],
)
def test_a_step_reads_the_rows_under_the_windows_of_what_it_writes(name, uneven):
    window, height = Window.of(*UNEVEN[uneven]), UNEVEN[uneven][0][0]
    node, high = _image_node(UNEVEN[uneven][0], window.out), window.out[0]
    written = []
    for step in SWEEPS[name](node, window):
        rows = _rows(node.output, step.writes)
        image, first = divmod(rows[0], high)
        if first == 0:
            seen = 0
        written.append([first + i for i in range(len(rows))])
        under = [r for y in written[-1] for r in _under(window, 0, y) if 0 <= r < height]
        begin, end = under[0], under[-1] + 1
        if name == "bands":
            begin = seen  # also rows under no window
        elif name == "copied rows":
            begin = max(begin, seen)
        elif name == "lines" and window.stride[0] == 1:
            begin = max(begin, seen - 1)
        assert _rows(node.input(0), step.reads[0]) == range(
            image * height + begin, image * height + end
        )
        assert step.planes == (1 if name in ("windows", "together") else 3)
        seen = end
    at_once = 4 if name in ("together", "bands") else 1
    assert written == 2 * [[*range(high)[i : i + at_once]] for i in range(0, high, at_once)]


@pytest.mark.parametrize(
    "window",
    [
        ((9, 8), (3, 2), (2, 1), "SAME"),
        ((9, 8), (2, 3), (1, 2), "SAME"),
        ((8, 7), (5, 1), (3, 2), "VALID"),
        ((7, 9), (1, 5), (2, 1), "SAME"),
    ],
)
def test_a_transposed_window_reads_the_rows_whose_windows_hold_what_it_writes(window):
    (height, width), window = window[0], Window.of(*window)
    node = _image_node(window.out, (height, width))
    steps = transposed_windows(node, window)
    assert [_rows(node.output, step.writes)[0] for step in steps] == [*range(2 * height)]
    for i, step in enumerate(steps):
        image, y = divmod(i, height)
        over = [row for row in range(window.out[0]) if y in _under(window, 0, row)]
        if not over:
            assert step.reads[0] is None
            continue
        first = image * window.out[0]
        assert [*_rows(node.input(0), step.reads[0])] == [first + row for row in over]


def test_columns_are_read_ahead_of_what_is_written_down_them():
    """Each reads the column under its middle again, and the next; the first reads both anew."""
    (height, width), *_ = UNEVEN["3 x 3, rows come padded"]
    window = Window.of(*UNEVEN["3 x 3, rows come padded"])
    node = _image_node((height, width), window.out)
    read, written = [], []
    for step in planes_by_lines(node, window, down=True):
        if step.reads[0] is not None:
            first, last = (end // 4 for end in step.reads[0])
            read += range(first, last)
            continue
        at = step.writes[0] // 3
        assert step.writes == (3 * at, 3 * at + 3)
        written.append(at)
        image, (y, x) = at // (window.out[0] * width), divmod(at % (window.out[0] * width), width)
        rows = range(_under(window, 0, y)[-1] + 1)
        columns = [c for c in _under(window, 1, x)[1 if x else 0 :] if 0 <= c < width]
        assert read == [(image * height + row) * width + c for row in rows for c in columns]
        if y == window.out[0] - 1:
            read = []
    high = window.out[0]
    assert written == [
        (n * high + y) * width + x for n in range(2) for x in range(width) for y in range(high)
    ]
