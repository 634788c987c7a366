"""Options of a front end as an entry of a file's metadata: JSON that anybody may have written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tinyrt.dsp.checks import require
from tinyrt.errors import DataError

VERSION = 1
"""Of what the entry says; it begins with it."""

MAX_BYTES = 1 << 16
"""Of the entry."""


def as_json(options: Mapping[str, Any]) -> bytes:
    """The entry's bytes."""
    return json.dumps(options, separators=(",", ":")).encode()


def require_version(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options without their version; raises ``DataError`` where it is another one."""
    made = dict(options)
    version = made.pop("version", VERSION)
    is_own = type(version) is int and version == VERSION
    require(is_own, "version", version, f"{VERSION}; later ones need a later tinyrt")
    return made


def options_of(data: bytes) -> dict[str, Any]:
    """The options that an entry holds, with their version.

    Raises:
        DataError: it is no JSON, too long, or no object.

    """
    if len(data) > MAX_BYTES:
        raise DataError(
            f"the front end takes {len(data):,} bytes", expected=f"at most {MAX_BYTES:,}"
        )
    try:
        made = json.loads(data.decode(), object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"the front end is no JSON: {error}", expected="an object of options by name"
        ) from error
    require(isinstance(made, dict), "front end", type(made).__name__, "an object of options")
    require("version" in made, "version", None, str(VERSION))
    assert isinstance(made, dict)
    return made


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object each of whose names stands once: readers differ on which of several counts."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return made


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")
