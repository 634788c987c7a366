"""A step of a benchmark in a process of its own, so that whatever it meets ends that step alone."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from tinyrt.errors import DefectError, TinyrtError

PRELOADED = ["tinyrt.api.models", "tinyrt.backends.numba.choice", "tinyrt.emulate"]
"""Modules that are imported once for all steps."""

LATE = "no answer within --limit"


@dataclass(frozen=True)
class Outcome:
    """How a step ended: with a value, with a refusal, or with something that nobody foresaw."""

    value: Any = None
    refused: str = ""
    failed: str = ""


def run_step(step: Callable[..., Any], *arguments: Any, seconds: float) -> Outcome:
    """What a function answers in a process of its own.

    Args:
        step: a function of a module; what it prints is not shown.
        arguments: its arguments.
        seconds: when to end it, and the processes that it started.

    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(sender, step, arguments))
    process.start()
    sender.close()
    outcome = Outcome(failed=LATE)
    if receiver.poll(seconds):
        try:
            outcome = receiver.recv()
        except EOFError:
            process.join()
            outcome = Outcome(failed=f"the process ended with {process.exitcode}")
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid or 0, signal.SIGKILL)
    process.kill()  # it may have no group of its own yet
    process.join()
    return outcome


def _run(sender: Connection, step: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Run the step and send its outcome."""
    os.setsid()  # a group of its own, which is ended as a whole
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    try:
        outcome = Outcome(step(*arguments))
    except DefectError as error:
        outcome = Outcome(failed=first_line(error))
    except TinyrtError as error:
        outcome = Outcome(refused=first_line(error))
    except Exception as error:
        outcome = Outcome(failed=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
    sender.send(outcome)


def first_line(error: TinyrtError) -> str:
    """What is wrong, with the op where the sentence does not name it."""
    line = str(error).splitlines()[0]
    kind = (error.op or "").split(" ")[0]
    return line if not kind or kind.lower() in line.lower() else f"{line} ({kind})"
