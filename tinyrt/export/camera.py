"""The functions of a model that takes frames: its camera, its network and its boxes.

They lie in files of their own beside the model's, which stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyrt.dsp import Boxes, Camera, Vision
from tinyrt.errors import UnsupportedError
from tinyrt.export import text as c_text
from tinyrt.export.boxes import BOX, WORD, definitions_of
from tinyrt.export.front_end import ALIGNMENT, aligned
from tinyrt.export.pushed import PushedRows
from tinyrt.export.rendering import TEMPLATES, CFile, as_source, render_c
from tinyrt.export.request import Request
from tinyrt.export.states import StateLayout
from tinyrt.sighted import Sighted

HEAD_BYTES = 12
"""Of ``tinyrt_camera_state``, in front of 4 bytes for each number of a row."""

FUNCTIONS = ("reset_camera", "push_line", "push_frame")


@dataclass(frozen=True, slots=True)
class CameraCode:
    """What a project has for frames.

    Attributes:
        vision: what it computes.
        state_bytes: memory that it keeps between calls, the model's states included.
        table_bytes: flash for its constants.
        kernels: names of the C functions it calls beside the model's.

    """

    vision: Vision
    state_bytes: int
    table_bytes: int
    kernels: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The code as plain data, for ``--json``."""
        return {
            "state_bytes": self.state_bytes,
            "table_bytes": self.table_bytes,
            "vision": self.vision.as_dict(),
        }


@dataclass(frozen=True, slots=True)
class _Places:
    """Offsets of the parts of the state, behind the camera's own."""

    row: int
    work: int
    best: int
    model: int
    nbytes: int


def check_camera(request: Request) -> None:
    """Check that an export with a camera is asked for nothing that excludes it.

    Raises:
        UnsupportedError: it is.

    """
    off = "take the camera off: tinyrt front-end MODEL --remove"
    options = request.options
    if options.input_type is not None:
        raise UnsupportedError(
            "the input is an image, which the camera writes",
            expected="--input-type for a model without a camera",
            hint=f"leave --input-type out, or {off}",
        )
    if options.blob:
        raise UnsupportedError(
            "a blob brings another scale of the input, and images are written for this one",
            expected="--blob for a model without a camera",
            hint=f"leave --blob out, or {off}",
        )
    if not (options.input_rows or options.memories.inputs_in_arena):
        raise UnsupportedError(
            "the input lies outside of the arena, and the camera writes it there",
            expected="an input in the arena, or rows that are pushed",
            hint="reserve the input's place in the arena, or give --input-rows",
        )


def write_camera(
    prefix: str,
    fit: Sighted,
    pushed: PushedRows | None,
    states: StateLayout,
    context: Mapping[str, Any],
) -> tuple[CameraCode, dict[str, CFile]]:
    """The header and the source of ``<prefix>_push_line`` and ``<prefix>_push_frame``.

    Args:
        prefix: the model's name in C.
        fit: the camera at the model.
        pushed: the rows of the input that are pushed; None where it is held.
        states: the model's states.
        context: what the templates of the model's own files are filled in with.

    Raises:
        UnsupportedError: the rows that are pushed are not the image's.

    """
    camera, boxes = fit.camera, fit.vision.boxes
    check_rows(fit, pushed)
    kernel = f"tinyrt_camera_{camera.resize}_{camera.format.kind}"
    arrays = arrays_of(camera)
    definitions = camera_definitions(camera, arrays, "eye")
    definitions.append(c_text.array("static const", "int8_t", "to_input", fit.tables.ravel()))
    nbytes = sum(array.nbytes for array in arrays.values()) + fit.tables.nbytes
    if boxes is not None:
        definitions += definitions_of(boxes, "decider", coded=fit.encodings is not None)
    places = _places(camera, boxes, states, is_pushed=pushed is not None)
    names = [port.name for port in context["outputs"]]
    own = {
        "camera": camera,
        "kernel": kernel,
        "is_each": len(fit.tables) > 1,
        "boxes": boxes,
        "scores": names.index(fit.scores),
        "codes": None if fit.encodings is None else names.index(fit.encodings),
        "places": places,
        "takes": "camera",
        "TAKES": "CAMERA",
        "camera_alignment": ALIGNMENT,
        "camera_functions": FUNCTIONS,
        "camera_definitions": as_source(definitions),
    }
    files = {
        f"{prefix}_camera{end}": render_c(TEMPLATES, f"camera{end}.j2", {**context, **own})
        for end in (".h", ".c")
    }
    kernels = (kernel, *["tinyrt_boxes_s8"] * (boxes is not None))
    return CameraCode(fit.vision, places.nbytes, nbytes, kernels), files


def arrays_of(camera: Camera) -> dict[str, np.ndarray]:
    """Which lines and pixels make the image's, name -> uint16."""
    return {
        "row_first": camera.down.first,
        "row_part": camera.down.part,
        "column_first": camera.across.first,
        "column_part": camera.across.part,
    }


def camera_definitions(camera: Camera, arrays: Mapping[str, np.ndarray], name: str) -> list[str]:
    """A camera's constants, and its ``tinyrt_camera_params`` of that name, in C."""
    top, left, height, width = camera.cropped
    fields: dict[str, object] = {
        "height": camera.height,
        "top": top,
        "left": left,
        "lines": height,
        "width": width,
        "rows": camera.rows,
        "columns": camera.columns,
        "channels": camera.channels,
        "is_grey": int(camera.channels == 1 and not camera.format.has_luma),
        "nbytes": camera.format.nbytes,
        "places": camera.format.places,
        **{array: array for array in arrays},
    }
    made = [c_text.array("static const", "uint16_t", n, a) for n, a in arrays.items()]
    return [*made, c_text.struct("tinyrt_camera_params", name, fields)]


def check_rows(fit: Sighted, pushed: PushedRows | None) -> None:
    """Check that the rows that are pushed are the image's.

    Raises:
        UnsupportedError: they are not.

    """
    camera = fit.camera
    if pushed is not None and (pushed.rows, pushed.row_bytes) != (camera.rows, camera.row_size):
        raise UnsupportedError(
            f"the model takes {pushed.rows} rows of {pushed.row_bytes} bytes",
            tensor=fit.input.describe(),
            expected=f"{camera.rows} rows of {camera.row_size} bytes, as the camera makes them",
            hint="leave --input-rows out, or give the model an input [1, rows, columns, channels]",
        )


def _places(
    camera: Camera, boxes: Boxes | None, states: StateLayout, *, is_pushed: bool
) -> _Places:
    """The parts of the state, one behind the other."""
    row = aligned(HEAD_BYTES + WORD * camera.row_size)
    work = row + aligned(camera.row_size if is_pushed else 0)
    best = work + (0 if boxes is None else aligned(WORD * boxes.candidates))
    model = best + (0 if boxes is None else aligned(BOX * boxes.most))
    return _Places(row, work, best, model, model + aligned(states.nbytes))
