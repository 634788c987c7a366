"""Every example of README and docs/ runs, in a copy of the folder that the demo leaves."""

import fcntl
import os
import re
import runpy
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.docs import figures
from tests.docs.commands import PYTHON, served
from tests.docs.pages import blocks
from tests.docs.shown import Shown
from tests.sampling import sampled
from tinyrt.cli import demo
from tinyrt.cli.console import ERR
from tinyrt.train.recipes.digits import SMALL_DIGITS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OWN = [page for page in PAGES if not page.name.startswith("from-")]
"""Pages whose examples start from the demo's files; the others are run by tests/frameworks."""
MAKE_TARGETS = re.compile(r"^make \w+ +#", re.MULTILINE)


def fewer_images(seed):
    """The demo's data with a part of the test images, each of which is emulated."""
    data = SMALL_DIGITS.load(seed)
    return replace(data, x_test=data.x_test[:IMAGES], y_test=data.y_test[:IMAGES])


IMAGES = 32
SHORT = replace(SMALL_DIGITS, load=fewer_images, training=replace(SMALL_DIGITS.training, epochs=5))
"""The demo's training, which tests of the recipes run to its end."""


@pytest.fixture(scope="module")
def demo_folder(kept_objects):
    """What the demo leaves; it runs once for all processes that run tests."""
    folder, ready = kept_objects.parent / "demo", kept_objects.parent / "demo.ready"
    with (kept_objects.parent / "demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            with ERR.capture() as said, pytest.MonkeyPatch.context() as patch:
                patch.setattr(demo, "SMALL_DIGITS", sampled(SHORT, SMALL_DIGITS))
                demo.run_demo(folder)
            steps = re.findall(r"^\[(\d)/(\d)\] \w+", said.get(), re.MULTILINE)
            assert steps == [(str(i), "4") for i in range(1, 5)]
            ready.touch()
    return folder


@pytest.fixture(scope="module")
def commands(kept_objects):
    """Where ``tinyrt`` starts sooner; a short path, as sockets have them."""
    with TemporaryDirectory() as folder, served(Path(folder), kept_objects) as place:
        yield place


FIRST = ("start.md",)
"""Pages whose commands are those that are installed."""

LEFT = {
    *("audio.md", "cascades.md", "ci.md", "cluster.md", "compatibility.md", "cycles.md"),
    *("debug.md", "ecosystems.md", "emulate.md", "learning.md", "memory.md", "motion.md"),
    *("qat.md", "quantize.md", "report.md", "run.md", "search.md", "slices.md", "train.md"),
    "updates.md",
}
"""Pages that run only where all cases are asked for: they take long, and what they call has tests
of its own. That it is there, and takes these arguments, is asked in ``test_examples_fit``."""


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=[pytest.mark.whole] if p.name in LEFT else []) for p in OWN],
    ids=lambda p: p.name,
)
def test_examples_run(page, demo_folder, commands, tmp_path):
    folder, first = tmp_path / "work", () if page.name in FIRST else (commands,)
    shutil.copytree(demo_folder, folder)
    shown = Shown()
    for language, file, text in blocks(page):
        if MAKE_TARGETS.search(text):
            continue  # make demo and make test themselves
        if file:
            (folder / file).write_text(text, encoding="utf-8")
        elif language == "sh":
            _run(["bash", "-euo", "pipefail", "-c", text], folder, *first)
        else:
            shown.add(language, text)
    if shown.blocks:
        python = [sys.executable, "-c"] if page.name in FIRST else [str(commands / PYTHON)]
        assert shown.differences(_run([*python, shown.code], folder, *first)) == []
    if page.name in figures.PAGES:
        assert figures.PAGES[page.name](folder, page.read_text(encoding="utf-8")) == []


