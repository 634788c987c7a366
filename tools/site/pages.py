"""Pages that are made from the code: the commands, the Python names, the C headers."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import typer
from typer.cli import get_docs_for_click

import tinyrt.dsp
import tinyrt.train
from tinyrt.cli.app import SECTIONS, Commands
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.export import ExportOptions
from tinyrt.quantize import QuantConfig, quantize_graph
from tinyrt.train import trace
from tinyrt.train.nn import Conv2d, Flatten, Linear, MaxPool2d, ReLU, Sequential

PACKAGES = (tinyrt, tinyrt.train, tinyrt.dsp)
"""Packages whose names are for users."""
HEADERS = {
    "A model": ("model.h", ExportOptions()),
    "With `--slices`": ("model.h", ExportOptions(slices=50_000)),
    "With `--input-rows`": ("model.h", ExportOptions(by_rows=True, input_rows=True)),
    "With `--blob`": ("model.h", ExportOptions(blob=True)),
    "With `--selftest`": ("model_selftest.h", ExportOptions(selftest=1)),
    "With `--info`": ("model_info.h", ExportOptions(info=True)),
    "With `--board`": ("model_board.h", ExportOptions(board=True)),
}
"""Heading -> the header that these options of an export write or change."""


def commands_page() -> str:
    """Each command with its arguments and options, by sections as ``tinyrt --help`` has them."""
    parts = ["# Commands\n\n`tinyrt COMMAND --help` prints the same.\n"]
    commands = Commands()
    for heading, listed in SECTIONS.items():
        parts.append(f"## {heading}\n")
        for name in listed:
            command = commands[name]
            context = typer.Context(command, info_name=name)
            parts.append(
                get_docs_for_click(obj=command, ctx=context, indent=2, name=f"tinyrt {name}")
            )
    return "\n".join(parts)


def python_page() -> str:
    """The public names, with their docstrings, which mkdocstrings reads."""
    parts = ["# Python\n"]
    for package in PACKAGES:
        parts.append(f"## {package.__name__}\n")
        for name in package.__all__:
            home = getattr(getattr(package, name), "__module__", package.__name__)
            parts.append(_documented(f"{home}.{name}", show_root_heading=True))
    parts += ["## tinyrt.train.nn\n", _documented("tinyrt.train.nn", show_root_heading=False)]
    return "\n".join(parts)


def _documented(name: str, *, show_root_heading: bool) -> str:
    """What makes mkdocstrings write a name's signature and docstring here."""
    options = f"      heading_level: 3\n      show_root_heading: {str(show_root_heading).lower()}\n"
    return f"::: {name}\n    options:\n{options}"


def c_page() -> str:
    """The headers that exports of one small model have, whole."""
    parts = [
        "# C\n\nWhat the headers of an export declare, here for a small model of the name `model`. "
        "[Export](export.md) says how to use it.\n"
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = _small_model(folder / "model.tflite")
        for heading, (header, options) in HEADERS.items():
            tinyrt.export_c(model, folder / "project", options=options)
            text = (folder / "project" / header).read_text(encoding="utf-8")
            parts.append(f'## {heading}\n\n```c title="{header}"\n{text}```\n')
    return "\n".join(parts)


def _small_model(path: Path) -> Path:
    rng = np.random.default_rng(0)
    network = Sequential(
        conv=Conv2d(1, 4, 3, rng=rng),
        relu=ReLU(),
        pool=MaxPool2d(2),
        flatten=Flatten(),
        classifier=Linear(4 * 4 * 4, 10, rng=rng),
    )
    graph = optimize(trace(network, (8, 8, 1), name="model"))
    samples = rng.uniform(0, 1, (100, 8, 8, 1)).astype(np.float32)
    save_tflite(quantize_graph(graph, samples, QuantConfig()), path)
    return path
