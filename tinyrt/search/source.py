"""Where a space comes from: it ships, stands in a user's file, or is a function."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tinyrt.errors import DataError
from tinyrt.search.candidate import Space
from tinyrt.search.shipped import SPACES


@dataclass(frozen=True, slots=True)
class SpaceSource:
    """A space as it travels to workers, which may not see the user's files.

    Attributes:
        name: of the function, or of the space that ships.
        file: the user's file, as messages name it; empty where the space ships.
        text: what stands in it.
        function: the space itself, where the caller gave one.

    """

    name: str
    file: str = ""
    text: str = ""
    function: Space | None = None

    def load(self) -> Space:
        """The space.

        Raises:
            DataError: the file cannot be run, or has no such function.

        """
        if self.function is not None:
            return self.function
        return SPACES[self.name] if not self.file else _loaded(self.file, self.text, self.name)


def space_source(space: str | Space) -> SpaceSource:
    """The space that is asked for: by its name, as ``file.py:function``, or itself.

    Raises:
        DataError: there is no such space.

    """
    if callable(space):
        return SpaceSource(getattr(space, "__qualname__", type(space).__name__), function=space)
    if space in SPACES:
        return SpaceSource(space)
    path, colon, name = space.rpartition(":")
    if not colon or not path.endswith(".py"):
        raise DataError(
            f"there is no space '{space}'",
            expected=", ".join(SPACES) + ", or FILE.py:FUNCTION",
        )
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"the space's file cannot be read: {error}",
            file=path,
            expected="a Python file with a function of a trial, a problem and a generator",
        ) from error
    source = SpaceSource(name, path, text)
    source.load()
    return source


@cache
def _loaded(file: str, text: str, name: str) -> Space:
    # Tracebacks show the lines, also on a machine without the file.
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names: dict[str, Any] = {"__name__": Path(file).stem, "__file__": file}
    try:
        exec(compile(text, file, "exec"), names)
    except Exception as error:
        raise DataError(
            f"the space's file fails: {type(error).__name__}: {error}",
            file=file,
            hint="run it by itself to see where",
        ) from error
    function: Callable[..., Any] | None = names.get(name)
    if not callable(function):
        functions = [n for n, f in names.items() if callable(f) and not n.startswith("_")]
        raise DataError(
            f"the file has no function '{name}'",
            file=file,
            expected=", ".join(functions) or "a function of a trial, a problem and a generator",
        )
    return function
