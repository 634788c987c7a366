"""The page of ``tinyrt report``, without a browser: what it says, and that nothing breaks it."""

import json
import re
import time
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from tests.graphs import small_cnn
from tests.report.made import HOSTILE, hostile_graph, renamed, reported, samples
from tests.sampling import sampled
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.quantize import QuantConfig, quantize_graph
from tinyrt.report import write_report
from tinyrt.report.facts import FlashFacts, RamFacts, Report
from tinyrt.report.page import render_report
from tinyrt.report.rendering import cleaned
from tinyrt.report.view import Shading, section_of


class Parsed(HTMLParser):
    """Elements of a page, as tag and attributes; and its text by element."""

    VOID = frozenset({"meta", "link", "input", "br"})

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.texts = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def of(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]

    def text(self, tag):
        return [data for name, data in self.texts if name == tag]


@pytest.fixture(scope="module")
def page():
    return reported()[1]


@pytest.fixture(scope="module")
def parsed(page):
    return Parsed(page)


def test_elements_are_nested_and_ids_are_there_once(parsed):
    assert parsed.open == []
    ids = [attrs["id"] for _, attrs in parsed.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    named = {
        name for _, attrs in parsed.elements for name in attrs.get("aria-labelledby", "").split()
    } | {attrs["href"][1:] for attrs in parsed.of("a")}
    assert named <= set(ids)


def test_the_page_asks_for_nothing_from_outside(page, parsed):
    for tag, attrs in parsed.elements:
        assert "src" not in attrs, tag
        if "href" in attrs:
            assert attrs["href"].startswith(("#", "data:,"))
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|WebSocket|import\(", page)
    policy = next(a["content"] for a in parsed.of("meta") if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'; ")


def test_headings_go_down_one_by_one(parsed):
    levels = [int(tag[1]) for tag, _ in parsed.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))


def test_every_drawing_has_a_name_and_every_chart_a_table(page, parsed):
    assert len(parsed.of("svg")) > 10
    for attrs in parsed.of("svg"):
        assert attrs.get("aria-label") or attrs.get("aria-labelledby")
    for chart in re.findall(r"<figure.*?</figure>", page, re.DOTALL):
        assert "<table" in chart or "table below" in chart or "SQNR" in chart
    for attrs in parsed.of("th"):
        assert attrs["scope"] in ("col", "row")


def test_the_cards_say_what_the_data_say(page):
    report = reported()[0]
    for model in report.models:
        for core in model.cores:
            ms = core.instructions / 100e6 * 1e3
            assert f'data-instructions="{core.instructions}">{ms:.2f} ms</b>' in page
            assert f"<b>{core.instructions:,}</b>instructions, estimated" in page
            assert f"<b>{core.flash.weights:,}</b>bytes of flash for weights" in page
            assert f"<b>{core.ram.arena:,}</b>bytes of RAM for the arena" in page
            assert f"<b>{core.instructions_per_mac:.3f}</b>instructions per multiply" in page
        assert f"<b>{100 * model.quality.top1:.2f} %</b>right, of 16 samples" in page
        db = model.quality.sqnr_db
        distance = "equal" if db == 200 else f"{db:.1f} dB"
        assert f"<b>{distance}</b>SQNR against the float model" in page


def rows_of(page, name):
    (found,) = re.findall(rf'<table[^>]* id="{name}".*?</table>', page, re.DOTALL)
    rows = re.findall(r"<tr.*?</tr>", found.partition("<tbody>")[2], re.DOTALL)
    return [
        [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<t[dh].*?</t[dh]>", row, re.DOTALL)]
        for row in rows
    ]


def test_the_table_of_ops_has_every_figure_the_costliest_op_first(page):
    model = reported()[0].models[0]
    rows = rows_of(page, "m0-ops")
    costs = [op.instructions for op in model.cores[0].ops]
    assert [int(row[0]) for row in rows] == sorted(range(len(costs)), key=lambda i: -costs[i])
    for row in rows:
        op = model.ops[int(row[0])]
        want = [str(op.index), op.op, op.name, " × ".join(map(str, op.outputs[0].shape))]
        want.append(f"{op.macs:,}")
        for core in model.cores:
            one = core.ops[op.index]
            per_mac = f"{one.instructions / op.macs:.2f}" if op.macs else "–"
            share = f"{100 * one.instructions / core.instructions:.1f}"
            want += [f"{one.instructions:,}", share, per_mac, f"{one.arena:,}", one.kernel]
        assert row == want


def test_bars_are_as_long_as_their_op_is_costly(page):
    model = reported()[0].models[0]
    (bars,) = re.findall(r'<ol class="bars">.*?</ol>', page.partition('id="m1"')[0], re.DOTALL)
    found = re.findall(
        r'class="bar" style="--part: ([\d.]+)%"></span><span class="value">([\d,]+)<', bars
    )
    most = max(op.instructions for core in model.cores for op in core.ops)
    order = sorted(range(len(model.ops)), key=lambda i: -model.cores[0].ops[i].instructions)
    want = [core.ops[i].instructions for i in order for core in model.cores]
    assert found == [(f"{100 * n / most:.1f}", f"{n:,}") for n in want]
    slopes = re.findall(r'per-mac" style="--part: ([\d.]+)%"></span><span[^>]*>([\d.–]+)<', bars)
    per_mac = {
        (i, core.core): core.ops[i].instructions / model.ops[i].macs
        for i in order
        for core in model.cores
        if model.ops[i].macs
    }
    steepest = max(per_mac.values())
    assert slopes == [
        (f"{100 * per_mac[key] / steepest:.1f}", f"{per_mac[key]:.2f}")
        if (key := (i, core.core)) in per_mac
        else ("0.0", "–")
        for i in order
        for core in model.cores
    ]


def test_what_a_click_on_an_op_shows_is_in_the_page(page):
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    models = json.loads(text)
    report = reported()[0]
    assert [len(ops) for ops in models] == [len(model.ops) for model in report.models]
    conv, model = models[0][0], report.models[0]
    assert (conv["title"], conv["name"], conv["macs"]) == ("0 conv2d", "conv2d_0", 13824)
    assert conv["attributes"]["activation"] == "RELU"
    q = model.ops[0].inputs[0]
    assert conv["inputs"][0] == [
        *("x", "int8[1,8,8,3]"),
        f"scale {q.scales[0]:.6g}, zero point {q.zero_point}",
    ]
    weights = model.ops[0].inputs[1]
    assert conv["inputs"][1][1:] == [
        "int8[8,3,3,3], constant",
        f"8 scales {weights.scales[0]:.6g} and on, zero point 0",
    ]
    assert models[1][0]["inputs"][0] == ["x", "float32[1,8,8,3]", ""]
    for core, said in zip(model.cores, conv["cores"], strict=True):
        op = core.ops[0]
        assert said == {
            "core": core.core,
            "instructions": op.instructions,
            "cycles": "",
            "baseline": None,
            "arena": op.arena,
            "kernel": op.kernel,
            "why": op.why,
        }


def test_hostile_names_are_text(tmp_path):
    graph = renamed(quantize_graph(small_cnn(), samples(8), QuantConfig()))
    save_tflite(graph, tmp_path / "net.tflite")
    page = tmp_path / "r.html"
    write_report(tmp_path / "net.tflite", page, estimate=True)
    check_harmless(page.read_text(), reported()[1])


def test_hostile_names_of_a_float_model_are_text(tmp_path):
    save_tflite(hostile_graph(), tmp_path / "<img src=x>.tflite")
    page = tmp_path / "r.html"
    write_report(tmp_path / "<img src=x>.tflite", page, estimate=True)
    check_harmless(page.read_text(), reported()[1])


def check_harmless(page, usual):
    """No element, script or direction of text comes from a name."""
    parsed = Parsed(page)
    assert parsed.open == []
    assert parsed.of("img") == []
    assert len(parsed.of("script")) == len(Parsed(usual).of("script")) == 4
    assert not [a for _, attrs in parsed.elements for a in attrs if a.startswith("on")]
    assert HOSTILE not in page
    assert "\u202e" not in page
    assert "_/script__img src=x onerror=_alert(1)__" in page  # what is left of the name
    json.loads(parsed.text("script")[0])


def test_names_and_values_of_a_file_s_attributes_are_cleaned():
    hostile = replace(reported()[0].models[0].ops[0], attributes={HOSTILE: HOSTILE})
    ((name, value),) = cleaned(hostile).attributes.items()
    assert name == value
    assert not {*"<>\u202e"} & {*name}


def long_report(ops, length=2):
    """A report of so many ops, made of one op."""
    model = reported()[0].models[0]
    core = model.cores[0]
    (first, *_), (cost, *_) = model.ops, core.ops
    many = replace(
        model,
        ops=tuple(
            replace(first, index=i, name=f"op{i}" + "/long" * length, sources=(i - 1,) * (i > 0))
            for i in range(ops)
        ),
        cores=(replace(core, ops=tuple(replace(cost, instructions=i + 1) for i in range(ops))),),
        weights=tuple(replace(model.weights[0], op=i) for i in range(ops)),
        activations=(),
        errors=None,
    )
    return Report("0", "balanced", (many,))


def test_thousands_of_ops_make_a_page_that_says_what_it_leaves_out():
    started = time.process_time()
    ops = sampled(2_050, 10_000)
    page = render_report(long_report(ops))
    assert time.process_time() - started < 30
    assert len(page) < 8e6
    assert f"{ops - 1000:,} further ops are not drawn." in page
    assert f"{ops - 2000:,} cheaper ops are left out" in page
    rest = sum(range(1, ops + 1 - 40))
    assert f"{ops - 40:,} cheaper ops take {rest:,} instructions together" in page
    assert page.count('class="node ') == 1000
    rows = rows_of(page, "m0-ops")
    assert [int(row[0]) for row in rows] == list(range(ops - 1, ops - 2001, -1))


def test_names_are_never_cut():
    page = render_report(long_report(3, 60))
    for text in ("op1" + "/long" * 60,):
        assert f'<td class="name">{text}</td>' in page
        lines = re.findall(r"<text[^>]*>([^<]*)</text>", page)
        assert text in "".join(lines)


def test_one_model_is_compared_with_nothing():
    assert 'id="comparison"' not in render_report(long_report(3))
    assert 'id="comparison"' in reported()[1]


def test_the_comparison_says_what_is_better(page):
    """The float model is larger and slower; from itself there is no distance to compare."""
    (section,) = re.findall(r'<section id="comparison".*?</section>', page, re.DOTALL)
    rows = dict(re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', section, re.DOTALL))
    report = reported()[0]
    first, other = report.models
    said = re.findall(r">\s*([\d,.]+)\s*<", rows["cortex-m4: instructions"])
    counts = [model.cores[0].instructions for model in report.models]
    assert said == [f"{n:,}" for n in counts]
    change = 100 * (counts[1] / counts[0] - 1)
    assert f'<span class="worse">{change:+.1f} %</span>' in rows["cortex-m4: instructions"]
    assert other.quality.sqnr_db == 200
    assert "equal" in rows["SQNR against float, dB"]
    assert "<span" not in rows["SQNR against float, dB"]
    assert '<span class="same">+0.0 %</span>' in rows["multiply-accumulates"]
    assert f"{first.quality.top1:.4f}" in rows["right, share"]


def test_the_errors_of_layers_are_a_table(page):
    layers = reported()[0].models[0].errors.layers
    (table,) = re.findall(r'aria-label="Errors of the layers of int8".*?</table>', page, re.DOTALL)
    cells = re.findall(r"<td[^>]*>(.*?)</td>", table)
    assert cells == [
        text
        for layer in layers
        for text in (
            *(layer.name, layer.op),
            *(
                "equal" if db == 200 else f"{db:.1f}"
                for db in (layer.impact_db, layer.own_db, layer.accumulated_db)
            ),
            f"{100 * layer.saturation:.1f}",
        )
    ]


def test_tensors_of_the_arena_are_a_table(page):
    buffers = reported()[0].models[0].cores[0].arena.buffers
    label = "int8 on cortex-m4: tensors in the arena"
    (table,) = re.findall(rf'aria-label="{label}".*?</table>', page, re.DOTALL)
    cells = re.findall(r"<td[^>]*>(.*?)</td>", table)
    assert cells == [
        text
        for b in buffers
        for text in (
            *(
                ", ".join(b.names).replace("#", "_"),
                f"{b.bytes:,}",
                f"{b.offset:,}",
                str(b.first),
                str(b.last),
            ),
        )
    ]


def test_histograms_are_drawn_and_listed(page):
    """A bin is as high as its count, of 60 units for the greatest, and one more to be seen."""
    model = reported()[0].models[0]
    histogram = model.weights[0]
    (drawing,) = re.findall(
        r'aria-label="Weights of op 0, .*?</svg>', page.partition('id="m1"')[0], re.DOTALL
    )
    heights = re.findall(r'height="([\d.]+)"><title>([\d,]+)</title>', drawing)
    most = max(histogram.counts)
    assert heights == [(f"{60 * n / most + 1:.2f}", f"{n:,}") for n in histogram.counts if n]
    (table,) = re.findall(r'aria-label="Weights of int8".*?</table>', page, re.DOTALL)
    cells = re.findall(r"<td[^>]*>(.*?)</td>", table)[:8]
    at = (histogram.at_low, histogram.at_high)
    assert cells == [
        *("0", histogram.name, f"{sum(histogram.counts):,}", "-128.5", "127.5"),
        *map(str, at),
        f"{100 * sum(at) / sum(histogram.counts):.2f}",
    ]


def test_the_card_of_a_built_model_says_what_takes_which_flash_and_ram():
    model = reported()[0].models[0]
    core = replace(
        model.cores[0],
        **{"basis": "counted", "board": "b-1", "bit_exact": True, "baseline": 3_000_000},
        instructions=1_200_000,
        flash=FlashFacts(code=12_345, weights=67_890),
        ram=RamFacts(arena=4_096, stack=321, stack_bound=456, static=0, state=78),
    )
    page = render_report(Report("0", "balanced", (replace(model, cores=(core,)),)))
    for text in (
        "<b>1,200,000</b>instructions, counted",
        "<b>2.50 times</b>fewer instructions than TFLM with CMSIS-NN (3,000,000)",
        "<b>80,235</b>bytes of flash: 12,345 of code, 67,890 of weights",
        "<b>321</b>bytes of stack used, 456 at most",
        "<b>78</b>bytes of state between inferences",
        "<b>yes</b>answers as the host does, on b-1",
    ):
        assert text in page


def test_kinds_of_ops_stand_in_the_order_of_their_names():
    model = reported()[0].models[0]
    names = ("tanh", "relu", "conv2d", "abs", "mean", "add", "pad", "conv2d")
    ops = tuple(replace(model.ops[0], index=i, op=name) for i, name in enumerate(names))
    cores = tuple(replace(core, ops=core.ops[:1] * len(names)) for core in model.cores)
    section = section_of(replace(model, ops=ops, cores=cores), Shading((1,) * len(names), ""))
    assert section["kinds"] == sorted(set(names))
