"""Where a new op is written: lines that are put into tinyrt's files as they are imported."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

RECORD = Path(__file__).with_name("atan.py")

Edits = Sequence[tuple[str, str]]
"""A line that a file has, and the line that is put behind it."""

PLACES: dict[str, Edits] = {
    "tinyrt.ops.atan": (),  # the file itself
    "tinyrt.ops": (
        ("from tinyrt.ops.arg import ARG_MAX, ARG_MIN", "from tinyrt.ops.atan import ATAN"),
        ("        ARG_MIN,", "        ATAN,"),
    ),
    "tinyrt.convert.onnx.pointwise": (('    "Abs": "abs",', '    "Atan": "atan",'),),
    "tinyrt.convert.tflite.ops": (
        # The schema has no such op yet: the number of another stands for it.
        ("    *LAYERS,", '    plain("atan", "ATAN2", lambda node: 1),'),
    ),
    "tinyrt.backends.c.tables": (
        (
            "_OTHERS: dict[str, dict[Form, Chooser]] = {",
            '    "atan": {Form.FLOAT: _map("atanf")},',
        ),
    ),
}
"""Module -> what its file gets."""

ELSEWHERE = {"tinyrt.convert.onnx.inverse": '    "Atan": atan,'}
"""Module -> a line without which tinyrt does not have the op: ONNX's is made of others there."""

RECORD_PLACES = ("tinyrt.ops.atan", "tinyrt.ops")
"""Without these, nobody knows what else there should be."""

WITHOUT_TRAITS = "tinyrt.ops.atan without traits"


def edited(source: str, edits: Edits) -> str:
    """The file with these lines more."""
    lines = source.split("\n")
    for line, new in edits:
        assert lines.count(line) == 1, f"{line!r} is there {lines.count(line)} times"
        lines.insert(lines.index(line) + 1, new)
    return "\n".join(lines)


class _Edited(SourceFileLoader):
    """Imports a file with more lines, and keeps no compiled file of it."""

    def __init__(self, name: str, path: str, edits: Edits) -> None:
        super().__init__(name, path)
        self._edits = edits

    def get_code(self, fullname: str) -> CodeType:
        source = edited(self.get_data(self.path).decode(), self._edits)
        return compile(source, self.path, "exec", dont_inherit=True)


class _Without(SourceFileLoader):
    """Imports a file without a line of ``ELSEWHERE``."""

    def get_code(self, fullname: str) -> CodeType:
        lines = self.get_data(self.path).decode().split("\n")
        lines.remove(ELSEWHERE[fullname])
        return compile("\n".join(lines), self.path, "exec", dont_inherit=True)


class _WithoutTraits(_Edited):
    def get_code(self, fullname: str) -> CodeType:
        lines = self.get_data(self.path).decode().split("\n")
        kept = "\n".join(line for line in lines if "traits=" not in line)
        return compile(kept, self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    """Finds the files of some modules with their edits."""

    def __init__(self, places: Mapping[str, Edits], loader: type[_Edited]) -> None:
        self._places, self._loader = places, loader

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._places and name not in ELSEWHERE:
            return None
        if name == "tinyrt.ops.atan":
            loader = self._loader(name, str(RECORD), ())
            return spec_from_file_location(name, RECORD, loader=loader)
        found = PathFinder.find_spec(name, path, target)
        assert found is not None
        assert found.origin is not None
        if name in ELSEWHERE:
            found.loader = _Without(name, found.origin)
        else:
            found.loader = _Edited(name, found.origin, self._places[name])
        return found


def add_op(left_out: Collection[str] = ()) -> None:
    """Have all other places written in this process; before tinyrt is imported."""
    assert "tinyrt.ops" not in sys.modules
    places = {name: edits for name, edits in PLACES.items() if name not in left_out}
    loader = _WithoutTraits if WITHOUT_TRAITS in left_out else _Edited
    sys.meta_path.insert(0, _Finder(places, loader))
