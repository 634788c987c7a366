"""What a function returned, as text, and whether that is what it returned before.

Whole numbers and words are compared exactly. Other numbers may differ by little, since libraries
calculate them in other orders on other processors; so may numbers of more than six digits, which
are mostly made from such.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

import tinyrt

LONGEST, HEAD = 400, 200
"""Characters of a text that is kept whole, and of another's beginning that is kept."""

DEEPEST = 8
FEW = 6
"""Elements of an array that are shown one by one."""

NEAR, TINY = 2e-3, 1e-6
"""How far numbers may differ, of the larger one and by themselves."""

NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.\d*(?:e[+-]?\d+)?|\d{7,}|\d+e[+-]?\d+)(?!\w)")
KEPT = re.compile(r"(.*)… ([0-9a-f]{8}) (\S+) (\S+)", re.DOTALL)
DIGEST = re.compile(
    r"(?<![0-9a-zA-Z])(?:(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,64}|(?<=export )[0-9a-f]{8})"
    r"(?![0-9a-zA-Z])"
)
"""What is made of all that a file holds, with the last digit of each number.

Of digits alone it is one where an export is named.
"""

TIME = re.compile(r"(?<![\w.])[\d.]+ ?(ns|µs|us|ms|s|seconds|minutes)\b")

PACKED = re.compile(r'("packed_bytes": |packed again on the host +)[\d,]+')
"""What the host packs, which depends on how long its processor's vectors are."""

LINE = re.compile(r"(tinyrt/[\w/]+\.py, line )\d+")
"""Where the package's code lies, which moves."""
FRAMES = re.compile(r"(Traceback \(most recent call last\):\n)(?: .*\n)+")
"""The same for each call on the way."""

WRITTEN = {".c", ".h", ".txt", ".json", ".md", ".html", ".mk", ".ld", ".csv", ".yaml", ""}
"""Suffixes of files that hold text."""

PACKAGE = Path(tinyrt.__file__).parent
LARGEST = 1 << 20


def text_of(value: object) -> str:
    """All that a value holds, in one line; arrays by how large they are, by sign and by place."""
    return _text(value, ())


def normal(text: str, base: str) -> str:
    """The text without what differs between runs or machines."""
    text = re.sub(rf"{re.escape(base)}/[^/\s'\"]+", "TMP", text)
    for folder, name in ((os.environ.get("TINYRT_ZOO"), "ZOO"), (str(PACKAGE.parent), "ROOT")):
        text = text.replace(folder, name) if folder else text
    text = re.sub(r"0x[0-9a-f]{6,}", "0x...", text)
    text = FRAMES.sub(r"\1", text.replace(tinyrt.__version__, "VERSION"))
    text = PACKED.sub(r"\1N", LINE.sub(r"\1N", text))
    text = TIME.sub(r"N \1", DIGEST.sub("DIGEST", text))
    # Half a pair of surrogates, as damaged files and names of scratch memory have, is no UTF-8.
    return text.encode(errors="backslashreplace").decode()


def kept(text: str) -> str:
    """What is kept of a text: a short one, or the beginning and what stands for the rest."""
    text = " ".join(text.split())
    if len(text) <= LONGEST:
        return text
    words, numbers = _parts(text)
    digest = hashlib.sha256(words.encode()).hexdigest()[:8]
    sums = (f"{each:.4f}" for each in _sums(numbers))
    return f"{text[:HEAD]}… {digest} {' '.join(sums)}"


def agree(found: str, known: str) -> bool:
    """Whether two kept texts say the same, but for how numbers were rounded."""
    old, new = KEPT.fullmatch(known), KEPT.fullmatch(found)
    if old is None or new is None:
        (words, numbers), (other_words, others) = _parts(found), _parts(known)
        return words == other_words and all(map(_near, numbers, others))
    sums = zip(old.groups()[2:], new.groups()[2:], strict=True)
    return old[2] == new[2] and all(abs(float(a) - float(b)) < 0.02 for a, b in sums)


def _parts(text: str) -> tuple[str, list[float]]:
    """The text without its numbers, and these."""
    return NUMBER.sub("#", text), [float(each) for each in NUMBER.findall(text)]


def _near(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=NEAR, abs_tol=TINY)


def _sums(numbers: Iterable[float]) -> tuple[float, float]:
    """Two sums in which each number counts by its ratio to what it was."""
    sizes = np.arcsinh(np.array(list(numbers), np.float64) * 1e3)
    return float(sizes.sum()), float(sizes @ np.cos(np.arange(len(sizes))))


