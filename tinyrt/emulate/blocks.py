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
    several = len(project.regions) > 1
    regions = [region.name.lower() for region in project.regions] if several else []
    blocks = [f"{name}_{region.upper()}_BYTES" for region in regions] or [f"{name}_ARENA_BYTES"]
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
            "offset": at if outside else f"{at} + {macro}_OFFSET",
        }
