"""The header of an .npy array: only a few forms are taken, and nothing in it is evaluated."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from tinyrt.errors import DataError

MAGIC = b"\x93NUMPY"
MAX_HEADER = 10_000
"""Bytes of a header: NumPy's own limit."""
MAX_DIMS = 64
"""Dimensions of an array: NumPy's own limit."""
MAX_BYTES = 1 << 62

_LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}
_NUMBERS = {"b1", "f2", "f4", "f8", *(f"{kind}{n}" for kind in "iu" for n in (1, 2, 4, 8))}
_ENTRY = re.compile(r"""\s*(["'])(\w+)\1\s*:\s*(["'][^"']*["']|True|False|\([-\d\s,L]*\))\s*""")
_SIZE = re.compile(r"(-?\d{1,19})L?")
_DTYPE = re.compile(r"[<>=|]?([a-zA-Z][1-9]\d{0,8})")
_REFUSED = {
    "O": "Python objects, which only a program may unpack",
    "V": "records or raw bytes",
    "S": "text",
    "U": "text",
    "c": "complex numbers",
    "M": "dates",
    "m": "spans of time",
}


@dataclass(frozen=True, slots=True)
class Header:
    """The content of an .npy header.

    Attributes:
        dtype: of the elements, in the file's byte order.
        shape: of the array.
        fortran: whether the first index runs fastest.
        length: bytes of the header, with all that comes before the elements.

    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    length: int

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(file: IO[bytes], text: bool = False) -> Header:
    """The header of the array that begins here; the file is then at its first element.

    Args:
        file: at the array's first byte.
        text: whether strings are welcome beside numbers.

    Raises:
        DataError: it is no header, or one of an array that is not taken.

    """
    start = file.read(8)
    length_bytes = _LENGTH_BYTES.get((start[6], start[7])) if len(start) == 8 else None
    if not start.startswith(MAGIC) or length_bytes is None:
        raise _refused("is no array: it does not begin as .npy data do")
    length = int.from_bytes(_exactly(file, length_bytes), "little")
    if length > MAX_HEADER:
        raise _refused(f"has a header of {length:,} bytes", f"at most {MAX_HEADER:,}")
    header = _exactly(file, length).decode("latin1")
    fields = _fields(header)
    return Header(
        _dtype(fields["descr"], text),
        _shape(fields["shape"]),
        fields["fortran_order"] == "True",
        8 + length_bytes + length,
    )


def _exactly(file: IO[bytes], size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise _refused("is cut short in its header")
    return data


def _fields(header: str) -> dict[str, str]:
    """The texts of the header's three values.

    A regular expression reads them: untrusted text is never evaluated, not even as a literal.
    """
    text = header.strip()
    fields: dict[str, str] = {}
    at, keys = 1, {"descr", "fortran_order", "shape"}
    while (entry := _ENTRY.match(text, at)) is not None and entry[2] in keys - set(fields):
        fields[entry[2]] = entry[3]
        at = entry.end() + text.startswith(",", entry.end())
    if set(fields) != keys or not text.startswith("{") or text[at:].strip() != "}":
        if re.search(r"descr['\"]\s*:\s*[\[(]", text):
            raise _refused("holds records", hint="save each field as an array of its own")
        raise _refused("has a header that cannot be read")
    order = fields["fortran_order"] in ("True", "False")
    if not order or fields["shape"][0] != "(" or fields["descr"][0] not in "'\"":
        raise _refused("has a header that cannot be read")
    return fields


def _dtype(descr: str, text: bool) -> np.dtype[Any]:
    name = descr[1:-1]
    match = _DTYPE.fullmatch(name)
    kind = "" if match is None else match[1]
    if kind in _NUMBERS or (text and kind.startswith("U")):
        return np.dtype(name)
    what = _REFUSED.get(name.lstrip("<>=|")[:1], f"elements of dtype '{name[:20]}'")
    raise _refused(
        f"holds {what}",
        "float16, float32, float64, bool, or int and uint of 8 to 64 bits",
        "convert it before saving: x.astype('float32')",
    )


def _shape(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text[1:-1].split(",")]
    if len(parts) > 1 or parts == [""]:
        parts = parts[:-1] if parts[-1] == "" else parts  # behind a comma, or nothing at all
    else:
        parts = [text]  # one number in parentheses is no shape
    sizes = [_SIZE.fullmatch(part) for part in parts]
    shape = tuple(int(size[1]) for size in sizes if size is not None)
    if len(shape) != len(sizes):
        raise _refused(f"has a shape that cannot be read: {text[:60]}")
    if len(shape) > MAX_DIMS:
        raise _refused(f"has {len(shape)} dimensions", f"at most {MAX_DIMS}")
    if min(shape, default=0) < 0:
        raise _refused(f"has a negative dimension: {list(shape)[:8]}")
    if math.prod(n or 1 for n in shape) * 8 > MAX_BYTES:
        raise _refused(f"has a shape of more elements than can be: {list(shape)[:8]}")
    return shape


def _refused(problem: str, expected: str | None = None, hint: str | None = None) -> DataError:
    """The refusal of an array; the caller adds the array's name."""
    return DataError(
        problem,
        expected=expected or "an array as numpy.save writes it",
        hint=hint or "write it again: numpy.savez('data.npz', x=inputs, y=labels)",
    )
