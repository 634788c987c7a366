"""Every option of every command is shown by a test; --help, --json and --max-memory by these."""

import importlib
import json
from pathlib import Path

import pytest
import typer

from tests.cascades import pair
from tests.cli.calls import call, call_json
from tests.cli.shown import SHOWN, shows
from tests.listening import int8_net, saved
from tests.sampling import sampled
from tinyrt import __version__
from tinyrt.cli.app import app
from tinyrt.export import ExportOptions, export_c

GROUP = typer.main.get_command(app)
COMMANDS = {"": GROUP, **GROUP.commands}
PARAMETERS = {(name, p.name) for name, command in COMMANDS.items() for p in command.params}
TESTS = Path(__file__).parents[2]


def test_every_parameter_of_every_command_is_shown_by_a_test():
    for path in TESTS.rglob("test_*.py"):
        if "@shows(" in path.read_text(encoding="utf-8"):
            module = ".".join(path.relative_to(TESTS.parent).with_suffix("").parts)
            importlib.import_module(module)
    assert sorted(PARAMETERS - set(SHOWN)) == []
    assert sorted(set(SHOWN) - PARAMETERS) == [], "no such options"


@shows("", "version")
def test_the_version():
    assert call("--version").stdout == f"tinyrt {__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_names_every_option(name):
    command = [name] if name else []
    text = call(*command, "--help").stdout
    assert call(*command, "-h").stdout == text
    assert " ".join(COMMANDS[name].help.split())[:30] in " ".join(text.split())
    for parameter in COMMANDS[name].params:
        for word in (*parameter.opts, *parameter.secondary_opts):
            if word.startswith("-"):
                assert word in text


def limits(folder):
    """A budget that any small model meets."""
    path = folder / "budget.toml"
    path.write_text("[cores.m4]\narena = '1M'\n")
    return path


def exported(made, folder):
    """A project with a blob."""
    return export_c(
        made.int8, folder / "exported", core="host", options=ExportOptions(blob=True)
    ).directory


def tables(folder):
    """A folder with one table."""
    (folder / "tables").mkdir()
    (folder / "tables" / "a.csv").write_text("x\n" + "1\n" * 50)
    return folder / "tables"


ARGUMENTS = {
    "dataset": lambda made, to: (tables(to), "-o", to / "o.npz", "--window", "1"),
    "convert": lambda made, to: (made.net, "-o", to / "o.tflite"),
    "run": lambda made, to: (made.int8, "-i", made.test, "-o", to / "o.npz"),
    "eval": lambda made, to: (made.int8, "-d", made.test),
    "inspect": lambda made, to: (made.int8,),
    "ops": lambda made, to: (),
    "quantize": lambda made, to: (
        *(made.net, "-c", made.calib, "-o", to / "o.tflite", "--preset", "fast"),
    ),
    "debug": lambda made, to: (made.net, made.int8, "-d", made.test),
    "export": lambda made, to: (made.int8, "-o", to / "c"),
    "cascade": lambda made, to: (
        *(*pair(to), "-d", made.test, "--threshold", "40", "--core", "host"),
    ),
    "blob": lambda made, to: (made.int8, "--for", exported(made, to), "-o", to / "o.blob"),
    "emulate": lambda made, to: (made.int8, "--core", "host", "--samples", "1"),
    "front-end": lambda made, to: (
        *(saved(to / "ears.tflite", int8_net()), "--remove", "-o", to / "o.tflite"),
    ),
    "report": lambda made, to: (made.int8, "-o", to / "r.html", "--estimate"),
    "train": lambda made, to: (),
    "qat": lambda made, to: (
        *(made.net, "-d", made.test, "-o", to / "o.tflite", "--validation", "0.4"),
        *("--epochs", "1"),
    ),
}
"""What a command needs to end well; demo and bench, which take long, have tests of their own."""


@shows(ARGUMENTS, "json")
@pytest.mark.parametrize("name", sampled(sorted({*ARGUMENTS} - {"cascade"}), list(ARGUMENTS)))
def test_json_is_one_object_and_without_it_there_is_a_table(name, made, tmp_path):
    arguments = (name, *ARGUMENTS[name](made, tmp_path))
    assert isinstance(call_json(*arguments), dict)
    with pytest.raises(json.JSONDecodeError):
        json.loads(call(*arguments).stdout)


MORE = {
    "check": lambda made, to: (made.int8, "--budget", limits(to)),
    "validate": lambda made, to: (made.int8, "--port", to / "no port"),
    "search": lambda made, to: ("tcn", "-d", made.test, "-o", to / "s", "--max-arena", "1k"),
}
"""The same of one that does not end well twice, and has a test of its own for --json.

No port is opened before the model is read.
"""

READING = [name for name, parameter in PARAMETERS if parameter == "max_memory"]


@shows(READING, "max_memory")
@pytest.mark.parametrize("name", sorted(READING))
def test_a_file_that_costs_more_than_the_memory_given_is_refused(name, made, tmp_path):
    others = (ARGUMENTS | MORE).get(name, lambda made, to: (made.int8,))(made, tmp_path)
    assert "--max-memory" in call(name, *others, "--max-memory", "100", code=1).stderr