def _text(value: Any, outer: tuple[int, ...]) -> str:
    shown = _plain(value)
    if shown is not None:
        return shown
    if id(value) in outer or len(outer) > DEEPEST:
        return "..."
    outer = (*outer, id(value))
    if isinstance(value, Mapping):
        items = (f"{_text(k, outer)}: {_text(v, outer)}" for k, v in list(value.items()))
        return "{" + ", ".join(items) + "}"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(_text(each, outer) for each in value)) + "}"
    named = _fields_of(value)
    if named is not None:
        parts = (f"{name}={_text(each, outer)}" for name, each in named)
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_text(each, outer) for each in value) + "]"
    return f"<{type(value).__name__}>"


def _plain(value: Any) -> str | None:
    """The text of what has no parts; None for others."""
    if isinstance(value, Enum):
        return value.name
    if value is None or isinstance(value, int):
        return repr(value)
    if isinstance(value, float):
        return f"{value:#.4g}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"{len(value)} bytes"
    if isinstance(value, Path):
        return _written(value)
    if isinstance(value, np.ndarray | np.generic):
        return _array(np.asarray(value))
    return None


def _array(x: np.ndarray[Any, Any]) -> str:
    kind = f"{x.dtype}{list(x.shape)}" if x.ndim else str(x.dtype)
    if x.dtype.kind not in "fiub":
        return kind
    if x.size <= FEW:
        each = (_plain(v) for v in x.astype(np.float64 if x.dtype.kind == "f" else object).flat)
        return f"{kind} {' '.join(map(str, each))}".rstrip()
    flat = x.astype(np.float64).ravel()
    with np.errstate(all="ignore"):
        size = _size(flat)
        sizes = size, _size(flat + size), _size(flat * (1 + np.cos(np.arange(flat.size))))
    return f"{kind} ~ {' '.join(f'{each:#.4g}' for each in sizes)}"


def _size(x: np.ndarray[Any, Any]) -> float:
    """The root of the mean square: what one step more or less of some element hardly changes."""
    return float(np.sqrt((x**2).mean()))


def _written(path: Path) -> str:
    """A file by its path and what it holds; a folder by its files."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())[: FEW * FEW]
        held = (f"{file.relative_to(path)}{_held(file)}" for file in files)
        return f"{path}/ [{', '.join(held)}]"
    return f"{path}{_held(path)}"


def _held(path: Path) -> str:
    """What a file of text holds; nothing of others, of kernels, and of what is no file."""
    is_text = path.suffix in WRITTEN and path.name not in _kernels()
    if not (is_text and path.is_file() and path.stat().st_size < LARGEST):
        return ""
    try:
        return f": {path.read_text(encoding='utf-8')}"
    except UnicodeDecodeError:
        return ""


def _fields_of(value: Any) -> list[tuple[str, object]] | None:
    """Public fields of an object of the package that are not their defaults, and its properties."""
    kind = type(value)
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        named = list(zip(kind._fields, value, strict=True))
    elif is_dataclass(value):
        every = [(each, getattr(value, each.name, None)) for each in fields(value)]
        named = [(each.name, v) for each, v in every if not _is_default(each, v)]
    elif kind.__module__.startswith("tinyrt.") and hasattr(value, "__dict__"):
        named = sorted((k, v) for k, v in vars(value).items() if not _is_derived(kind, k))
    else:
        return None
    return [(name, each) for name, each in named if not name.startswith("_")] + _asked(value)


def _is_derived(kind: type, name: str) -> bool:
    """Whether an attribute is there only since somebody asked for it."""
    return isinstance(getattr(kind, name, None), cached_property)


def _is_default(field: Any, value: object) -> bool:
    if field.default is not MISSING:
        is_same_kind = type(value) is type(field.default)
        return value is field.default or (is_same_kind and bool(value == field.default))
    empty = isinstance(value, dict | list | tuple) and not value
    return field.default_factory is not MISSING and empty


def _asked(value: object) -> list[tuple[str, object]]:
    """What an object's properties say."""
    found: list[tuple[str, object]] = []
    for name in _properties(type(value)):
        try:
            found.append((name, getattr(value, name)))
        except Exception as error:  # What an incomplete object refuses is an outcome, too.
            found.append((name, type(error).__name__))
    return found


@cache
def _properties(kind: type) -> list[str]:
    if not kind.__module__.startswith("tinyrt."):
        return []
    names = {name: getattr(kind, name, None) for name in dir(kind) if not name.startswith("_")}
    return sorted(name for name, each in names.items() if isinstance(each, property))


@cache
def _kernels() -> frozenset[str]:
    """Files that are copied as they are."""
    return frozenset(file.name for file in (PACKAGE / "kernels_c").rglob("*.[ch]"))
