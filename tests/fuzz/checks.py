"""What must hold for any file at all: a named error, or the same answer everywhere.

Everything else that is raised is a finding. ``BrokenPromiseError`` is what raises nothing itself:
answers that differ, messages that fill a screen.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from tests.fuzz.guard import guarded, with_guarded_constants
from tests.fuzz.quantizing import quantized
from tests.fuzz.values import Rng
from tinyrt.api.inputs import layout_as
from tinyrt.api.inspection import inspect_model
from tinyrt.api.reading import open_model
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.data import load_inputs, load_npz, read_inputs
from tinyrt.errors import DefectError, TinyrtError, ToolError, UnsupportedError
from tinyrt.export.bundle import render_project
from tinyrt.export.options import ExportOptions
from tinyrt.export.request import Request
from tinyrt.interpreter import Interpreter, Model
from tinyrt.ir import DType, Graph
from tinyrt.memory import schedule
from tinyrt.ops import OPS
from tinyrt.ops.shared.spec import is_integer

REFUSED, OPENED, RAN = "refused", "opened", "ran"
"""What became of a file that did nobody any harm."""

SHARE_RUN = 0.4
"""Of those that open, how many are run everywhere, which takes ten times as long."""

SHARE_NATIVE = 0.02
"""Of those that are run, how many the host's compiler builds, too: most of a second each."""

SHARE_QUANTIZED = 0.1
"""Of the float ones that are run, how many are quantised, which takes some tens of milliseconds."""

MAX_LINES, MAX_TEXT = 12, 4000
MAX_BYTES, MAX_WORK = 1 << 22, 3_000_000
"""Activations and multiplications of models that are run: others take longer than they teach."""


class BrokenPromiseError(Exception):
    """What must hold does not."""


def check(kind: str, data: bytes, folder: Path, rng: Rng, share: float = SHARE_RUN) -> str:
    """Read the file and do with it what users do; returns what became of it.

    Args:
        kind: of the file.
        data: its bytes.
        folder: for what is written on the way.
        rng: what inputs and choices are drawn from.
        share: of models that open, how many are run everywhere.

    Raises:
        BrokenPromiseError: an answer, or a message, is not as it must be.
        Exception: whatever is no ``TinyrtError``, or one that says itself that it is a defect.

    """
    path = folder / f"model.{kind}"
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    with quietly():
        try:
            return CHECKS[kind](path, rng, share)
        except DefectError:
            raise
        except TinyrtError as error:
            require_readable(error)
            return REFUSED


@contextmanager
def quietly() -> Iterator[None]:
    """Without warnings: broken weights may well be NaN."""
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        yield


def require_readable(error: TinyrtError) -> None:
    """What is printed fits a screen, and memory was refused before it was gone.

    Raises:
        BrokenPromiseError: it does not, or it was not.

    """
    if isinstance(error.__cause__, MemoryError):
        raise BrokenPromiseError("memory ran out before the budget did") from error
    text = str(error)
    if text.count("\n") >= MAX_LINES or len(text) > MAX_TEXT:
        raise BrokenPromiseError(
            f"a message of {text.count(chr(10)) + 1} lines, {len(text)} characters: {text[:300]}"
        )


def _check_model(path: Path, rng: Rng, share: float) -> str:
    graph = open_model(path)
    try:
        if rng.random() < 0.02:
            inspect_model(path)
        if rng.random() < 0.05:
            _render(graph, path, rng)
        written = _written(graph)
        if not is_small(graph) or rng.random() > share:
            return OPENED
        feeds = inputs_of(graph, rng)
        wanted = answers(graph, feeds, "reference")
        behind, apart, often = (bool(rng.random() < share) for share in (0.5, 0.5, 0.3))
        if any(map(is_integer, graph.bound())):
            with guarded(behind):
                own = with_guarded_constants(graph, behind)
                found = answers(own, feeds, "numba", apart=apart)
            _require_equal(found, wanted, "numba")
        elif often and path.suffix == ".tflite":
            plain = answers(parse_tflite(path.read_bytes()), feeds, "reference")
            _require_equal(plain, wanted, "as read", exact=False)
        elif rng.random() < SHARE_QUANTIZED:
            _check_quantized(graph, rng)
        if rng.random() < SHARE_NATIVE:
            found = _built(graph, feeds, path.parent, behind)
            _require_equal(found, wanted, "native", exact=False)
        if often and written is not None:
            _require_equal(answers(written, feeds, "reference"), wanted, "written")
    except DefectError:
        raise
    except TinyrtError as error:
        require_readable(error)
        return OPENED
    return RAN


