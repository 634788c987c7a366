"""Device code on a machine without a GPU: compiled as plain C++, its threads run in turn.

What runs is the generated code itself with all its kernels; ``platform.cuh`` says what replaces a
GPU's instructions. It proves what a GPU will answer, not how fast.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.cuda.program import DEVICE, DeviceProgram
from tinyrt.cache import entry_path, keep, key_of
from tinyrt.errors import ToolError
from tinyrt.files import scratch_folder, write_text
from tinyrt.tools import OWN_WORDS, PROBE_S, first_program, run_tool

COMPILERS = ("g++", "clang++", "c++")
FLAGS = (
    "-std=c++17", "-O2", "-fPIC", "-shared", "-ffp-contract=off",
    "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter",
)  # fmt: skip
SANITIZE = ("-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
"""Stops at undefined behaviour, without a library of its own."""


def find_compiler() -> str:
    """The system's C++ compiler; generated code needs none of its libraries.

    Raises:
        ToolError: there is none.

    """
    compiler = first_program(COMPILERS)
    if compiler is None:
        raise ToolError(
            "there is no C++ compiler to run device code on the host",
            expected=f"one of {', '.join(COMPILERS)}",
            hint="install one (apt install g++, or clang)",
        )
    return compiler


class HostDevice:
    """A program that runs on the host.

    Args:
        program: what to run.
        order: in which order the threads of a block take their turns; any must do.
        flags: further options of the compiler.

    Raises:
        ToolError: there is no C++ compiler, or it refused the code.

    """

    def __init__(
        self,
        program: DeviceProgram,
        order: NDArray[np.int32] | None = None,
        flags: tuple[str, ...] = (),
    ) -> None:
        self.program = program
        threads = np.arange(program.threads) if order is None else order
        self._order = np.ascontiguousarray(threads, np.int32)
        self._library = ctypes.CDLL(str(self._built(flags)))
        self._weights = _aligned(program.weights)

    def _built(self, flags: tuple[str, ...]) -> Path:
        return build(self.program.source, flags)

    def run(
        self, feeds: Mapping[str, NDArray[Any]], samples: int, blocks: int = 2
    ) -> dict[str, NDArray[np.uint8]]:
        """Run ``samples`` samples on ``blocks`` blocks.

        Args:
            feeds: input name -> samples, one behind the other.
            samples: how many.
            blocks: of a fused program.

        Returns:
            Output name -> bytes (samples, bytes of one).

        """
        program = self.program
        ports = [_aligned(feeds[p.name].reshape(-1).view(np.uint8)) for p in program.inputs]
        ports += [_aligned(np.zeros(samples * p.nbytes, np.uint8)) for p in program.outputs]
        # The initial contents of a block's arena must never matter.
        samples_at_once = program.samples if program.fused else samples
        arena = _aligned(np.full(program.stride * samples_at_once, 0xA5, np.uint8))
        for kernel in program.kernels:
            count = blocks if program.fused else kernel.parts * samples
            self._launch(kernel.name, count, samples, arena, ports)
        answers = ports[len(program.inputs) :]
        return {
            p.name: y.reshape(samples, p.nbytes)
            for p, y in zip(program.outputs, answers, strict=True)
        }

    def _launch(
        self,
        kernel: str,
        blocks: int,
        samples: int,
        arena: NDArray[np.uint8],
        ports: Sequence[NDArray[np.uint8]],
    ) -> None:
        """Run all blocks of a kernel, one after the other."""
        function = getattr(self._library, kernel)
        order = ctypes.c_void_p(self._order.ctypes.data)
        arenas, weights, *addresses = (
            ctypes.c_void_p(a.ctypes.data) for a in (arena, self._weights, *ports)
        )
        for block in range(blocks):
            self._enter(block)
            threads = len(self._order)
            function(block, blocks, order, threads, arenas, weights, samples, *addresses)

    def _enter(self, block: int) -> None:
        """Hook that runs before each block, for subclasses."""


def _aligned(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A copy that begins at a multiple of 64 bytes."""
    room = np.zeros(data.size + 64, np.uint8)
    start = -room.ctypes.data % 64
    room[start : start + data.size] = data
    return room[start : start + data.size]


@cache
def _headers() -> bytes:
    return b"".join(p.name.encode() + p.read_bytes() for p in sorted(DEVICE.glob("*.cuh")))


@cache
def _version(compiler: str) -> str:
    return run_tool([compiler, "--version"], limit_s=PROBE_S).out


def build(source: str, flags: tuple[str, ...]) -> Path:
    """The shared library of a generated program, from the cache where it is there.

    Raises:
        ToolError: there is no C++ compiler, or it refused the code or took too long.
        OutputError: the cache cannot be written.

    """
    compiler = find_compiler()
    options = (*FLAGS, *flags)
    name = f"{key_of(compiler, _version(compiler), *options, source, _headers())}.so"
    library = entry_path("cuda-host", name)
    if library is not None:
        return library
    with scratch_folder() as folder:
        path, built = write_text(folder / "model.cpp", source), folder / "model.so"
        result = run_tool([compiler, *options, f"-I{DEVICE}", path, "-o", built])
        if result.status:
            raise ToolError(
                f"{compiler} refused the device code:\n{result.last_words}", hint=OWN_WORDS
            )
        return keep("cuda-host", name, built.read_bytes())
