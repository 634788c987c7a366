"""A model on a GPU: batches in pieces over streams, small ones as a recorded graph."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.cuda.driver import Driver, Handle
from tinyrt.backends.cuda.layout import LATENCY, THROUGHPUT, Shape
from tinyrt.backends.cuda.nvrtc import Compiled, compile_source
from tinyrt.backends.cuda.program import Port, generate
from tinyrt.ir import Graph

Compile = Callable[[str, str], Compiled]

RECORDED = 256
"""Samples up to which a batch is one recorded graph, whose kernels read and write the host's memory
themselves: to start a copy takes longer than to wait for the bytes."""

STREAMS = 3
"""One copies in, one computes, one copies out."""

PIECES = 8
"""Pieces of a large batch: only the first copy in and the last copy out are not hidden."""

MIN_PIECE = 512
"""Blocks of a piece, at least: fewer leave multiprocessors without work."""

MIN_LOCKED = 1 << 20
"""Bytes of an array from which on allocators give it pages of its own."""

ARENA_BUDGET = 1 << 30
"""Bytes of device memory for arenas that do not fit shared memory."""


def shape_for(samples: int, multiprocessors: int) -> Shape:
    """How to lay a model out for a batch: many threads for few samples, else many blocks."""
    return LATENCY if samples <= multiprocessors else THROUGHPUT


@dataclass(frozen=True, slots=True)
class _Memory:
    """A port, as rows of bytes.

    Attributes:
        port: which.
        rows: the caller's array.
        locked: page-locked memory that copies go from and to; may be the same.
        address: the same on the device.

    """

    port: Port
    rows: NDArray[np.uint8]
    locked: NDArray[np.uint8]
    address: int


def _is_whole(array: NDArray[np.uint8]) -> bool:
    """Whether the array is all of what was allocated, so that no other lies on its pages."""
    whole = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    return whole.base is None and whole.nbytes == array.nbytes


class _Resources:
    """Resources of a model on the GPU and on the host, freed together."""

    def __init__(self, driver: Driver, module: Handle) -> None:
        self.module = module
        self.streams: list[Handle] = []
        self.graphs: list[Handle] = []
        self._driver = driver
        self._addresses: list[int] = []
        self._locked: list[NDArray[np.uint8]] = []
        self._in_place: list[NDArray[np.uint8]] = []

    def allocate(self, nbytes: int) -> int:
        """Device memory."""
        address = self._driver.allocate(nbytes)
        self._addresses.append(address)
        return address

    def locked_memory(self, nbytes: int) -> NDArray[np.uint8]:
        """Page-locked memory of the host."""
        array = self._driver.locked(nbytes)
        self._locked.append(array)
        return array

    def lock(self, array: NDArray[np.uint8]) -> bool:
        """Lock the pages of the caller's array, and keep it; False where that cannot be done."""
        locked = _is_whole(array) and self._driver.lock(array)
        if locked:
            self._in_place.append(array)
        return locked

    def release(self) -> None:
        """Free all resources."""
        self._driver.use()
        self._driver.close(self.module, self.streams, self.graphs)
        for address in self._addresses:
            self._driver.free(address)
        for array in self._locked:
            self._driver.free_locked(array)
        for array in self._in_place:
            self._driver.unlock(array)


