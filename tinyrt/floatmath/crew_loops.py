"""The compiled half of a crew: how threads take the parts of a loop without Python's lock.

A board is an int64 array, which the threads of a crew share. The one that has work writes the
loop's address, that of its operands, and how the work is cut, and then ``TICKET``: how many parts
there are, and how many are taken. Whoever raises the number of those taken has a part. A board has
one piece of work at a time.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.targetconfig import ConfigStack

from tinyrt.floatmath.atomics import I64, add, exchange, intrinsic, load, pause, sleep, store
from tinyrt.floatmath.compiled import compiled

LINE = 8
"""Cells of a cache line: cells that different threads write do not share one."""
TICKET, DONE, FAILED, ATTENDING, LOOP, OPERANDS, COUNT, SIZE = range(0, 8 * LINE, LINE)
"""Places of the board.

Parts and those taken; parts done, and those that ran out of memory; helpers that look at the board,
or are about to; addresses of loop and operands; rows, and rows of a part.
"""
CELLS = 8 * LINE

PATIENCE = 2500
"""Looks at a board, of some 25 ns each, until who waits goes to sleep.

That outlasts the Python code between two ops of a training step, some 20 us on average, but not the
loss and the optimiser.
"""

PLACES, SPAN = (types.containers.UniTuple(types.int64, n) for n in (2, 3))
TURN = 2**16
"""A ticket is ``(turn * TURN + parts) * TURN + taken``."""
MOST_PARTS = TURN - 1


@intrinsic
def places(typingctx: Any, loop: Any, operands: Any) -> Any:
    """Addresses of code that computes a part with ``loop``, and of the operands, for ``_call``.

    ``loop`` is a compiled function ``(span, *operands)``. The operands stay there until the caller
    returns.
    """
    del typingctx
    inner = types.void(SPAN, *operands.types)

    def codegen(context: Any, builder: Any, _: Any, args: Any) -> Any:
        flags = ConfigStack().top().copy()
        # Not the machine code that the dispatcher has made, or makes, for calls from elsewhere.
        code = loop.dispatcher.py_func
        result = context.compile_subroutine(builder, code, inner, flags=flags, caching=False)
        kind = ir.FunctionType(I64, [I64] * 4)
        outer = ir.Function(builder.module, kind, f"part.{result.fndesc.mangled_name}")
        outer.linkage = "internal"
        body = ir.IRBuilder(outer.append_basic_block())
        address, *numbers = outer.args
        kept = body.load(body.inttoptr(address, context.get_value_type(operands).as_pointer()))
        values = [body.extract_value(kept, i) for i in range(len(operands))]
        span = context.make_tuple(body, SPAN, numbers)
        status, _ = context.call_internal_no_propagate(body, result.fndesc, inner, [span, *values])
        body.ret(body.zext(status.is_error, I64))
        slot = cgutils.alloca_once_value(builder, args[1])
        pair = [builder.ptrtoint(outer, I64), builder.ptrtoint(slot, I64)]
        return context.make_tuple(builder, PLACES, pair)

    return PLACES(loop, operands), codegen


@intrinsic
def _call(typingctx: Any, loop: Any, operands: Any, part: Any, first: Any, stop: Any) -> Any:
    """Run the code at the address ``loop``; gives 1 if it ran out of memory, else 0."""
    del typingctx, loop, operands, part, first, stop

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        del context, signature
        kind = ir.FunctionType(I64, [I64] * 4)
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    return types.int64(*[types.int64] * 5), codegen


@compiled
def take_parts(board: Any) -> bool:
    """Do parts of the board's work as long as there are any; whether there was one."""
    worked = False
    while True:
        ticket = load(board, TICKET)
        taken, parts = ticket % TURN, ticket // TURN % TURN
        if taken >= parts:
            return worked
        if exchange(board, TICKET, ticket, ticket + 1):
            worked = True
            first = taken * board[SIZE]
            stop = min(first + board[SIZE], board[COUNT])
            if _call(board[LOOP], board[OPERANDS], taken, first, stop):
                add(board, FAILED, 1)
            add(board, DONE, 1)


@compiled
def share(board: Any, loop: int, operands: int, count: int, size: int) -> int:
    """Have ``count`` rows computed, ``size`` of them at a time, by all who look at the board.

    Returns:
        How many parts ran out of memory.

    """
    board[LOOP], board[OPERANDS], board[COUNT], board[SIZE] = loop, operands, count, size
    board[FAILED] = 0
    store(board, DONE, 0)
    parts, turn = (count + size - 1) // size, load(board, TICKET) // TURN // TURN
    store(board, TICKET, ((turn + 1) % TURN * TURN + parts) * TURN)
    take_parts(board)
    looks = 0
    while load(board, DONE) < parts:
        looks += 1
        if looks < PATIENCE:
            pause()
        else:
            sleep()
    failed: int = load(board, FAILED)
    return failed


@compiled
def attend(board: Any) -> None:
    """Take parts of all work that comes, until ``PATIENCE`` looks at the board found none."""
    looks = 0
    while looks < PATIENCE:
        looks = 0 if take_parts(board) else looks + 1
        pause()
    add(board, ATTENDING, -1)


@compiled
def call_in(board: Any, helpers: int) -> int:
    """How many of the helpers do not attend; from now on they are counted among those who do."""
    missing = 0
    while True:
        attending = load(board, ATTENDING)
        if attending >= helpers:
            return missing
        if exchange(board, ATTENDING, attending, attending + 1):
            missing += 1