def _check_data(path: Path, rng: Rng, share: float) -> str:
    del share
    arrays = load_npz(path)
    inputs = load_inputs(path)
    most = max((len(a) for a in inputs.values() if a.ndim), default=1)
    pieces = list(read_inputs(path, max(1, most // int(rng.integers(1, 9)))))
    for name, whole in inputs.items():
        joined = np.concatenate([piece[name] for piece in pieces]) if pieces else whole[:0]
        if not np.array_equal(joined, whole, equal_nan=whole.dtype.kind in "fc"):
            raise BrokenPromiseError(f"'{name}' read in pieces differs from '{name}' read whole")
    assert set(inputs) <= set(arrays)
    if sum(a.nbytes for a in inputs.values()) > MAX_BYTES:
        return OPENED
    try:
        Model(_DENSE, backend="reference").run(layout_as(_DENSE, inputs))
    except DefectError:
        raise
    except TinyrtError as error:
        require_readable(error)
        return OPENED
    return RAN


def _dense() -> Graph:
    from tests.graphs import Builder
    from tinyrt.ops.fully_connected import FullyConnectedAttrs

    b = Builder((1, 4))
    w = b.constant(np.ones((2, 4), np.float32))
    return b.graph(b.op("fully_connected", ("x", w), FullyConnectedAttrs()))


_DENSE = _dense()


def _check_command(path: Path, rng: Rng, share: float) -> str:
    from tests.fuzz import commands

    del share
    return commands.check(path, rng)


CHECKS: dict[str, Callable[[Path, Rng, float], str]] = {
    "tflite": _check_model,
    "onnx": _check_model,
    "npz": _check_data,
    "cli": _check_command,
}


def _render(graph: Graph, path: Path, rng: Rng) -> None:
    core = ("cortex-m3", "cortex-m4", "cortex-m55", "host-avx512")[int(rng.integers(4))]
    by_rows, pushed = bool(rng.random() < 0.3), bool(rng.random() < 0.1)
    options = ExportOptions(by_rows=by_rows, input_rows=pushed)
    try:
        render_project(graph, path.parent, Request.of(core, "balanced", options))
    except DefectError:
        raise
    except TinyrtError as error:
        require_readable(error)


def _written(graph: Graph) -> Graph | None:
    """What ``tinyrt convert`` writes, read again; nothing where no file can hold the graph."""
    try:
        data = write_tflite(schedule(graph))
    except UnsupportedError as error:
        require_readable(error)
        return None
    return parse_tflite(bytes(data))


def _check_quantized(graph: Graph, rng: Rng) -> None:
    """It is quantised, or refused, and answers the same on two backends."""
    small = quantized(graph, rng)
    feeds = inputs_of(small, rng)
    wanted = answers(small, feeds, "reference")
    _require_equal(answers(small, feeds, "numba"), wanted, "quantised, numba")


def _built(
    graph: Graph, feeds: list[dict[str, np.ndarray]], folder: Path, behind: bool
) -> list[np.ndarray]:
    """Answers of the C code, built by the host's compiler; what it builds is kept in the folder."""
    try:
        with guarded(behind), mock.patch.dict(os.environ, TINYRT_CACHE=str(folder)):
            return answers(graph, feeds, "native")
    except ToolError as error:
        raise BrokenPromiseError(f"native: {error}") from error


def is_small(graph: Graph) -> bool:
    """Whether running the graph takes milliseconds."""
    held = sum(v.nbytes for v in graph.values.values())
    return held <= MAX_BYTES and sum(OPS[n.op].macs(n) for n in graph.bound()) <= MAX_WORK


def inputs_of(graph: Graph, rng: Rng, runs: int = 2) -> list[dict[str, np.ndarray]]:
    """Data for some runs: any bit pattern of integers, plain floats, indices that mostly exist."""
    return [{v.name: _data(v, rng) for v in map(graph.value, graph.fed)} for _ in range(runs)]


def _data(value: Any, rng: Rng) -> np.ndarray:
    dtype, shape = value.dtype.numpy, value.shape
    if value.dtype is DType.BOOL:
        return rng.random(shape) < 0.5
    if dtype.kind == "f":
        return (rng.standard_normal(shape) * 2).astype(dtype)
    limits = np.iinfo(dtype)
    if limits.bits <= 16:
        extremes = np.array([limits.min, limits.max], dtype)
        if rng.random() < 0.15:
            return rng.choice(extremes, shape)
        return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)
    if rng.random() < 0.2:
        return rng.integers(limits.min, limits.max, shape, dtype)
    return rng.integers(-2, 8, shape).astype(dtype)


def answers(
    graph: Graph, feeds: list[dict[str, np.ndarray]], backend: str, *, apart: bool = False
) -> list[np.ndarray]:
    """All outputs of all runs, in the graph's order.

    Args:
        graph: what to run.
        feeds: data for each run.
        backend: of the interpreter.
        apart: whether each tensor has memory of its own, with guards of its own.

    """
    interpreter = Interpreter.from_graph(graph, backend=backend)
    interpreter._preserve = apart
    interpreter.allocate_tensors()
    ins, outs = interpreter.get_input_details(), interpreter.get_output_details()
    found = []
    for feed in feeds:
        for detail in ins:
            interpreter.set_tensor(detail["index"], feed[detail["name"]])
        interpreter.invoke()
        found += [interpreter.get_tensor(detail["index"]) for detail in outs]
    return found


def _require_equal(
    found: list[np.ndarray], wanted: list[np.ndarray], where: str, *, exact: bool = True
) -> None:
    for i, (x, y) in enumerate(zip(found, wanted, strict=True)):
        if x.shape != y.shape or x.dtype != y.dtype:
            raise BrokenPromiseError(
                f"{where}: output {i} is {x.dtype}{x.shape}, not {y.dtype}{y.shape}"
            )
        if not (np.array_equal(x, y, equal_nan=x.dtype.kind == "f") if exact else close(x, y)):
            differing = int(np.count_nonzero(x != y))
            raise BrokenPromiseError(
                f"{where}: {differing} of {x.size} elements of output {i} differ"
            )


def close(x: np.ndarray, y: np.ndarray) -> bool:
    """Equal but for the order of sums in float; integers equal.

    Where a sum goes beyond the largest float, one order may end in infinity, another in NaN.
    """
    if x.dtype.kind != "f":
        return bool(np.array_equal(x, y))
    finite = np.isfinite(x) & np.isfinite(y)
    largest = float(np.abs(np.where(finite, y, 0)).max(initial=0))
    if largest > 1e30:
        return True
    beyond = (np.isnan(x) & ~np.isfinite(y)) | (np.isnan(y) & ~np.isfinite(x))
    same = (x == y) | beyond
    with np.errstate(all="ignore"):
        apart = np.abs(np.where(same, 0, x.astype(np.float64) - y))
    return bool((np.nan_to_num(apart, nan=np.inf) <= 1e-4 * max(1.0, largest)).all())
