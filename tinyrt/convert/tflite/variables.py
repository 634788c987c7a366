"""Variables that ops of a .tflite file read and assign by handle -> states of the graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyrt.budget import OP, current
from tinyrt.convert.tflite.parts import Parts
from tinyrt.convert.tflite.schema import builtin_name
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import Value

HANDLES = ("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE")
"""The ops that this module reads."""


class Variables:
    """Resource variables: their names by handle, their values as the ops come.

    A variable that is read before it is assigned holds its value from the last run: it is a state,
    which begins as zeros. The last assignment gives the state's next value.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._names: dict[str, str] = {}
        self._first: dict[str, Value] = {}
        self._now: dict[str, Value] = {}

    def handle(self, options: Any, output: Value) -> None:
        """VAR_HANDLE: the output stands for the variable of that name."""
        self._names[output.name] = (options.SharedName() or b"").decode()

    def read(self, handle: Value | None, output: Value) -> None:
        """READ_VARIABLE: a copy of its value; the state itself before any assignment."""
        name = self._name(handle)
        if name in self._now:
            self._parts.reshape(self._now[name], output)
        else:
            self._first[name] = self._now[name] = output

    def assign(self, handle: Value | None, value: Value | None) -> None:
        """ASSIGN_VARIABLE: from now on it holds this value."""
        if value is None:
            raise ModelFormatError(
                "ASSIGN_VARIABLE without a value", expected="a handle and a value"
            )
        self._now[self._name(handle)] = value

    def finish(self) -> None:
        """Pair each state's first value with a copy of its last one."""
        for name, before in self._first.items():
            after = self._now[name]
            if after.shape != before.shape or after.dtype is not before.dtype:
                raise UnsupportedError(
                    f"variable '{name}' changes its type",
                    tensor=after.describe(),
                    expected=before.describe(),
                )
            copy = self._parts.new(f"{before.name}/next", before)
            self._parts.reshape(after, copy)
            self._parts.states.append((before.name, copy.name))

    def _name(self, handle: Value | None) -> str:
        if handle is None or handle.name not in self._names:
            raise ModelFormatError(
                "the op's variable has no handle",
                tensor=handle.describe() if handle else None,
                expected="the output of a VAR_HANDLE",
            )
        return self._names[handle.name]


def check_initial(model: Any, index: int, values: list[Value]) -> None:
    """Raise unless the subgraph that CALL_ONCE names only fills variables with zeros.

    Args:
        model: the file's root table.
        index: number of that subgraph.
        values: its tensors.

    Raises:
        UnsupportedError: it does something else.

    """
    graph = model.Subgraphs(index)
    for i in range(graph.OperatorsLength()):
        operator = graph.Operators(i)
        current().spend(OP, "reading ops")
        builtin = builtin_name(model, operator.OpcodeIndex())
        if builtin == "VAR_HANDLE":
            continue
        value = None
        if builtin == "ASSIGN_VARIABLE" and operator.InputsLength() == 2:
            index = operator.Inputs(1)
            value = values[index] if 0 <= index < len(values) else None
        zero = value.q.zero_point if value is not None and value.q is not None else 0
        if value is None or value.data is None or np.any(value.data != zero):
            raise UnsupportedError(
                "CALL_ONCE runs more than the filling of variables with zeros",
                tensor=value.describe() if value is not None else None,
                expected="variables that begin as zeros",
                hint="export the model with its variables set to zeros",
            )
