"""Backend ``cuda``: the model on a GPU, with the CPU between its segments where that is allowed."""

from __future__ import annotations

from dataclasses import replace

from tinyrt.backends.cuda.driver import Driver, open_driver
from tinyrt.backends.cuda.partition import CPU, segments_of, subgraph
from tinyrt.backends.cuda.program import missing, refuse_missing
from tinyrt.backends.cuda.runtime import CudaModel
from tinyrt.backends.program import Prepare, Program, Step, Tensors
from tinyrt.errors import ShapeError, UnsupportedError
from tinyrt.ir import Graph
from tinyrt.ops.shared.batch import batch_of, rebatch


def prepare(graph: Graph, tensors: Tensors, *, cpu: Prepare | None = None) -> Program:
    """Generate, compile where the cache has nothing, and bind to the tensors.

    Args:
        graph: any batch size.
        tensors: where ports, and with fallback all activations, lie on the host.
        cpu: what runs ops without a kernel on the CPU; None to refuse a model that has any.

    Raises:
        UnsupportedError: an op has no kernel, and there is no fallback.
        ToolError: the package, driver or GPU is missing.

    """
    graph = replace(graph, states=())  # on the device they are ports, which the interpreter feeds
    if cpu is None:
        refuse_missing(missing(graph))
    return _Partitioned(graph, tensors, open_driver(), cpu)


class _Partitioned:
    """Segments in order, each bound to the same tensors.

    Attributes:
        segments: what runs where.
        packed_bytes: of constants on the device.

    """

    def __init__(self, graph: Graph, tensors: Tensors, driver: Driver, cpu: Prepare | None) -> None:
        try:
            sample, samples = rebatch(graph, 1), batch_of(graph)
        except ShapeError:
            sample, samples = graph, 1
        self.segments = segments_of(sample)
        self.packed_bytes = 0
        self._steps: list[Step] = []
        for segment in self.segments:
            if segment.device == CPU and cpu is not None:
                part = subgraph(graph, segment.nodes)
                self._steps.append(cpu(part, tensors).run)
                continue
            part = sample if len(self.segments) == 1 else subgraph(sample, segment.nodes)
            ports = [tensors[name] for name in (*part.inputs, *part.outputs)]
            model = CudaModel(part, ports, samples, driver)
            self.packed_bytes += model.packed_bytes
            self._steps.append(model.run)

    def run(self) -> None:
        """Run all segments."""
        for step in self._steps:
            step()

    def run_op(self, index: int) -> None:
        """Refuse: segments are run as a whole.

        Raises:
            UnsupportedError: always.

        """
        raise UnsupportedError(
            f"backend cuda cannot stop at op {index}: it runs the whole model in one launch",
            hint="watch ops with another backend, which answers the same",
        )
