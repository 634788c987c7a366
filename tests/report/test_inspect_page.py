"""The page of ``tinyrt inspect --html``: where its drawing has each tensor, and what it says."""

import re
from dataclasses import replace

import pytest
from jinja2 import UndefinedError

from tests.graphs import Builder, small_cnn
from tests.report.made import samples
from tinyrt.api import inspect_model
from tinyrt.api.costs import cost_by_formula
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.export import find_core
from tinyrt.quantize import QuantConfig, quantize_graph
from tinyrt.report import arena as arena_drawing
from tinyrt.report import render_page
from tinyrt.report.arena import draw_arena
from tinyrt.report.facts import ArenaFacts, BufferFacts, Kept
from tinyrt.report.gather import by_kernel
from tinyrt.report.rendering import template

BUFFERS = (
    BufferFacts(("a",), 0, 64, 0, 0),
    BufferFacts(("b", "view<b>"), 64, 96, 0, 1),
    BufferFacts(("c",), 0, 32, 1, 1),
)
PLAN = ArenaFacts(160, 160, True, 1, (Kept("b", 96),), BUFFERS, ())


def test_the_map_has_ops_from_left_to_right_and_bytes_upwards():
    """960 by 360 units are two ops and 160 bytes, so a byte is 2.25 units high."""
    drawn = draw_arena(PLAN, 2)
    assert [(box.x, box.y, box.width, box.height) for box in drawn.boxes] == [
        (0, 216, 480, 144),
        (0, 0, 960, 216),
        (480, 288, 480, 72),
    ]
    assert [box.label for box in drawn.boxes] == ["64", "96", "32"]
    assert [box.title for box in drawn.boxes] == [
        "a: 64 bytes at 0, ops 0 to 0",
        "b, view_b_: 96 bytes at 64, ops 0 to 1",
        "c: 32 bytes at 0, ops 1 to 1",
    ]
    assert (drawn.peak_x, drawn.column, drawn.left_out) == (480, 480, 0)


def test_of_too_many_tensors_the_largest_are_drawn(monkeypatch):
    monkeypatch.setattr(arena_drawing, "MAX_BOXES", 2)
    for buffers, labels in ((PLAN.buffers, ["64", "96"]), (PLAN.buffers[::-1], ["96", "64"])):
        drawn = draw_arena(replace(PLAN, buffers=buffers), 2)
        assert [box.label for box in drawn.boxes] == labels
        assert drawn.left_out == 1


def test_neighbours_differ_in_colour():
    """On a circle of 360 degrees, by 40 at least: of any two and of those with one between."""
    buffers = tuple(BufferFacts((f"t{i}",), 16 * i, 16, i, i + 1) for i in range(60))
    hues = [box.hue for box in draw_arena(replace(PLAN, bytes=960, buffers=buffers), 60).boxes]
    assert all(0 <= hue < 360 for hue in hues)
    apart = [abs(a - b) for step in (1, 2) for a, b in zip(hues, hues[step:], strict=False)]
    assert min(min(d, 360 - d) for d in apart) >= 40
    assert max(hues) > 320


def test_sizes_have_their_thousands_apart():
    plan = replace(PLAN, bytes=8192, buffers=(BufferFacts(("a",), 4096, 4096, 0, 0),))
    (box,) = draw_arena(plan, 1).boxes
    assert (box.label, box.title) == ("4,096", "a: 4,096 bytes at 4,096, ops 0 to 0")


def test_lines_across_the_map_are_at_quarters_of_the_arena():
    drawn = draw_arena(replace(PLAN, bytes=403), 2)
    assert drawn.ticks == ((0, 360), (100, 270), (201, 180), (302, 90), (403, 0))
    assert [type(count) for count, _ in drawn.ticks] == [int] * 5
    nothing = draw_arena(replace(PLAN, bytes=0, buffers=()), 2)
    assert (nothing.boxes, nothing.ticks[-1]) == ((), (0, 0))


def page_of(tmp_path, graph):
    save_tflite(graph, tmp_path / "net.tflite")
    return render_page(inspect_model(tmp_path / "net.tflite"))


