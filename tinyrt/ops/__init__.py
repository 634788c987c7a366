"""One file per op; ``OPS`` is the table that everything else reads."""

from __future__ import annotations

from collections.abc import Collection

from tinyrt.ir import Graph, Stage
from tinyrt.ir import verify as _verify
from tinyrt.ops.conv2d import CONV2D
from tinyrt.ops.spec import OpSpec

OPS: dict[str, OpSpec] = {spec.name: spec for spec in (CONV2D,)}


def verify(graph: Graph, stage: Stage | None = None, placed: Collection[str] = ()) -> Graph:
    """Check a graph against ``OPS`` and return it; see ``tinyrt.ir.verify``."""
    return _verify(graph, OPS, stage, placed)


__all__ = ["OPS", "OpSpec", "verify"]
