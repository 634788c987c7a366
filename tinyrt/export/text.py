"""Pieces of C source: comments, literals, initialisers. All escaping is done here."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.budget import current
from tinyrt.errors import UnsupportedError
from tinyrt.ir import DType, Value
from tinyrt.text import MAX_NAME, SAFE, clean, shortened, shown_name

LINE = 100
"""Columns of a source line."""

INDENT = "    "

C_TYPES = {
    DType.INT8: "int8_t",
    DType.UINT8: "uint8_t",
    DType.INT16: "int16_t",
    DType.INT32: "int32_t",
    DType.INT64: "int64_t",
    DType.UINT32: "uint32_t",
    DType.UINT64: "uint64_t",
    DType.INT4: "int8_t",
    DType.FLOAT32: "float",
    DType.BOOL: "uint8_t",
}


def c_type(dtype: DType) -> str:
    """The C type of an element.

    Raises:
        UnsupportedError: no kernel works on such elements.

    """
    if dtype not in C_TYPES:
        raise UnsupportedError(
            f"the C kernels have no {dtype.value} tensors",
            expected=", ".join(d.value for d in C_TYPES),
            hint="quantise the model to int8 with int8 inputs and outputs",
        )
    return C_TYPES[dtype]


NOT_IN_COMMENTS = re.compile(rf"[^{SAFE}'>*]|\*(?! )|(?<! )\*")
"""Text that a comment must not contain. It holds safe characters, ', > and * between spaces."""


SAFE_CHARACTER = re.compile(f"[{SAFE}]")


def comment(text: str) -> str:
    """``text`` as part of a comment on one line, with nothing that could end or continue it."""
    return NOT_IN_COMMENTS.sub("_", text)


def string(text: str) -> str:
    """A string literal of the text in UTF-8: what is not harmless in it as octal escapes."""
    data = shortened(shown_name(text), MAX_NAME).encode("utf-8", "replace")
    return "".join(
        ['"', *(c if SAFE_CHARACTER.fullmatch(c := chr(b)) else f"\\{b:03o}" for b in data), '"']
    )


def described(value: Value) -> str:
    """Name and type of a tensor, for a comment."""
    return comment(f"'{clean(value.name)}' {value.type}")


def block_comment(title: str, text: str) -> str:
    """An indented comment after an empty line: on one line, or with the text on a second line."""
    title, text = comment(title), comment(text)
    one_line = f"{INDENT}/* {title}: {text} */"
    if len(one_line) <= LINE:
        return f"\n{one_line}"
    return f"\n{INDENT}/* {title}:\n{INDENT} * {text} */"


def indented(text: str, levels: int) -> str:
    """The text with its non-empty lines indented by ``levels``."""
    space = INDENT * levels
    return "\n".join(space + line if line else line for line in text.split("\n"))


