"""Where a model's time goes, op by op."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

from tinyrt.interpreter.interpreter import Interpreter
from tinyrt.ops import OPS


@dataclass(frozen=True, slots=True)
class OpTime:
    """One op's share.

    Attributes:
        index: its place in the order of execution.
        op: the op's name.
        name: the node's name.
        microseconds: median of single runs, with up to a microsecond for the call itself.
        share: of the sum over all ops.
        macs: multiply-accumulates.

    """

    index: int
    op: str
    name: str
    microseconds: float
    share: float
    macs: int


def profile(interpreter: Interpreter, runs: int = 50) -> list[OpTime]:
    """Time every op of an allocated interpreter on the inputs that it holds.

    Args:
        interpreter: its tensors are overwritten as by ``invoke``.
        runs: how many times the model is run.

    Raises:
        NotAllocatedError: ``allocate_tensors`` has not been called.
        UnsupportedError: the backend cannot stop between ops.

    """
    nodes = list(interpreter.graph.bound())
    times: list[list[float]] = [[] for _ in nodes]
    interpreter.invoke()
    for _ in range(runs):
        for node, samples in zip(nodes, times, strict=True):
            start = time.perf_counter()
            interpreter.run_op(node.index)
            samples.append(time.perf_counter() - start)
    medians = [1e6 * statistics.median(samples) for samples in times]
    total = sum(medians)
    return [
        OpTime(n.index, n.op, n.name, median, median / total, OPS[n.op].macs(n))
        for n, median in zip(nodes, medians, strict=True)
    ]
