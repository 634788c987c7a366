"""Places on the page: of the graph's ops, of bars, of histograms, and models side by side."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.graphs import Builder, small_cnn
from tests.report.made import reported, samples
from tinyrt.quantize import QuantConfig, quantize_graph
from tinyrt.report.bars import draw_bars, per_mac
from tinyrt.report.compare import compared
from tinyrt.report.errors_chart import draw_errors
from tinyrt.report.facts import Errors, FlashFacts, LayerError, Quality
from tinyrt.report.graph import SHADES, draw_graph, shade, wrapped
from tinyrt.report.histograms import activation_histograms, weight_histograms
from tinyrt.report.layout import GAP_X, GAP_Y, lay_out
from tinyrt.report.rendering import embedded, number, percent

WIDTH = 100.0


def placed(*sources, heights=None):
    return lay_out(sources, WIDTH, heights or [20.0] * len(sources))


def test_a_chain_goes_straight_down():
    layout = placed((), (0,), (1,), heights=[20, 30, 40])
    assert layout.places == ((0, 0), (0, 20 + GAP_Y), (0, 50 + 2 * GAP_Y))
    assert (layout.width, layout.height) == (100, 90 + 2 * GAP_Y)
    assert [edge.points for edge in layout.edges] == [
        ((50, 20), (50, 20 + GAP_Y)),
        ((50, 50 + GAP_Y), (50, 50 + 2 * GAP_Y)),
    ]


def test_branches_stand_side_by_side_and_symmetric():
    layout = placed((), (0,), (0,), (1, 2))
    (x0, _), (x1, y1), (x2, y2), (x3, _) = layout.places
    assert (x1, x2, y1) == (0, WIDTH + GAP_X, y2)
    assert x0 == x3 == (x1 + x2) / 2


def test_a_line_that_passes_a_rank_passes_beside_its_ops():
    layout = placed((), (0,), (0, 1), (2,))
    (line,) = (edge for edge in layout.edges if (edge.source, edge.target) == (0, 2))
    assert len(line.points) == 4
    x1, y1 = layout.places[1]
    for x, y in line.points[1:3]:
        assert x < x1 or x > x1 + WIDTH
        assert y in (y1, y1 + 20)


@pytest.mark.parametrize("seed", range(5))
def test_ops_never_overlap_and_stand_below_what_they_read(seed):
    rng = np.random.default_rng(seed)
    sources = [
        tuple(sorted(set(rng.integers(0, i, rng.integers(1, 4)).tolist()))) if i else ()
        for i in range(60)
    ]
    heights = rng.integers(20, 90, 60).tolist()
    layout = lay_out(sources, WIDTH, heights)
    for i, (x, y) in enumerate(layout.places):
        assert 0 <= x <= layout.width - WIDTH
        assert 0 <= y <= layout.height - heights[i] + 1e-9
        for j, (other_x, other_y) in enumerate(layout.places[:i]):
            beside = abs(x - other_x) >= WIDTH + GAP_X - 1e-6
            assert beside or y >= other_y + heights[j] or other_y >= y + heights[i]
        assert all(y >= layout.places[s][1] + heights[s] + GAP_Y - 1e-9 for s in sources[i])
    assert sorted((e.source, e.target) for e in layout.edges) == sorted(
        (s, t) for t, own in enumerate(sources) for s in own
    )


def test_nothing_is_a_drawing_without_size():
    layout = placed()
    assert (layout.places, layout.edges, layout.width, layout.height) == ((), (), 0, 0)


def test_lines_beyond_the_most_lanes_go_straight(monkeypatch):
    from tinyrt.report import layout as module

    monkeypatch.setattr(module, "MAX_LANES", 2)
    layout = placed((), (0,), (1,), (2,), (0, 1, 3))
    points = {(e.source, e.target): len(e.points) for e in layout.edges}
    assert points == {(0, 1): 2, (1, 2): 2, (2, 3): 2, (0, 4): 2, (1, 4): 6, (3, 4): 2}
    # Each of these passes a rank; there are lanes for two of them.
    layout = placed((), (0,), (0, 1), (0, 1, 2), (2, 3))
    assert [(e.source, e.target) for e in layout.edges if len(e.points) > 2] == [(0, 2), (1, 3)]


WRAPS = [
    ("short", 8, ("short",)),
    ("", 8, ("",)),
    ("a/bb/ccc/d", 5, ("a/bb/", "ccc/d")),
    ("x" * 12, 5, ("xxxxx", "xxxxx", "xx")),
    ("ab;cd_ef.gh", 6, ("ab;cd_", "ef.gh")),
]


@pytest.mark.parametrize(("name", "letters", "lines"), WRAPS)
def test_names_wrap_behind_what_parts_them(name, letters, lines):
    assert wrapped(name, letters) == lines
    assert "".join(wrapped(name, letters)) == name


def test_shades_go_from_the_cheapest_to_the_most_costly():
    assert [shade(n, 100) for n in (0, 19, 20, 59, 79, 80, 100)] == [0, 0, 1, 2, 3, 4, 4]
    assert shade(0, 0) == 0
    assert SHADES == 5


def test_the_graph_has_each_op_with_its_shape_and_cost():
    model = reported()[0].models[0]
    costs = [op.instructions for op in model.cores[0].ops]
    drawing = draw_graph(model, costs)
    assert [box.title for box in drawing.boxes][:3] == ["0 conv2d", "1 conv2d", "2 add"]
    assert drawing.boxes[0].lines == ("1 x 8 x 8 x 8", "conv2d_0")
    assert len(drawing.paths) == sum(len(op.sources) for op in model.ops)
    assert [box.shade for box in drawing.boxes] == [shade(n, max(costs)) for n in costs]
    part = draw_graph(model, costs, 3)
    assert (len(part.boxes), part.left_out, len(part.paths)) == (3, len(model.ops) - 3, 3)
    dearest_last = [*costs[:-1], 10 * sum(costs)]
    assert {box.shade for box in draw_graph(model, dearest_last, 3).boxes} == {0}, "shares of all"


@pytest.mark.parametrize("turn", [1, -1])
def test_bars_of_all_cores_have_one_scale(turn):
    """Wherever the most costly core stands."""
    model = reported()[0].models[0]
    model = replace(model, cores=model.cores[::turn])
    (bars,) = draw_bars(model, [1])
    most = max(op.instructions for core in model.cores for op in core.ops)
    steepest = max(per_mac(model, c, i) or 0 for c in model.cores for i, _ in enumerate(c.ops))
    for bar, core in zip(bars.cores, model.cores, strict=True):
        assert (bar.core, bar.instructions) == (core.core, core.ops[1].instructions)
        assert bar.part == core.ops[1].instructions / most
        assert bar.per_mac == core.ops[1].instructions / model.ops[1].macs
        assert bar.per_mac_part == bar.per_mac / steepest


@pytest.mark.parametrize(
    ("count", "macs", "slope"), [(0, 4, 0.0), (8, 4, 2.0), (None, 4, None), (8, 0, None)]
)
def test_instructions_of_a_product_are_told_where_both_are_known(count, macs, slope):
    model = reported()[0].models[0]
    core = model.cores[0]
    core = replace(core, ops=(replace(core.ops[1], instructions=count),))
    model = replace(model, ops=(replace(model.ops[1], macs=macs),))
    assert per_mac(model, core, 0) == slope


def test_a_model_without_ops_has_no_bars():
    model = replace(reported()[0].models[0], ops=(), cores=())
    assert draw_bars(model, []) == ()


def test_weights_are_counted_value_by_value():
    graph = quantize_graph(small_cnn(), samples(32), QuantConfig())
    found = {h.op: h for h in weight_histograms(graph)}
    weighted = [n for n in graph.bound() if n.op in ("conv2d", "fully_connected")]
    assert sorted(found) == [node.index for node in weighted]
    for node in weighted:
        histogram, data = found[node.index], node.input(1).data.reshape(-1).astype(int)
        assert histogram.name == node.input(1).name
        assert (histogram.low, histogram.high) == (-128.5, 127.5)
        bins = [int(((data + 128) // 8 == i).sum()) for i in range(32)]
        assert list(histogram.counts) == bins
        assert (histogram.at_low, histogram.at_high) == ((data <= -127).sum(), (data == 127).sum())
        share = (abs(data) == 127).mean()
        assert histogram.clipped == pytest.approx(share)


def test_activations_are_those_of_the_first_32_samples():
    graph = quantize_graph(small_cnn(), samples(32), QuantConfig())
    few, many = (activation_histograms(graph, samples(n)) for n in (32, 40))
    assert few == many
    assert [h.op for h in few] == list(range(len(graph.nodes)))
    sizes = [graph.bind(h.op).output.size for h in few]
    assert [sum(h.counts) for h in few] == [32 * size for size in sizes]
    relu = few[0]  # whose zeros are at the least integer
    assert relu.at_low > 0.2 * sum(relu.counts)


def test_real_values_have_bins_between_the_ends_of_the_first_piece():
    (relu, *_) = activation_histograms(small_cnn(), samples(32))
    assert (relu.low, relu.at_low, relu.at_high) == (0, 0, 0)
    assert len(relu.counts) == 32
    assert sum(relu.counts) == 32 * 8 * 8 * 8
    b = Builder((1, 4))
    flat = activation_histograms(b.graph(b.op("tanh", ("x",))), np.zeros((2, 4), np.float32))
    assert (flat[0].low, flat[0].high, flat[0].counts[0]) == (0, 1, 8)


def test_models_are_compared_figure_by_figure():
    first = reported()[0].models[0]
    core = replace(first.cores[0], flash=FlashFacts(100, 300), instructions=1000)
    first = replace(first, cores=(core,), quality=Quality(10, 9, 0.9, None, 30.0))
    other = replace(
        first,
        file_bytes=first.file_bytes * 2,
        cores=(replace(core, flash=FlashFacts(None, 150), instructions=800),),
        quality=Quality(10, 8, 0.85, None, 36.0),
    )
    rows = {row.label: row for row in compared([first, other])}
    for label, change in (
        ("file, bytes", "+100.0 %"),
        ("multiply-accumulates", "+0.0 %"),
        ("right, share", "-5.00 points"),
        ("SQNR against float, dB", "+6.0 dB"),
        ("cortex-m4: instructions", "-20.0 %"),
        ("cortex-m4: of these, weights", "-50.0 %"),
        ("cortex-m4: arena, bytes", "+0.0 %"),
    ):
        assert rows[label].change_text(rows[label].changes[1]) == change
    assert rows["cortex-m4: flash, bytes"].values == (400, None)
    assert rows["cortex-m4: flash, bytes"].changes == (0, None)
    assert "cortex-m4: stack, bytes" not in rows
    better = [row.label for row in rows.values() if row.more_is_better]
    assert better == ["right, share", "SQNR against float, dB"]


def test_lines_of_errors_pass_their_points():
    """A polyline whose numbers run together is none."""
    report, page = reported()
    for line in draw_errors(report.models[0].errors).lines:
        want = " ".join(f"{p.x:.2f},{p.y:.2f}" for p in line.points)
        assert f'points="{want} "' in page


def test_bins_at_an_end_are_marked():
    page, models = reported()[1], reported()[0].models
    bins = re.findall(r'class="bin (\w*) ?"', page)
    both = [
        (h.at_low and h.counts[0], h.at_high and h.counts[-1])
        for m in models
        for h in (*m.weights, *m.activations)
    ]
    assert bins.count("clipped") == sum(bool(n) for pair in both for n in pair)


def test_figures_are_said_shortly():
    assert [number(v) for v in (None, 1234567, 0.12345, 12.345, 1234.5, 1000.0, -1234.5)] == [
        *("–", "1,234,567", "0.123", "12.3", "1,234", "1,000", "-1,234")
    ]
    assert [percent(v) for v in (None, 0.5, 1 / 3)] == ["–", "50.0 %", "33.3 %"]
    assert percent(1 / 3, 2) == "33.33 %"


def test_data_cannot_end_their_element():
    assert embedded({"a": "</script>&"}) == '{"a":"\\u003c/script\\u003e\\u0026"}'
    assert embedded([float("inf")]) == "[null]"


def test_levels_of_decibels_go_up():
    chart = draw_errors(reported()[0].models[0].errors)
    assert all(b[0] - a[0] == 10 and b[1] < a[1] for a, b in pairwise(chart.ticks))


@pytest.mark.parametrize("highest", range(3))
def test_all_lines_of_errors_have_one_scale(highest):
    """Whichever is the highest: 40 dB at the upper edge, 10 dB a quarter above the lower one."""
    figures = [40.0 if i == highest else 10.0 for i in range(3)]
    layer = LayerError(0, "a", "conv2d", *figures, 0.0, "", None)
    chart = draw_errors(Errors(1, 40.0, (layer,)))
    assert [p.y for line in chart.lines for p in line.points] == [
        {40.0: 12, 10.0: 12 + 296 * 3 / 4}[db] for db in figures
    ]
    assert [db for db, _ in chart.ticks] == [0, 10, 20, 30, 40]


@pytest.mark.parametrize(
    ("weights", "change"), [((300, 0), -100), ((0, 300), None), ((0, 0), None), ((300, 300), 0)]
)
def test_changes_from_and_to_nothing(weights, change):
    first = reported()[0].models[0]
    models = [
        replace(first, cores=(replace(first.cores[0], flash=FlashFacts(100, n)),)) for n in weights
    ]
    rows = {row.label: row for row in compared(models)}
    row = rows["cortex-m4: of these, weights"]
    assert (row.values, row.changes[1]) == (weights, change)
