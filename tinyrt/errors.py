"""One family of errors: each says what and where, what was expected, and what to do next."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType

from tinyrt.text import message, shortened

MAX_LINES, MAX_PROBLEM = 12, 800
"""Lines of a message, and characters of its first sentence."""

MAX_JSON = 4_000
"""Characters of each field of an error as JSON."""


class TinyrtError(Exception):
    """A refusal that the user can act on.

    Args:
        problem: one sentence that says what is wrong.
        file: the model or data file it was found in.
        op: the op's type and name, as ``Graph.bind(...).describe()`` writes it.
        tensor: the tensor's name, dtype and shape, as ``Value.describe()`` writes it.
        expected: what would have been accepted.
        hint: what the user can do.

    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | None = None,
        op: str | None = None,
        tensor: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.file = file
        self.op = op
        self.tensor = tensor
        self.expected = expected
        self.hint = hint

    def __str__(self) -> str:
        """At most 12 lines and about 2,000 characters that any terminal shows as they are."""
        facts = []
        for label, text, most in (
            ("file", self.file, 200),
            ("op", self.op, 220),
            ("tensor", self.tensor, 220),
            ("expected", self.expected, 400),
            ("try", self.hint, 300),
        ):
            if text:
                facts.append(f"  {label + ':':<10}{message(text, most)}")
        problem = message(self.problem, MAX_PROBLEM, lines=MAX_LINES - len(facts))
        return "\n".join([problem, *facts])

    def as_dict(self) -> dict[str, str]:
        """The same content by name, for ``--json``; only what is very long is cut."""
        fields = ("problem", "file", "op", "tensor", "expected", "hint")
        return {k: shortened(v, MAX_JSON) for k in fields if (v := getattr(self, k))}


class ModelFormatError(TinyrtError):
    """The file is not a model, is cut short, or contradicts itself."""


class UnsupportedError(TinyrtError):
    """The model is valid, but asks for something that tinyrt does not have."""


class ShapeError(TinyrtError):
    """Shapes or dtypes do not fit together, or a dimension is unknown."""


class DataError(TinyrtError, ValueError):
    """Arguments, or input, calibration or evaluation data, do not fit the model."""


class NotAllocatedError(TinyrtError, RuntimeError, ValueError):
    """An interpreter was used before ``allocate_tensors``.

    LiteRT's ``invoke`` raises RuntimeError, its accesses to tensors ValueError: this is both.
    """

    def __init__(self) -> None:
        super().__init__("tensors are not allocated", hint="call allocate_tensors() first")


class OutputError(TinyrtError):
    """A result could not be written."""


class ToolError(TinyrtError):
    """A tool that the step needs (compiler, emulator, optional package) is missing or failed."""


class GradientError(TinyrtError):
    """There is no such gradient: no tensor requires it, or the tape was freed."""


class BudgetError(TinyrtError):
    """The model does not fit the memory that it was given."""


class DefectError(TinyrtError):
    """A step failed in a way that none of its checks foresaw: a fault of tinyrt, or a hostile file.

    Tests count it as a failure wherever it comes up, damaged files included.
    """


REPORT = "if other tools take the file, this is a defect of tinyrt: please report it"
"""The hint for a failure that no check foresaw."""


@contextmanager
def boundary(
    reader: str,
    *,
    step: str = "reading",
    file: str | None = None,
    parsers: tuple[str, ...] = (),
    corrupt: tuple[type[Exception], ...] = (),
    damaged: type[TinyrtError] = ModelFormatError,
) -> Iterator[None]:
    """The boundary of a reader: every exception from inside leaves as a ``TinyrtError``.

    Args:
        reader: what is read, as messages name it: ``.tflite file``.
        step: what is done with it; later steps than reading have a boundary as well.
        file: its path.
        parsers: top-level packages that parse the bytes: what is raised in them says that the file
            is damaged.
        corrupt: exceptions that say so wherever they are raised.
        damaged: what is raised then.

    Raises:
        ModelFormatError: (or ``damaged``) the parser failed: the file is cut short or damaged.
        BudgetError: memory, or the depth of calls, ran out although no budget had been exceeded.
        DefectError: something else failed: a check is missing.

    """
    try:
        with error_context(file=file):
            yield
    except TinyrtError:
        raise
    except (MemoryError, RecursionError) as error:
        what = "memory" if isinstance(error, MemoryError) else "nested calls"
        raise BudgetError(
            f"the {reader} needs too much: {what} ran out",
            file=file,
            hint="check the file; it is larger or nests deeper than any model should",
        ) from error
    except Exception as error:
        if isinstance(error, corrupt) or raised_in(error, *parsers):
            raise damaged(
                f"the {reader} is cut short or damaged ({type(error).__name__}: {error})",
                file=file,
                hint="copy or export it again",
            ) from error
        raise DefectError(
            f"{step} the {reader} failed: {type(error).__name__}: {error}",
            file=file,
            op=vars(error).get(_OP),
            expected="a file that fits together, or a message that says what in it does not",
            hint=f"export it again; {REPORT}",
        ) from error


