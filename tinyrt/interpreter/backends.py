"""The backends by name, and the one that ``auto`` stands for."""

from __future__ import annotations

from functools import partial

from tinyrt.backends import reference
from tinyrt.backends.numba import backend as numba
from tinyrt.backends.program import Prepare, Program, Tensors
from tinyrt.errors import UnsupportedError
from tinyrt.ir import DType, Graph
from tinyrt.text import closest


def _prepare_native(graph: Graph, tensors: Tensors) -> Program:
    """As ``native.prepare``, which is only imported where C is built."""
    from tinyrt.interpreter import native

    return native.prepare(graph, tensors)


def _prepare_cuda(cpu: Prepare | None, graph: Graph, tensors: Tensors) -> Program:
    """As ``prepare`` of backend ``cuda``, which is only imported for a GPU."""
    from tinyrt.backends.cuda import backend as cuda

    return cuda.prepare(graph, tensors, cpu=cpu)


BACKENDS: dict[str, Prepare] = {
    "native": _prepare_native,
    "numba": numba.prepare,
    "reference": reference.prepare,
}
"""Backend name -> the function that turns a graph and its tensors into a program."""

CUDA, FALLBACK = "cuda", "cuda+cpu"

GPU_BACKENDS: dict[str, Prepare] = {
    CUDA: partial(_prepare_cuda, None),
    FALLBACK: partial(_prepare_cuda, numba.prepare),
}
"""The same for those that need a GPU: the second leaves ops that have no kernel to the CPU."""

EVERY_BACKEND = BACKENDS | GPU_BACKENDS

DEFAULT_BACKEND = "numba"

AUTO = "auto"
"""Stands for the first of ``CANDIDATES`` that can run the model on this machine."""

CANDIDATES = ("native", "numba")

READING_FIRST = frozenset({"reference"})
"""Backends whose ops read all their inputs before they write: these run in a device's own arena
plan, where outputs may lie on inputs. The others' kernels are free in their order; their arena is
somewhat larger."""


def require_backend(backend: str) -> None:
    """Raise ``UnsupportedError`` unless there is a backend of that name."""
    names = (*EVERY_BACKEND, AUTO)
    if backend not in names:
        raise UnsupportedError(
            f"there is no backend '{backend}'",
            expected=", ".join(names),
            hint=closest(backend, names),
        )


def candidates(backend: str, graph: Graph, watched: bool) -> tuple[str, ...]:
    """Backends to try for a graph, best first.

    Args:
        backend: the name that was asked for.
        graph: the model.
        watched: whether tensors are read between the ops.

    """
    if backend != AUTO:
        return (backend,)
    if watched:
        return CANDIDATES[-1:]
    # On int16, the C kernels are portable code, while numba's use vector instructions.
    wide = any(v.dtype is DType.INT16 and not v.is_constant for v in graph.values.values())
    return CANDIDATES[::-1] if wide else CANDIDATES
