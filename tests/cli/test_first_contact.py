"""Names that are nearly right, widths, completion, and what help and tables leave to be guessed."""

import os
import re
import subprocess
import sys

import pytest
import typer

from tests.cli.calls import call
from tests.cli.screen import lines_of
from tests.cli.shown import shows
from tests.cli.test_command_tables import layer
from tests.sampling import sampled
from tinyrt.cli import console, debug
from tinyrt.cli.app import app
from tinyrt.errors import TinyrtError
from tinyrt.export import CORES, find_core
from tinyrt.quantize.explain.debug import DebugReport

# Names that are nearly right

NEAR = {"m5": "m85", "cortex-m44": "m4", "rv32": "rv32imc", "hst": "host"}


@pytest.mark.parametrize("name", NEAR)
def test_a_core_that_is_none_has_a_near_one(name):
    with pytest.raises(TinyrtError) as caught:
        find_core(name)
    assert caught.value.hint == f"did you mean '{NEAR[name]}'?"
    assert find_core(NEAR[name])


def test_a_core_that_is_like_none_has_no_hint():
    with pytest.raises(TinyrtError) as caught:
        find_core("cortex-a9")
    assert caught.value.hint is None


WRONG = {
    ("emulate", "{int8}", "--core", "m4", "--board", "mps2-an368"): "mps2-an386",
    ("export", "{int8}", "-o", "c", "--layout", "zepyr"): "zephyr",
    ("export", "{int8}", "-o", "c", "--optimize", "sped"): "speed",
    ("eval", "{int8}", "-d", "{test}", "--backend", "refrence"): "reference",
    ("bench", "{int8}", "--backend", "nmba"): "numba",
    ("convert", "{net}", "-o", "o.tflite", "--skip-pass", "fold_constnts"): "fold_constants",
    ("quantize", "{net}", "-c", "{calib}", "-o", "o", "--keep-float", "conv2"): "conv2d",
}


@pytest.mark.parametrize("words", WRONG)
def test_other_names_have_near_ones_too(words, made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = {name: getattr(made, name) for name in ("int8", "test", "net", "calib")}
    text = call(*(word.format(**paths) for word in words), code=1).stderr
    assert f"did you mean '{WRONG[words]}" in text


def test_commands_and_options_have_near_ones():
    assert "'emulate'" in call("emualte", code=2).stderr
    assert "--core" in call("emulate", "x", "--croe", "m4", code=2).stderr


# Help


def test_help_of_a_core_names_all():
    asked = 0
    for command in typer.main.get_command(app).commands.values():
        for parameter in command.params:
            if parameter.name == "core" and "processor" in parameter.help:
                asked += 1
                named = set(re.findall(r"[\w-]+", parameter.help))
                assert {core.removeprefix("cortex-") for core in CORES} <= named
    assert asked >= 3


# Tables

LONG = "encoder/stage_three/block_seven/depthwise_convolution_with_a_long_name_of_its_own"


def test_a_layers_name_is_whole_wrapped_or_wide():
    table = debug._layers_table(DebugReport(24, 31.5, False, (layer(LONG),)))
    narrow, wide = lines_of(table), lines_of(table, console.WIDE)
    assert not any(LONG in line for line in narrow)
    first = narrow[: next(i for i, line in enumerate(narrow) if "likely cause" in line)]
    assert LONG in "".join(line[1:].split(" ")[0] for line in first)
    advice = narrow[len(first) :]
    assert LONG in "".join(line[2:].split(" ")[0] for line in advice)
    assert max(map(len, narrow)) <= 80
    assert sum(LONG in line for line in wide) == 2


WIDE = {
    "debug": lambda made, to: (made.net, made.int8, "-d", made.test),
    "inspect": lambda made, to: (made.int8,),
    "ops": lambda made, to: (),
    "emulate": lambda made, to: (made.int8, "--core", "host", "--samples", "1"),
    "quantize": lambda made, to: (made.net, "-c", made.calib, "-o", to / "o", "--preset", "fast"),
    "check": lambda made, to: (made.int8, "--budget", to / "b.toml"),
    "report": lambda made, to: (made.int8, "-o", to / "r.html", "--estimate"),
}


@shows(WIDE, "wide")
@pytest.mark.parametrize("name", WIDE)
def test_wide_tables_are_told_so(name, made, tmp_path, monkeypatch):
    """What is printed is given the columns to be printed in."""
    (tmp_path / "b.toml").write_text("[file]\nbytes = '1M'\n")
    widths = []
    monkeypatch.setattr(console.OUT, "print", lambda *what, width=None: widths.append(width))
    arguments = (name, *WIDE[name](made, tmp_path))
    call(*arguments)
    call(*arguments, "--wide")
    assert widths == [None, console.WIDE]


def test_no_difference_is_called_equal(made):
    text = call("eval", made.net, "-d", made.test, "--against", made.net).stdout
    assert re.search(r"SQNR, dB +equal *\n", text)


def test_data_without_labels_are_said_to_have_none(made):
    text = "".join(call("eval", made.int8, "-d", made.calib).stdout.split())
    assert f"{made.calib.name}hasnolabels." in text
    assert "'y'beside'x'" in text
    assert "--againstMODEL" in text
    compared = call("eval", made.int8, "-d", made.calib, "--against", made.net).stdout
    assert "has no labels" in " ".join(compared.split())
    assert "--against MODEL" not in compared
    labelled = call("eval", made.int8, "-d", made.test).stdout
    assert not any(text in labelled for text in ("No accuracy", "--against MODEL"))


@pytest.mark.whole
def test_no_colours_where_nobody_sees_them(made):
    command = [sys.executable, "-m", "tinyrt", "inspect", str(made.int8)]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stdout
    assert b"\x1b" not in done.stdout + done.stderr


# Completion


def completion(asked, *words):
    """What the program prints to a shell."""
    environment = {"COMP_WORDS": " ".join(("tinyrt", *words)), "COMP_CWORD": str(len(words))}
    code = "import sys; sys.argv = ['tinyrt']; from tinyrt.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment | {"_TINYRT_COMPLETE": asked},
        capture_output=True,
        text=True,
        check=False,
    ).stdout


BEGUN = {("emulate", "--pro"): ["--profile"], ("em",): ["emulate"]}


@pytest.mark.parametrize("words", sampled([*BEGUN][:1], [*BEGUN]), ids=" ".join)
def test_shells_complete_commands_and_options(words):
    assert completion("complete_bash", *words).split() == BEGUN[words]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_a_script(shell):
    script = completion(f"source_{shell}")
    assert f"_TINYRT_COMPLETE=complete_{shell}" in script
