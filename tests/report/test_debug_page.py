"""The page of ``tinyrt debug --html``: the lines of its drawing, and how its search ends."""

import re
from dataclasses import replace

import pytest

from tinyrt.metrics import Evaluation
from tinyrt.quantize.config import Scheme
from tinyrt.quantize.explain.bisect import BisectReport, BisectStep
from tinyrt.quantize.explain.debug import DebugReport, LayerReport
from tinyrt.report.debug_page import write_debug_page
from tinyrt.report.errors_chart import draw_errors
from tinyrt.report.models import error_facts

USUAL = dict.fromkeys(LayerReport.__dataclass_fields__, 1.0) | {"op": "add", "cause": "c"}


def report(*layers):
    """A report of layers as index, impact, own and total SQNR."""
    made = tuple(
        LayerReport(
            **USUAL
            | {"index": index, "name": f"l<{index}>", "cure": None}
            | {"impact_db": impact, "own_db": own, "accumulated_db": total}
        )
        for index, impact, own, total in layers
    )
    return DebugReport(8, 30.0, False, made)


def error_lines(found):
    return draw_errors(error_facts(found)).lines


def points(*layers):
    """The three lines' points, as x and y."""
    return [[(p.x, p.y) for p in line.points] for line in error_lines(report(*layers))]


def test_lines_go_from_the_first_layer_to_the_last_and_down_to_no_signal():
    """Within margins of 12 units the drawing is 936 wide and 296 high, and the top is 40 dB."""
    found = points((2, 10, 20, 30), (0, 40, 0, -5), (1, 20, 30, 10))
    assert found == [
        [(12, 12), (480, 160), (948, 234)],
        [(12, 308), (480, 86), (948, 160)],
        [(12, 308), (480, 234), (948, 86)],
    ]


def test_a_layer_alone_stands_at_the_left():
    assert points((0, 20, 10, 0)) == [[(12, 12)], [(12, 160)], [(12, 308)]]


def test_errors_of_less_than_ten_decibels_are_drawn_up_to_ten():
    assert points((0, 5, 5, 0)) == [[(12, 160)], [(12, 160)], [(12, 308)]]


def test_layers_without_an_error_are_drawn_at_a_hundred_decibels():
    assert points((0, 200, 100, 50)) == [[(12, 12)], [(12, 12)], [(12, 160)]]


def test_a_points_title_is_the_layer_with_its_figure():
    titles = [line.points[0].title for line in error_lines(report((7, 12.34, 5, 0)))]
    assert titles == ["l_7_ (add): 12.3 dB", "l_7_ (add): 5.0 dB", "l_7_ (add): 0.0 dB"]


@pytest.mark.parametrize(("greatest", "last"), [(5, 10), (39, 30), (40, 40), (200, 100)])
def test_every_ten_decibels_there_is_a_line(greatest, last, tmp_path):
    text = write_debug_page("net", report((0, greatest, 0, 0)), tmp_path / "p.html").read_text()
    ticks = re.findall(r'x="956" y="([\d.]+)" text-anchor="end">(\d+) dB', text)
    assert [int(label) for _, label in ticks] == list(range(0, last + 1, 10))
    assert ticks[0][0] == "305.00"


WON = BisectReport(
    *(Evaluation(8, None, None, None, 20.0, 1.0, "numba"), None, True),
    (BisectStep(("a", "b"), Scheme.FLOAT, "why", 30.0, None),),
    *({"a": Scheme.FLOAT}, Evaluation(8, None, None, None, 30.0, 1.0, "numba")),
    ("--keep-float 'a'",),
)
ENDS = [
    (WON, "Without what proved needless: <code>--keep-float &#39;a&#39;</code>"),
    (replace(WON, options=()), "<p>Nothing is lost.</p>"),
    (replace(WON, options=(), reached=False), "<p>Nothing that is allowed helps.</p>"),
]


@pytest.mark.parametrize(("bisected", "end"), ENDS)
def test_a_search_ends_with_options_or_with_the_reason_for_none(bisected, end, tmp_path):
    path = tmp_path / "p.html"
    text = write_debug_page("net", report((0, 20, 20, 20)), path, bisected).read_text()
    assert end in text
    assert '<td class="n">1</td><td>a<br>b</td><td>float</td><td class="n">30.0</td>' in text
