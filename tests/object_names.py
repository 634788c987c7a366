"""Names in an object file, replaced by others of any length."""

from __future__ import annotations

import struct
from dataclasses import dataclass

SYMBOLS = 2
"""The type of a section that is a table of symbols."""


@dataclass(frozen=True)
class _Layout:
    """Where a header of ELF, a section's header and a symbol have what; how wide a place is."""

    place: str
    sections: int
    counts: int
    offset: int
    size: int
    link: int
    symbol: int


LAYOUTS = {
    1: _Layout("<I", 0x20, 0x2E, 16, 20, 24, 16),
    2: _Layout("<Q", 0x28, 0x3A, 24, 32, 40, 24),
}
"""By ELF's class: of 32 bits, of 64."""


def renamed(content: bytes, old: bytes, new: bytes) -> bytes | None:
    """The object with ``new`` wherever a symbol or a section has ``old`` in its name.

    Tables of names are written anew, behind all else. Nothing where ``content`` is no object of
    the usual order of bytes, or has ``old`` elsewhere, too.
    """
    if content[:4] != b"\x7fELF" or content[5] != 1:
        return None
    layout, data = LAYOUTS[content[4]], bytearray(content)

    def at(form: str, place: int) -> int:
        return int(struct.unpack_from(form, content, place)[0])

    begin = at(layout.place, layout.sections)
    each, count, names = struct.unpack_from("<3H", content, layout.counts)
    headers = range(begin, begin + each * count, each)
    tables: dict[int, bytearray] = {}

    def move(table: int, place: int) -> None:
        """Write a name of this table anew, and where it is at this place."""
        start = at(layout.place, headers[table] + layout.offset) + at("<I", place)
        name = content[start : content.index(b"\0", start)].replace(old, new)
        written = tables.setdefault(table, bytearray(b"\0"))
        struct.pack_into("<I", data, place, len(written) if name else 0)
        if name:
            written += name + b"\0"

    for header in headers:
        move(names, header)
        if at("<I", header + 4) == SYMBOLS:
            start = at(layout.place, header + layout.offset)
            stop = start + at(layout.place, header + layout.size)
            for symbol in range(start, stop, layout.symbol):
                move(at("<I", header + layout.link), symbol)
    for table, written in tables.items():
        start = at(layout.place, headers[table] + layout.offset)
        size = at(layout.place, headers[table] + layout.size)
        data[start : start + size] = bytes(size)
        struct.pack_into(layout.place, data, headers[table] + layout.offset, len(data))
        struct.pack_into(layout.place, data, headers[table] + layout.size, len(written))
        data += written
    return None if old in data else bytes(data)
