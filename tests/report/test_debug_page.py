"""The page of ``tinyrt debug --html``: the lines of its drawing, and how its search ends."""

import re
from dataclasses import replace

import pytest

from tests.report.made import reported, save_pair
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.metrics import Evaluation
from tinyrt.quantize.config import Scheme
from tinyrt.quantize.explain.bisect import BisectReport, BisectStep
from tinyrt.quantize.explain.debug import DebugReport, LayerReport
from tinyrt.report.compare import compared
from tinyrt.report.debug_page import write_debug_page
from tinyrt.report.errors_chart import draw_errors
from tinyrt.report.histograms import activation_histograms, weight_histograms
from tinyrt.report.models import error_facts, graph_facts, makers_of
from tinyrt.report.page import render_report
from tinyrt.report.view import by_noise, details, section_of

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


def page_of(folder, found, bisected=None):
    """The page of a network, with errors that are made up."""
    _, int8, data = save_pair(folder)
    return write_debug_page(int8, data, found, folder / "p.html", bisected).read_text()


def error_lines(found):
    return draw_errors(error_facts(found, {})).lines


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
    text = page_of(tmp_path, report((0, greatest, 0, 0)))
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
    text = page_of(tmp_path, report((0, 20, 20, 20)), bisected)
    assert end in text
    assert '<td class="n">1</td><td>a<br>b</td><td>float</td><td class="n">30.0</td>' in text


def test_ops_are_the_darker_the_more_noise_they_bring(tmp_path):
    """Of SQNR 10 dB lower, ten times the noise; the page says each op's figures."""
    _, int8, _data = save_pair(tmp_path)
    names = [op.outputs[0].name for op in graph_facts(read_tflite(int8), "n").ops]
    layers = [
        LayerReport(
            **USUAL
            | {"index": i, "name": name, "impact_db": 20.0 if i == 1 else 50.0}
            | {"own_db": 31.25, "accumulated_db": 12.5, "saturation": 0.034, "cure": None}
        )
        for i, name in enumerate(names)
    ]
    model = replace(
        graph_facts(read_tflite(int8), "n"),
        errors=error_facts(
            DebugReport(8, 30.0, False, tuple(layers)), makers_of(read_tflite(int8))
        ),
    )
    noise = by_noise(model).costs
    assert noise[1] == 1e-2
    assert set(noise) == {1e-2, 1e-5}
    drawn = section_of(model, by_noise(model))["graph"].boxes
    assert [box.shade for box in drawn] == [4 if i == 1 else 0 for i in range(len(names))]
    said = dict(map(tuple, details(model)[1]["error"]))
    assert list(said.values()) == ["20.0 dB", "31.2 dB", "12.5 dB", "3.4 %", "c"]
    cured = replace(model.errors.layers[1], cure="--int8")
    cured = replace(model, errors=replace(model.errors, layers=(cured,)))
    assert details(cured)[1]["error"][-1] == ["what helps", "--int8"]
    assert details(cured)[0]["error"] == []


def test_signals_that_are_equal_are_called_so(tmp_path):
    """Not 200 dB, which stands for them in figures; nor is anything that far from them."""
    layer = LayerReport(
        **USUAL
        | {"index": 0, "name": "x", "cure": None}
        | {"impact_db": 200.0, "own_db": 199.96, "accumulated_db": 55.0}
    )
    page = page_of(tmp_path, DebugReport(8, 200.0, False, (layer,)))
    (row,) = re.findall(r'<tr><td class="name">x</td>.*?</tr>', page)
    assert re.findall(r'<td class="n">(.*?)</td>', row)[:3] == ["equal", "200.0", "55.0"]
    assert "<b>equal</b>SQNR of the output" in page
    assert 'data-tip="impact, x (add): equal"' in page
    assert "No layer needs a cure." in page


def test_what_is_equal_to_the_float_model_is_so_far_from_no_other():
    model = reported()[0].models[0]
    near = replace(model, quality=replace(model.quality, sqnr_db=40.0))
    same = replace(model, quality=replace(model.quality, sqnr_db=200.0))
    far = replace(model, quality=replace(model.quality, sqnr_db=37.5))
    (row,) = (row for row in compared([near, same, far]) if row.unit == "dB")
    assert row.values == (40.0, 200.0, 37.5)
    assert row.changes == (0.0, None, -2.5)
    nearer, farther = replace(near, name="a"), replace(far, name="b")
    page = render_report(replace(reported()[0], models=(farther, nearer)))
    assert '<span class="better">+2.5 dB</span>' in page
    page = render_report(replace(reported()[0], models=(near, same)))
    (cells,) = re.findall(r"SQNR against float, dB</th>(.*?)</tr>", page, re.DOTALL)
    assert re.findall(r'<td class="n">([^<\s]*)', cells) == ["40.0", "equal"]


def test_weights_and_activations_are_there_as_histograms(tmp_path):
    """Of the samples: the input of the first op is seen in what it gives."""
    page = page_of(tmp_path, report((0, 20, 20, 20)))
    graph = read_tflite(tmp_path / "int8.tflite")
    found = activation_histograms(graph, tmp_path / "data.npz")
    assert page.count('aria-label="Activations of op ') == len(found) == len(graph.nodes)
    assert page.count('aria-label="Weights of op ') == len(weight_histograms(graph)) > 0
    for histogram in found:
        where = f'"Activations of op {histogram.op}, {100 * histogram.clipped:.1f} % at the ends"'
        assert where in page
