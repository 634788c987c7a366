"""A model file, planned once and run in one arena; the method names are TFLite's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.tflite_reader import parse_tflite, read_tflite
from tinyrt.errors import DataError, TinyrtError, UnsupportedError
from tinyrt.interpreter import numba_backend, reference
from tinyrt.interpreter.batch import rebatch
from tinyrt.interpreter.program import Prepare, Program
from tinyrt.ir import BoundNode, Graph, Value
from tinyrt.memory import ArenaPlan, plan_memory

BACKENDS: dict[str, Prepare] = {
    "numba": numba_backend.prepare,
    "reference": reference.prepare,
}
"""Backend name -> what turns a graph and its tensors into a program."""

DEFAULT_BACKEND = "numba"

OnOp = Callable[[BoundNode, NDArray[Any]], None]


class Interpreter:
    """Runs a .tflite model.

    ``allocate_tensors`` plans the arena and prepares every op; ``invoke`` then only computes.
    Activations are views into the arena, weights are views into the memory-mapped file.

    Args:
        model_path: a .tflite file.
        model_content: the bytes of one, instead of a path.
        backend: a name in ``BACKENDS``.
        on_op: called after each op with the node and its output, e.g. to record intermediates.

    Raises:
        ModelFormatError: the file is not a model.
        UnsupportedError: an op or the backend is not there.

    """

    def __init__(
        self,
        model_path: str | Path | None = None,
        model_content: bytes | None = None,
        *,
        backend: str = DEFAULT_BACKEND,
        on_op: OnOp | None = None,
    ) -> None:
        if (model_path is None) == (model_content is None):
            raise TinyrtError("pass either model_path or model_content")
        if model_path is not None:
            graph = read_tflite(model_path)
        else:
            graph = parse_tflite(model_content or b"")
        self._start(graph, backend, on_op)

    @classmethod
    def from_graph(
        cls, graph: Graph, *, backend: str = DEFAULT_BACKEND, on_op: OnOp | None = None
    ) -> Interpreter:
        """An interpreter of a graph in memory, e.g. one that is not quantised yet."""
        interpreter = cls.__new__(cls)
        interpreter._start(graph, backend, on_op)
        return interpreter

    def _start(self, graph: Graph, backend: str, on_op: OnOp | None) -> None:
        if backend not in BACKENDS:
            raise UnsupportedError(f"there is no backend '{backend}'", expected=", ".join(BACKENDS))
        self.graph = self._model = graph
        self.backend = backend
        self._names = list(graph.values)
        self._on_op = on_op
        self._plan: ArenaPlan | None = None
        self._tensors: dict[str, NDArray[Any]] = {}
        self._program: Program | None = None

    @property
    def plan(self) -> ArenaPlan:
        """The arena plan.

        Raises:
            TinyrtError: ``allocate_tensors`` has not been called.

        """
        if self._plan is None:
            raise _not_allocated()
        return self._plan

    def allocate_tensors(self) -> None:
        """Plan the arena, allocate it, and prepare every op."""
        plan = plan_memory(self.graph)
        arena = np.zeros(plan.arena_bytes, np.uint8)
        tensors = {v.name: v.data for v in self.graph.values.values() if v.data is not None}
        for name, offset in plan.offsets.items():
            if name in self.graph.values:
                tensors[name] = _view(arena, offset, self.graph.value(name))
        self._program = BACKENDS[self.backend](self.graph, tensors)
        self._tensors = tensors
        self._plan = plan

    def invoke(self) -> None:
        """Run the model on the inputs that were set."""
        if self._program is None:
            raise _not_allocated()
        if self._on_op is None:
            self._program.run()
            return
        for node in self.graph.bound():
            self._program.run_op(node.index)
            self._on_op(node, self._tensors[node.output.name])

    def resize_tensor_input(self, input_index: int, tensor_size: Sequence[int]) -> None:
        """Change the batch size: ``tensor_size`` may differ in its first element only.

        Raises:
            ShapeError: another dimension changes, or the model mixes samples.

        """
        value = self._value(input_index)
        size = tuple(int(n) for n in tensor_size)
        if value.name not in self.graph.inputs or size[1:] != value.shape[1:]:
            raise DataError(
                f"cannot resize to {list(size)}",
                tensor=value.describe(),
                expected="a model input, and a change of its batch size only",
            )
        if size[0] != value.shape[0]:
            self.graph = rebatch(self._model, size[0])
            self._plan, self._program, self._tensors = None, None, {}

    def set_tensor(self, tensor_index: int, value: NDArray[Any]) -> None:
        """Copy an array into an input tensor.

        Raises:
            DataError: dtype or shape differ from the tensor's.

        """
        target = self._value(tensor_index)
        array = np.asarray(value)
        if array.shape != target.shape or array.dtype != target.dtype.numpy:
            raise DataError(
                f"the value is {array.dtype}{list(array.shape)}",
                tensor=target.describe(),
                expected=f"{target.dtype.value}{list(target.shape)}",
            )
        self._tensor(target)[...] = array

    def get_tensor(self, tensor_index: int) -> NDArray[Any]:
        """A copy of a tensor; intermediate ones may have been overwritten by later ops."""
        return self._tensor(self._value(tensor_index)).copy()

    def tensor(self, tensor_index: int) -> Callable[[], NDArray[Any]]:
        """A function that returns the tensor itself, a view into the arena, without a copy."""
        return lambda: self._tensor(self._value(tensor_index))

    def get_input_details(self) -> list[dict[str, Any]]:
        """Name, index, shape, dtype and quantisation of each input."""
        return [self._details(name) for name in self.graph.inputs]

    def get_output_details(self) -> list[dict[str, Any]]:
        """Name, index, shape, dtype and quantisation of each output."""
        return [self._details(name) for name in self.graph.outputs]

    def get_tensor_details(self) -> list[dict[str, Any]]:
        """Name, index, shape, dtype and quantisation of every tensor."""
        return [self._details(name) for name in self._names]

    def _value(self, index: int) -> Value:
        if not 0 <= index < len(self._names):
            raise DataError(f"there is no tensor {index}", expected=f"0 to {len(self._names) - 1}")
        return self.graph.value(self._names[index])

    def _tensor(self, value: Value) -> NDArray[Any]:
        self.plan  # noqa: B018 - raises before tensors are allocated
        return self._tensors[value.name]

    def _details(self, name: str) -> dict[str, Any]:
        value = self.graph.value(name)
        q = value.q
        shape = np.array(value.shape, np.int32)
        per_tensor = (q.scale, q.zero_point) if q and len(q.scales) == 1 else (0.0, 0)
        count = len(q.scales) if q else 0
        return {
            "name": name,
            "index": self._names.index(name),
            "shape": shape,
            "shape_signature": shape,
            "dtype": value.dtype.numpy.type,
            "quantization": per_tensor,
            "quantization_parameters": {
                "scales": np.array(q.scales if q else (), np.float32),
                "zero_points": np.full(count, q.zero_point if q else 0, np.int32),
                "quantized_dimension": (q.axis or 0) if q else 0,
            },
            "sparsity_parameters": {},
        }


def _not_allocated() -> TinyrtError:
    return TinyrtError("tensors are not allocated", hint="call allocate_tensors() first")


def _view(arena: NDArray[np.uint8], offset: int, value: Value) -> NDArray[Any]:
    return arena[offset : offset + value.nbytes].view(value.dtype.numpy).reshape(value.shape)
