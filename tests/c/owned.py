"""Which bytes of the arena each op may touch: its own tensors and its working memory, no others.

Working memory of all ops lies in the same bytes, as many as the op needs that needs most. So an op
that says too little would not be noticed beside one that needs more. Programs with a table of these
bytes have the address sanitizer stop at any other while an op runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tinyrt.export import ExportedProject, bundle
from tinyrt.export.model import model_context
from tinyrt.ir import Graph
from tinyrt.memory import ArenaPlan
from tinyrt.memory.lifetimes import scratch_name

Range = tuple[int, int, int]
"""An op, an offset in the arena, bytes."""

_OF: dict[tuple[str, int], list[Range]] = {}
"""Name and arena of an export -> its table; of exports since the tests of the file began."""


def ranges_of(graph: Graph, plan: ArenaPlan) -> list[Range]:
    """What each op may touch; nothing where the arena is of several regions.

    Rows move on in memory that they share: ops that run row by row may touch all of the arena.
    """
    if len(plan.regions) > 1:
        return []
    by_rows = {i for segment in plan.segments for i in range(segment.first, segment.stop)}
    sizes = {name: buffer.nbytes for buffer in plan.buffers for name in buffer.names}
    found: list[Range] = []
    for node in graph.bound():
        if node.index in by_rows:
            found.append((node.index, 0, plan.arena_bytes))
            continue
        values = [v for v in (*node.inputs, *node.outputs) if v is not None]
        named = {v.name: v.nbytes for v in values}
        working = scratch_name(node.index)
        named |= {working: sizes[working]} if working in sizes else {}
        for name, nbytes in named.items():
            root, start = plan.views.get(name, (name, 0))
            if root in plan.offsets:
                found.append((node.index, plan.offsets[root] + start, nbytes))
    return found


def owned(project: ExportedProject) -> list[Range]:
    """The table of a project that was exported under ``watched_plans``; else nothing."""
    return _OF.get((project.name, project.arena_bytes), [])


def _noting(prefix: str, graph: Graph, plan: ArenaPlan, *others: Any) -> dict[str, Any]:
    _OF[prefix, plan.arena_bytes] = ranges_of(graph, plan)
    return model_context(prefix, graph, plan, *others)


@pytest.fixture(scope="module", autouse=True)
def watched_plans() -> Iterator[None]:
    """Have exports note their plans for the programs that are made of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundle, "model_context", _noting)
        yield
    _OF.clear()
