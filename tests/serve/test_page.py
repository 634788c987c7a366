"""The page in a browser, served by the command."""

import re
import shutil
import signal
import socket
import subprocess
import sys

import pytest

import tinyrt
from tests.report.made import save_pair
from tinyrt.errors import UnsupportedError
from tinyrt.serve.listening import listening

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
playwright = pytest.importorskip("playwright.sync_api", reason="make setup installs Playwright")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The server's, on a free port; Ctrl-C ends it."""
    command = [sys.executable, "-m", "tinyrt", "serve", "--port", "0"]
    command += ["--max-upload", "100k", "--seconds", "200"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        said = server.stderr.readline()
        yield re.fullmatch(r"(http://127\.0\.0\.1:\d+)  \(Ctrl-C ends it\)\n", said)[1]
        server.send_signal(signal.SIGINT)
        assert server.wait(30) in (0, 130)


@pytest.mark.slow
@pytest.mark.whole
@pytest.mark.skipif(BROWSER is None, reason="tools/setup_system.sh --tests installs Chromium")
def test_a_model_dropped_has_its_cost_shown(address, tmp_path):
    from axe_playwright_python.sync_playwright import Axe

    _, int8, _ = save_pair(tmp_path)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 320, "height": 800})
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.set_default_timeout(60_000)
        page.goto(address)
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()

        page.set_input_files("#model", int8)
        page.get_by_role("button", name="Cost").click()
        shown = page.locator("#answer table").inner_text()
        cost = tinyrt.cost(int8, core="cortex-m4")
        assert shown.split("\n") == [
            "int8 on cortex-m4, formula",
            f"instructions per inference\t{cost.instructions:,}",
            "flash for code, bytes\t–",
            f"flash for weights, bytes\t{cost.weights:,}",
            f"arena, bytes\t{cost.arena:,}",
            "stack, bytes\t–",
        ]
        _more(page, said)

        page.set_input_files(
            "#model", {"name": "a.tflite", "mimeType": "", "buffer": bytes(200_000)}
        )
        page.get_by_role("button", name="Cost").click()
        page.get_by_text("Content Too Large").wait_for()
        browser.close()


def _more(page, said):
    """A project is downloaded, and a file that is no model refused."""
    with page.expect_download() as got:
        page.get_by_role("button", name="C project").click()
    assert got.value.suggested_filename == "int8_cortex-m4.zip"

    page.set_input_files("#model", {"name": "a.tflite", "mimeType": "", "buffer": b"nothing"})
    page.get_by_role("button", name="Cost").click()
    page.locator("#answer dt").first.wait_for()
    assert "a.tflite" in page.locator("#answer").inner_text()
    assert [text for text in said if "status of 422" not in text] == []


def test_only_this_machine_is_listened_to():
    with listening(0) as made:
        assert made.getsockname()[0] == "127.0.0.1"


def test_a_port_that_is_taken_is_refused():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(
                UnsupportedError, match="the port cannot be listened on: Address"
            ) as error,
            listening(port),
        ):
            pass
        assert error.value.hint == "--port 0 takes any that is free"
