"""Collects what the ops write: parameter structs, tables, weights and calls."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from tinyrt.errors import VerifyError
from tinyrt.export import c_text
from tinyrt.export.states import StateLayout
from tinyrt.ir import BoundNode, DType, Graph, Value
from tinyrt.memory import ArenaPlan
from tinyrt.memory.lifetimes import scratch_name
from tinyrt.ops import OPS
from tinyrt.ops.spec import Array, InstructionSet, Quant
from tinyrt.text import clean

MOST_NAME = 48
"""Characters of a node's name that a comment shows."""


FILTERS = "w"
"""Role of the weights of a convolution or dense layer, packed or not."""


@dataclass(frozen=True, slots=True)
class PushedRows:
    """A segment that runs as the rows of the model's input are pushed.

    Attributes:
        base: C variable that points to the region where it has its rings and its state.
        state: offset of its state there: how far it is, and counters.
        moving: how many counters there are.
        rows: how many rows the input has.
        row_bytes: size of a row.
        place: C expression for where a row is copied to; the first one of a batch.
        block: rows of a whole batch.
        next_stage: C expression for the stage that comes next.
        cases: of the switch over stages.

    """

    base: str
    state: int
    moving: int
    rows: int
    row_bytes: int
    place: str
    block: int
    next_stage: str
    cases: tuple[str, ...]


