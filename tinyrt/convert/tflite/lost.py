"""Which channels a .tflite file's tensors have lost: an entry of its metadata table.

Other readers need not know: the model is whole without them. ``tinyrt debug`` compares it with the
float model, whose tensors have all channels.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tflite

from tinyrt.budget import current
from tinyrt.convert.channels.lost import Lost, LostChannels, still_lost
from tinyrt.convert.tflite.metadata import read_entry
from tinyrt.convert.tflite.tensors import Buffer
from tinyrt.errors import ModelFormatError
from tinyrt.ir import Graph

LOST = "tinyrt.lost_channels"
"""Name of the entry: JSON, a list of tensors that lost the same channels. These are bits in hex,
the first channel first; then what most of them held at all times, and what others did, null for
what varied: ``[[["TAG", ...], "90", -128, {"3": null}], ...]``."""
TAG = 8
"""Hex digits of a name's SHA-256, which stand for the name: names may be longer than weights."""
ENTRY = 10
"""Bytes of memory for each channel: what it held, whether it is kept, and whether it is not."""


def lost_entry(lost: Mapping[str, Lost], graph: Graph) -> dict[str, bytes]:
    """The metadata of a file that is written from the graph; empty where nothing was lost."""
    groups: dict[str, list[str]] = {}
    for name, entry in still_lost(lost, graph).items():
        groups.setdefault(json.dumps(_told(entry), separators=(",", ":")), []).append(_tag(name))
    told = [[tags, *json.loads(same)] for same, tags in groups.items()]
    return {LOST: json.dumps(told, separators=(",", ":")).encode()} if told else {}


def _tag(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:TAG]


def _told(entry: Lost) -> tuple[str, float | None, dict[str, float | None]]:
    gone = np.flatnonzero(~entry.kept)
    held = [_number(float(x)) for x in entry.constants[gone]]
    ((most, _),) = Counter(held).most_common(1)
    others = {str(i): x for i, x in zip(gone, held, strict=True) if x != most}
    return np.packbits(~entry.kept).tobytes().hex(), most, others


def _number(held: float) -> float | None:
    if not np.isfinite(held):
        return None
    return int(held) if held % 1 == 0 else held


def read_lost(data: Buffer, graph: Graph) -> LostChannels:
    """What a file says about its tensors' channels.

    Args:
        data: a .tflite file.
        graph: the graph that was read from it.

    Raises:
        ModelFormatError: the entry is not what it should be.

    """
    found = read_entry(tflite.Model.GetRootAs(data), LOST)
    try:
        return {} if found is None else dict(_parsed(json.loads(found), graph))
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        raise ModelFormatError(
            f"metadata '{LOST}' cannot be read: {error}",
            expected='[[["TAG", ...], "BITS", CONSTANT, {"CHANNEL": CONSTANT, ...}], ...]',
            hint="quantise the model again",
        ) from error


def _parsed(told: list[Any], graph: Graph) -> Iterator[tuple[str, Lost]]:
    names = {_tag(name): name for name, value in graph.values.items() if not value.is_constant}
    for tags, bits, most, others in told:
        gone = np.unpackbits(np.frombuffer(bytes.fromhex(bits), np.uint8)).astype(np.bool_)
        for name in filter(None, map(names.get, tags)):
            count = graph.value(name).shape[-1] + int(gone.sum())
            current().hold(count * ENTRY, f"metadata '{LOST}'")
            yield name, _entry(gone, count, most, others)


def _entry(gone: Any, count: int, most: float | None, others: Mapping[str, float | None]) -> Lost:
    """The entry of a tensor that had so many channels."""
    if not 0 <= gone.size - count < 8 or gone[count:].any():
        raise ValueError(f"{gone.size} bits for {count} channels")
    lost = Lost(~gone[:count], np.full(count, np.nan))
    lost.constants[~lost.kept] = np.nan if most is None else most
    for channel, held in others.items():
        lost.constants[int(channel)] = np.nan if held is None else held
    return lost
