"""The documentation as a site: which page is where, links, and a whole build without a warning."""

import os
import re
import subprocess
import sys

import pytest

import tinyrt
from tests.docs.pages import ROOT
from tinyrt.cli.app import SECTIONS
from tools.site.links import as_on_the_site, page_of

PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "docs/run.md": "run.md",
    "docs/decisions/rows.md": "decisions/rows.md",
    "docs/pipeline.svg": "pipeline.svg",
    "docs/report.schema.json": None,
    "docs/decisions": None,
    "firmware_examples/hello_digits": "firmware_examples/hello_digits/index.md",
    "firmware_examples/hello_digits/": "firmware_examples/hello_digits/index.md",
    "firmware_examples/hello_digits/README.md": "firmware_examples/hello_digits/index.md",
    "firmware_examples/hello_digits/main.c": None,
    "tinyrt/kernels_c/README.md": None,
    "LICENSE": None,
}
LINKS = {
    ("README.md", "[a](docs/run.md#b)"): "[a](run.md#b)",
    ("README.md", "![a](docs/pipeline.svg)"): "![a](pipeline.svg)",
    ("README.md", "[a](LICENSE) [b](docs/run.md)"): "a [b](run.md)",
    ("README.md", "[`a[0]`](docs/run.md)"): "[`a[0]`](run.md)",
    ("README.md", "`[a](LICENSE)`"): "`[a](LICENSE)`",
    ("README.md", "```c\n[a](LICENSE)\n```\n[a](LICENSE)"): "```c\n[a](LICENSE)\n```\na",
    ("docs/run.md", "[a](../README.md)"): "[a](index.md)",
    ("docs/run.md", "[a](#b) [c](https://d/e.md)"): "[a](#b) [c](https://d/e.md)",
    ("docs/decisions/rows.md", "[a](../memory.md)"): "[a](../memory.md)",
    ("docs/decisions/rows.md", "[a](../../SECURITY.md)"): "[a](../SECURITY.md)",
    ("firmware_examples/x/README.md", "[a](../../docs/run.md)"): "[a](../../run.md)",
    ("firmware_examples/x/README.md", "[a](../y)"): "[a](../y/index.md)",
}


@pytest.mark.parametrize(("path", "page"), PAGES.items())
def test_where_a_file_is_shown(path, page):
    assert page_of(path) == page


@pytest.mark.parametrize(("source", "text"), LINKS)
def test_links_lead_to_pages(source, text):
    assert as_on_the_site(text, source) == LINKS[source, text]


def test_what_is_no_page_has_no_links():
    with pytest.raises(ValueError, match=r"^tinyrt/api\.py is no page of the site$"):
        as_on_the_site("", "tinyrt/api.py")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """All pages, built as ``make docs`` builds them: strictly."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder]
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return folder


@pytest.mark.slow
@pytest.mark.whole
def test_the_site_has_every_page_and_asks_for_nothing_from_outside(site):
    pages = {str(p.relative_to(site)) for p in site.rglob("*.html")}
    sources = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    wanted = {page_of(path).removesuffix(".md") + ".html" for path in sources if page_of(path)}
    assert pages == wanted | {"404.html", "commands.html", "python.html", "c.html"}
    for page in pages:
        text = (site / page).read_text(encoding="utf-8")
        assert re.findall(r'(?:src|<link [^>]*href)="?(?:https?:)?//[^">]*', text) == [], page


@pytest.mark.slow
@pytest.mark.whole
def test_the_generated_pages_have_every_command_name_and_function(site):
    commands = (site / "commands.html").read_text(encoding="utf-8")
    for section in SECTIONS.values():
        for name in section:
            assert f'id="tinyrt-{name}"' in commands
    assert "--max-arena" in commands
    names = (site / "python.html").read_text(encoding="utf-8")
    for name in tinyrt.__all__:
        assert re.search(rf'id="tinyrt\.[\w.]*\.?{name}"', names), name
    declared = (site / "c.html").read_text(encoding="utf-8")
    for function in ("invoke", "step", "push_row", "open", "selftest", "info", "board"):
        assert f"model_{function}" in re.sub(r"<[^>]*>", "", declared), function
