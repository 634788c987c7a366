"""How kernels are called: each takes the address of one row of int64 arguments.

A row is a ``NamedTuple`` class that both sides share: the kernel reads it by name, the packing side
fills it by name. Its fields are integers, or such tuples themselves, whose fields follow one
another in memory. Tensors, weights and scratch memory appear in it as addresses, so that a model is
one table of (kernel, row) and running it is one call.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable
from functools import cache
from itertools import count
from typing import Any, NamedTuple, TypeVar, get_type_hints

import numba
import numpy as np
from llvmlite import ir
from numba import extending
from numba.core import event, types
from numba.core.ccallback import CFunc

from tinyrt.floatmath.numba_cache import KernelCache

Kernel = Callable[[int], None]
"""A plain function of a row's address, written in what numba compiles."""


class Call(NamedTuple):
    """A kernel and the row of arguments that it is called with."""

    kernel: Kernel
    row: Any


_KERNEL = types.void(types.int64)


Subroutine = TypeVar("Subroutine", bound=Callable[..., Any])
Intrinsic = Callable[..., Any]
Int = int | np.int64
"""An integer in compiled code: all of them are 64 bits wide."""


def subroutine(function: Subroutine) -> Subroutine:
    """Compile a function for kernels to call.

    Its qualified name must be unique. A kernel from the disk cache brings along the functions that
    it calls. If two functions have the same name and signature, both kernels call the first one.

    Raises:
        ValueError: it is the inner function of another, and so has the name of its siblings.

    """
    if "<locals>" in function.__qualname__:
        raise ValueError(f"{function.__qualname__} shares its name: give it a __qualname__")
    compiled: Subroutine = numba.njit(error_model="numpy")(function)
    return compiled


def intrinsic(typing: Callable[..., Any]) -> Intrinsic:
    """Make a function of compiled code from one that types it and writes its LLVM code."""
    function: Intrinsic = extending.intrinsic(typing)
    return function


@intrinsic
def row_of(typingctx: Any, address: Any, cls: Any) -> Any:
    """The row at an address, as an instance of the ``NamedTuple`` class ``cls``."""
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        base = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        places = count()

        def loaded(kind: Any) -> Any:
            if kind is types.int64:
                return builder.load(builder.gep(base, [ir.IntType(32)(next(places))]))
            return context.make_tuple(builder, kind, [loaded(field) for field in kind])

        return loaded(signature.return_type)

    return _row_type(cls.instance_class)(address, cls), codegen


def _row_type(cls: type) -> Any:
    """Numba's type of a row, or of an integer in it."""
    if cls is int:
        return types.int64
    fields = [_row_type(kind) for kind in get_type_hints(cls).values()]
    return types.BaseTuple.from_types(fields, cls)  # type: ignore[attr-defined]


def flat(row: Iterable[Any]) -> list[int]:
    """The row's integers in their order in memory."""
    return [n for field in row for n in (flat(field) if isinstance(field, tuple) else [int(field)])]


def _pointer_to(element: Any) -> Intrinsic:
    @intrinsic
    def pointer(typingctx: Any, address: Any) -> Any:
        del typingctx
        result = types.CPointer(element)  # type: ignore[attr-defined]

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

        return result(types.int64), codegen

    return pointer


s8_at = _pointer_to(types.int8)
u8_at = _pointer_to(types.uint8)
s16_at = _pointer_to(types.int16)
s32_at = _pointer_to(types.int32)
s64_at = _pointer_to(types.int64)
f32_at = _pointer_to(types.float32)


@intrinsic
def _call(typingctx: Any, kernel: Any, row: Any) -> Any:
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = ir.FunctionType(ir.VoidType(), [ir.IntType(64)])
        builder.call(builder.inttoptr(args[0], function.as_pointer()), [args[1]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


def _run_span(span: int) -> None:
    table, first, last = s64_at(span)[0], s64_at(span)[1], s64_at(span)[2]
    rows = s64_at(table)
    for i in range(first, last):
        _call(rows[2 * i], rows[2 * i + 1])


def address_of(kernel: Kernel) -> int:
    """The address of the compiled kernel; compiles it, or loads it from the disk cache."""
    return int(_compiled(kernel).address)


@cache
def runner() -> Callable[[int], None]:
    """``run(span)``: calls rows of a table of (kernel, row), without holding the GIL.

    ``span`` is the address of three int64: the table's address, the first row, one past the last.
    A single pointer is what ctypes passes fastest.
    """
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address_of(_run_span))


@cache
def _compiled(function: Kernel) -> Any:
    """The compiled function; the cache keeps it alive as long as the process runs."""
    kernel: Any = CFunc(function, (_KERNEL.args, _KERNEL.return_type), {}, {"error_model": "numpy"})
    kernel._cache = KernelCache(function)
    event.register("numba:run_pass", _NOTICE)
    try:
        kernel.compile()
    finally:
        event.unregister("numba:run_pass", _NOTICE)
    return kernel


class _Notice(event.Listener):  # type: ignore[misc]
    """Says once that something is being compiled: passes only run where the cache has nothing."""

    def __init__(self) -> None:
        self.is_printed = False

    def on_start(self, event: event.Event) -> None:
        """Print the notice at the first compiler pass of the first kernel."""
        if not self.is_printed:
            self.is_printed = True
            print("tinyrt: compiling kernels for this CPU (cached for later runs)", file=sys.stderr)

    def on_end(self, event: event.Event) -> None:
        """Ignore the event."""


_NOTICE = _Notice()


def address(array: np.ndarray[Any, Any]) -> int:
    """The address of an array's first element."""
    return int(array.ctypes.data)
