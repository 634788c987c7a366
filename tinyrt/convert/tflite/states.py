"""Which tensors of a .tflite file are state: entries of its metadata table.

Other readers see a state as an ordinary input and output: feeding each output back into the input
of its pair gives the same answers. A variable that each run resets keeps its value in other
interpreters: resetting it before each run gives the same answers.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from tinyrt.convert.tflite.metadata import read_entry
from tinyrt.errors import ModelFormatError

STATES = "tinyrt.states"
"""Name of the entry: a JSON list of pairs, the input's name and the output's."""

FRESH = "tinyrt.fresh"
"""Name of the entry: a JSON list of the variables that hold zeros when a run begins."""

States = tuple[tuple[str, str], ...]


def read_states(model: Any, inputs: Collection[str], outputs: Collection[str]) -> States:
    """The file's pairs; none where it has no such entry.

    Args:
        model: the file's root table.
        inputs: names of the graph's inputs.
        outputs: names of its outputs.

    Raises:
        ModelFormatError: the entry is not what it should be.

    """
    data = read_entry(model, STATES)
    return () if data is None else _parse(data, inputs, outputs)


def read_fresh(model: Any) -> frozenset[str]:
    """Names of the variables that begin anew with each run.

    Raises:
        ModelFormatError: the file's entry is not what it should be.

    """
    data = read_entry(model, FRESH)
    try:
        return frozenset(str(name) for name in json.loads(data or b"[]"))
    except (ValueError, TypeError) as error:
        raise ModelFormatError(
            f"metadata '{FRESH}' is not a list of names: {error}", expected='["NAME", ...] in JSON'
        ) from error


def _parse(data: bytes, inputs: Collection[str], outputs: Collection[str]) -> States:
    try:
        pairs = tuple((str(before), str(after)) for before, after in json.loads(data))
    except (ValueError, TypeError) as error:
        raise ModelFormatError(
            f"metadata '{STATES}' is not a list of pairs: {error}",
            expected='[["INPUT", "OUTPUT"], ...] in JSON',
        ) from error
    feeds, answers = set(inputs), set(outputs)
    for before, after in pairs:
        if before not in feeds or after not in answers:
            raise ModelFormatError(
                f"metadata '{STATES}' pairs '{before}' with '{after}'",
                expected="an input and an output of the model",
            )
    return pairs
