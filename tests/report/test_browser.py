"""The page in a real browser: what moves, what fits, and how accessible it is.

These tests run where Chromium and Playwright are there (``tools/setup_system.sh --tests`` installs
the first, ``make setup`` the second); elsewhere they are skipped, and say so.
"""

from __future__ import annotations

import shutil

import pytest

from tests.report.made import reported, save_pair
from tests.report.test_page import long_report
from tinyrt.api import debug_model, inspect_model
from tinyrt.report import write_page
from tinyrt.report.debug_page import write_debug_page
from tinyrt.report.page import render_report

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
playwright = pytest.importorskip("playwright.sync_api", reason="make setup installs Playwright")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="tools/setup_system.sh --tests installs Chromium"),
]


WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
"""Whether the page itself has to be scrolled sideways."""


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        # Without the sandbox, which root cannot have; the pages are our own.
        running = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(reported()[1], encoding="utf-8")
    return path


def outside(url):
    """The address, in a list, if it leads anywhere but to the page itself."""
    return [] if url.startswith(("file:", "data:")) else [url]


def opened(browser, path, width=1280, scheme="light"):
    """The page, and what the browser complains of, in a list that fills."""
    view = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme}
    page = browser.new_page(**view, reduced_motion="reduce")  # else it scrolls while tests look
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.extend(outside(request.url)))
    page.set_default_timeout(60_000)
    page.goto(path.as_uri())
    return page, said


@pytest.fixture(scope="module")
def shared(browser, file):
    return opened(browser, file)


@pytest.fixture
def page(shared):
    """A page that all tests use one after the other, as it is when it opens."""
    page, _ = shared
    page.reload()
    return page


def test_the_browser_has_nothing_to_complain_of(browser, file):
    page, said = opened(browser, file)
    for button in page.locator("[data-zoom]").all():
        button.click()
    assert said == []
    page.close()


@pytest.mark.whole
@pytest.mark.parametrize("width", [320, 360, 768, 1920])
def test_the_page_is_never_wider_than_the_window(width, page):
    page.set_viewport_size({"width": width, "height": 800})
    assert not page.evaluate(WIDE)
    for details in page.locator("details").all():
        details.evaluate("element => { element.open = true; }")
    assert not page.evaluate(WIDE)
    page.set_viewport_size({"width": 1280, "height": 800})


@pytest.mark.whole
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violations(scheme, browser, file):
    from axe_playwright_python.sync_playwright import Axe

    page, _ = opened(browser, file, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}[scheme]
    found = Axe().run(page, options={"resultTypes": ["violations"]})
    assert found.violations_count == 0, found.generate_report()
    page.locator("#m0-ops .open").first.click()
    found = Axe().run(page, context="#op", options={"resultTypes": ["violations"]})
    assert found.violations_count == 0, found.generate_report()
    page.close()


@pytest.mark.whole
def test_hovering_says_which_tensor_it_is(page):
    mark = page.locator("#m0 svg.marks").first.locator(".mark").last
    mark.scroll_into_view_if_needed()
    mark.hover()
    tip = page.locator("#tip")
    assert tip.is_visible()
    assert tip.inner_text() == mark.get_attribute("data-tip")
    page.mouse.move(2, 2)
    assert not tip.is_visible()


@pytest.mark.whole
def test_arrow_keys_go_from_tensor_to_tensor(page):
    region = page.locator("#m0 figure .scroll").nth(0)
    marks = region.locator(".mark")
    region.focus()
    tips = [mark.get_attribute("data-tip") for mark in marks.all()]
    said = []
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
        said.append(page.locator("#tip").inner_text())
    assert said == [tips[0], tips[1], tips[0], tips[-1]]
    page.keyboard.press("Tab")
    assert not page.locator("#tip").is_visible()


def test_the_reader_sets_the_clock(page):
    report = reported()[0]
    count = report.models[0].cores[0].instructions
    page.fill("#mhz", "50")
    page.fill("#cpi", "2")
    assert page.locator(".card .time").first.inner_text() == f"{count * 2 / 50e3:.2f} ms"
    (row,) = page.locator("#parts-ops tbody tr", has_text="STM32F401RE").all()
    assert row.locator(".time").first.inner_text() == f"{count * 2 / 84e3:.2f}"
    page.fill("#mhz", "")  # keeps what was there
    assert page.locator(".card .time").first.inner_text() == f"{count * 2 / 50e3:.2f} ms"


def shown(page, table):
    """The first cells of the rows that are visible."""
    visible = "rows => rows.filter(r => r.checkVisibility()).map(r => r.cells[0].innerText)"
    return page.eval_on_selector_all(f"#{table} tbody tr", visible)


def test_the_table_of_ops_is_filtered_and_sorted(page):
    model = reported()[0].models[0]
    page.fill("#m0 .filter", "conv2d_1")
    assert shown(page, "m0-ops") == ["1"]
    assert page.locator("#m0-shown").inner_text() == f"1 of {len(model.ops)}"
    page.fill("#m0 .filter", "")
    page.select_option("#m0 .kind", "conv2d")
    convolutions = [str(op.index) for op in model.ops if op.op == "conv2d"]
    assert sorted(shown(page, "m0-ops")) == convolutions
    page.select_option("#m0 .kind", "")
    head = page.locator("#m0-ops thead th").nth(4)
    head.locator("button").click()
    by_macs = sorted(range(len(model.ops)), key=lambda i: -model.ops[i].macs)
    assert head.get_attribute("aria-sort") == "descending"
    found = [model.ops[int(i)].macs for i in shown(page, "m0-ops")]
    assert found == [model.ops[i].macs for i in by_macs]
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert [model.ops[int(i)].macs for i in shown(page, "m0-ops")] == found[::-1]