def test_the_lines_are_labelled_with_their_bytes(tmp_path):
    b = Builder((1, 100))
    page = page_of(tmp_path, b.graph(b.op("tanh", (b.op("tanh", ("x",)),))))
    lines = [line for line in page.splitlines() if 'text-anchor="end"' in line]
    # The input's 400 bytes take the outputs, too.
    assert [line.rpartition("</")[0].rpartition(">")[2] for line in lines] == [
        *("0", "100", "200", "300", "400")
    ]
    assert [line.partition(' y="')[2].partition('"')[0] for line in lines] == [
        *("357.00", "267.00", "177.00", "87.00", "12.00")
    ]


def test_a_model_without_ops_has_a_map_of_one_column(tmp_path):
    page = page_of(tmp_path, Builder((1, 4)).graph("x"))
    assert 'x="0.00" y="0.00" width="960.00" height="360.00"' in page
    assert "Fullest at op #0 (framed), which keeps:" in page


@pytest.mark.parametrize(("length", "is_cut"), [(2500, False), (2501, True)])
def test_a_text_of_more_than_2500_characters_is_cut(length, is_cut):
    text = "w" * length
    page = template("inspect.html.j2").environment.from_string("{{ text }}").render(text=text)
    assert page == text or is_cut
    assert len(page) <= 2500
    assert (f"...({length} characters)..." in page) == is_cut


def test_a_template_may_not_ask_for_what_it_is_not_given():
    asking = template("inspect.html.j2").environment.from_string("{{ nothing }}")
    with pytest.raises(UndefinedError, match="nothing"):
        asking.render()


def test_a_page_has_no_empty_lines(tmp_path):
    """What templates do leaves nothing behind."""
    page = page_of(tmp_path, Builder((1, 4)).graph("x"))
    assert [line for line in page.split("\n")[:-1] if not line.strip()] == []


def test_costs_are_those_by_formula(tmp_path):
    """Of ``tinyrt.cost``, on each kind of core; a view of other bytes costs nothing."""
    save_tflite(reduced(), tmp_path / "net.tflite")
    for core in ("m0", "m4", "m55", "rv32imc"):
        inspection = inspect_model(tmp_path / "net.tflite", core=core)
        found, cost = by_kernel(inspection), cost_by_formula(inspection.graph, core)
        assert found.core == cost.core == find_core(core).name
        assert found.instructions == cost.instructions
        assert tuple(op.instructions for op in found.ops) == cost.by_op
        assert 0 in cost.by_op
        assert found.instructions_per_mac == cost.instructions / inspection.macs
        assert (found.flash.weights, found.ram.arena) == (
            inspection.weight_bytes,
            inspection.arena_bytes,
        )
        assert all(op.kernel and op.why for op in found.ops)


WITHOUT = [({"core": "host"}, "here: some op"), ({"input_rows": True}, "where ops run row by row")]


@pytest.mark.parametrize(("options", "reason"), WITHOUT)
def test_what_has_no_formula_has_no_costs_and_the_page_says_why(options, reason, tmp_path):
    save_tflite(reduced(), tmp_path / "net.tflite")
    inspection = inspect_model(tmp_path / "net.tflite", **options)
    found = by_kernel(inspection)
    assert found.instructions is None
    assert {op.instructions for op in found.ops} == {None}
    page = render_page(inspection)
    assert f"There is no formula for instructions {reason}" in page
    assert 'class="bars"' not in page
    priced = render_page(inspect_model(tmp_path / "net.tflite"))
    assert "Estimated by formula for cortex-m4" in priced
    assert 'class="bars"' in priced


def test_ops_say_where_they_run_if_that_was_asked(tmp_path):
    save_tflite(reduced(), tmp_path / "net.tflite")
    page = render_page(inspect_model(tmp_path / "net.tflite", backend="cuda"))
    devices = re.findall(r'data-kind="\w+">(?:<td.*?</td>){5}<td>(gpu|cpu)</td>', page)
    assert len(devices) == len(reduced().nodes)
    plain = render_page(inspect_model(tmp_path / "net.tflite"))
    assert "runs on</th>" in page
    assert "runs on</th>" not in plain


def reduced():
    """A quantised CNN with a reshape, whose output is its input's bytes."""
    return quantize_graph(small_cnn(), samples(32), QuantConfig())
