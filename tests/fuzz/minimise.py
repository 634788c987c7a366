"""A finding's file, made as small as it gets while it still shows the same."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import onnx

from tests.fuzz import tflite_mutator as tflite
from tests.fuzz.checks import check
from tests.fuzz.onnx_mutator import messages
from tests.fuzz.runner import Campaign, Check, run

thorough = partial(check, share=1.0)


def outcome(kind: str, data: bytes, check: Check = thorough) -> str:
    """What becomes of the file, in a process of its own: a finding's name, or nothing."""
    campaign = Campaign(kind, 0)
    run(campaign, Path(), count=1, check=check, given=[data], keep=False)
    return next(iter(campaign.findings), "")


def minimised(kind: str, data: bytes, seconds: float = 60.0, check: Check = thorough) -> bytes:
    """The smallest file found in that time; the file itself where it shows nothing."""
    wanted, deadline = outcome(kind, data, check), time.monotonic() + seconds
    smaller = True
    while wanted and smaller and time.monotonic() < deadline:
        smaller = False
        for candidate in REDUCTIONS.get(kind, _by_bytes)(data):
            if time.monotonic() >= deadline:
                break
            if len(candidate) < len(data) and outcome(kind, candidate, check) == wanted:
                data, smaller = candidate, True
                break
    return data


def _by_bytes(data: bytes) -> Iterator[bytes]:
    """Without a half, a quarter, ... of the bytes."""
    size = len(data) // 2
    while size:
        for start in range(0, len(data), size):
            yield data[:start] + data[start + size :]
        size //= 2


def _by_fields(data: bytes) -> Iterator[bytes]:
    """Without one field of one message."""
    whole = onnx.ModelProto.FromString(data)
    count = sum(1 for _ in messages(whole))
    for number in range(count):
        fields = list(messages(whole))[number].ListFields()
        for place, (field, value) in enumerate(fields):
            for entry in range(len(value)) if field.is_repeated else (None,):
                model = onnx.ModelProto.FromString(data)
                message = list(messages(model))[number]
                name = message.ListFields()[place][0].name
                if entry is None:
                    message.ClearField(name)
                else:
                    del getattr(message, name)[entry]
                yield model.SerializeToString()


def _by_tables(data: bytes) -> Iterator[bytes]:
    """Without one field of one table, or one entry of a list of tables."""
    try:
        whole = tflite.unpacked(data)
    except Exception:  # whatever the schema's code raises on bytes that are no file
        return
    for number in range(sum(1 for _ in tflite.tables(whole))):
        for name, value in vars(list(tflite.tables(whole))[number]).items():
            places = range(len(value)) if isinstance(value, list) else (None,)
            for place in places if value is not None else ():
                model = copy.deepcopy(whole)
                table = list(tflite.tables(model))[number]
                if place is None:
                    setattr(table, name, 0 if isinstance(value, int | float) else None)
                else:
                    del getattr(table, name)[place]
                packed = tflite.packed(model)
                if packed is not None:
                    yield packed


REDUCTIONS = {"onnx": _by_fields, "tflite": _by_tables}
"""Kind -> smaller files to try, for kinds whose bytes depend on each other."""
