"""A model on a GPU: batches in pieces over streams, small ones as a recorded graph."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.cuda.driver import Driver, Handle
from tinyrt.cuda.nvrtc import Compiled, compile_source
from tinyrt.cuda.program import LATENCY, THROUGHPUT, Port, Shape, generate
from tinyrt.ir import Graph

Compile = Callable[[str, str], Compiled]

RECORDED = 256
"""Samples up to which a batch is one recorded graph: launching costs more than copying does."""

STREAMS = 3
"""One copies in, one computes, one copies out."""

PIECES = 8
"""Pieces of a large batch: the first copy in and the last copy out are all that is not hidden."""

LEAST_PIECE = 512
"""Samples of a piece, at least: fewer leave multiprocessors without work."""

ARENA_BUDGET = 1 << 30
"""Bytes of device memory for arenas that do not fit shared memory."""


def shape_for(samples: int, multiprocessors: int) -> Shape:
    """How to lay a model out for a batch: many threads for few samples, else many blocks."""
    return LATENCY if samples <= multiprocessors else THROUGHPUT


@dataclass(frozen=True, slots=True)
class _Memory:
    """A port: the host's array as rows of bytes, and where it lies on the device."""

    port: Port
    rows: NDArray[np.uint8]
    address: int


class CudaModel:
    """A graph on a GPU, bound to the arrays that hold its inputs and outputs.

    The arrays' pages are locked while the model lives, so that copies run beside kernels.

    Args:
        graph: integer graph without states whose ports hold one sample.
        ports: arrays of ``samples`` samples, inputs before outputs.
        samples: how many.
        driver: the GPU.
        shape: how to lay it out; chosen by the number of samples if not given.
        compile_: source and architecture -> machine code.

    Raises:
        UnsupportedError: an op has no kernel.
        ToolError: the compiler or the GPU refused.

    """

    def __init__(
        self,
        graph: Graph,
        ports: Sequence[NDArray[Any]],
        samples: int,
        driver: Driver,
        shape: Shape | None = None,
        compile_: Compile = compile_source,
    ) -> None:
        layout = shape or shape_for(samples, driver.multiprocessors)
        self.program = generate(graph, layout, driver.shared_limit)
        self.samples = samples
        self._driver = driver
        self._kept = list(ports)
        image = compile_(self.program.source, driver.arch).image
        shared = self.program.shared_bytes
        self._functions = [
            driver.function(image, kernel.name, shared) for kernel in self.program.kernels
        ]
        self._piece = self._piece_size()
        self._streams = [driver.stream() for _ in range(STREAMS if self._piece < samples else 1)]
        self._addresses: list[int] = []
        self._registered: list[NDArray[np.uint8]] = []
        self._weights = self._upload(self.program.weights)
        self._memories = self._bind(ports)
        arena = 0 if self.program.fused else self.program.stride * self._piece
        self._arenas = [self._allocate(arena) if arena else 0 for _ in self._streams]
        self._graph: Handle | None = None
        weakref.finalize(self, _release, driver, self._addresses, self._registered)

    @property
    def packed_bytes(self) -> int:
        """Bytes of constants on the device."""
        return int(self.program.weights.nbytes)

    def run(self) -> None:
        """Inputs from the arrays, outputs into them."""
        if self.samples <= RECORDED and self._piece == self.samples:
            stream = self._streams[0]
            if self._graph is None:
                self._driver.begin_capture(stream)
                self._start(0, self.samples, 0)
                self._graph = self._driver.end_capture(stream)
            self._driver.replay(self._graph, stream)
        else:
            for i, first in enumerate(range(0, self.samples, self._piece)):
                last = min(first + self._piece, self.samples)
                self._start(first, last, i % len(self._streams))
        for stream in self._streams:
            self._driver.wait(stream)

    def compute(self, repeats: int = 1) -> None:
        """Kernels alone, on what the device holds: for measuring them."""
        for _ in range(repeats):
            for first in range(0, self.samples, self._piece):
                self._launch(first, min(first + self._piece, self.samples), 0)
        self._driver.wait(self._streams[0])

    def _piece_size(self) -> int:
        """Samples of a piece."""
        piece = max(LEAST_PIECE, -(-self.samples // PIECES))
        if not self.program.fused:
            piece = min(piece, max(1, ARENA_BUDGET // STREAMS // self.program.stride))
        return min(piece, self.samples)

    def _allocate(self, nbytes: int) -> int:
        address = self._driver.allocate(nbytes)
        self._addresses.append(address)
        return address

    def _upload(self, data: NDArray[np.uint8]) -> int:
        address = self._allocate(data.nbytes)
        self._driver.copy_in(address, data, self._streams[0])
        self._driver.wait(self._streams[0])
        return address

    def _bind(self, ports: Sequence[NDArray[Any]]) -> list[_Memory]:
        memories = []
        for port, array in zip((*self.program.inputs, *self.program.outputs), ports, strict=True):
            rows = array.reshape(-1).view(np.uint8).reshape(self.samples, port.nbytes)
            self._driver.register(rows)
            self._registered.append(rows)
            memories.append(_Memory(port, rows, self._allocate(rows.nbytes)))
        return memories

    def _start(self, first: int, last: int, lane: int) -> None:
        """Copy in, compute and copy out samples ``first`` to ``last``, on one stream."""
        stream, count = self._streams[lane], len(self.program.inputs)
        for memory in self._memories[:count]:
            at = memory.address + first * memory.port.nbytes
            self._driver.copy_in(at, memory.rows[first:last], stream)
        self._launch(first, last, lane)
        for memory in self._memories[count:]:
            at = memory.address + first * memory.port.nbytes
            self._driver.copy_out(memory.rows[first:last], at, stream)

    def _launch(self, first: int, last: int, lane: int) -> None:
        program, samples = self.program, last - first
        ports = [m.address + first * m.port.nbytes for m in self._memories]
        own = [] if program.fused else [self._arenas[lane]]
        arguments: list[int | np.int32] = [*own, self._weights, np.int32(samples), *ports]
        for kernel, function in zip(program.kernels, self._functions, strict=True):
            blocks = kernel.parts * samples or self._resident(function, samples)
            shared = program.shared_bytes
            stream = self._streams[lane]
            self._driver.launch(function, blocks, program.threads, shared, stream, arguments)

    def _resident(self, function: Handle, samples: int) -> int:
        """Blocks that go from sample to sample: as many as the GPU holds, or as there is work."""
        program = self.program
        each = self._driver.resident_blocks(function, program.threads, program.shared_bytes)
        wanted = -(-samples // program.samples)
        return min(wanted, max(1, each) * self._driver.multiprocessors)


def _release(driver: Driver, addresses: list[int], registered: list[NDArray[np.uint8]]) -> None:
    for address in addresses:
        driver.free(address)
    for array in registered:
        driver.unregister(array)
