"""CUDA C++ to machine code, by NVRTC, kept on disk under the hash of its content."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from tinyrt.backends.cuda.program import DEVICE
from tinyrt.cache import keep, key_of, read_entry
from tinyrt.errors import OutputError, ToolError

OPTIONS = ("-std=c++17", "--fmad=false")
"""Contracted products would round floats once where the reference rounds twice."""

INSTALL = "pip install 'tinyrt[cuda]'"


@dataclass(frozen=True, slots=True)
class Compiled:
    """Machine code.

    Attributes:
        image: a cubin.
        log: what the compiler said, with each kernel's registers; empty where it was cached.

    """

    image: bytes
    log: str


def load_nvrtc() -> Any:
    """The module ``cuda.bindings.nvrtc``.

    Raises:
        ToolError: the package or the library is not installed.

    """
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except Exception as error:
        # The loader has errors of its own for a library that is not there.
        raise ToolError(
            f"backend cuda needs NVIDIA's run-time compiler: {error}",
            expected="the packages cuda-bindings and nvidia-cuda-nvrtc",
            hint=INSTALL,
        ) from error
    return nvrtc


@cache
def _headers() -> bytes:
    return b"".join(p.name.encode() + p.read_bytes() for p in sorted(DEVICE.glob("*.cuh")))


def entry_name(source: str, arch: str, version: tuple[int, int]) -> str:
    """The name of this source's machine code in the cache."""
    return f"{key_of(f'{version}', arch, *OPTIONS, source, _headers())}.{arch}.cubin"


def compile_source(source: str, arch: str) -> Compiled:
    """Machine code of a generated program.

    Args:
        source: from ``DeviceProgram``.
        arch: ``sm_90`` or the like.

    Raises:
        ToolError: NVRTC is not installed, or refused the source.

    """
    nvrtc = load_nvrtc()
    _, major, minor = nvrtc.nvrtcVersion()
    name = entry_name(source, arch, (major, minor))
    image = read_entry("cuda", name)
    if image is not None:
        return Compiled(image, "")
    compiled = _compile(nvrtc, source, arch)
    # Where nothing can be kept, the next start compiles again, and nothing else is lost.
    with suppress(OutputError):
        keep("cuda", name, compiled.image)
    return compiled


def _compile(nvrtc: Any, source: str, arch: str) -> Compiled:
    options = (*OPTIONS, f"-I{DEVICE}", f"--gpu-architecture={arch}", "--ptxas-options=-v")
    program = _checked(nvrtc, nvrtc.nvrtcCreateProgram(source.encode(), b"model.cu", 0, [], []))
    try:
        raw = [option.encode() for option in options]
        (result,) = nvrtc.nvrtcCompileProgram(program, len(raw), raw)
        log = _text(nvrtc, program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
        message = log.rstrip(b"\0").decode(errors="replace").strip()
        if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise ToolError(
                f"NVRTC refused the device code for {arch}: {message[:4000]}",
                hint="update nvidia-cuda-nvrtc, or choose backend 'numba'",
            )
        image = _text(nvrtc, program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return Compiled(image, message)


def _text(nvrtc: Any, program: Any, size_of: Any, fill: Any) -> bytes:
    size = _checked(nvrtc, size_of(program))
    buffer = bytearray(size)
    _checked(nvrtc, fill(program, buffer))
    return bytes(buffer)


def _checked(nvrtc: Any, answer: tuple[Any, ...]) -> Any:
    """The result of a call of NVRTC, or an error that says which."""
    if answer[0] != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise ToolError(
            f"NVRTC failed: {answer[0]}",
            hint="update nvidia-cuda-nvrtc, or choose backend 'numba'",
        )
    return answer[1] if len(answer) > 1 else None
