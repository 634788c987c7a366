"""The command line's root: which commands there are, and the modules that hold them.

A command's module is imported when the command is called, so that ``tinyrt --help`` reads a table.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tinyrt import __version__


@dataclass(frozen=True, slots=True)
class Listed:
    """A command, before its module is imported.

    Attributes:
        module: the module of ``tinyrt.cli`` that holds it.
        function: the function in it.
        help: the first line of the function's docstring.

    """

    module: str
    function: str
    help: str


SECTIONS: dict[str, dict[str, Listed]] = {
    "Make a model small": {
        "convert": Listed("convert", "convert", "Convert a model to an optimised .tflite file."),
        "quantize": Listed("quantize", "quantize", "Quantise a float model after training."),
        "dataset": Listed("dataset", "dataset", "Make a data file from images, sounds or tables."),
        "front-end": Listed(
            "listen",
            "front_end",
            "Attach what makes features of sound or motion, or a camera.",
        ),
        "qat": Listed("qat", "qat", "Train a float model for int8, by labels or a teacher."),
        "train": Listed(
            "train", "train", "Train a recipe and measure it, down to the emulated core."
        ),
        "search": Listed("search", "search", "Search for networks that fit a core."),
    },
    "Look at it on this machine": {
        "run": Listed("run", "run", "Run a model: float in, float out; int8 in, raw int8 out."),
        "eval": Listed(
            "run", "evaluate", "Accuracy on labelled data, and the distance from another model."
        ),
        "debug": Listed(
            "debug", "debug", "Where a quantised model loses accuracy, with cause and cure."
        ),
        "inspect": Listed(
            "inspect", "inspect", "Ops, shapes, quantisation, cost, and the arena over time."
        ),
        "report": Listed(
            "report", "report", "Write a page: cost on each core, graph, arena and quantisation."
        ),
        "serve": Listed("serve", "serve", "Serve a page for models, and its HTTP interface."),
        "bench": Listed(
            "bench", "bench", "Latency and throughput on this host, beside other runtimes."
        ),
    },
    "Ship it": {
        "emulate": Listed(
            "emulate",
            "emulate",
            "Boot the C code in QEMU and compare every output with the host's.",
        ),
        "validate": Listed(
            "validate", "validate", "Run a model on a board over a serial port, beside the host."
        ),
        "check": Listed("check", "check", "Hold a model against limits and a baseline, for CI."),
        "cascade": Listed(
            "cascade", "cascade", "Ask a large model only where a small one is not sure."
        ),
        "export": Listed("deploy", "export", "Write models as a C project that builds by itself."),
        "blob": Listed("deploy", "blob", "Write a model's constants as a field update."),
    },
    "Find your way": {
        "demo": Listed("demo", "demo", "The whole way on handwritten digits, to firmware in QEMU."),
        "doctor": Listed(
            "doctor", "doctor", "What of this machine works, and what mends the rest."
        ),
        "ops": Listed("inspect", "ops", "Which op runs where, and for which dtypes."),
    },
}
"""Heading -> commands in the order in which a user meets them."""

STORY = """\
From a trained model to a microcontroller program that answers what the host answers.

\b
tinyrt demo                                            all of it, on digits
tinyrt quantize net.onnx -c calib.npz -o net.tflite    float model to int8
tinyrt eval net.tflite -d test.npz --against net.onnx  what that costs
tinyrt debug net.onnx net.tflite -d test.npz           which layer it costs
tinyrt inspect net.tflite                              ops, sizes, memory
tinyrt emulate net.tflite --core m4                    in QEMU, bit for bit
tinyrt check net.tflite --budget budget.toml           limits, for your CI
tinyrt export net.tflite -o firmware --core m4         C that builds itself
"""


class Commands(Mapping[str, Any]):
    """Name -> command; looked up, a command is imported."""

    def __init__(self) -> None:
        self._listed = {name: c for section in SECTIONS.values() for name, c in section.items()}
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            listed = self._listed[name]
            with _nothing_collected():
                module = import_module(f"tinyrt.cli.{listed.module}")
            function = getattr(module, listed.function)
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            alone.command(name)(function)
            self._made[name] = typer.main.get_command(alone)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Import without looking for garbage, then or later: what modules make stays until the end.

    Such looks were a fifth of the processor time of a ``tinyrt run``.
    """
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collected:
            gc.enable()


class Root(TyperGroup):
    """The group of all commands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes | {"commands": None})
        self.commands: Any = Commands()

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands below their headings, from the table alone."""
        del ctx
        for heading, commands in SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, listed.help) for name, listed in commands.items()])


COMPLETING = "_TINYRT_COMPLETE"
"""Set by a shell that asks what may stand next, and by a user who asks for the shell's script."""

app = typer.Typer(
    name="tinyrt",
    cls=Root,
    help=STORY,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


if COMPLETING in os.environ:
    # Typer knows shells where it adds options that write to the user's files; these are left out.
    import_module("typer.completion").completion_init()


def _version(show: bool) -> None:
    if show:
        typer.echo(f"tinyrt {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options that come before a command."""
    del version