@contextmanager
def catch_all(
    *passing: type[Exception], only_from: tuple[str, ...] | None = None
) -> Iterator[None]:
    """The boundary of the public functions: unforeseen exceptions leave as a ``TinyrtError``, too.

    Args:
        passing: exceptions that are left alone.
        only_from: leave alone, too, what is raised elsewhere than in these packages: a function
            that was given to tinyrt fails with its own exception.

    Raises:
        BudgetError: memory, or the depth of calls, ran out although no budget had been exceeded.
        DefectError: whatever else was raised.

    """
    try:
        yield
    except TinyrtError:
        raise
    except passing:
        raise
    except (MemoryError, RecursionError) as error:
        what = "memory" if isinstance(error, MemoryError) else "nested calls"
        raise BudgetError(
            f"this needs too much: {what} ran out, {_place_of(error)}",
            hint=f"smaller models or data; {SHOW_TRACEBACK}",
        ) from error
    except Exception as error:
        if only_from is not None and not raised_in(error, *only_from):
            raise
        text = " ".join(str(error).split())
        raise DefectError(
            f"tinyrt failed {_place_of(error)}: {type(error).__name__}: {text[:300]}",
            expected="an answer, or a message that says what does not fit",
            hint=f"{SHOW_TRACEBACK}; {REPORT}",
        ) from error


SHOW_TRACEBACK = "TINYRT_TRACEBACK=1 in the environment shows where it came from"


def _place_of(error: BaseException) -> str:
    """The innermost place in tinyrt: ``in tinyrt/ops/add.py, line 12, infer``."""
    # There is one at least: ``catch_all`` itself.
    *_, frame = (at for module, at in _frames(error) if module.split(".")[0] == "tinyrt")
    code = frame.tb_frame.f_code
    file = code.co_filename.replace("\\", "/").rpartition("/tinyrt/")[2]
    return f"in tinyrt/{file}, line {frame.tb_lineno}, {code.co_name}"


def raised_in(error: BaseException, *packages: str) -> bool:
    """Whether the innermost Python code in the error's traceback is one of those packages'."""
    modules = [module for module, _ in _frames(error)]
    return bool(modules) and modules[-1].split(".")[0] in packages


def _frames(error: BaseException) -> Iterator[tuple[str, TracebackType]]:
    """Module and place of each call that the error came through, the innermost last."""
    at = error.__traceback__
    while at is not None:
        yield str(at.tb_frame.f_globals.get("__name__", "")), at
        at = at.tb_next


class VerifyError(TinyrtError):
    """A graph breaks an invariant of its stage: a defect in a pass, or a hostile file."""


@contextmanager
def error_context(*, file: str | None = None, op: str | None = None) -> Iterator[None]:
    """Add where it happened to any ``TinyrtError`` that passes through without saying so.

    A missing tool is no fault of the file that was being worked on, which is not named for it.
    Other exceptions keep the op, for the boundary that they come to.
    """
    try:
        yield
    except TinyrtError as error:
        if not isinstance(error, ToolError):
            error.file = error.file or file
        error.op = error.op or op
        raise
    except Exception as error:
        if op is not None:
            vars(error).setdefault(_OP, op)
        raise


@contextmanager
def advising(hints: Mapping[type[TinyrtError], str]) -> Iterator[None]:
    """Give errors that do not say what to do next the hint for errors of their class."""
    try:
        yield
    except TinyrtError as error:
        error.hint = error.hint or hints.get(type(error))
        raise


_OP = "tinyrt_op"
"""Where an exception keeps the op that it came from."""


class ConversionWarning(UserWarning):
    """A model was converted, but not quite as asked, or with something to know about the file."""


def warn(text: str, category: type[Warning]) -> None:
    """Warn, at the line of the caller's program that called this package."""
    package = __name__.partition(".")[0]
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
