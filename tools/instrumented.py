"""Modules that are compiled from other code than their files have: for tools that watch tests."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).parents[1]

CodeOf = Callable[[str, str], CodeType]
"""The code of a module: from its text, and from its file's name relative to the tree."""


def instrument(paths: list[str], code_of: CodeOf) -> None:
    """From now on modules below these paths, relative to the tree, have the code of ``code_of``."""
    sys.meta_path.insert(0, _Finder([(ROOT / path).resolve() for path in paths], code_of))


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, code_of: CodeOf) -> None:
        super().__init__(name, path)
        self._code_of = code_of

    def get_code(self, fullname: str) -> CodeType:
        """What is compiled here is not kept."""
        file = str(Path(self.path).relative_to(ROOT))
        return self._code_of(self.get_data(self.path).decode(), file)


class _Finder(MetaPathFinder):
    def __init__(self, folders: list[Path], code_of: CodeOf) -> None:
        self._folders, self._code_of = folders, code_of

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Modules below the folders; others are found as ever."""
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            return None
        if not any(Path(spec.origin).is_relative_to(folder) for folder in self._folders):
            return None
        spec.loader = _Loader(name, spec.origin, self._code_of)
        return spec
