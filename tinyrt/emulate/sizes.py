"""The flash and RAM of an image, by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinyrt.emulate import toolchain
from tinyrt.export import Core, ExportedProject


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes, by part.

    Attributes:
        kernels: the kernels' code and constants.
        model: the code of the model's own functions.
        tables: the model's parameters and lookup tables, those of its front end included.
        library: what these need of the C library and the compiler's.
        weights: weights and biases.
        harness: start-up code, vectors and the test harness, which are none of the model's.
        static: RAM that the model has outside of arena and stack.

    """

    kernels: int
    model: int
    tables: int
    library: int
    weights: int
    harness: int
    static: int

    @property
    def code(self) -> int:
        """Flash for everything that the model needs but its weights."""
        return self.kernels + self.model + self.tables + self.library


def sizes_of_image(path: Path, core: Core) -> Sizes:
    """The sizes of a linked image, whose linker script has one section to a part."""
    listing = toolchain.run([f"{core.prefix}size", "-A", "-d", path], doing="reading sizes")
    sizes = _rows(listing)
    data = sizes.get(".data", 0)
    return Sizes(
        kernels=sizes.get(".kernels", 0),
        model=sizes.get(".model_code", 0),
        tables=sizes.get(".model_tables", 0),
        library=sizes.get(".library", 0) + sizes.get(".ARM.exidx", 0) + data,
        weights=sizes.get(".weights", 0),
        harness=sizes.get(".vectors", 0) + sizes.get(".harness", 0),
        static=data + sizes.get(".bss", 0),
    )


def sizes_of_library(path: Path, models: Sequence[ExportedProject], core: Core) -> Sizes:
    """The sizes of a static library of models: all of its kernels, nothing of the C library."""
    listing = toolchain.run([f"{core.prefix}size", "-A", "-d", path], doing="reading sizes")
    members = {part.split()[0]: _rows(part) for part in listing.split("\n\n") if "(ex " in part}
    names = [name for m in models for name in (m.name, *m.sample_files)]
    own = [members.get(f"{name}.o", {}) for name in names]
    parts = [(m, "weights" if m.blob is None else "blob") for m in models]
    weights = [
        (members.get(f"{m.name}_{part}.o", {}), m.weights_section or "") for m, part in parts
    ]
    kernels = [rows for name, rows in members.items() if name.startswith("tinyrt_")]
    # Constants with addresses in them are writable only while a shared library is loaded.
    relocated = sum(_sum(rows, ".data.rel.ro") for rows in members.values())
    return Sizes(
        kernels=sum(_constant(rows) for rows in kernels),
        model=sum(_sum(rows, ".text") for rows in own),
        tables=sum(_sum(rows, ".rodata", ".data.rel.ro") for rows in own),
        library=0,
        weights=sum(_constant(rows) + rows.get(section, 0) for rows, section in weights),
        harness=0,
        static=sum(_sum(rows, ".data", ".bss") for rows in members.values()) - relocated,
    )


def _rows(listing: str) -> dict[str, int]:
    """Section name -> size, as ``size -A`` lists them."""
    rows = (line.split() for line in listing.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 3 and row[1].isdigit()}


def _constant(rows: Mapping[str, int]) -> int:
    return _sum(rows, ".text", ".rodata", ".data.rel.ro")


def _sum(rows: Mapping[str, int], *starts: str) -> int:
    return sum(size for name, size in rows.items() if name.startswith(starts))
