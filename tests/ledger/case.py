"""What a case of the ledger is: something that runs, and what it should ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.ledger.watch import Entry

Run = Callable[[], Any]
Build = Callable[[Path], tuple[Run, list[Entry]]]


@dataclass(frozen=True, slots=True)
class Case:
    """Something that runs.

    Attributes:
        name: what it is called.
        modules: files of the package, all of whose entries are compared.
        build: from a folder, what runs, and the entries in their order.
        measured: whether what is allocated is compared with what was asked for; not where passes
            or kernels run that compute more than the case is about.
        raw: whether its file's constants are copied as they are: of these, only the parsed file
            is asked for.

    """

    name: str
    modules: tuple[str, ...]
    build: Build
    measured: bool = True
    raw: bool = False


CASES: list[Case] = []


def asks(*modules: str, measured: bool = True, raw: bool = False) -> Callable[[Build], Build]:
    """Make a case of the function; the files are those whose entries it tells."""

    def add(build: Build) -> Build:
        CASES.append(Case(build.__name__, modules, build, measured, raw))
        return build

    return add


def add(name: str, modules: tuple[str, ...], run: Run, *entries: Entry) -> None:
    """Add a case that needs no folder."""
    CASES.append(Case(name, modules, lambda folder: (run, list(entries))))