def test_parts_are_filtered(page):
    page.fill('.filter[data-of="parts"]', "nordic")
    assert len(shown(page, "parts-ops")) == 6
    assert page.locator("#parts-shown").inner_text() == "6 of 71"
    page.fill('.filter[data-of="parts"]', "cortex-m0")
    page.check("#fitting")
    assert page.locator("#parts-shown").inner_text() == "0 of 71"


@pytest.mark.whole
def test_a_search_finds_ops_in_the_graph(page):
    page.fill("#m0 .search", "softmax")
    assert page.locator("#m0-hits").inner_text() == "1 found"
    hits = page.locator("#m0-graph .node.hit")
    assert hits.count() == 1
    op = hits.first.get_attribute("data-op")
    assert reported()[0].models[0].ops[int(op)].op == "softmax"
    page.wait_for_timeout(300)
    box, frame = hits.first.bounding_box(), page.locator("#m0-graph").bounding_box()
    assert frame["y"] <= box["y"] + box["height"] / 2 <= frame["y"] + frame["height"]
    assert page.locator("#m0-graph .node.miss").count() == len(reported()[0].models[0].ops) - 1
    page.fill("#m0 .search", "")
    assert page.locator("#m0-graph .hit, #m0-graph .miss").count() == 0


@pytest.mark.whole
def test_the_graph_zooms(page):
    node = page.locator("#m0-graph .node").first
    widths = [node.bounding_box()["width"]]
    for name in ("in", "out", "out", "reset"):
        page.locator(f'#m0 [data-zoom="{name}"]').click()
        page.wait_for_timeout(350)
        widths.append(node.bounding_box()["width"])
    assert widths[1] > widths[0] > widths[3]
    assert widths[2] == pytest.approx(widths[0], rel=0.02)
    assert widths[4] == pytest.approx(widths[0], rel=0.02)


def test_an_op_opens_with_a_click_or_a_key(page):
    model = reported()[0].models[0]
    page.locator("#m0-graph .node").nth(1).click()
    dialog = page.locator("#op")
    assert dialog.is_visible()
    text = dialog.inner_text()
    op, core = model.ops[1], model.cores[0]
    for part in (
        *(f"1 {op.op}", op.name, f"{op.macs:,} multiply-accumulates", "SAME"),
        *(f"{core.ops[1].instructions:,}", core.ops[1].kernel, core.ops[1].why),
        *(tensor.name for tensor in op.inputs),
    ):
        assert part in text
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    page.locator("#m0-graph .node").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#op-title").inner_text() == f"2 {model.ops[2].op}"
    page.keyboard.press("Escape")
    page.locator("#m1-ops .open").first.press("Enter")
    first = page.locator("#m1-ops tbody tr").first.get_attribute("data-op")
    assert page.locator("#op-title").inner_text().startswith(f"{first} ")


@pytest.mark.whole
def test_a_printed_page_has_its_tables_open(page):
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details[open]").count() == page.locator("details").count() > 0
    assert not page.locator("nav").is_visible()
    assert len(page.pdf()) > 20_000
    page.emulate_media(media="screen")


@pytest.mark.whole
def test_a_page_of_many_ops_opens(browser, tmp_path):
    ops, path = 10_000, tmp_path / "long.html"
    path.write_text(render_report(long_report(ops)), encoding="utf-8")
    page, said = opened(browser, path)
    page.fill("#m0 .filter", f"op{ops - 1}/")
    assert shown(page, "m0-ops") == [str(ops - 1)]
    assert said == []
    page.close()


@pytest.mark.whole
def test_the_pages_of_inspect_and_debug_are_views_of_the_report(browser, tmp_path):
    from axe_playwright_python.sync_playwright import Axe

    net, int8, data = save_pair(tmp_path)
    write_page(inspect_model(int8), tmp_path / "inspect.html")
    write_debug_page(int8, data, debug_model(net, int8, data), tmp_path / "debug.html")
    for name, says in (("inspect.html", "why this one"), ("debug.html", "likely cause")):
        page, said = opened(browser, tmp_path / name, width=320)
        assert not page.evaluate(WIDE)
        page.fill(".search", "conv2d")
        assert page.locator("#m0-hits").inner_text() == "3 found"
        page.locator("#m0-graph .node.hit").first.focus()
        page.keyboard.press("Enter")
        assert "stride" in page.locator("#op").inner_text()
        assert says in page.locator("#op").inner_text()
        page.locator("#op button", has_text="Close").click()
        found = Axe().run(page, options={"resultTypes": ["violations"]})
        assert found.violations_count == 0, found.generate_report()
        mark = page.locator("svg.marks .mark").last
        mark.hover()
        assert page.locator("#tip").inner_text() == mark.get_attribute("data-tip")
        page.locator("table.sortable thead button").nth(1).click()
        assert page.locator("th[aria-sort=descending]").count() == 1
        assert said == []
        page.close()