def literal(value: object) -> str:
    """A number, text taken as a C expression, a sequence or a mapping, as an initialiser."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, int | np.integer):
        return integer_literal(int(value))
    if isinstance(value, float | np.floating):
        return float_literal(float(value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f".{k} = {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence | np.ndarray):
        return "{" + ", ".join(literal(v) for v in value) + "}"
    raise TypeError(f"no C literal for {type(value).__name__}")


def integer_literal(value: int) -> str:
    """An integer literal; the least int32 has no digits that are one."""
    return "INT32_MIN" if value == -(2**31) else str(value)


def float_literal(value: float) -> str:
    """A float literal that reads back as the same float32; infinities and NaN need <math.h>."""
    single = np.float32(value)
    if not np.isfinite(single):
        sign = "-" if np.signbit(single) else ""
        return f"{sign}{'NAN' if np.isnan(single) else 'INFINITY'}"
    text = f"{single:.9g}"
    return f"{text}F" if any(c in text for c in ".en") else f"{text}.0F"


def has_odd_floats(value: object) -> bool:
    """Whether any literal of a number, a sequence or a mapping needs <math.h>."""
    if isinstance(value, Mapping):
        return any(map(has_odd_floats, value.values()))
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and not np.isfinite(value.astype(np.float32)).all()
    if isinstance(value, float | np.floating):
        return not np.isfinite(np.float32(value))
    return isinstance(value, list | tuple) and any(map(has_odd_floats, value))


def struct(
    ctype: str, name: str, fields: Mapping[str, object], qualifiers: str = "static const"
) -> str:
    """A constant struct with one designated initialiser on a line."""
    lines = [f"{qualifiers} {ctype} {name} = {{"]
    lines += [_field(field, value) for field, value in fields.items()]
    return "\n".join([*lines, "};"])


def _field(field: str, value: object) -> str:
    """``.field = value,``, a nested struct broken after commas where it is longer than a line."""
    line = f"{INDENT}.{field} = {literal(value)},"
    if len(line) <= LINE or not isinstance(value, Mapping):
        return line
    start = f"{INDENT}.{field} = {{"
    items = [f".{k} = {literal(v)}" for k, v in value.items()]
    return fill(start, [f"{item}," for item in items[:-1]] + [f"{items[-1]}}},"])


def fill(start: str, words: Sequence[str]) -> str:
    """Words after ``start``, filled into lines that align with the first word."""
    lines, line = [], start
    for i, word in enumerate(words):
        gap = "" if i == 0 else " "
        if i > 0 and len(line) + len(gap) + len(word) > LINE:
            lines.append(line)
            line, gap = " " * len(start), ""
        line += gap + word
    return "\n".join([*lines, line])


PLAIN_NAN = 0x7FC0_0000
"""Bits of the only NaN, but for its sign, that has a name in C."""


def check_nans(data: NDArray[np.generic]) -> None:
    """Check that C can write every NaN of a constant.

    Raises:
        UnsupportedError: a NaN has other bits than ``PLAIN_NAN``, sign aside.

    """
    if data.dtype != np.float32:
        return
    bits = np.ascontiguousarray(data[np.isnan(data)]).view(np.uint32)
    odd = bits[(bits & 0x7FFF_FFFF) != PLAIN_NAN]
    if odd.size:
        raise UnsupportedError(
            f"a constant holds a NaN with the bits {odd[0]:#010x}, which has no name in C",
            expected=f"NaNs with the bits {PLAIN_NAN:#010x}, or finite values",
            hint="a model with NaNs among its weights is likely broken: train or convert it again",
        )


LITERAL, ELEMENT = 300, 80
"""Work of writing a literal, and of each element that uses it, in units of ``budget``."""


def array(qualifiers: str, ctype: str, name: str, data: NDArray[np.generic]) -> str:
    """An array definition, its elements in lines of at most ``LINE`` columns."""
    return f"{qualifiers} {ctype} {name}[{data.size}] = {{\n{_elements(data)}\n}};"


def _elements(data: NDArray[np.generic]) -> str:
    """The elements, filled into indented lines; elements with equal bits share a literal."""
    flat = np.ascontiguousarray(data).ravel()
    current().spend(ELEMENT * flat.size, "writing constants as C")
    if flat.dtype == np.int8:
        return _filled_with(*_int8_literals(), flat.view(np.uint8))
    bits, index = np.unique(flat.view(f"u{flat.itemsize}"), return_inverse=True)
    current().spend(LITERAL * bits.size, "writing constants as C")
    write = integer_literal if flat.dtype.kind in "iu" else literal
    literals = [write(v) for v in bits.view(flat.dtype).tolist()]
    return _filled_with(literals, _lengths(literals), index)


@cache
def _int8_literals() -> tuple[list[str], NDArray[np.int64]]:
    """The literal of each int8, by its bits, and its length."""
    values = np.arange(256, dtype=np.uint8).view(np.int8)
    literals = [str(v) for v in values.tolist()]
    return literals, _lengths(literals)


def _lengths(texts: Sequence[str]) -> NDArray[np.int64]:
    return np.array([len(text) for text in texts], np.int64)


def _filled_with(
    literals: Sequence[str], lengths: NDArray[np.int64], index: NDArray[np.integer[Any]]
) -> str:
    """The literal of each index, filled into lines; the literals' lengths are known."""
    return _filled([literals[i] for i in index.tolist()], lengths[index])


def wrap(items: Iterable[str]) -> str:
    """Items separated by commas, filled into indented lines."""
    texts = list(items)
    return _filled(texts, _lengths(texts))


def _filled(items: Sequence[str], lengths: NDArray[np.int64]) -> str:
    """Items separated by commas, in as few lines as possible; their lengths are known."""
    room, lines, start = LINE - len(INDENT), [], 0
    # A comma and a space follow each item; the last item of a line has no space.
    ends = np.cumsum(lengths + 2).tolist()
    while start < len(items):
        before = ends[start - 1] if start else 0
        stop = max(bisect_right(ends, before + room + 1, start), start + 1)
        lines.append(f"{INDENT}{', '.join(items[start:stop])},")
        start = stop
    return "\n".join(lines)


def call(function: str, arguments: Sequence[str]) -> str:
    """An indented call statement."""
    *first, last = arguments
    return fill(f"{INDENT}{function}(", [*(f"{a}," for a in first), f"{last});"])
