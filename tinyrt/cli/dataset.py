"""``tinyrt dataset``: a folder of images, sounds or tables as the .npz file that commands take."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tinyrt.cli import tables
from tinyrt.cli.console import reporting
from tinyrt.cli.options import Json, MaxMemory, require_with
from tinyrt.errors import DataError

RATE = 16_000
MOST_SHOWN = 5
"""Files that are named of those that were left out."""


def dataset(
    folder: Annotated[
        Path, typer.Argument(help="One folder for each class, called as the class, or files alone.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The .npz file to write.")],
    size: Annotated[
        str | None,
        typer.Option("--size", metavar="HxW", help="Take images, of so many pixels: 96x96."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="Take WAV files, so much of each.")
    ] = None,
    window: Annotated[
        int | None, typer.Option("--window", help="Take CSV tables, in windows of so many rows.")
    ] = None,
    grey: Annotated[bool, typer.Option("--grey", help="One channel instead of colours.")] = False,
    stretch: Annotated[
        bool, typer.Option("--stretch", help="Whole images, stretched; else their middle.")
    ] = False,
    value_range: Annotated[
        str | None,
        typer.Option(
            "--range",
            metavar="LOW:HIGH",
            help="What black and white become.",
            show_default="0:1",
        ),
    ] = None,
    rate: Annotated[
        int | None,
        typer.Option(
            "--rate", metavar="HERTZ", help="Samples in a second.", show_default=str(RATE)
        ),
    ] = None,
    step: Annotated[
        int | None,
        typer.Option(
            "--step", help="Rows from window to window.", show_default="they do not overlap"
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="A,B,...", help="Columns to take.", show_default="all"),
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", metavar="COLUMN", help="The column of the class.")
    ] = None,
    max_memory: MaxMemory = None,
    json: Json = False,
) -> None:
    """Make a data file from images, sounds or tables."""
    images = {"--grey": grey or None, "--stretch": stretch or None, "--range": value_range}
    sounds = {"--rate": rate}
    series = {"--step": step, "--columns": columns, "--label": label}
    with reporting(json, max_memory) as report:
        kind = _kind({"--size": size, "--seconds": seconds, "--window": window})
        for other, options in (("--size", images), ("--seconds", sounds), ("--window", series)):
            for name, value in options.items():
                require_with(name, value, other, there=kind == other)
        from tinyrt import datasets

        if size is not None:
            samples = datasets.load_images(
                folder,
                size=parse_size(size),
                grey=grey,
                value_range=parse_range("0:1" if value_range is None else value_range),
                crop=not stretch,
            )
        elif seconds is not None:
            samples = datasets.load_sounds(
                folder, rate=RATE if rate is None else rate, seconds=seconds
            )
        else:
            assert window is not None
            names = None if columns is None else [name.strip() for name in columns.split(",")]
            samples = datasets.load_series(
                folder, window=window, step=step, columns=names, label=label
            )
        samples.save(output)
        counts, shape = samples.counts(), list(samples.x.shape)
        data = {"output": str(output), "shape": shape, "classes": counts}
        numbered = {f"class {i}, {name}": count for i, (name, count) in enumerate(counts.items())}
        facts = {"output": str(output), "x": shape, **numbered}
        if samples.left_out:
            facts |= {"left out": _some(samples.left_out)}
        report(data | {"left_out": list(samples.left_out)}, tables.facts(facts))


def _kind(given: dict[str, object]) -> str:
    """The one option that says what the folder holds."""
    names = [name for name, value in given.items() if value is not None]
    if len(names) == 1:
        return names[0]
    raise DataError(
        f"{' and '.join(names)} are of different data" if names else "data of which kind?",
        expected="--size for images, --seconds for sounds, or --window for tables",
    )


def _some(what: Sequence[str]) -> str:
    """The first of them, and how many there are."""
    more = f", and {len(what) - MOST_SHOWN} more" if len(what) > MOST_SHOWN else ""
    return f"{', '.join(what[:MOST_SHOWN])}{more}"


def parse_size(option: str) -> tuple[int, int]:
    """``"96x64"`` -> (96, 64), height first.

    Raises:
        DataError: the option is not of that form.

    """
    if found := re.fullmatch(r"([0-9]{1,6})x([0-9]{1,6})", option):
        return int(found[1]), int(found[2])
    raise DataError(
        f"--size {option}: not a size", expected="height and width in pixels", hint="--size 96x96"
    )


def parse_range(option: str) -> tuple[float, float]:
    """``"-1:1"`` -> (-1.0, 1.0).

    Raises:
        DataError: the option is not of that form.

    """
    low, _, high = option.partition(":")
    try:
        return float(low), float(high)
    except ValueError as error:
        raise DataError(
            f"--range {option}: not a range",
            expected="two numbers with a colon between them",
            hint="--range -1:1",
        ) from error
