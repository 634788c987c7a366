"""A GPU's driver without a GPU: memory is the host's, kernels are the generated code as C++.

What is started on a stream is queued, and done when somebody waits for that stream: nothing that
another stream should have done first is ready by luck. All calls are recorded.
"""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import numpy as np

from tinyrt.backends.cuda.host import build
from tinyrt.backends.cuda.nvrtc import Compiled


def compile_on_host(source, arch):
    assert arch == "sm_90"
    return Compiled(str(build(source, ())).encode(), "")


class FakeDriver:
    name, arch, multiprocessors, clock_hz = "fake", "sm_90", 4, 10**9

    def __init__(self, shared_limit=227 * 1024, resident=2):
        self.shared_limit = shared_limit
        self.resident = resident
        self.memory, self.pages, self.modules = {}, {}, 0
        self.queues, self.recording, self.streams = {}, None, 0
        self.launches, self.captures, self.replays, self.from_locked = [], 0, 0, 0

    def use(self):
        pass

    def load(self, image):
        self.modules += 1
        return ctypes.CDLL(image.decode())

    def function(self, module, name, shared_bytes):
        assert shared_bytes <= self.shared_limit
        return SimpleNamespace(run=getattr(module, name), name=name)

    def resident_blocks(self, function, threads, shared_bytes):
        assert 0 < threads <= 1024
        return self.resident

    def allocate(self, nbytes):
        array = np.full(nbytes + 64, 0xA5, np.uint8)
        address = array.ctypes.data + -array.ctypes.data % 64
        self.memory[address] = array
        return address

    def free(self, address):
        del self.memory[address]

    def locked(self, nbytes):
        array = np.full(nbytes, 0xA5, np.uint8)
        self.pages[array.ctypes.data] = nbytes
        return array

    def free_locked(self, array):
        del self.pages[array.ctypes.data]

    def lock(self, array):
        """What is locked already is refused."""
        first, last = array.ctypes.data, array.ctypes.data + array.nbytes
        if any(page < last and first < page + size for page, size in self.pages.items()):
            return False
        self.pages[first] = array.nbytes
        return True

    def unlock(self, array):
        del self.pages[array.ctypes.data]

    def address_of(self, array):
        assert self._is_locked(array)
        return array.ctypes.data

    def close(self, module, streams, graphs):
        self.modules -= 1
        for stream in streams:
            assert not self.queues.pop(stream)

    def stream(self):
        self.streams += 1
        self.queues[self.streams] = []
        return self.streams

    def copy_in(self, address, array, stream):
        self._owner(address, array.nbytes)
        self.from_locked += self._is_locked(array)
        self._start(stream, lambda: ctypes.memmove(address, array.ctypes.data, array.nbytes))

    def copy_out(self, array, address, stream):
        self._owner(address, array.nbytes)
        self._start(stream, lambda: ctypes.memmove(array.ctypes.data, address, array.nbytes))

    def launch(self, function, blocks, threads, shared_bytes, stream, arguments):
        assert blocks > 0
        self.launches.append((function.name, blocks, threads, shared_bytes, stream))
        given = list(arguments)
        order = np.arange(threads, dtype=np.int32)
        arena = np.full(shared_bytes + 64, 0xA5, np.uint8)
        shared = [arena.ctypes.data + -arena.ctypes.data % 64] if shared_bytes else []
        values = [
            ctypes.c_int(int(v)) if isinstance(v, np.int32) else ctypes.c_void_p(v)
            for v in (*shared, *given)
        ]

        def work():
            for block in range(blocks):
                function.run(block, blocks, ctypes.c_void_p(order.ctypes.data), threads, *values)
            assert arena.size  # is kept until here

        self._start(stream, work)

    def wait(self, stream):
        for work in self.queues[stream]:
            work()
        self.queues[stream].clear()

    def begin_capture(self, stream):
        self.recording = (stream, [])
        self.captures += 1

    def end_capture(self, stream):
        recorded, self.recording = self.recording, None
        assert recorded[0] == stream
        return recorded[1]

    def replay(self, graph, stream):
        self.replays += 1
        self.queues[stream] += graph

    def _start(self, stream, work):
        if self.recording is not None:
            assert self.recording[0] == stream
            self.recording[1].append(work)
        else:
            self.queues[stream].append(work)

    def _is_locked(self, array):
        at = array.ctypes.data
        return any(page <= at < page + size for page, size in self.pages.items())

    def _owner(self, address, nbytes):
        """Copies stay within what was allocated."""
        assert any(
            a <= address and address + nbytes <= a + m.size - 64 for a, m in self.memory.items()
        )
