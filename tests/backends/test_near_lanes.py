"""Layers on lanes at the limits of each form: sums, shifts, and which go line by line."""

import numpy as np
import pytest

from tests.backends.lane_cases import WEIGHTED, build
from tests.interpreter.test_conformance import check
from tests.ops.build import Case
from tinyrt.backends.finishes import LANES, MAX_RIGHT, Finish, Weighted, _form
from tinyrt.backends.lanes import padded_shape, pixel_offsets, tap_offsets
from tinyrt.backends.lines import lanes_lines, line_kind
from tinyrt.fixedpoint import INT32_MAX, INT32_MIN
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.ops.shared.requant import Requant
from tinyrt.ops.shared.window import Window

FORMS = {
    "the least sum": ((INT32_MIN, INT32_MIN), 20, Finish.SIGNED),
    "below it": ((INT32_MIN - 1, INT32_MIN - 1), 20, Finish.GENERAL),
    "the greatest sum": ((INT32_MAX, INT32_MAX), 20, Finish.SIGNED),
    "above it": ((INT32_MAX + 1, INT32_MAX + 1), 20, Finish.GENERAL),
    "half of them": ((1 - 2**30, 2**30 - 1), 20, Finish.SIGNED),
    "minus a half": ((-(2**30), 0), 20, Finish.GENERAL),
    "a half": ((0, 2**30), 20, Finish.GENERAL),
    "shifted far": ((-(2**23), 2**23), MAX_RIGHT, Finish.SIGNED),
    "shifted too far": ((-(2**24), 2**24), MAX_RIGHT + 1, Finish.GENERAL),
    "shifted by one": ((-100, 100), 1, Finish.SIGNED),
    "not shifted": ((-100, 100), 0, Finish.GENERAL),
}


@pytest.mark.parametrize("name", FORMS)
def test_one_rounding_is_of_sums_and_shifts_that_fit(name):
    ends, right, finish = FORMS[name]
    low, high = (np.array([end, -5]) for end in ends)
    requant = Requant(np.array([1 << 30] * 2), np.array([-right, -5]), 7, -128, 127)
    assert _form(requant, low, high)[0] is finish


LINES = {
    "two lines": ((3, 3), (1, 1), (1, 1), 32, (2, 1, False)),
    "a step along lines": ((3, 3), (1, 2), (1, 1), 32, (2, 2, False)),
    "a step across lines": ((3, 3), (2, 1), (1, 1), 32, None),
    "both steps": ((3, 3), (2, 2), (1, 1), 32, (1, 2, False)),
    "pixels in pairs": ((3, 3), (1, 1), (1, 1), 8, (2, 2, True)),
    "a step and no pairs": ((3, 3), (1, 2), (1, 1), 8, (2, 2, False)),
    "pairs of lines with a step": ((3, 3), (2, 1), (1, 1), 8, (1, 2, True)),
    "a tap out of four lines": ((3, 3), (2, 2), (2, 1), 32, (1, 2, False)),
    "steps between columns": ((3, 3), (1, 1), (1, 2), 32, None),
    "four rows": ((4, 3), (1, 2), (1, 1), 32, (1, 2, False)),
    "five rows": ((5, 3), (1, 2), (1, 1), 32, None),
    "two columns": ((3, 2), (1, 1), (1, 1), 32, None),
}


@pytest.mark.parametrize("name", LINES)
def test_depthwise_layers_go_line_by_line_where_steps_and_rows_fit(name):
    kernel, stride, dilation, channels, expected = LINES[name]
    window = Window.of((12, 12), kernel, stride, "SAME", dilation)
    assert line_kind(window, channels) == expected


def test_lines_lie_by_the_steps_of_their_window():
    window = Window.of((9, 7), (3, 3), (2, 2), "SAME", (2, 1))
    requant = Requant(np.full(32, 1 << 30), np.full(32, -9), 0, -128, 127)
    layer = Weighted(np.ones((1, 3, 3, 32), np.int8), None, 0, requant)
    lines = lanes_lines(window, (1, 9, 7, 32), layer)
    line = padded_shape(window, (1, 9, 7, 32))[1] * 32
    assert lines.rows.tolist() == [0, 2 * line, 4 * line, 0]
    assert (lines.row_step, lines.column, lines.channels) == (2 * line, 32, 32)


def test_places_of_pixels_and_taps_in_the_padded_image():
    """Axis by axis, of an image of eleven columns of five channels."""
    window = Window.of((9, 7), (2, 3), (2, 3), "VALID", (3, 2))
    pixels = [5 * (2 * row * 11 + 3 * column) for row in range(3) for column in range(1)]
    assert window.out == (3, 1)
    assert pixel_offsets(window, (9, 11), 5).tolist() == pixels
    taps = [5 * (3 * row * 11 + 2 * column) for row in range(2) for column in range(3)]
    assert tap_offsets(window, (9, 11), 5).ravel().tolist() == taps


@pytest.mark.parametrize("vectors", [1, 2, 3, 4, 5, 7, 8, 9])
@pytest.mark.parametrize("more", [0, 1])
def test_rows_of_whole_vectors_and_of_one_channel_more(vectors, more):
    """A single row has tiles of its own, which take weights as they are packed for them."""
    channels = vectors * LANES + more
    shapes = ((1, 8), (channels, 8), (channels,))
    case = Case("fully_connected", FullyConnectedAttrs(), shapes, WEIGHTED)
    built = build(case, np.random.default_rng(channels), "signed")
    assert len(np.unique(evaluate(built.graph, built.feeds)[built.graph.outputs[0]])) > 2
    check(built.graph, built.feeds, "numba")
