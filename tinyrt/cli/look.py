"""What commands say of a model with a camera: in tables, and of frames that it sees."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table

from tinyrt.cli import tables
from tinyrt.cli.console import progress_bar

if TYPE_CHECKING:
    from tinyrt.api import Seen
    from tinyrt.sighted import Sighted


def camera_facts(fit: Sighted) -> dict[str, object]:
    """What a table says of a camera."""
    camera, vision = fit.camera, fit.vision
    top, left, height, width = camera.cropped
    crop = "all of it" if camera.crop is None else f"{width} x {height} from ({left}, {top})"
    colours = "grey" if camera.channels == 1 else "colours"
    scaling = (
        f"{vision.scales[0]:.6g} * (byte - {vision.means[0]:g})"
        if not vision.is_each
        else ("each colour by a scale and a mean of its own")
    )
    facts: dict[str, object] = {
        "camera": f"{camera.width} x {camera.height} pixels of {camera.pixels}",
        "  crop": crop,
        "  image": f"{camera.columns} x {camera.rows}, {colours}, {camera.resize}",
        "  byte": scaling,
    }
    if vision.boxes is not None:
        b = vision.boxes
        facts["  boxes"] = (
            f"at most {b.most}, of {len(b.anchors)} anchors and {b.classes} classes; scores at "
            f"least {b.threshold}"
        )
    return facts


def run_on_frames(
    model: Path, frames: Path, output: Path | None, backend: str
) -> tuple[dict[str, Any], RenderableType]:
    """What a model answers to frames, for ``--json`` and as a table; written where asked.

    Raises:
        TinyrtError: as ``look_model``, or the file cannot be written.

    """
    from tinyrt import api
    from tinyrt.data import save_npz

    with progress_bar("looking") as progress:
        seen = api.look_model(model, frames, backend=backend, progress=progress)
    if output is not None:
        save_npz(output, seen.outputs)
    shapes = {name: list(array.shape) for name, array in seen.outputs.items()}
    data: dict[str, Any] = {
        "output": None if output is None else str(output),
        "outputs": shapes,
        "backend": seen.backend,
        "best": _best(seen).tolist() if seen.boxes is None else None,
        "boxes": _plain(seen),
    }
    facts = {"outputs": shapes, "backend": seen.backend}
    facts |= {} if output is None else {"output": str(output)}
    return data, Group(_table(seen), tables.facts(facts))


def _best(seen: Seen) -> NDArray[np.int64]:
    """The place of the greatest score of each answer, in the first output."""
    first = next(iter(seen.raw.values()))
    return np.array([scores.argmax() for scores in first], np.int64)


def _plain(seen: Seen) -> list[list[dict[str, Any]]] | None:
    if seen.boxes is None:
        return None
    return [
        [
            {"box": place.tolist(), "label": int(label), "score": int(score)}
            for place, label, score in zip(f.boxes, f.classes, f.scores, strict=True)
        ]
        for f in seen.boxes
    ]


def _table(seen: Seen) -> Table:
    """A line for each answer, or for each box of one."""
    table, found = Table(box=box.SIMPLE_HEAD), _plain(seen)
    names = (
        ("frame", "best", "score")
        if found is None
        else (*("frame", "top", "left", "bottom", "right", "class", "score"),)
    )
    for name in names:
        table.add_column(name, justify="right")
    if found is None:
        scores = next(iter(seen.outputs.values()))
        for i, best in enumerate(_best(seen)):
            table.add_row(str(i), str(best), f"{scores[i].reshape(-1)[best]:.4g}")
        return table
    for i, boxes in enumerate(found):
        for one in boxes:
            table.add_row(*map(str, (i, *one["box"], one["label"], one["score"])))
    return table
