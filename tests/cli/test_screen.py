"""What reaches a terminal or a page: harmless, short, in any encoding; and quiet ends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.cli.calls import call, call_json
from tests.cli.shown import shows
from tests.export.models import dense
from tests.export.test_names import ATTACKS, HARMLESS, LONG, renamed
from tests.graphs import Builder, small_cnn
from tests.sampling import sampled
from tinyrt.api import inspect_model
from tinyrt.cli.app import app
from tinyrt.cli.console import MAX_NOTES, noting
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.data import save_npz
from tinyrt.errors import UnsupportedError
from tinyrt.ir import Graph
from tinyrt.quantize.explain.debug import DebugReport, LayerReport
from tinyrt.report import render_page
from tinyrt.report.debug_page import write_debug_page
from tinyrt.report.rendering import MAX_NAME as MAX_SHOWN
from tinyrt.text import clean

CONTROLS = re.compile(r"[^\n -~█·…µ×–─]")
"""Whatever is neither ASCII that can be seen nor drawn by tables."""

ENCODABLE = [name for name in (*ATTACKS, *LONG) if not re.search("[\ud800-\udfff\0]", name)]


def hostile(tmp_path, names, graph=None):
    path = tmp_path / "net.tflite"
    save_tflite(renamed(graph or small_cnn(), names), path)
    return path


def assert_harmless(text: str) -> None:
    assert not CONTROLS.search(text), CONTROLS.search(text)
    assert not [name for name in ATTACKS if name in text and not HARMLESS.fullmatch(name)]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, len(ENCODABLE), sampled(16, 8)))
def test_tables_show_nothing_of_a_name_but_harmless_characters(tmp_path, first):
    path = hostile(tmp_path, ENCODABLE[first:] + ENCODABLE[:first])
    for command in (["inspect"], ["inspect", "--all"], ["inspect", "--by-rows"]):
        assert_harmless(call(*command, path).output)
    assert call_json("inspect", path)["ops"][0]["name"]


def test_conversion_and_its_explanation(tmp_path):
    path = hostile(tmp_path, ENCODABLE)
    assert_harmless(call("convert", path, "-o", tmp_path / "o.tflite", "--explain").output)


def test_names_in_json_are_whole_and_ascii(tmp_path):
    path = hostile(tmp_path, ["\u202e[/b]\x1b[2J\u00e9"])
    text = call("inspect", path, "--json").stdout
    assert text.isascii()
    assert "\x1b" not in text
    assert json.loads(text)["ops"][0]["name"].startswith("\u202e[/b]\x1b[2J\u00e9")


def harmless(graph):
    """The graph with each name as it is shown."""
    new = {value: clean(value, MAX_SHOWN) for value in graph.values}
    assert len(set(new.values())) == len(new)
    assert all(HARMLESS.fullmatch(name) for name in new.values())

    def of(group):
        return tuple(new.get(name, name) for name in group)

    nodes = tuple(
        replace(n, name=clean(n.name, MAX_SHOWN), inputs=of(n.inputs), outputs=of(n.outputs))
        for n in graph.nodes
    )
    values = {new[v.name]: replace(v, name=new[v.name]) for v in graph.values.values()}
    return Graph(graph.name, of(graph.inputs), of(graph.outputs), values, nodes, graph.states)


@pytest.mark.parametrize("first", range(0, len(ATTACKS), sampled(24, 6)))
def test_pages_show_nothing_of_a_name_but_harmless_characters(tmp_path, first):
    """They are what they are for a model with names of such characters, in every byte."""
    save_tflite(dense(), tmp_path / "net.tflite")
    found = inspect_model(tmp_path / "net.tflite")
    apart = {clean(name, MAX_SHOWN): name for name in (*ATTACKS[first:], *LONG, *ATTACKS[:first])}
    odd = renamed(dense(), [name for shown, name in apart.items() if shown.strip("_ ")])
    hostile_page, plain_page = (render_page(replace(found, graph=g)) for g in (odd, harmless(odd)))
    assert hostile_page == plain_page
    assert plain_page.count(clean(odd.outputs[0], MAX_SHOWN)) > 1
    assert plain_page != render_page(found)


def test_debug_pages_likewise(tmp_path):
    """Of layers, and of the file, as far as a file can be called so."""
    figures = dict.fromkeys(LayerReport.__dataclass_fields__, 1.0)
    fields = dict.fromkeys(DebugReport.__dataclass_fields__, 1.0)
    net, samples = tmp_path / "net.tflite", np.zeros((2, 8, 8, 3), np.float32)
    save_tflite(small_cnn(), net)
    names = [*ATTACKS, *LONG]
    harmless_names, pages = [clean(name, MAX_SHOWN) for name in names], []
    for called in (names, harmless_names):
        layers = tuple(
            LayerReport(
                **figures | {"index": 0, "name": each, "op": "add", "cause": "c", "cure": "d"}
            )
            for each in called
        )
        report = DebugReport(**fields | {"layers": layers, "samples": 1, "equalized": False})
        page = write_debug_page(net, samples, report, tmp_path / "page.html")
        pages.append(page.read_text(encoding="utf-8"))
    assert pages[0] == pages[1]
    for shown in set(harmless_names):
        count = sum(shown in each for each in harmless_names)
        assert pages[0].count(shown) >= count, shown


@shows("inspect", "whole")
def test_a_large_model_takes_a_screen_and_all_of_it_is_there_on_request(tmp_path):
    builder = Builder((1, 4))
    x = "x"
    for _ in range(100):
        x = builder.op("tanh", (x,))
    path = tmp_path / "net.tflite"
    save_tflite(renamed(builder.graph(x), ["n" * 3_000]), path)
    short, whole = (call("inspect", path, *options).output for options in ((), ("--all",)))
    assert len(short.splitlines()) < 100
    assert len(short) < 10_000
    assert "--all" in short
    shown = len(re.findall(r"^ +\d+ +tanh", short, re.MULTILINE))
    assert shown + sum(map(int, re.findall(r"\((\d+) more\)", short))) == 100
    assert len(re.findall(r"^ +\d+ +tanh", whole, re.MULTILINE)) == 100
    assert len(call_json("inspect", path)["ops"]) == 100


def test_arrays_of_any_name_are_written(tmp_path):
    names = [
        "file",
        "allow_pickle",
        "/m/x:0",
        "../../up",
        "..\\up",
        "a\0b",
        "\x1b[2J",
        "n" * 70_000,
    ]
    names += ["__/__/up", "\ud800"]
    save_npz(tmp_path / "o.npz", {name: np.array([i]) for i, name in enumerate(names)})
    with np.load(tmp_path / "o.npz") as found:
        assert [int(found[name][0]) for name in found.files] == list(range(len(names)))
        assert found.files[:3] == names[:3]
        for name in found.files[3:]:
            assert HARMLESS.fullmatch(name)
            assert ".." not in name.split("/")


LISTED = ", ".join(f"op_{i}" for i in range(5_000))


def test_errors_are_short_and_say_what_is_left_out():
    error = UnsupportedError(
        f"'{'n' * 100_000}\x1b[2J'\n" + "line\n" * 500,
        file="f" * 5_000,
        op="; ".join(f"#{i} add 'x'" for i in range(5_000)),
        tensor="\u202e" * 5_000,
        expected=LISTED,
        hint="h\n" * 100,
    )
    text = str(error)
    assert len(text.splitlines()) <= 12
    assert len(text) < 3_000
    assert_harmless(text)
    assert "(100006 characters)" in text
    assert re.search(r"op_0, op_1, .* and 49\d\d more", text)
    assert all(len(value) <= 4_000 for value in error.as_dict().values())
    assert error.expected == LISTED


def test_what_is_short_is_said_in_full():
    error = UnsupportedError("one\n  two", file="a/é.onnx", op="#0 add 'x'", expected="a, b, c, d")
    assert str(error) == (
        "one\n  two\n  file:     a/é.onnx\n  op:       #0 add 'x'\n  expected: a, b, c, d"
    )


def test_a_few_of_many_warnings_are_printed(capsys):
    import warnings

    with noting() as notes:
        for i in range(50):
            warnings.warn(f"{i} \x1b[2J" + "n" * 10_000, stacklevel=1)
    printed = capsys.readouterr().err
    assert len(notes) == 50
    assert printed.count("warning: ") == MAX_NOTES
    assert f"and {50 - MAX_NOTES} more" in printed
    assert "\x1b" not in printed


ASCII = (
    {"PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
)
COMMAND = [sys.executable, "-m", "tinyrt"]


@pytest.mark.slow
@pytest.mark.parametrize("environment", sampled(ASCII[:1], ASCII))
def test_terminals_of_ascii_alone_get_ascii(tmp_path, environment):
    save_tflite(dense(), tmp_path / "net.tflite")
    arguments = ["inspect", tmp_path / "net.tflite", "--html", tmp_path / "é" / "é.html"]
    done = subprocess.run(
        [*COMMAND, *arguments], env=os.environ | environment, capture_output=True, check=False
    )
    assert done.returncode == 1  # there is no such folder
    assert done.stdout.isascii()
    assert done.stderr.isascii()
    assert b"Traceback" not in done.stderr
    assert b"\x1b" not in done.stdout + done.stderr
    done = CliRunner(charset="ascii").invoke(app, ["inspect", str(tmp_path / "net.tflite")])
    assert done.exit_code == 0
    assert done.stdout_bytes.isascii()


INTERRUPTED = """
import os, signal, sys

