"""Backend ``cuda``: the model on a GPU, with the CPU between its segments where that is allowed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tinyrt.cuda.driver import open_driver
from tinyrt.cuda.partition import CPU, GPU, Segment, segments_of, subgraph
from tinyrt.cuda.program import missing, refuse_missing
from tinyrt.errors import ShapeError, UnsupportedError
from tinyrt.interpreter import numba_backend
from tinyrt.interpreter.batch import batch_of, rebatch
from tinyrt.interpreter.program import Program, Tensors
from tinyrt.ir import Graph

if TYPE_CHECKING:
    from tinyrt.cuda.driver import Driver


def prepare(graph: Graph, tensors: Tensors, *, allow_fallback: bool = False) -> Program:
    """Generate, compile where the cache has nothing, and bind to the tensors.

    Args:
        graph: any batch size.
        tensors: where ports, and with fallback all activations, lie on the host.
        allow_fallback: run ops without a kernel on the CPU instead of refusing the model.

    Raises:
        UnsupportedError: an op has no kernel, and there is no fallback.
        ToolError: the package, driver or GPU is missing.

    """
    graph = replace(graph, states=())  # on the device they are ports, which the interpreter feeds
    if not allow_fallback:
        refuse_missing(missing(graph))
    return _Partitioned(graph, tensors, open_driver())


class _Partitioned:
    """Segments in order, each bound to the same tensors.

    Attributes:
        segments: what runs where.
        packed_bytes: of constants on the device.

    """

    def __init__(self, graph: Graph, tensors: Tensors, driver: Driver) -> None:
        try:
            sample, samples = rebatch(graph, 1), batch_of(graph)
        except ShapeError:
            sample, samples = graph, 1
        self.segments = segments_of(sample)
        self.packed_bytes = 0
        self._programs: list[Program] = []
        for segment in self.segments:
            if segment.device == CPU:
                part = subgraph(graph, segment.nodes)
                self._programs.append(numba_backend.prepare(part, tensors))
            else:
                self._programs.append(self._on_gpu(sample, segment, tensors, samples, driver))

    def _on_gpu(
        self, sample: Graph, segment: Segment, tensors: Tensors, samples: int, driver: Driver
    ) -> Program:
        from tinyrt.cuda.runtime import CudaModel

        whole = len(self.segments) == 1
        part = sample if whole else subgraph(sample, segment.nodes)
        ports = [tensors[name] for name in (*part.inputs, *part.outputs)]
        model = CudaModel(part, ports, samples, driver)
        self.packed_bytes += model.packed_bytes
        return _OnGpu(model.run, model.packed_bytes)

    def run(self) -> None:
        """Run all segments."""
        for program in self._programs:
            program.run()

    def run_op(self, index: int) -> None:
        """Refuse: segments are run as a whole.

        Raises:
            UnsupportedError: always.

        """
        _refuse_op(index)


class _OnGpu:
    """A segment on the GPU as a program."""

    def __init__(self, run: object, packed_bytes: int) -> None:
        self.run = run  # type: ignore[assignment, method-assign]
        self.packed_bytes = packed_bytes

    def run(self) -> None:  # type: ignore[no-redef]
        """Run the segment."""

    def run_op(self, index: int) -> None:
        """Refuse, as the whole does."""
        _refuse_op(index)


def _refuse_op(index: int) -> None:
    raise UnsupportedError(
        f"backend cuda cannot stop at op {index}: it runs the whole model in one launch",
        hint="watch ops with another backend, which answers the same",
    )
