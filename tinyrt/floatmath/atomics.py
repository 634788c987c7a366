"""Reads and writes of 64-bit numbers that several threads share, for compiled loops.

``cells`` is an int64 array. Each operation is sequentially consistent: all threads see all of them
in one order.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending
from numba.core import cgutils, types

I64 = ir.IntType(64)
intrinsic: Callable[[Callable[..., Any]], Callable[..., Any]] = extending.intrinsic
ORDER = "seq_cst"
SLEEP = 50
"""Microseconds that ``sleep`` takes at least."""


def _place(context: Any, builder: Any, kind: Any, cells: Any, index: Any) -> Any:
    array = context.make_array(kind)(context, builder, cells)
    return cgutils.gep_inbounds(builder, array.data, index)


@intrinsic
def load(typingctx: Any, cells: Any, index: Any) -> Any:
    """``cells[index]``."""
    del typingctx, index

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[0], *args)
        return builder.load_atomic(place, ORDER, 8)

    return types.int64(cells, types.int64), codegen


@intrinsic
def store(typingctx: Any, cells: Any, index: Any, value: Any) -> Any:
    """``cells[index] = value``."""
    del typingctx, index, value

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[0], *args[:2])
        builder.store_atomic(args[2], place, ORDER, 8)
        return context.get_dummy_value()

    return types.void(cells, types.int64, types.int64), codegen


@intrinsic
def add(typingctx: Any, cells: Any, index: Any, value: Any) -> Any:
    """``cells[index] += value``; gives what was there before."""
    del typingctx, index, value

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[0], *args[:2])
        return builder.atomic_rmw("add", place, args[2], ORDER)

    return types.int64(cells, types.int64, types.int64), codegen


@intrinsic
def exchange(typingctx: Any, cells: Any, index: Any, expected: Any, value: Any) -> Any:
    """Write ``value`` if ``cells[index]`` is ``expected``; gives whether it was."""
    del typingctx, index, expected, value

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[0], *args[:2])
        return builder.extract_value(builder.cmpxchg(place, args[2], args[3], ORDER), 1)

    return types.boolean(cells, types.int64, types.int64, types.int64), codegen


@intrinsic
def pause(typingctx: Any) -> Any:
    """Let the other thread of the core go first for a moment, while this one waits actively."""
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        del signature, args
        if platform.machine() in ("x86_64", "AMD64"):
            kind = ir.FunctionType(ir.VoidType(), [])
            name = "llvm.x86.sse2.pause"
            builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [])
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def sleep(typingctx: Any) -> Any:
    """Let go of the processor for a moment, where the system can."""
    del typingctx

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        del signature, args
        if os.name == "posix":
            kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32)])
            usleep = cgutils.get_or_insert_function(builder.module, kind, "usleep")
            builder.call(usleep, [ir.Constant(ir.IntType(32), SLEEP)])
        return context.get_dummy_value()

    return types.void(), codegen
