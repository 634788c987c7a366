"""The file of the figures that were accepted last: JSON that is committed beside the limits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinyrt import __version__
from tinyrt.api.gate.budget import MAX_BYTES, require_known
from tinyrt.api.gate.figures import ACCURACY, CORE_FIGURES, FILE, Figures, Measured
from tinyrt.errors import DataError, error_context
from tinyrt.export import CORES
from tinyrt.files import write_text
from tinyrt.text import clean

FORMAT = 1
"""Of the file; a file of another one is refused."""

FIELDS = ("format", "tinyrt", "tools", "figures")


@dataclass(frozen=True, slots=True)
class Baseline:
    """Figures that were accepted.

    Attributes:
        figures: as ``Measured`` has them.
        tools: compilers and emulators that they were measured with.
        tinyrt: the version that measured them.

    """

    figures: Figures
    tools: dict[str, str]
    tinyrt: str


def write_baseline(path: str | Path, measured: Measured) -> Path:
    """Write the figures, sorted, so that a difference shows what changed.

    Raises:
        OutputError: the file cannot be written.

    """
    fields = {
        "format": FORMAT,
        "tinyrt": __version__,
        "tools": measured.tools,
        "figures": measured.figures,
    }
    return write_text(path, json.dumps(fields, indent=2, sort_keys=True) + "\n")


def read_baseline(path: str | Path) -> Baseline:
    """Read what ``write_baseline`` wrote.

    Raises:
        DataError: the file cannot be read, or holds anything else.

    """
    with error_context(file=str(path)):
        fields = _json(Path(path))
        require_known(fields, FIELDS, "the baseline")
        if fields.get("format") != FORMAT:
            raise DataError(
                f"the baseline is of format {fields.get('format')!r}",
                expected=str(FORMAT),
                hint="write it anew with --write-baseline",
            )
        tools, version = fields.get("tools"), fields.get("tinyrt")
        texts = isinstance(tools, dict) and all(isinstance(v, str) for v in tools.values())
        if not texts or not isinstance(version, str):
            raise _misshapen("tools and versions")
        return Baseline(_figures(fields.get("figures")), dict(tools or {}), version)


def _json(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DataError(
            f"cannot read the baseline: {error.strerror}",
            hint="write one with --write-baseline, and commit it",
        ) from error
    if len(text) > MAX_BYTES:
        raise _misshapen("the file")
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"the baseline is no JSON: {error}", hint="write it anew with --write-baseline"
        ) from error
    if not isinstance(fields, dict):
        raise _misshapen("the file")
    return fields


def _figures(found: Any) -> Figures:
    if not isinstance(found, dict):
        raise _misshapen("'figures'")
    names = {FILE: ("bytes",), ACCURACY: ("top1",)} | dict.fromkeys(CORES, CORE_FIGURES)
    require_known(found, tuple(names), "the baseline's figures")
    for where, entry in found.items():
        if not isinstance(entry, dict):
            raise _misshapen(f"'{clean(where)}'")
        require_known(entry, names[where], f"the baseline's '{where}'")
        for name, figure in entry.items():
            fraction = isinstance(figure, float) and name == "top1" and 0 <= figure <= 1
            count = type(figure) is int and figure >= 0
            if not fraction and not count:
                raise _misshapen(f"{name} of '{where}'")
    return found


def _misshapen(what: str) -> DataError:
    return DataError(
        f"{what} of the baseline: not what was written there",
        expected="the file as --write-baseline writes it",
        hint="write it anew with --write-baseline",
    )
