"""The record beside a blob, ``<name>_blob.json``: what a new one for the same code is made with."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tinyrt import __version__
from tinyrt.backends.c.kernel import Choices
from tinyrt.backends.c.mve.more import MAX_COLUMN
from tinyrt.errors import ModelFormatError
from tinyrt.export.blob.code import BlobCode
from tinyrt.export.blob.structure import Part
from tinyrt.export.licence import OWN
from tinyrt.export.memories import Memories
from tinyrt.export.options import ExportOptions
from tinyrt.export.request import Request
from tinyrt.memory import Region

ENDING = "_blob.json"

MAX_RECORD_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Record:
    """What was exported.

    Attributes:
        name: of the model, in C.
        version: of tinyrt that wrote the code.
        structure: the digest that its blobs have, in hexadecimal.
        request: what the export was made with.
        parts: of the code.

    """

    name: str
    version: str
    structure: str
    request: Request
    parts: tuple[Part, ...]


def blob_files(name: str, code: BlobCode, request: Request) -> dict[str, str | bytes]:
    """The blob of a model and its record, by the names of their files."""
    options, memories = request.options, request.options.memories
    record = {
        "SPDX-License-Identifier": OWN,
        "tinyrt": __version__,
        "name": name,
        "structure": code.structure,
        "core": request.core.name,
        "unaligned": options.unaligned,
        "optimize": request.optimize.value,
        "max_arena": options.max_arena,
        "slices": options.slices,
        "regions": [[region.name, region.nbytes] for region in memories.regions],
        "inputs_in_arena": memories.inputs_in_arena,
        "outputs_in_arena": memories.outputs_in_arena,
        "alignment": memories.alignment,
        "blocks": sorted(code.choices.blocks),
        "plain_sums": sorted(code.choices.plain_sums),
        "tiles": sorted(code.choices.tiles),
        "relus": sorted(code.choices.relus),
        "room": sorted(map(list, code.choices.room)),
        "parts": [asdict(part) for part in code.parts],
    }
    text = f"{json.dumps(record, indent=1)}\n"
    return {f"{name}.blob": code.blob.packed(), f"{name}{ENDING}": text}


def read_record(path: Path) -> Record:
    """The record of an exported model.

    Args:
        path: the record, or the folder of a project with one model.

    Raises:
        ModelFormatError: there is no such record, there are several, or it is broken.

    """
    if path.is_dir():
        path = _only_record(path)
    try:
        if path.stat().st_size > MAX_RECORD_BYTES:
            raise ValueError(f"it takes more than {MAX_RECORD_BYTES:,} bytes")
        return _record(json.loads(path.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelFormatError(
            f"the record of the exported model cannot be read: {type(error).__name__} {error}",
            file=str(path),
            expected=f"a file NAME{ENDING} as tinyrt export --blob writes it",
            hint="name the folder that was exported with --blob",
        ) from error


def _only_record(folder: Path) -> Path:
    records = sorted(folder.glob(f"*{ENDING}"))
    if len(records) != 1:
        names = ", ".join(path.name for path in records)
        raise ModelFormatError(
            f"the folder has {len(records)} models with a blob",
            file=str(folder),
            expected=f"one file NAME{ENDING}, as tinyrt export --blob writes it",
            hint=f"name one of {names}" if names else "export the model with --blob first",
        )
    return records[0]


def _record(data: dict[str, Any]) -> Record:
    regions = tuple(Region(name, _count(nbytes)) for name, nbytes in data["regions"])
    places = bool(data["inputs_in_arena"]), bool(data["outputs_in_arena"]), int(data["alignment"])
    options = ExportOptions(
        max_arena=_count(data["max_arena"]),
        memories=Memories(regions, *places),
        name=data["name"],
        unaligned=bool(data["unaligned"]),
        slices=_count(data["slices"]),
        blob=True,
    )
    request = Request.of(data["core"], data["optimize"], options)
    parts = tuple(Part(str(part["what"]), str(part["text"])) for part in data["parts"])
    chosen = (frozenset(map(int, data[key])) for key in ("blocks", "plain_sums", "tiles", "relus"))
    room = frozenset((int(index), _room(count)) for index, count in data["room"])
    blocks, plain_sums, tiles, relus = chosen
    request = replace(request, choices=Choices(blocks, plain_sums, tiles, relus, room))
    name, version, structure = (str(data[key]) for key in ("name", "tinyrt", "structure"))
    return Record(name, version, structure, request, parts)


def _room(value: object) -> int:
    """Places of a point, no more than one may have."""
    if type(value) is int and 0 < value <= MAX_COLUMN:
        return value
    raise ValueError(f"{value!r} places are no number from 1 to {MAX_COLUMN:,}")


def _count(value: object) -> int | None:
    """A number of the record, or none."""
    if value is None or type(value) is int:
        return value
    raise TypeError(f"{value!r} is no number")
