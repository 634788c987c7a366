"""What to do about ops that no file format's reader has: the same for all formats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

BOXES = "convert the model up to the boxes and scores, and choose among them in the application"
OPEN = "convert the part before it: how large its result is depends on the input"
SPECTRUM = (
    "compute spectra in front of the model: a model carries log-mel features along, see "
    "'tinyrt front-end'"
)
TEXT = "prepare text and categories in the application, and let the model take numbers"
NOISE = "export the model for inference, or make random numbers an input"
IMAGES = "sample with Resize, or in the application: convert the part before it"
ANGLE = "let the model answer with what the angle is computed from: the application does the rest"
BITS = (
    "take bits apart before the model, or with Div, Mod and Mul by powers of two; where integers "
    "never change, fix them with --value NAME=NUMBER"
)
SOLID = "rewrite the layer with 2-D convolutions, one for each place along the third dimension"


def advice_by_name(ops: Iterable[str], table: Mapping[str, str]) -> str:
    """What the table says of all of these ops; nothing where it is not the same."""
    said = {table.get(op, "") for op in ops}
    return said.pop() if len(said) == 1 else ""
