"""What a model's file has to carry for what is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from tinyrt.attached import front_end_of
from tinyrt.dsp import Pipeline, Vision
from tinyrt.errors import DataError

Carried = TypeVar("Carried", Pipeline, Vision)

WORDS = {
    Pipeline: ("front end", "makes features of samples", "recordings"),
    Vision: ("camera", "makes images of frames", "frames"),
}
"""What it is called, what it does, and what such a model is asked about."""


def require_carried(model: str | Path, kind: type[Carried]) -> Carried:
    """The front end of a model, or its camera.

    Raises:
        DataError: it has none, or the other one.

    """
    found = front_end_of(model)
    if isinstance(found, kind):
        return found
    name, does, _ = WORDS[kind]
    if found is not None:
        other, _, takes = WORDS[type(found)]
        raise DataError(
            f"the model carries a {other}, no {name}",
            file=str(model),
            expected=f"{takes}, or a model with a {name}, which {does}",
            hint=f"tinyrt run MODEL FILE takes {takes} for this one",
        )
    raise DataError(
        f"the model carries no {name}, which {does}",
        file=str(model),
        hint="attach one: tinyrt front-end MODEL.tflite OPTIONS.toml -o OUT.tflite",
    )
