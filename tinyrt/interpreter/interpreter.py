"""A model file, planned once and run in one arena; methods and semantics are LiteRT's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.program import Program, Step
from tinyrt.budget import Budget, as_budget, limited
from tinyrt.convert.tflite.directory import Directory
from tinyrt.convert.tflite.reader import map_file, parse_with_directory
from tinyrt.errors import (
    DataError,
    NotAllocatedError,
    OutputError,
    ToolError,
    UnsupportedError,
    boundary,
    error_context,
)
from tinyrt.interpreter.allocate import allocate
from tinyrt.interpreter.backends import (
    DEFAULT_BACKEND,
    READING_FIRST,
    candidates,
    require_backend,
)
from tinyrt.interpreter.details import describe
from tinyrt.interpreter.feeds import new_batch
from tinyrt.interpreter.invocation import OnOp, invocation
from tinyrt.interpreter.signature import SignatureRunner, find_signature, ports_of
from tinyrt.interpreter.split import splits
from tinyrt.ir import Graph, Value
from tinyrt.memory import ArenaPlan
from tinyrt.ops.shared.batch import rebatch
from tinyrt.ops.shared.stored_weights import widen_weights


class Interpreter:
    """Runs a .tflite model.

    ``allocate_tensors`` plans the arena and prepares every op; ``invoke`` then only computes.
    Activations are views into the arena, weights are views into the memory-mapped file, inputs keep
    their values until they are set again. Tensor indices are the file's.

    Args:
        model_path: a .tflite file.
        model_content: the bytes of one, instead of a path.
        experimental_delegates: accepted for LiteRT's sake; must be empty.
        num_threads: threads that share a resized batch; one sample is always run by one.
        experimental_preserve_all_tensors: give every tensor memory of its own, so that all of them
            can be read after ``invoke``.
        backend: a name in ``EVERY_BACKEND``, or ``auto``: ``native`` where there is
            a C compiler and a C kernel for every op, else ``numba``. ``allocate_tensors`` chooses;
            the attribute ``backend`` then has its name.
        on_op: called after each op with the node and its output, e.g. to record intermediates.
        max_memory: bytes that activations and widened weights may take, or the budget that they
            are taken from; by default the open one. ``allocate_tensors`` refuses to take more.

    Raises:
        ModelFormatError: the file is not a model.
        UnsupportedError: an op, the backend or a delegate is not there.
        DataError: none or both of the model arguments are given, or no thread.

    """

    def __init__(
        self,
        model_path: str | Path | None = None,
        model_content: bytes | None = None,
        experimental_delegates: Sequence[object] | None = None,
        num_threads: int | None = None,
        *,
        experimental_preserve_all_tensors: bool = False,
        backend: str = DEFAULT_BACKEND,
        on_op: OnOp | None = None,
        max_memory: int | Budget | None = None,
    ) -> None:
        if (model_path is None) == (model_content is None):
            raise DataError("pass either model_path or model_content", expected="one of them")
        if experimental_delegates:
            raise UnsupportedError("tinyrt runs no delegates", hint="choose a backend instead")
        file = None if model_path is None else str(model_path)
        with error_context(file=file), limited():
            name = "model" if model_path is None else Path(model_path).stem
            data = (model_content or b"") if model_path is None else map_file(model_path)
            read = partial(parse_with_directory, data, name)
            self._start(
                *read(0),
                backend,
                on_op,
                num_threads,
                max_memory,
                preserve=experimental_preserve_all_tensors,
                read=read,
                file=file,
            )

    @classmethod
    def from_graph(
        cls,
        graph: Graph,
        *,
        num_threads: int | None = None,
        backend: str = DEFAULT_BACKEND,
        on_op: OnOp | None = None,
        max_memory: int | Budget | None = None,
        plan: ArenaPlan | None = None,
    ) -> Interpreter:
        """An interpreter of a graph in memory, e.g. one that is not quantised yet.

        With ``plan``, backend reference works in just that plan, as a device does, be it by rows
        or not; other backends order their reads and writes otherwise and refuse.

        Raises:
            UnsupportedError: there is a plan, and the backend or ``on_op`` cannot follow it.

        """
        if plan is not None and (backend not in READING_FIRST or on_op is not None):
            raise UnsupportedError(
                f"backend {backend} cannot follow a plan" + (" and be watched" if on_op else ""),
                expected=", ".join(sorted(READING_FIRST)),
            )
        interpreter = cls.__new__(cls)
        directory = Directory.of(graph)
        interpreter._start(graph, directory, backend, on_op, num_threads, max_memory)
        interpreter._fixed_plan = plan
        return interpreter

    def _start(
        self,
        graph: Graph,
        directory: Directory,
        backend: str,
        on_op: OnOp | None,
        num_threads: int | None,
        max_memory: int | Budget | None,
        *,
        preserve: bool = False,
        read: Callable[[int], tuple[Graph, Directory]] | None = None,
        file: str | None = None,
    ) -> None:
        require_backend(backend)
        threads = 1 if num_threads is None else num_threads
        if not isinstance(threads, int) or threads < 1:
            raise DataError(f"num_threads is {num_threads!r}", expected="an integer of at least 1")
        self._budget = as_budget(max_memory)
        graph, self._widened_bytes = widen_weights(graph, self._budget)
        self.graph = self._model = graph
        self.backend = backend
        self._requested_backend = backend
        self._directory = directory
        self._index = {e.value.name: i for i, e in enumerate(directory.tensors)}
        self._on_op = on_op
        self._num_threads = threads
        self._preserve = preserve
        self._file = file
        self._fixed_plan: ArenaPlan | None = None
        self._read = read
        self._others: dict[int, Interpreter] = {}
        self._forget()

    def _forget(self) -> None:
        """Back to the state before allocation."""
        self._plan: ArenaPlan | None = None
        self._program: Program | None = None
        self._run: Step | None = None
        self._tensors: dict[str, NDArray[Any]] = {}

    @property
    def allocated(self) -> bool:
        """Whether ``allocate_tensors`` has been called since the last change of shapes."""
        return self._program is not None

    @property
    def plan(self) -> ArenaPlan:
        """The arena plan.

        Raises:
            NotAllocatedError: ``allocate_tensors`` has not been called.

        """
        if self._plan is None:
            raise NotAllocatedError
        return self._plan

    @property
    def packed_bytes(self) -> int:
        """Bytes of weights and tables that are held in an order or a width of their own."""
        packed = self._program.packed_bytes if self._program is not None else 0
        return self._widened_bytes + packed

    def allocate_tensors(self) -> None:
        """Plan the arena, allocate it, and prepare every op.

        Raises:
            UnsupportedError: the backend lacks an op.
            ToolError: the backend needs a tool that is not there, or that failed.
            OutputError: the backend's cache cannot be written.
            BudgetError: activations would take more than ``max_memory``.
            VerifyError: parameters of an op are none that its kernels can compute with.

        """
        with boundary("model", step="preparing", file=self._file):
            self._allocate_any()

    def _allocate_any(self) -> None:
        """Allocate with the first backend that can run the model."""
        watched = self._preserve or self._on_op is not None
        *others, last = candidates(self._requested_backend, self.graph, watched)
        for backend in others:
            try:
                self._allocate(backend)
            except (UnsupportedError, ToolError, OutputError):
                continue
            return
        self._allocate(last)

    def _allocate(self, backend: str) -> None:
        watched = self._preserve or self._on_op is not None
        alone = watched or self.graph is self._model or not splits(self.graph, self.backend)
        self._program, placed = allocate(
            self.graph,
            self._model,
            backend,
            threads=1 if alone else self._num_threads,
            apart=self._preserve,
            budget=self._budget,
            plan=self._fixed_plan,
        )
        self.backend = backend
        self._tensors = placed.tensors
        self._plan = placed.plan
        self._run = invocation(self._program, self.graph, self._tensors, self._on_op)
        self.reset_all_variables()

    def invoke(self) -> None:
        """Run the model on the inputs that were set.

        Raises:
            NotAllocatedError: ``allocate_tensors`` has not been called.

        """
        # Small models take a microsecond: nothing is looked up here that can be known before.
        if self._run is None:
            raise NotAllocatedError
        self._run()

    def run_op(self, index: int) -> None:
        """Run one op on what the tensors hold.

        Raises:
            NotAllocatedError: ``allocate_tensors`` has not been called.
            UnsupportedError: the backend cannot stop between ops.

        """
        if self._program is None:
            raise NotAllocatedError
        self._program.run_op(index)

    def resize_tensor_input(
        self, input_index: int, tensor_size: Sequence[int], strict: bool = False
    ) -> None:
        """Change the batch size: ``tensor_size`` may differ in its first element only.

        Args:
            input_index: the index of a model input.
            tensor_size: its new shape.
            strict: refuse to change a dimension that the file does not leave open.

        Raises:
            ShapeError: the model mixes samples, or the input is a single number.
            DataError: another dimension changes, or a closed one does.

        """
        value = self._value(input_index)
        closed = strict and self._directory.tensors[input_index].shape_signature[0] != -1
        batch = new_batch(self.graph, value, tensor_size, closed)
        if batch == value.shape[0]:
            return
        if self._fixed_plan is not None:
            raise UnsupportedError(
                "the plan is for one batch size", expected=str(value.shape[0]), hint="plan anew"
            )
        self.graph = rebatch(self._model, batch)
        self._forget()

    def set_tensor(self, tensor_index: int, value: NDArray[Any]) -> None:
        """Copy an array into a tensor, usually an input.

        Raises:
            DataError: dtype or shape differ from the tensor's, or it is a constant.
            NotAllocatedError: ``allocate_tensors`` has not been called.

        """
        target = self._value(tensor_index)
        array = np.asarray(value)
        if array.shape != target.shape or array.dtype != target.dtype.numpy or target.is_constant:
            raise DataError(
                f"the value is {array.dtype}{list(array.shape)}",
                tensor=target.describe(),
                expected=f"{target.dtype.value}{list(target.shape)}, for a tensor that may change",
            )
        self._tensor(target)[...] = array

    def get_tensor(self, tensor_index: int) -> NDArray[Any]:
        """A copy of a tensor; intermediate ones may have been overwritten by later ops.

        Raises:
            DataError: there is no such tensor, or nothing computes it.
            NotAllocatedError: ``allocate_tensors`` has not been called.

        """
        return self._tensor(self._value(tensor_index)).copy()

    def tensor(self, tensor_index: int) -> Callable[[], NDArray[Any]]:
        """A function that returns the tensor itself, a view into the arena, without a copy."""
        return lambda: self._tensor(self._value(tensor_index))

    def reset_all_variables(self) -> None:
        """Set the state that the model keeps between invocations to zeros, as it was at first.

        Raises:
            NotAllocatedError: there is one, and ``allocate_tensors`` has not been called.

        """
        for before, _ in self.graph.states:
            value = self.graph.value(before)
            self._tensor(value).fill(value.q.zero_point if value.q else 0)

    def get_input_details(self) -> list[dict[str, Any]]:
        """Name, index, shape, dtype and quantisation of each input."""
        return [self._details(self._index[name]) for name in self.graph.fed]

    def get_output_details(self) -> list[dict[str, Any]]:
        """Name, index, shape, dtype and quantisation of each output."""
        return [self._details(self._index[name]) for name in self.graph.answers]

    def get_tensor_details(self) -> list[dict[str, Any]]:
        """Name, index, shape, dtype and quantisation of every tensor, by index."""
        return [self._details(i) for i in range(len(self._directory.tensors))]

    def get_signature_list(self) -> dict[str, dict[str, list[str]]]:
        """Signature key -> names of its ``inputs`` and ``outputs``."""
        return ports_of(self._directory.signatures)

    def get_signature_runner(self, signature_key: str | None = None) -> SignatureRunner:
        """A function of named arrays.

        Args:
            signature_key: which signature; may be left out where there is exactly one.

        Raises:
            DataError: there is no such signature.

        """
        key, signature = find_signature(self._directory.signatures, signature_key)
        return SignatureRunner(self._of_subgraph(signature.subgraph), key, signature)

    def _of_subgraph(self, index: int) -> Interpreter:
        """What runs another subgraph of the file, with memory of its own."""
        if index == 0 or self._read is None:
            return self
        if index not in self._others:
            other = Interpreter.__new__(Interpreter)
            other._start(
                *self._read(index),
                self._requested_backend,
                self._on_op,
                self._num_threads,
                self._budget,
                file=self._file,
            )
            self._others[index] = other
        return self._others[index]

    def _value(self, index: int) -> Value:
        entries = self._directory.tensors
        if not 0 <= index < len(entries):
            raise DataError(f"there is no tensor {index}", expected=f"0 to {len(entries) - 1}")
        value = entries[index].value
        return self.graph.values.get(value.name, value)

    def _tensor(self, value: Value) -> NDArray[Any]:
        if value.data is not None:
            return value.data
        if self._program is None:
            raise NotAllocatedError
        if value.name not in self._tensors:
            what = value.describe()
            raise DataError("no op computes this tensor", tensor=what, expected="one that is used")
        return self._tensors[value.name]

    def _details(self, index: int) -> dict[str, Any]:
        return describe(self._directory.tensors[index], index, self._value(index).shape)