class ModelWriter:
    """The C exporter as ops see it (``tinyrt.ops.spec.CWriter``).

    Attributes:
        isa: the instruction set that the code is written for.
        small: whether bytes of flash count, where there is a choice, and not instructions.
        row_kernels: whether convolutions on rows may take kernels of their own.
        no_scratch: what stands for the scratch memory of an op that needs none.
        definitions: parameter structs and tables of the model's source file.
        statements: comments and calls of its invoke function.
        weights: C name -> tensor, in the order of first use.
        kernels: the kernels called, in the order of first use.
        pushed: the segment that runs as rows of the model's input are pushed, if there is one.
        placed: tensor -> C expression, for those that do not lie where the plan has them.
        parameters: C type and fields of each parameter struct, by its name.
        arrays: definition of each table, by its name.

    """

    def __init__(
        self,
        prefix: str,
        graph: Graph,
        plan: ArenaPlan,
        isa: InstructionSet,
        states: StateLayout | None = None,
        small: bool = False,
    ) -> None:
        self.prefix = prefix
        self.isa = isa
        self.small = small
        self.row_kernels = True
        self.no_scratch = "NULL"
        self.definitions: list[str] = []
        self.statements: list[str] = []
        self.weights: dict[str, Value] = {}
        self.kernels: list[str] = []
        self.placed: Mapping[str, str] = {}
        self.parameters: dict[str, tuple[str, Mapping[str, object]]] = {}
        self.arrays: dict[str, str] = {}
        self.pushed: PushedRows | None = None
        self._graph = graph
        self._ports = {name: f"input_{i}" for i, name in enumerate(graph.fed)}
        self._ports |= {name: f"output_{i}" for i, name in enumerate(graph.answers)}
        self._plan = plan
        self._states = states or StateLayout()
        self._constants: dict[str, str] = {}
        self._node: BoundNode | None = None
        self._variant = ""

    def trial(self) -> ModelWriter:
        """A writer in the same state, for whose statements and definitions nobody asks."""
        other = copy.copy(self)
        other.definitions, other.statements, other.kernels = [], [], []
        other.weights, other.parameters, other.arrays, other._constants = {}, {}, {}, {}
        return other

    @contextmanager
    def variant(self, suffix: str) -> Iterator[list[str]]:
        """Collect statements apart; what they define anew has names with the suffix."""
        before, self._variant = self._variant, suffix
        statements, self.statements = self.statements, []
        yield self.statements
        self.statements, self._variant = statements, before

    def begin(self, node: BoundNode) -> None:
        """Start the statements of a node with a comment that says what it does and where."""
        self._node = node
        sources = [v for v in node.inputs if v is not None and not v.is_constant]
        types = ", ".join(str(v.type) for v in sources)
        places = ", ".join(self._place(v) for v in sources)
        where = (
            "the same bytes" if self.is_view(node) else f"{places} -> {self._place(node.output)}"
        )
        self.statements.append(
            c_text.block_comment(
                f"{node.index}: {node.op} '{short_name(node.name)}'",
                f"{types} -> {node.output.type}; {where}",
            )
        )

    def is_view(self, node: BoundNode) -> bool:
        """Whether the node's output shares its inputs' memory, so that there is nothing to do."""
        return node.index in self._plan.idle or node.index in self._states.idle

    def shift(self, node: BoundNode) -> bool:
        """Write the call that moves a state's window on, if that is what the node is for."""
        shift = self._states.shifts.get(node.index)
        if shift is None:
            return False
        sizes = (str(shift.kept), str(shift.new))
        self.call("tinyrt_shift", *sizes, self.pointer(shift.rows), self.pointer(shift.window))
        return True

    def array(self, ctype: str, suffix: str, data: Array) -> str:
        """Define a ``static const`` array for the current op and return its C name."""
        for name in (f"n{self._current().index}_{suffix}", self._local_name(suffix)):
            text = c_text.array("static const", ctype, name, np.asarray(data))
            if self.arrays.setdefault(name, text) == text:
                break
        if text not in self.definitions:
            self.definitions.append(text)
        return name

    def params(self, ctype: str, fields: Mapping[str, object]) -> str:
        """Define the current op's constant parameter struct and return a pointer to it."""
        name = self._local_name("params")
        self.definitions.append(c_text.struct(ctype, name, fields))
        self.parameters[name] = ctype, fields
        return f"&{name}"

    def packed(self, role: str, data: Array) -> str:
        """Define weights in the order in which the kernel reads them and return their C name."""
        value = Value.constant(f"{role} packed for {self.isa.value}", np.asarray(data))
        for local in (f"n{self._current().index}_{role}", self._local_name(role)):
            name = f"{self.prefix}_{local}"
            known = self.weights.setdefault(name, value)
            if np.array_equal(np.asarray(known.data), np.asarray(data)):
                break
        return name

    def pointer(self, value: Value | None) -> str:
        """The C expression for the first element of a tensor, wherever it lies.

        ``NULL`` for an absent optional input; a constant becomes an array of the weights file.
        """
        if value is None:
            return "NULL"
        if value.is_constant:
            return self._constant(value)
        if value.name in self.placed:
            return self.placed[value.name]
        port = self._port(value)
        if port is not None:
            return port
        at_offset = self._inside(value.name)
        if value.dtype is DType.INT8:
            return at_offset
        return f"({c_text.c_type(value.dtype)} *)(void *)({at_offset})"

    def number(self, value: float) -> str:
        """A float literal for an argument."""
        return c_text.float_literal(value)

    def pointer_list(self, ctype: str, values: Sequence[Value]) -> str:
        """The C expression for an array of pointers to tensors."""
        pointers = ", ".join(self.pointer(v) for v in values)
        return f"(const {ctype} *const[]){{{pointers}}}"

    def scratch(self) -> str:
        """The C expression for the current op's scratch memory."""
        name = scratch_name(self._current().index)
        return self._inside(name) if name in self._plan.offsets else self.no_scratch

    def call(self, kernel: str, *arguments: str) -> None:
        """Write the call and add the kernel's source file to the project."""
        if kernel not in self.kernels:
            self.kernels.append(kernel)
        self.statements.append(c_text.call(kernel, arguments))

    @property
    def filter_bytes(self) -> int:
        """Bytes of the weights of convolutions and dense layers, without biases and mantissas."""
        filters = (v for name, v in self.weights.items() if name.endswith(f"_{FILTERS}"))
        return sum(np.asarray(v.data).nbytes for v in filters)

    def _constant(self, value: Value) -> str:
        if value.name not in self._constants:
            node = self._current()
            i = next(i for i, v in enumerate(node.inputs) if v is not None and v.name == value.name)
            roles = {1: FILTERS, 2: "bias"} if OPS[node.op].quant is Quant.WEIGHTED else {}
            name = f"{self.prefix}_{self._local_name(roles.get(i, f'c{i}'))}"
            self._constants[value.name] = name
            self.weights[name] = value
        return self._constants[value.name]

    def _local_name(self, suffix: str) -> str:
        return f"n{self._current().index}{self._variant}_{suffix}"

    def _current(self) -> BoundNode:
        if self._node is None:
            raise VerifyError("an op was written outside of a node")
        return self._node

    def _port(self, value: Value) -> str | None:
        """The variable of the model output or input that the value is, or is a view of."""
        root, start = self._plan.views.get(value.name, (value.name, 0))
        step = f" + {start // value.dtype.itemsize}" if start else ""
        port = self._ports.get(root)
        return None if port is None else f"{port}{step}"

    def _inside(self, name: str) -> str:
        """The C expression for the first byte of what lies in a region or in the state."""
        root, start = self._plan.views.get(name, (name, 0))
        if root in self._states.offsets:
            return f"state + {self._states.offsets[root] + start}"
        region = self._plan.region_of.get(name, 0)
        return f"{base_of(self._plan, region)} + {self._plan.offsets[name]}"

    def _place(self, value: Value) -> str:
        place = self.placed.get(value.name) or self._port(value)
        return place or self._inside(value.name).replace(" + ", " ")


def base_of(plan: ArenaPlan, region: int) -> str:
    """The C variable that points to a region's start."""
    return "arena" if len(plan.regions) == 1 else f"arena_{plan.regions[region].name.lower()}"


def short_name(name: str) -> str:
    """A node's name as a reader wants it: converters join the names of all ops they have fused."""
    first = clean(name.split(";")[0])
    return first if len(first) <= MOST_NAME else f"...{first[-MOST_NAME:]}"
