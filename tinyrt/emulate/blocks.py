"""The blocks of memory that a model works in, as the harness lays them out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tinyrt.emulate.boards import Board
from tinyrt.export import ExportedProject, Port
from tinyrt.export.rendering import Source


def harness_context(project: ExportedProject) -> dict[str, Any]:
    """The values for the template of the harness's header.

    Each region of the arena, the state, and each tensor outside of the arena (an input whose rows
    are pushed, too) is a block of its own, with canaries around it.
    """
    name = project.name.upper()
    regions, blocks = _arena(project)
    state = None
    if project.state_bytes:
        state = f"HARNESS_BLOCK_{len(blocks)}"
        blocks.append(f"{name}_STATE_BYTES")
    ports = {
        kind: list(_places(name, kind, tensors, blocks))
        for kind, tensors in (("input", project.inputs), ("output", project.outputs))
    }
    return {
        "model": project.name,
        "MODEL": name,
        "blocks": blocks,
        "regions": regions,
        "pushed": project.pushed is not None,
        "sliced": project.slices is not None,
        "blob": project.blob is not None,
        "state": state,
        "inputs": ports["input"],
        "outputs": ports["output"],
    }


def audio_context(project: ExportedProject, samples: int) -> dict[str, Any]:
    """The same for a model that takes samples.

    A run pushes a record: an int32 says how many samples it has, int16, at most so many numbers.
    Before the
    model's outputs, four int32 say whether there is an answer, which class it detects or whether it
    is an alarm, and both words of its error.
    """
    name = project.name.upper()
    regions, blocks = _arena(project)
    state, record, heard = (f"HARNESS_BLOCK_{len(blocks) + i}" for i in range(3))
    assert project.audio is not None
    pipeline = project.audio.pipeline
    blocks += [f"{name}_{pipeline.takes.upper()}_STATE_BYTES", str(4 + 2 * samples), "16"]
    outputs = list(_places(name, "output", project.outputs, blocks))
    return {
        "model": project.name,
        "MODEL": name,
        "blocks": blocks,
        "regions": regions,
        "blob": False,
        "state": state,
        "has_detector": pipeline.detector is not None,
        "has_anomaly": pipeline.anomaly is not None,
        "takes": pipeline.takes,
        "axes": pipeline.axes,
        "inputs": [{"offset": record, "bytes": f"{record}_BYTES"}],
        "outputs": [{"offset": heard, "bytes": f"{heard}_BYTES", "outside": False}, *outputs],
    }


def camera_context(project: ExportedProject) -> dict[str, Any]:
    """The same for a model that takes frames.

    A run pushes a frame. Before the model's outputs, int32 say whether there is an answer, and how
    many boxes; then these follow.
    """
    name = project.name.upper()
    regions, blocks = _arena(project)
    state, frame, seen = (f"HARNESS_BLOCK_{len(blocks) + i}" for i in range(3))
    assert project.camera is not None
    camera, boxes = project.camera.vision.camera, project.camera.vision.boxes
    most = 0 if boxes is None else boxes.most
    frame_bytes = camera.height * camera.line_bytes
    blocks += [f"{name}_CAMERA_STATE_BYTES", str(frame_bytes), str(8 + 12 * most)]
    outputs = list(_places(name, "output", project.outputs, blocks))
    return {
        "model": project.name,
        "MODEL": name,
        "blocks": blocks,
        "regions": regions,
        "blob": False,
        "state": state,
        "has_boxes": boxes is not None,
        "inputs": [{"offset": frame, "bytes": f"{frame}_BYTES"}],
        "outputs": [{"offset": seen, "bytes": f"{seen}_BYTES", "outside": False}, *outputs],
    }


def _arena(project: ExportedProject) -> tuple[list[str], list[str]]:
    """The names of several regions, and the macros with the bytes of each or of the only one."""
    name = project.name.upper()
    several = len(project.regions) > 1
    regions = [region.name.lower() for region in project.regions] if several else []
    return regions, [f"{name}_{r.upper()}_BYTES" for r in regions] or [f"{name}_ARENA_BYTES"]


def script_context(models: Sequence[str], section: str | None, board: Board) -> dict[str, Any]:
    """The values for the template of the linker's script: names of models, section of weights."""
    return {"board": board, "models": models, "section": Source(section) if section else None}


def _places(
    name: str, kind: str, ports: Iterable[Port], blocks: list[str]
) -> Iterable[dict[str, Any]]:
    for i, port in enumerate(ports):
        macro = f"{name}_{kind.upper()}_{i}"
        outside = port.offset is None
        if outside:
            blocks.append(f"{macro}_BYTES")
        at = f"HARNESS_BLOCK_{len(blocks) - 1 if outside else port.region}"
        yield {
            "index": i,
            "outside": outside,
            "bytes": f"{macro}_BYTES",
            "offset": at if outside else f"{at} + {macro}_OFFSET",
        }