class CudaModel:
    """A graph on a GPU, bound to the arrays that hold its inputs and outputs.

    Copies beside kernels need page-locked memory. Large ports have their pages locked while the
    model lives; small ones, which may share pages with each other, have locked memory of their own
    beside the caller's.

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
        driver.use()
        layout = shape or shape_for(samples, driver.multiprocessors)
        self.program = generate(graph, layout, driver.shared_limit)
        self.samples = samples
        self._driver = driver
        self._loaded = False
        image = compile_(self.program.source, driver.arch).image
        resources = _Resources(driver, driver.load(image))
        weakref.finalize(self, resources.release)
        self._resources = resources
        shared = self.program.shared_bytes
        self._functions = [
            driver.function(resources.module, kernel.name, shared)
            for kernel in self.program.kernels
        ]
        self._resident = [self._resident_blocks(function) for function in self._functions]
        self._piece = self._piece_size()
        resources.streams += [
            driver.stream() for _ in range(STREAMS if self._piece < samples else 1)
        ]
        self._weights = self._upload(self.program.weights)
        self._direct = samples <= RECORDED
        self._memories = self._bind(ports)
        arena = 0 if self.program.fused else self.program.stride * self._piece
        self._arenas = [resources.allocate(arena) if arena else 0 for _ in resources.streams]

    @property
    def packed_bytes(self) -> int:
        """Bytes of constants on the device."""
        return int(self.program.weights.nbytes)

    def run(self) -> None:
        """Run the batch: read inputs from the bound arrays and write outputs into them."""
        self._driver.use()
        pieces = [
            (first, min(first + self._piece, self.samples))
            for first in range(0, self.samples, self._piece)
        ]
        if self._direct and len(pieces) == 1:
            self._replay()
        else:
            for i, (first, last) in enumerate(pieces):
                self._fill(first, last)
                self._start(first, last, i % len(self._resources.streams))
        for stream in self._resources.streams:
            self._driver.wait(stream)
        for memory in self._memories[len(self.program.inputs) :]:
            if memory.locked is not memory.rows:
                np.copyto(memory.rows, memory.locked)

    def _replay(self) -> None:
        """The whole batch as one recorded graph, recorded when it is asked for again.

        The first run is none: what the driver loads at a first launch it cannot load while it
        records.
        """
        stream, graphs = self._resources.streams[0], self._resources.graphs
        self._fill(0, self.samples)
        if not self._loaded:
            self._loaded = True
            self._start(0, self.samples, 0)
            return
        if not graphs:
            self._driver.begin_capture(stream)
            self._start(0, self.samples, 0)
            graphs.append(self._driver.end_capture(stream))
        self._driver.replay(graphs[0], stream)

    def _fill(self, first: int, last: int) -> None:
        """Copy rows of the inputs into page-locked memory."""
        for memory in self._memories[: len(self.program.inputs)]:
            if memory.locked is not memory.rows:
                np.copyto(memory.locked[first:last], memory.rows[first:last])

    def compute(self, repeats: int = 1) -> None:
        """Run the kernels alone on data that the device holds, to measure them."""
        self._driver.use()
        for _ in range(repeats):
            for first in range(0, self.samples, self._piece):
                self._launch(first, min(first + self._piece, self.samples), 0)
        self._driver.wait(self._resources.streams[0])

    def _piece_size(self) -> int:
        """Samples of a piece."""
        piece = max(MIN_PIECE * self.program.samples, -(-self.samples // PIECES))
        if not self.program.fused:
            piece = min(piece, max(1, ARENA_BUDGET // STREAMS // self.program.stride))
        return min(piece, self.samples)

    def _upload(self, data: NDArray[np.uint8]) -> int:
        address = self._resources.allocate(data.nbytes)
        self._driver.copy_in(address, data, self._resources.streams[0])
        self._driver.wait(self._resources.streams[0])
        return address

    def _bind(self, ports: Sequence[NDArray[Any]]) -> list[_Memory]:
        memories: list[_Memory] = []
        for port, array in zip((*self.program.inputs, *self.program.outputs), ports, strict=True):
            rows = array.reshape(-1).view(np.uint8).reshape(self.samples, port.nbytes)
            in_place = rows.nbytes >= MIN_LOCKED and self._resources.lock(rows)
            own = None if in_place else self._resources.locked_memory(rows.nbytes)
            locked = rows if own is None else own.reshape(rows.shape)
            if self._direct:
                address = self._driver.address_of(locked)
            else:
                address = self._resources.allocate(rows.nbytes)
            memories.append(_Memory(port, rows, locked, address))
        return memories

    def _start(self, first: int, last: int, lane: int) -> None:
        """Copy in, compute and copy out samples ``first`` to ``last``, on one stream."""
        if self._direct:
            self._launch(first, last, lane)
            return
        stream, count = self._resources.streams[lane], len(self.program.inputs)
        for memory in self._memories[:count]:
            at = memory.address + first * memory.port.nbytes
            self._driver.copy_in(at, memory.locked[first:last], stream)
        self._launch(first, last, lane)
        for memory in self._memories[count:]:
            at = memory.address + first * memory.port.nbytes
            self._driver.copy_out(memory.locked[first:last], at, stream)

    def _launch(self, first: int, last: int, lane: int) -> None:
        program, samples = self.program, last - first
        ports = [m.address + first * m.port.nbytes for m in self._memories]
        own = [] if program.fused else [self._arenas[lane]]
        arguments: list[int | np.int32] = [*own, self._weights, np.int32(samples), *ports]
        shared = program.shared_bytes
        for i, (kernel, function) in enumerate(zip(program.kernels, self._functions, strict=True)):
            blocks = kernel.parts * samples or self._blocks(samples, self._resident[i])
            stream = self._resources.streams[lane]
            self._driver.launch(function, blocks, program.threads, shared, stream, arguments)

    def _blocks(self, samples: int, resident: int) -> int:
        """As many as the GPU holds, or fewer that go round as often: none waits for a few."""
        units = -(-samples // self.program.samples)
        rounds = -(-units // resident)
        return -(-units // rounds)

    def _resident_blocks(self, function: Handle) -> int:
        """Blocks of the kernel that the GPU holds at once."""
        program = self.program
        each = self._driver.resident_blocks(function, program.threads, program.shared_bytes)
        return max(1, each) * self._driver.multiprocessors
