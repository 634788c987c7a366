"""Which inputs and outputs of a .tflite file are state: an entry of its metadata table.

To other readers they are inputs and outputs as all are: whoever feeds each output back into the
input of its pair gets the same answers.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from tinyrt.errors import ModelFormatError

STATES = "tinyrt.states"
"""Name of the entry: a JSON list of pairs, the input's name and the output's."""

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
    for i in range(model.MetadataLength()):
        entry = model.Metadata(i)
        if entry.Name() == STATES.encode():
            data = model.Buffers(entry.Buffer()).DataAsNumpy()
            return _parse(bytes(data) if data is not None else b"", inputs, outputs)
    return ()


def _parse(data: bytes, inputs: Collection[str], outputs: Collection[str]) -> States:
    try:
        pairs = tuple((str(before), str(after)) for before, after in json.loads(data))
    except (ValueError, TypeError) as error:
        raise ModelFormatError(f"metadata '{STATES}' is not a list of pairs: {error}") from error
    for before, after in pairs:
        if before not in inputs or after not in outputs:
            raise ModelFormatError(
                f"metadata '{STATES}' pairs '{before}' with '{after}'",
                expected="an input and an output of the model",
            )
    return pairs
