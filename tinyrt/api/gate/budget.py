"""The file of limits: TOML that is committed beside the firmware, read strictly."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tinyrt.amounts import parse_bytes
from tinyrt.api.gate.figures import ACCURACY, CORE_FIGURES, FILE, Asked
from tinyrt.errors import DataError, TinyrtError, error_context
from tinyrt.export import find_core
from tinyrt.export.target import find_optimize
from tinyrt.text import clean, closest

TABLES = ("cores", FILE, ACCURACY, "tolerance")
"""What the file may hold at its top."""

OPTIMIZE = "optimize"

TOLERATED = (*CORE_FIGURES, "bytes", "top1")
"""Figures that may be worse than in the baseline by some percent, or of accuracy, some points."""

MAX_BYTES = 1 << 20
"""Bytes of the file."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a model may cost.

    Attributes:
        cores: what is measured on which core.
        limits: core, ``file`` or ``accuracy`` -> figure -> its limit: what it may be at most, of
            accuracy at least.
        tolerance: figure -> by how many percent, of accuracy by how many points, it may be worse
            than in the baseline; 0 where nothing is said.

    """

    cores: tuple[Asked, ...]
    limits: Mapping[str, Mapping[str, int | float]]
    tolerance: Mapping[str, float] = field(default_factory=dict)


def read_limits(path: str | Path) -> Limits:
    """Read a file of limits.

    Raises:
        DataError: it cannot be read, is no TOML, or says something that is not known.
        UnsupportedError: there is no such core.

    """
    with error_context(file=str(path)):
        tables = _toml(Path(path))
        require_known(tables, TABLES, "the budget")
        cores, limits = [], {}
        for name in _table(tables, "cores"):
            core, table = find_core(name).name, _table(tables["cores"], name)
            if core in limits:
                raise DataError(
                    f"[cores.{clean(name)}] is {core}, which is there already",
                    expected="one table for each core",
                )
            limits[core] = _core_limits(name, table)
            optimize = find_optimize(table.get(OPTIMIZE, "balanced")).value
            cores.append(Asked(core, tuple(limits[core]), optimize))
        limits[FILE] = _named(tables, FILE, {"bytes": _bytes})
        limits[ACCURACY] = _named(tables, ACCURACY, {"top1": _share})
        tolerance = _named(tables, "tolerance", dict.fromkeys(TOLERATED, _percent))
        limits = {where: entry for where, entry in limits.items() if entry}
        if not limits:
            raise DataError(
                "the budget limits nothing",
                expected="[cores.NAME] with arena, flash, stack or instructions; [file] with "
                "bytes; or [accuracy] with top1",
            )
    return Limits(tuple(cores), limits, tolerance)


def _toml(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DataError(
            f"cannot read the budget: {error.strerror}", hint="check --budget"
        ) from error
    if len(text) > MAX_BYTES:
        raise DataError(f"the budget is larger than {MAX_BYTES:,} bytes", expected="limits")
    try:
        return tomllib.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"the budget is no TOML: {error}", expected="see docs/ci.md for an example"
        ) from error


def require_known(table: Mapping[str, Any], names: Collection[str], where: str) -> None:
    """Refuse names that are not known, so that no misspelt limit is passed over.

    Raises:
        DataError: there is one; the hint is the name that is most alike.

    """
    for name in table:
        if name not in names:
            raise DataError(
                f"{where} has no '{clean(name)}'",
                expected=", ".join(names),
                hint=closest(name, names),
            )


def _table(tables: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = tables.get(name, {})
    if not isinstance(table, dict):
        raise DataError(f"'{clean(name)}' is {table!r}", expected=f"a table, [{clean(name)}]")
    return table


def _core_limits(name: str, table: Mapping[str, Any]) -> dict[str, int | float]:
    where = f"[cores.{clean(name)}]"
    require_known(table, (*CORE_FIGURES, OPTIMIZE), where)
    if not isinstance(table.get(OPTIMIZE, ""), str):
        raise DataError(f"{OPTIMIZE} in {where} is no name", expected="speed, balanced or size")
    limits: dict[str, int | float] = {
        figure: (_count if figure == "instructions" else _bytes)(f"{figure} in {where}", limit)
        for figure, limit in table.items()
        if figure != OPTIMIZE
    }
    if not limits:
        raise DataError(f"{where} limits nothing", expected=", ".join(CORE_FIGURES))
    if find_core(name).prefix == "" and "instructions" in limits:
        raise DataError(
            f"instructions in {where} are not counted on this machine",
            expected="limits of instructions on emulated cores",
        )
    return limits


def _named(
    tables: Mapping[str, Any], name: str, readers: Mapping[str, Any]
) -> dict[str, int | float]:
    table = _table(tables, name)
    require_known(table, tuple(readers), f"[{name}]")
    return {key: readers[key](f"{key} in [{name}]", value) for key, value in table.items()}


def _bytes(where: str, value: Any) -> int:
    if isinstance(value, str):
        try:
            value = parse_bytes(value)
        except TinyrtError as error:
            raise DataError(f"{where}: {error.problem}", expected=error.expected) from error
    return _count(where, value, "a whole number of 1 or more, or text such as '32k'")


def _count(where: str, value: Any, expected: str = "a whole number of 1 or more") -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise DataError(f"{where} is {value!r}", expected=expected)
    return value


def _share(where: str, value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1:
        raise DataError(f"{where} is {value!r}", expected="a share above 0 and up to 1, e.g. 0.91")
    return float(value)


def _percent(where: str, value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < 0:
        raise DataError(f"{where} is {value!r}", expected="percent, 0 or more, e.g. 0.5")
    return float(value)