def test_what_is_shown_is_compared():
    shown = Shown()
    shown.add("python", "a = 3\nprint(a)  # 3: of them\nprint(a, 'x')  # of no matter\n")
    shown.add("sh", "true\n")
    shown.add("python", "print('more')\nprint((a, 4))  # (3, 5)\n")
    shown.add("output", "more\n(3, 4)\n")
    printed = subprocess.check_output([sys.executable, "-c", shown.code], text=True)
    assert shown.differences(printed) == ["prints '(3, 4)', shown is '(3, 5)'"]
    other = printed.replace("more", "less")
    assert len(shown.differences(other)) == 2


def _run(command, folder, *first):
    path = ":".join(map(str, (*first, Path(sys.executable).parent, "/usr/bin", "/bin")))
    env = {"PATH": path, "PYTHONPATH": str(ROOT)}  # the code beside the page
    # What other tests compiled need not be compiled again.
    env |= {name: os.environ[name] for name in ("HOME", "XDG_CACHE_HOME") if name in os.environ}
    result = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.slow
def test_commands_that_start_sooner_say_the_same(commands, tmp_path):
    """What is printed, where, and with which status; the folder is the caller's."""
    places = commands, Path(sys.executable).parent
    whole = ["inspect", "nothing.tflite"], ["--version"], ["nonsense"]
    for words in sampled(whole[:1], whole):
        first, second = (
            subprocess.run([p / "tinyrt", *words], cwd=tmp_path, capture_output=True, check=False)
            for p in places
        )
        assert (first.returncode, first.stdout) == (second.returncode, second.stdout)
        assert first.stderr == second.stderr


@pytest.mark.slow
@pytest.mark.parametrize("end", ["", "sys.exit(3)", "sys.exit('why')", "1 / 0"])
def test_code_that_starts_sooner_does_the_same(commands, tmp_path, end):
    """It has imported nothing of tinyrt, and finds modules in its folder."""
    (tmp_path / "beside.py").write_text("found = 5\n")
    code = f"""
import sys, beside
print(beside.found, __name__, sys.argv, [name for name in sys.modules if name.startswith("tinyrt")])
import tinyrt
print(tinyrt.__file__)
{end}"""
    first, second = (
        subprocess.run(
            [*python, code],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        for python in ([commands / PYTHON], [sys.executable, "-c"])
    )
    assert (first.returncode, first.stdout) == (second.returncode, second.stdout)
    assert first.stdout.startswith("5 __main__ ['-c'] []")
    assert first.stderr[-30:] == second.stderr[-30:]


@pytest.mark.device
@pytest.mark.slow
@pytest.mark.whole
def test_the_notebook_runs_and_shows_pictures(demo_folder, tmp_path):
    shutil.copytree(demo_folder, tmp_path / "work")
    script = tmp_path / "notebook.py"
    script.write_text(NOTEBOOK)
    _run([sys.executable, str(script), str(ROOT / "docs" / "demo.ipynb")], tmp_path / "work")
    shown = (tmp_path / "work" / "shown.html").read_text()
    assert "<th>equal to the host</th><td>yes</td>" in shown
    assert 'title="tinyrt report"' in shown
    assert "&lt;svg" in shown


NOTEBOOK = """
import ast, json, sys
from pathlib import Path

names, shown = {}, []
for cell in json.loads(Path(sys.argv[1]).read_text())["cells"]:
    if cell["cell_type"] != "code":
        continue
    *first, last = ast.parse("".join(cell["source"])).body
    exec(compile(ast.Module(first, []), "cell", "exec"), names)
    answer = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    shown.append(answer._repr_html_() if hasattr(answer, "_repr_html_") else repr(answer))
Path("shown.html").write_text("\\n".join(shown))
"""
"""Runs a notebook's cells as Jupyter does, and keeps what each shows."""


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_op_table_is_up_to_date():
    script = runpy.run_path(str(ROOT / "tools" / "write_op_table.py"))
    assert script["page"]() == (ROOT / "docs" / "ops.md").read_text(), (
        "run python tools/write_op_table.py"
    )
