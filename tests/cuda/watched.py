"""Device code whose every access to memory is watched: see ``watch.cpp``."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

from tinyrt.backends.cuda.host import HostDevice, find_compiler
from tinyrt.backends.cuda.program import DEVICE

HERE = Path(__file__).parent
FLAGS = ("-std=c++17", "-fPIC", "-ffp-contract=off", "-DTINYRT_WATCHED", f"-I{DEVICE}")
ASIDE = ("-O1", "-fno-tree-vectorize", "-fsanitize=thread")
"""The compiler is not to join accesses that the device code makes one by one."""

SHARED, ARENA, PORT, CONSTANT = range(4)
FAULTS = (
    None,
    "race",
    "access that is not aligned",
    "access outside",
    "write to a constant",
    "read of what was not written",
)


class Found(ctypes.Structure):
    """The first fault; ``other`` is -2 where several threads read."""

    _fields_ = [
        *((name, ctypes.c_int) for name in ("fault", "thread", "other", "phase", "size")),
        ("place", ctypes.c_long),
        ("range", ctypes.c_int),
    ]


class WatchedDevice(HostDevice):
    """Raises ``AssertionError`` at what would go wrong on a GPU.

    Args:
        program: what to run.
        folder: for what is compiled.
        order: of the threads.

    """

    def __init__(self, program, folder, order=None):
        self._folder = folder
        super().__init__(program, order)
        self._library.watch_found.restype = ctypes.POINTER(Found)

    def _built(self, flags):
        model, library = self._folder / "model.cpp", self._folder / "watched.so"
        model.write_text(self.program.source)
        compiler, objects = find_compiler(), []
        for path, options in ((model, ASIDE), (HERE / "watch.cpp", ("-O2",))):
            objects.append(str(self._folder / f"{path.stem}.o"))
            command = [compiler, *FLAGS, *options, "-c", str(path), "-o", objects[-1]]
            subprocess.run(command, check=True)
        subprocess.run([compiler, "-shared", *objects, "-o", str(library)], check=True)
        return library

    def _range(self, array, kind):
        first, size = array.ctypes.data, array.nbytes
        self._library.watch_range(ctypes.c_void_p(first), ctypes.c_size_t(size), kind)

    def run(self, feeds, samples, blocks=2):
        self._library.watch_clear()
        self._watched = False
        return super().run(feeds, samples, blocks)

    def _launch(self, kernel, blocks, samples, arena, ports):
        if not self._watched:
            self._watched = True
            self._range(arena, SHARED if self.program.fused else ARENA)
            self._range(self._weights, CONSTANT)
            self._range(self._order, CONSTANT)
            for port in ports:
                self._range(port, PORT)
        # Blocks of several samples go on with what they find where the last ones are missing.
        self._library.watch_launch(samples % self.program.samples == 0)
        super()._launch(kernel, blocks, samples, arena, ports)
        found = self._library.watch_found().contents
        assert not found.fault, (
            f"{FAULTS[found.fault]} of {found.size} bytes at {found.place} of "
            f"{('the arena', 'the weights', 'the order', 'a port')[min(found.range, 3)]} by thread "
            f"{found.thread}, other {found.other}, in phase {found.phase} of {kernel}"
        )

    def _enter(self, block):
        self._library.watch_block(block)
