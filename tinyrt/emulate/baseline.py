"""Another engine's instruction counts, to put beside one's own.

A file of figures is JSON: ``engine``, a name; ``cores``: core -> model -> ``instructions`` and
other totals; ``ops``: model -> a list of {``op``, ``macs``} in execution order;
``op_instructions``: core -> model -> instructions op by op in the same order. A model is known by
its ops and their multiply-accumulates, so that a file of another name or with other weights is
found, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tinyrt.errors import DataError
from tinyrt.ir import Graph
from tinyrt.ops import OPS

PEER = Path(__file__).parent / "tflm_cmsis_nn.json"
"""TFLM with CMSIS-NN on the five models of MLPerf Tiny."""

VIEWS = {"reshape", "quantize", "dequantize"}
"""Ops that one file of a model has and another has not."""


@dataclass(frozen=True)
class Baseline:
    """The figures of one file.

    Attributes:
        data: the file's content.

    """

    data: Mapping[str, Any]

    @property
    def engine(self) -> str:
        """Whose figures these are."""
        return str(self.data["engine"])

    def model(self, graph: Graph) -> str | None:
        """The file's name for a model of the graph's structure."""
        own = _structure([(node.op, OPS[node.op].macs(node)) for node in graph.bound()])
        return next((name for name, ops in self._structures.items() if ops == own), None)

    def total(self, core: str, graph: Graph) -> int | None:
        """Instructions per inference, if the file has them."""
        row = self.data["cores"].get(core, {}).get(self.model(graph))
        return int(row["instructions"]) if row else None

    def ops(self, core: str, graph: Graph) -> dict[int, int]:
        """The graph's op indices -> instructions; none where the file has no such figures."""
        model = self.model(graph)
        counts = self.data["op_instructions"].get(core, {}).get(model)
        if counts is None:
            return {}
        ops = [row["op"] for row in self.data["ops"][model]]
        baseline_counts = [count for op, count in zip(ops, counts, strict=True) if op not in VIEWS]
        own = [node.index for node in graph.bound() if node.op not in VIEWS]
        return dict(zip(own, baseline_counts, strict=True))

    @cached_property
    def _structures(self) -> dict[str, list[tuple[str, int]]]:
        return {
            name: _structure([(row["op"], row["macs"]) for row in rows])
            for name, rows in self.data["ops"].items()
        }


def _structure(ops: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    return [row for row in ops if row[0] not in VIEWS]


def load_baseline(path: Path = PEER) -> Baseline:
    """Read a file of figures.

    Raises:
        DataError: it is not one.

    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if not {"engine", "cores", "ops", "op_instructions"} <= data.keys():
            raise ValueError("fields are missing")
    except (OSError, ValueError, AttributeError) as error:
        raise DataError(
            f"not a file of instruction counts: {error}",
            file=str(path),
            expected="JSON with engine, cores, ops and op_instructions",
        ) from error
    return Baseline(data)
