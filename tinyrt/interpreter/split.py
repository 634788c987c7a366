"""A batch shared out among threads, each with an arena of its own."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tinyrt.backends.program import Prepare, Program, Tensors
from tinyrt.budget import Budget
from tinyrt.interpreter.tensors import place_tensors
from tinyrt.ir import Graph
from tinyrt.ops.shared.batch import rebatch
from tinyrt.ops.shared.spec import is_integer

SHARE = 8
"""Samples that are worth waking a thread for, at least: that costs some ten microseconds."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def splits(graph: Graph, backend: str) -> bool:
    """Whether threads can share a batch of this model.

    Float ops are left to BLAS, which has threads of its own and whose last bits depend on the
    batch.
    """
    return backend in ("auto", "native", "numba") and all(map(is_integer, graph.bound()))


@dataclass(frozen=True, slots=True)
class _Share:
    """Samples ``rows`` of the batch: their program and its tensors."""

    rows: slice
    program: Program
    tensors: Tensors


class SplitProgram:
    """Runs one program per thread; inputs are read in place, outputs are copied at the end.

    Intermediate tensors stay in the threads' own arenas.

    Args:
        model: the graph for one sample.
        tensors: inputs and outputs of the whole batch.
        batch: its samples, at least as many as threads.
        threads: how many threads compute, the calling one included.
        prepare: the backend.
        budget: what the threads' arenas are taken from.

    Raises:
        BudgetError: they take more.
        UnsupportedError: the backend lacks an op.

    """

    def __init__(
        self,
        model: Graph,
        tensors: Tensors,
        batch: int,
        threads: int,
        prepare: Prepare,
        budget: Budget,
    ) -> None:
        self._outputs = {name: tensors[name] for name in model.outputs}
        self._last = len(model.nodes) - 1
        bounds = [batch * i // threads for i in range(threads + 1)]
        self._shares = [
            _share(rebatch(model, stop - start), tensors, slice(start, stop), prepare, budget)
            for start, stop in pairwise(bounds)
        ]
        self.packed_bytes = sum(share.program.packed_bytes for share in self._shares)
        self._pool = ThreadPoolExecutor(threads - 1, thread_name_prefix="tinyrt")

    def run(self) -> None:
        """Run all ops on all samples."""
        first, *others = self._shares
        futures = [self._pool.submit(share.program.run) for share in others]
        first.program.run()
        for future in futures:
            future.result()
        self._copy_outputs()

    def run_op(self, index: int) -> None:
        """Run one op on all samples; outputs are complete only after the last op."""
        for share in self._shares:
            share.program.run_op(index)
        if index == self._last:
            self._copy_outputs()

    def _copy_outputs(self) -> None:
        # Only now: an output may lie where the inputs of another share lay.
        for share in self._shares:
            for name, output in self._outputs.items():
                np.copyto(output[share.rows], share.tensors[name])


def _share(graph: Graph, tensors: Tensors, rows: slice, prepare: Prepare, budget: Budget) -> _Share:
    own = place_tensors(graph, budget=budget).tensors
    own |= {name: tensors[name][rows] for name in graph.inputs}
    return _Share(rows, prepare(graph, own), own)