def watch(event, arguments):
    if event in ("import", "open") and str(arguments[0]).endswith(MOMENT) and not seen:
        seen.append(event)
        os.kill(os.getpid(), signal.SIGINT)

seen = []
sys.addaudithook(watch)
from tinyrt.cli import main
main()
assert seen, "the moment never came"
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "moment",
    sampled(["tinyrt.cli.app", "numba"], ["tinyrt.cli.app", "net.tflite", "x.npz", "numba"]),
)
def test_an_interrupt_at_any_time_ends_quietly(tmp_path, moment):
    """While the command starts, reads the model, reads the data, and when it begins to compute."""
    save_tflite(small_cnn(), tmp_path / "net.tflite")
    np.savez(tmp_path / "x.npz", x=np.zeros((100, 8, 8, 3), np.float32))
    program = INTERRUPTED.replace("MOMENT", repr(moment))
    arguments = ["quantize", tmp_path / "net.tflite", "-c", tmp_path / "x.npz"]
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments, "-o", tmp_path / "o.tflite"],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 130, done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Error" not in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net.tflite", "x.npz"]


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_error():
    process = subprocess.Popen(
        [*COMMAND, "ops", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait()


@pytest.mark.parametrize("rows", sampled([["--by-rows"]], [[], ["--by-rows"]]))
def test_the_bound_is_that_of_the_rows_where_ops_run_row_by_row(made, tmp_path, rows, monkeypatch):
    """In every table that has one, of one model and of several."""
    monkeypatch.chdir(tmp_path)
    for command in (
        ("inspect", made.tall),
        ("export", made.tall, "-o", "alone"),
        ("export", made.tall, made.int8, "-o", "both"),
    ):
        # Cells of names are broken in lines, with the numbers between.
        words = (w for w in call(*command, *rows).output.split() if not w[0].isdigit())
        text = " ".join(words)
        assert ("this order of rows cannot do without" in text) == bool(rows), command
