"""Runs of compiled ops as tables of (kernel, row), which are called one table at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.numba.abi import Call, address, address_of, flat, runner
from tinyrt.backends.numba.choice import Packer
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.backends.program import Step, Tensors
from tinyrt.backends.reference import reference_step
from tinyrt.errors import error_context
from tinyrt.ir import BoundNode
from tinyrt.ops import OPS


class CompiledProgram:
    """Runs of compiled ops, each one call, with NumPy calls between them.

    Args:
        nodes: all of the graph.
        packers: index -> what packs the node; the others become NumPy calls.
        tensors: what they read and write.

    Raises:
        UnsupportedError: a kernel cannot do what its node asks for, or a float op has no reference.

    """

    def __init__(
        self, nodes: Sequence[BoundNode], packers: Mapping[int, Packer], tensors: Tensors
    ) -> None:
        workspace = Workspace(tensors)
        calls = {i: _pack(nodes[i], packer, workspace) for i, packer in packers.items()}
        scratch = workspace.scratch()
        self._table = np.zeros((len(nodes), 2), np.int64)
        self._alive: list[Any] = [workspace]
        for index, call in calls.items():
            row = call.row._replace(scratch=scratch) if "scratch" in call.row._fields else call.row
            arguments: NDArray[np.int64] = np.array(flat(row), np.int64)
            self._alive.append(arguments)
            self._table[index] = address_of(call.kernel), address(arguments)
        self._run = runner()
        self._numpy = {n.index: reference_step(n, tensors) for n in nodes if n.index not in calls}
        self._spans = [
            step
            for compiled, indices in groupby(range(len(nodes)), key=calls.__contains__)
            for step in self._span(compiled, list(indices))
        ]
        self._steps = [self._numpy.get(n.index) or self._rows(n.index, n.index + 1) for n in nodes]
        self.packed_bytes = workspace.packed_bytes
        # A call of Python's costs as much as a small layer.
        self.run: Step = self._spans[0] if len(self._spans) == 1 else self._run_spans

    def _span(self, compiled: bool, indices: list[int]) -> list[Step]:
        if not compiled:
            return [self._numpy[i] for i in indices]
        return [self._rows(indices[0], indices[-1] + 1)]

    def _rows(self, first: int, last: int) -> Step:
        """One call for some rows of the table."""
        span = np.array([self._table.ctypes.data, first, last], np.int64)
        self._alive.append(span)
        return partial(self._run, span.ctypes.data)

    def _run_spans(self) -> None:
        for span in self._spans:
            span()

    def run_op(self, index: int) -> None:
        """Run one op."""
        self._steps[index]()


def _pack(node: BoundNode, packer: Packer, workspace: Workspace) -> Call:
    with error_context(op=node.describe()):
        return packer(node, OPS[node.op].prepared(node), workspace)
