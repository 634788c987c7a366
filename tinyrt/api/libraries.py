"""The packages that tinyrt requires, as it was installed, and whether they are there."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module, metadata

PACKAGE = "tinyrt"

MODULES = {
    "cuda-bindings": "cuda.bindings",
    "nvidia-cuda-nvrtc": None,
    "scikit-learn": "sklearn",
}
"""Package -> the module to load, where that is not its name; None for a library without one."""

_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*([^;]*?)\s*(?:;\s*(.*))?$")
_EXTRA = re.compile(r"extra == ['\"]([^'\"]+)['\"]$")
_BOUND = re.compile(r"(>=|<=|==|!=|<|>)\s*([0-9.]+)$")

Numbers = tuple[int, ...]

COMPARE: dict[str, Callable[[Numbers, Numbers], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}


@dataclass(frozen=True, slots=True)
class Requirement:
    """A package, and which versions of it will do.

    Attributes:
        name: of the package.
        wanted: bounds with commas, such as ``>=1.26``; empty for any.
        installed: the version that is there; None without one.

    """

    name: str
    wanted: str
    installed: str | None

    @property
    def is_met(self) -> bool:
        """Whether a version is installed that all bounds take."""
        return self.installed is not None and all(
            _takes(bound.strip(), self.installed) for bound in self.wanted.split(",") if bound
        )

    def failure(self) -> str | None:
        """Why the package does not load; None where it does, or is no module."""
        module = MODULES.get(self.name, self.name.replace("-", "_"))
        if module is None:
            return None
        try:
            import_module(module)
        except Exception as error:  # whatever a package's own code may raise
            return f"{type(error).__name__}: {error}"
        return None


def requirements(extra: str) -> list[Requirement]:
    """What tinyrt requires with an extra, or, for an empty name, in any case.

    Empty where tinyrt is not installed as a package.
    """
    try:
        lines = metadata.requires(PACKAGE) or []
    except metadata.PackageNotFoundError:
        return []
    found = []
    for line in lines:
        match = _REQUIREMENT.match(line)
        if match is None or match[1] == PACKAGE:
            continue
        name, wanted, marker = match.groups()
        of = _EXTRA.search(marker) if marker else None
        if (of[1] if of else "") == extra:
            found.append(Requirement(name, wanted.strip("() "), _version(name)))
    return found


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _takes(bound: str, version: str) -> bool:
    """Whether a bound takes a version; bounds of other forms are left to the installer."""
    match = _BOUND.match(bound)
    if match is None:
        return True
    have, want = numbers(version), numbers(match[2])
    length = max(len(have), len(want))
    have, want = (n + (0,) * (length - len(n)) for n in (have, want))
    return COMPARE[match[1]](have, want)


def numbers(version: str) -> Numbers:
    """``2.4.6rc1`` -> ``(2, 4, 6)``."""
    parts = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, parts[0].split("."))) if parts else ()
