"""``tinyrt.load``: a model as a function of arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.budget import Budget, as_budget, limited
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.data import ArrayType, Source
from tinyrt.errors import BudgetError, ShapeError, error_context
from tinyrt.interpreter.backends import DEFAULT_BACKEND, GPU_BACKENDS
from tinyrt.interpreter.feeds import check_types, fitting, named, rows_of, stored, whole_runs
from tinyrt.interpreter.interpreter import Interpreter
from tinyrt.interpreter.invocation import OnOp
from tinyrt.interpreter.progress import Progress, later
from tinyrt.interpreter.split import cores, splits
from tinyrt.ir import Graph
from tinyrt.ops.quantize import Affine, dequantize_array
from tinyrt.ops.shared.batch import batch_of

Array = NDArray[Any]
BATCH = 32
"""Samples per thread: large enough for matrix products, small enough for the caches."""
PIECE = 16 << 20
"""Bytes of inputs and answers that are worth a piece of their own."""
GPU_BATCH = 4096
"""Samples per call of a GPU: many for each multiprocessor, so that the call itself is nothing."""


@dataclass(frozen=True, slots=True)
class _Ready:
    """An allocated interpreter for one batch size, and its ports by name."""

    interpreter: Interpreter
    inputs: dict[str, Array]
    outputs: dict[str, Array]


def _views(interpreter: Interpreter, details: list[dict[str, Any]]) -> dict[str, Array]:
    """Ports by name; a single number is a row of its own."""
    return {d["name"]: np.atleast_1d(interpreter.tensor(d["index"])()) for d in details}


def load(
    path: str | Path,
    *,
    backend: str = DEFAULT_BACKEND,
    num_threads: int | None = None,
    max_memory: int | Budget | None = None,
) -> Model:
    """Open a .tflite model for calling; see ``Model`` for the arguments.

    Raises:
        ModelFormatError: the file is not a model.
        UnsupportedError: an op or the backend is not there.

    """
    with limited():
        return Model(
            read_tflite(path),
            backend=backend,
            num_threads=num_threads,
            file=str(path),
            max_memory=max_memory,
        )


class Model:
    """Arrays in, arrays out: ``model(x)``.

    Float inputs of a quantised model are quantised with its own parameters and its outputs
    come back as real values; int8 inputs are taken as raw values, and raw outputs come back.
    The first axis is the batch. A model that mixes what lies along it (a sequence, say) takes as
    many rows as it declares at a time, and so many for each run. A model that keeps state takes
    the samples one after the other, in their order, and goes on in the next call where it was;
    ``reset`` begins anew.

    Args:
        graph: the model.
        backend: the interpreter's backend.
        num_threads: threads that share a batch; all cores by default.
        file: where the model comes from, for messages.
        on_op: as for the interpreter.
        max_memory: bytes that activations, widened weights and answers may take, or the budget
            that they are taken from; by default the one that is open.

    """

    def __init__(
        self,
        graph: Graph,
        *,
        backend: str = DEFAULT_BACKEND,
        num_threads: int | None = None,
        file: str | None = None,
        on_op: OnOp | None = None,
        max_memory: int | Budget | None = None,
    ) -> None:
        self.graph = graph
        self._budget = as_budget(max_memory)
        self.file = file
        self._backend = backend
        self._num_threads = num_threads or cores()
        self._most = BATCH * self._num_threads if splits(graph, backend) else BATCH
        if backend in GPU_BACKENDS:
            self._most = GPU_BATCH
        self._on_op = on_op
        self._prepared: dict[int, _Ready] = {}

    def __call__(self, x: Array | Mapping[str, Array]) -> Array | dict[str, Array]:
        """Outputs for a batch; a dict by name where the model has several.

        Raises:
            DataError: names, shapes or values of the inputs do not fit the model.

        """
        outputs = self.run(x)
        return outputs if len(outputs) > 1 else next(iter(outputs.values()))

    def run(
        self, x: Array | Mapping[str, Array], progress: Progress | None = None
    ) -> dict[str, Array]:
        """As a call, but always a dict by output name.

        Args:
            x: the inputs.
            progress: called with the samples done and their total.

        Raises:
            DataError: names, shapes or values of the inputs do not fit the model.

        """
        feeds = self.check_inputs(x)
        outputs = self.run_raw(feeds, progress)
        return self._as_fed(outputs, {name: array.dtype for name, array in feeds.items()})

    def run_source(self, source: Source, progress: Progress | None = None) -> dict[str, Array]:
        """As ``run``, for inputs that are read piece by piece.

        Raises:
            DataError: as ``run``, or the source cannot be read.
            BudgetError: there is no room for the answers.

        """
        outputs: dict[str, Array] = {}
        dtypes = {name: array_type.dtype for name, array_type in source.types.items()}
        for start, count, feeds in self.pieces(source):
            raw = self.run_raw(feeds, later(progress, start, count), of=count)
            runs = self.runs(feeds)
            for name, part in self._as_fed(raw, dtypes).items():
                if name not in outputs:
                    outputs[name] = self._room_for(name, part, len(part) // runs * count)
                at = len(part) // runs * start
                outputs[name][at : at + len(part)] = part
        return outputs

    def _as_fed(self, outputs: dict[str, Array], dtypes: Mapping[str, Any]) -> dict[str, Array]:
        """Raw outputs for raw inputs, real values for real ones."""
        values = map(self.graph.value, self.graph.fed)
        if any(v.q is not None and dtypes[v.name] == v.dtype.numpy for v in values):
            return outputs
        return {name: self.real(name, array) for name, array in outputs.items()}

    def _room_for(self, name: str, part: Array, rows: int) -> Array:
        """Memory for all outputs, sized from the first piece of them."""
        size = rows * math.prod(part.shape[1:]) * part.itemsize
        memory = self._budget.zeros(size, f"'{name}' of all samples")
        return memory.view(part.dtype).reshape(rows, *part.shape[1:])

    def pieces(self, source: Source, least: int = 1) -> Iterator[tuple[int, int, dict[str, Array]]]:
        """The source's inputs, checked, as many at a time as are worth a call, in ``least`` pieces.

        Yields:
            How many runs came before, how many there are in all, and inputs by name.

        Raises:
            DataError: the inputs do not fit the model, or the source cannot be read.
            BudgetError: there is no room for a piece.

        """
        with error_context(file=self.file):
            check_types(self.graph, source.types, self.rows)
        name, array_type = next(iter(source.types.items()))
        total = self.whole_runs(name, array_type.shape[0])
        size = self._batch_size(total)
        input_bytes = sum(t.row_bytes * self.rows[n] for n, t in source.types.items())
        output_bytes = sum(self.graph.value(n).nbytes for n in self.graph.answers)
        if set(self.rows.values()) == {1}:
            output_bytes //= batch_of(self.graph)
        most = PIECE // max(1, input_bytes + output_bytes) // size
        runs = max(1, min(most, -(-total // (least * size)))) * size
        pieces = source.pieces({n: rows * runs for n, rows in self.rows.items()})
        for start, piece in zip(range(0, total, runs), pieces, strict=True):
            first = {n: rows * start for n, rows in self.rows.items()}
            yield start, total, self.check_inputs(piece, first)

    def run_raw(
        self,
        feeds: Mapping[str, Array],
        progress: Progress | None = None,
        *,
        of: int | None = None,
    ) -> dict[str, Array]:
        """Outputs in the model's own dtypes.

        Args:
            feeds: inputs as ``check_inputs`` returns them.
            progress: called with the samples done and their total.
            of: the number of runs in all, where these are a piece of them; batches are prepared
                for that number.

        """
        count = self.runs(feeds)
        size = self._batch_size(of or count)
        results: dict[str, list[Array]] = {name: [] for name in self.graph.answers}
        for start in range(0, count, size):
            stop = min(start + size, count)
            # ``on_op`` must not see the rows that fill up the last batch.
            batch = size if self._on_op is None else stop - start
            part = {n: a[start * self.rows[n] : stop * self.rows[n]] for n, a in feeds.items()}
            outputs = self._invoke(part, batch)
            for name, array in outputs.items():
                results[name].append(array)
            if progress is not None:
                progress(stop, count)
        return {name: np.concatenate(parts) for name, parts in results.items()}

    @property
    def backend(self) -> str:
        """The backend; for ``auto``, the chosen one after the first run."""
        ready = next(iter(self._prepared.values()), None)
        return self._backend if ready is None else ready.interpreter.backend

    def reset(self) -> None:
        """Forget what the model keeps from sample to sample, if it keeps anything."""
        for ready in self._prepared.values():
            ready.interpreter.reset_all_variables()

    def allocate(self, count: int) -> None:
        """Prepare for calls with that many samples: start threads, touch memory.

        The first such call does it otherwise, and takes longer for it.
        """
        if self._on_op is None:
            interpreter = self._ready(self._batch_size(count)).interpreter
            interpreter.invoke()
            interpreter.reset_all_variables()

    def check_inputs(
        self, x: Array | Mapping[str, Array], first: Mapping[str, int] | None = None
    ) -> dict[str, Array]:
        """Inputs by name, each of shape (batch, ...), checked against the model.

        Args:
            x: the inputs.
            first: how many rows of each input came before these, for messages.

        Raises:
            DataError: a name is unknown or missing, a shape differs, a value is not finite, or
                the dtype is neither float nor the model's own.

        """
        with error_context(file=self.file):
            arrays = self.named(x)
            check_types(
                self.graph, {n: ArrayType(a.shape, a.dtype) for n, a in arrays.items()}, self.rows
            )
            return {
                name: fitting(self.graph.value(name), arrays[name], (first or {}).get(name, 0))
                for name in self.graph.fed
            }

    def named(self, x: Array | Mapping[str, Array]) -> dict[str, Array]:
        """Inputs by the model's own names: a single array, or one called ``x``, is the only one."""
        return named(self.graph, x)

    @cached_property
    def rows(self) -> dict[str, int]:
        """Rows of each input, by name, that belong together: 1 where samples are kept apart."""
        return rows_of(self.graph)

    def runs(self, feeds: Mapping[str, Array]) -> int:
        """How many samples, or groups of rows that the model mixes, the inputs are.

        Raises:
            DataError: the last group is not whole.

        """
        name, array = next(iter(feeds.items()))
        return self.whole_runs(name, len(array))

    def whole_runs(self, name: str, rows: int) -> int:
        """How many runs that many rows of an input are; raises as ``runs`` does."""
        return whole_runs(self.graph.value(name), rows, self.rows[name])

    def stored_inputs(self, x: Array | Mapping[str, Array]) -> dict[str, Array]:
        """Inputs by name as the model stores them: floats quantised with its own parameters.

        Raises:
            DataError: as ``check_inputs``.

        """
        feeds = self.check_inputs(x)
        return {n: stored(self.graph.value(n), a) for n, a in feeds.items()}

    def stored_source(self, source: Source) -> dict[str, Array]:
        """As ``stored_inputs``, of inputs that come a piece at a time.

        Raises:
            DataError: as ``check_inputs``, or the source cannot be read.
            BudgetError: there is no room for them.

        """
        results: dict[str, Array] = {}
        for start, total, feeds in self.pieces(source):
            for name, array in feeds.items():
                part = stored(self.graph.value(name), array)
                if name not in results:
                    results[name] = self._room_for(name, part, total * self.rows[name])
                at = start * self.rows[name]
                results[name][at : at + len(part)] = part
        return results

    def _batch_size(self, count: int) -> int:
        """Samples per invoke: several where the model keeps samples apart, else one run."""
        constant = any(self.graph.value(name).is_constant for name in self.graph.answers)
        if constant or set(self.rows.values()) != {1}:
            return 1
        size = min(self._most, count)
        if self._on_op is None:
            size = min(self._most, 1 << (count - 1).bit_length())
        while size > 1:
            try:
                self._ready(size)
            except ShapeError:
                return 1
            except BudgetError:
                size //= 2
            else:
                break
        return size

    def _ready(self, batch: int) -> _Ready:
        """The interpreter for that many samples, made on first use."""
        if batch not in self._prepared:
            with error_context(file=self.file):
                self._prepared[batch] = self._prepare_anew(batch)
        return self._prepared[batch]

    def _prepare_anew(self, batch: int) -> _Ready:
        try:
            return self._prepare(batch)
        except BudgetError:
            if not self._prepared:
                raise
            self._prepared.clear()  # those for other numbers may have taken the memory
        return self._prepare(batch)

    def _prepare(self, batch: int) -> _Ready:
        interpreter = Interpreter.from_graph(
            self.graph,
            num_threads=self._num_threads,
            backend=self._backend,
            on_op=self._on_op,
            max_memory=self._budget,
        )
        (first, *_) = interpreter.get_input_details()
        if set(self.rows.values()) == {1} and batch != batch_of(self.graph):
            interpreter.resize_tensor_input(first["index"], (batch, *first["shape"][1:]))
        interpreter.allocate_tensors()
        return _Ready(
            interpreter,
            _views(interpreter, interpreter.get_input_details()),
            _views(interpreter, interpreter.get_output_details()),
        )

    def _invoke(self, feeds: Mapping[str, Array], batch: int) -> dict[str, Array]:
        """Outputs for at most ``batch`` samples."""
        ready = self._ready(batch)
        # A sample on its own may have outputs of any number of rows.
        rows = slice(len(next(iter(feeds.values()))) if batch > 1 else None)
        for name, view in ready.inputs.items():
            view[rows] = stored(self.graph.value(name), feeds[name])
        ready.interpreter.invoke()
        return {name: view[rows].copy() for name, view in ready.outputs.items()}

    def real(self, name: str, y: Array) -> Array:
        """Raw values of a tensor as real ones; values that are not quantised as they are."""
        value = self.graph.value(name)
        if value.q is None:
            return y
        return dequantize_array(Affine(value.q.scale, value.q.zero_point), y)
