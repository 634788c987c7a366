"""The drawing of ``tinyrt debug --html``: where each layer's points lie, and what they say."""

import re

import pytest

from tests.report.made import save_pair
from tinyrt.quantize.explain.debug import DebugReport, LayerReport
from tinyrt.report.debug_page import write_debug_page
from tinyrt.report.errors_chart import draw_errors
from tinyrt.report.models import error_facts

LEFT, RIGHT, UP, DOWN = 12, 948, 12, 308
"""The drawing's edges: 960 by 320 with a margin of 12."""


def layer(index, impact, own=20.0, total=20.0):
    return LayerReport(
        name=f"l{index}",
        index=index,
        op="conv2d",
        impact_db=impact,
        own_db=own,
        own_cosine=1.0,
        own_max_error=0.0,
        accumulated_db=total,
        cosine=1.0,
        max_error=0.0,
        range_use=1.0,
        saturation=0.0,
        dead_channels=0,
        weight_spread=None,
        cause="",
        cure=None,
    )


def report(*layers):
    return DebugReport(samples=16, sqnr_db=30.0, equalized=False, layers=layers)


def drawn_lines(found):
    return draw_errors(error_facts(found, {})).lines


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_layers_lie_from_edge_to_edge_in_the_order_of_execution(count):
    layers = [layer(i, 10.0 + i) for i in reversed(range(count))]
    for line in drawn_lines(report(*layers)):
        step = (RIGHT - LEFT) / (count - 1) if count > 1 else 0
        assert [p.x for p in line.points] == pytest.approx([LEFT + i * step for i in range(count)])
        assert [p.title.split()[0] for p in line.points] == [f"l{i}" for i in range(count)]


@pytest.mark.parametrize(
    ("figures", "heights"),
    [
        ((0.0, 20.0, 40.0), (DOWN, (UP + DOWN) * 0.5, UP)),
        ((-5.0, 5.0, 20.0), (DOWN, DOWN - 0.25 * (DOWN - UP), UP)),
        ((0.0, 1.0, 5.0), (DOWN, DOWN - 0.1 * (DOWN - UP), (UP + DOWN) / 2)),  # at least to 10 dB
        ((50.0, 100.0, 400.0), ((UP + DOWN) / 2, UP, UP)),  # at most to 100 dB
    ],
)
def test_heights_are_decibels_of_the_highest(figures, heights):
    lines = drawn_lines(report(layer(0, *figures)))
    assert [line.points[0].y for line in lines] == pytest.approx(list(heights))


def test_lines_are_named_after_their_figures_and_points_say_them():
    lines = drawn_lines(report(layer(0, 11.04, 22.06, 33.1)))
    assert [line.label for line in lines] == ["impact", "own", "total"]
    titles = [line.points[0].title for line in lines]
    assert titles == [f"l0 (conv2d): {db} dB" for db in ("11.0", "22.1", "33.1")]


@pytest.mark.parametrize(
    ("highest", "ticks"), [(3.0, [0, 10]), (39.9, [0, 10, 20, 30]), (40.0, [0, 10, 20, 30, 40])]
)
def test_a_tick_stands_at_every_ten_decibels(tmp_path, highest, ticks):
    _, int8, data = save_pair(tmp_path)
    found = report(layer(0, highest, 1.0, 1.0))
    page = write_debug_page(int8, data, found, tmp_path / "page.html").read_text()
    assert "<h1>int8.tflite</h1>" in page
    assert [int(t) for t in re.findall(r">\s*(\d+) dB\s*<", page)] == ticks
