"""Collects what kernels call: parameter structs, tables, weights and statements, as records."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.kernel import (
    Arg,
    Call,
    Data,
    Field,
    Function,
    Kernel,
    Null,
    Number,
    Params,
    Place,
    Places,
    Scratch,
    Sums,
    Target,
    call,
)
from tinyrt.errors import error_context
from tinyrt.export import text as c_text
from tinyrt.export.code import (
    NO_SCRATCH,
    At,
    CallLine,
    Comment,
    Int,
    Name,
    NodeNumber,
    Port,
    Statement,
    Struct,
    Tokens,
    advanced,
    advancing,
    line,
    plus,
    text_of,
)
from tinyrt.export.copies import copied, data_of, field_path
from tinyrt.export.pushed import PushedRows
from tinyrt.export.states import StateLayout
from tinyrt.ir import BoundNode, DType, Graph, Value
from tinyrt.memory import ArenaPlan
from tinyrt.memory.lifetimes import scratch_name
from tinyrt.ops import is_weighted
from tinyrt.text import clean

MAX_NAME = 48
"""Characters of a node's name that a comment shows."""

FILTERS = "w"
"""Role of the weights of a convolution or dense layer, packed or not."""

BYTES = ("int8_t *", "uint8_t *")
"""Types of pointers to bytes; these need no intermediate cast to ``void *``."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table of the model's source file."""

    name: str
    data: Data


@dataclass(frozen=True, slots=True, eq=False)
class Parameters:
    """A parameter struct of the model's source file; its fields name their data."""

    name: str
    ctype: str
    fields: Mapping[str, object]


COPY = "tinyrt_reshape"
"""The C function that copies bytes; its arguments are the number of bytes, source and target."""


class ModelWriter:
    """Turns kernels into statements, once the memory plan is known.

    Attributes:
        target: the instruction set and options that the code is written for.
        definitions: parameter structs and tables of the model's source file, or their text.
        statements: comments and code of its invoke function.
        weights: C name -> data, in the order of first use.
        described: C name -> the tensor with these data, for data that are not packed.
        functions: the kernels called, in the order of first use.
        pushed: the segment that runs as rows of the model's input are pushed, if there is one.
        placed: tensor -> its place, for tensors that do not lie at the plan's offset.
        sums: pointer to the sums of a segment's rows.
        parameters: each parameter struct, by its name.
        tables: each table, by its name.
        has_odd_floats: whether an argument is a float that C can only name with <math.h>.

    """

    def __init__(
        self,
        prefix: str,
        graph: Graph,
        plan: ArenaPlan,
        target: Target,
        states: StateLayout,
    ) -> None:
        self.prefix = prefix
        self.target = target
        self.definitions: list[Table | Parameters | str] = []
        self.statements: list[Statement] = []
        self.weights: dict[str, Data] = {}
        self.described: dict[str, Value] = {}
        self.functions: list[str] = []
        self.placed: Mapping[str, Tokens] = {}
        self.sums: Tokens = ()
        self.parameters: dict[str, Params] = {}
        self.tables: dict[str, Data] = {}
        self.pushed: PushedRows | None = None
        self.has_odd_floats = False
        self._graph = graph
        self._ports = {name: f"input_{i}" for i, name in enumerate(graph.fed)}
        self._ports |= {name: f"output_{i}" for i, name in enumerate(graph.answers)}
        self._plan = plan
        self._states = states
        self._constants: dict[str, str] = {}
        self._shared: dict[tuple[str, str | None, str, bytes], str] = {}
        self._node: BoundNode | None = None
        self._variant = ""

    def trial(self) -> ModelWriter:
        """A copy in the same state for a trial; the caller discards its statements."""
        other = copy.copy(self)
        other.definitions, other.statements, other.functions = [], [], []
        other.weights, other.parameters, other.tables = {}, {}, {}
        other._constants, other._shared = {}, {}
        return other

    @contextmanager
    def variant(self, suffix: str) -> Iterator[list[Statement]]:
        """Collect statements in a list of their own; new definitions get names with the suffix."""
        before, self._variant = self._variant, suffix
        statements, self.statements = self.statements, []
        yield self.statements
        self.statements, self._variant = statements, before

    def write_op(self, node: BoundNode) -> None:
        """Write a node's comment and its kernel's calls; a view has no calls.

        Raises:
            UnsupportedError: there is no kernel for the node, or it could overflow.

        """
        with error_context(op=node.describe()):
            self._write_op(node)

    def _write_op(self, node: BoundNode) -> None:
        self.begin(node)
        kernel = self.kernel_of(node)
        if kernel is not None:
            self.write_part(node, kernel.calls)

    def write_part(self, node: BoundNode, calls: Iterable[Call]) -> None:
        """Write some of a node's calls, which are a slice."""
        self.statements.append(line("TINYRT_PROFILE_BEGIN(", NodeNumber(node.index), ");"))
        for one in calls:
            self.write_call(one)
        self.statements.append(line("TINYRT_PROFILE_END(", NodeNumber(node.index), ");"))

    def kernel_of(self, node: BoundNode) -> Kernel | None:
        """What computes the node; None for a view."""
        if self._is_view(node):
            return None
        return self._shift_of(node) or choose(node, self.target)

    def begin(self, node: BoundNode) -> None:
        """Start a node's statements with a comment: its op, its tensors' types and their places."""
        self._node = node
        sources = [v for v in node.inputs if v is not None and not v.is_constant]
        types = ", ".join(str(v.type) for v in sources)
        places = ", ".join(self._shown_place(v) for v in sources)
        where = f"{places} -> {self._shown_place(node.output)}"
        if self._is_view(node):
            where = "the same bytes"
        title = f"{node.index}: {node.op} '{short_name(node.name)}'"
        self.statements.append(Comment(title, f"{types} -> {node.output.type}; {where}"))

    def _is_view(self, node: BoundNode) -> bool:
        """Whether the node needs no code because its output shares its inputs' memory."""
        return node.index in self._plan.idle or node.index in self._states.idle

    def _shift_of(self, node: BoundNode) -> Kernel | None:
        """The kernel that moves a state's window on, for a node that does so; else None."""
        shift = self._states.shifts.get(node.index)
        if shift is None:
            return None
        shift_call = call("tinyrt_shift", shift.tail, shift.new, shift.rows, shift.window)
        return Kernel(lambda: (shift_call,))

    def write_call(self, one: Call) -> None:
        """Write one call of the current node, except a copy onto the same bytes."""
        for data in one.data:
            self._define(data)
        # Data are written in the order of the arguments, before constants of the model.
        args = {i: self._arg(a) for i, a in enumerate(one.args) if isinstance(a, Data)}
        args |= {i: self._arg(a) for i, a in enumerate(one.args) if i not in args}
        tokens = tuple(args[i] for i in range(len(one.args)))
        if one.function == COPY and tokens[-1] == tokens[-2]:
            return  # An unchanged state is in place already.
        self.call(one.function, *tokens)

    def call(self, function: str, *args: Tokens) -> None:
        """Write a call whose arguments are known, and add the function to the project."""
        if function not in self.functions:
            self.functions.append(function)
        self.statements.append(CallLine(function, args))

    def _arg(self, arg: Arg) -> Tokens:
        match arg:
            case Number(value):
                return advancing(self._number(value), arg.each)
            case Function(name):
                return (name,)
            case Data():
                return advancing(plus((Name(self._define(arg)),), arg.skip), arg.each)
            case Place():
                return self._place(arg)
            case Scratch():
                return self._scratch(arg)
            case Sums():
                return ("(const int32_t *)(const void *)(", *self.sums, ")")
            case Null():
                return ("NULL",)
            case Places(ctype, values):
                places = [self.pointer(value) for value in values]
                between = [token for place in places for token in (", ", *place)][1:]
                return f"(const {ctype} *const[]){{", *between, "}"
            case _:
                return (self._struct(arg),)

    def _number(self, value: int | float) -> Tokens:
        if isinstance(value, int):
            return (Int(value),)
        self.has_odd_floats |= not np.isfinite(np.float32(value))
        return (c_text.float_literal(value),)

    def _place(self, place: Place) -> Tokens:
        tokens = self.pointer(place.value)
        if place.pointer is not None:
            tokens = (f"({place.pointer})(", *tokens, ")")
        return advancing(plus(tokens, place.skip), place.each)

    def _scratch(self, scratch: Scratch) -> Tokens:
        name = scratch_name(self._current().index)
        start: Tokens = (self._inside(name) if name in self._plan.offsets else NO_SCRATCH,)
        if scratch.pointer is None:
            return plus(start, scratch.skip)
        if scratch.pointer in BYTES:
            return plus((f"({scratch.pointer})(", *start, ")"), scratch.skip)
        return f"({scratch.pointer})(void *)(", *plus(start, scratch.skip), ")"

    def _define(self, data: Data) -> str:
        """The C name of a table, or of the packed weights that replace the op's own weights.

        Ops whose arrays are equal share one: the steps of an unrolled layer have the same weights.
        """
        own = self.tables if data.table else self.weights
        names = [f"n{self._current().index}_{data.role}", self._local_name(data.role)]
        if not data.table:
            names = [*map(self._global, names)]
        name = next(name for name in names if name not in own or own[name].is_same(data))
        if name in own:
            return name
        name = self._shared.setdefault(data.contents, name)
        if name not in own:
            own[name] = data
            if data.table:
                self.definitions.append(Table(name, data))
        return name

    def _global(self, local: str) -> str:
        return f"{self.prefix}_{local}"

    def _define_params(self, params: Params) -> str:
        """The C name of a parameter struct of the current op."""
        fields = {name: self._defined(field) for name, field in params.fields.items()}
        name = self._local_name("params")
        self.parameters[name] = params
        self.definitions.append(Parameters(name, params.ctype, fields))
        return name

    def _struct(self, params: Params) -> Struct:
        """A pointer to parameters, or to a copy whose pointers have advanced with the round."""
        struct = Struct(self._define_params(params), params.ctype)
        changed = [(path, data.each) for path, data in data_of(params.fields) if any(data.each)]
        if changed:
            copy_of = replace(struct, pointer=False, copied=True)
            self.statements += copied(replace(struct, pointer=False), params)
            self.statements += [
                line(copy_of, *field_path(path), " += ", *more, ";")
                for path, each in changed
                for more in advanced(each)
            ]
        return replace(struct, copied=bool(changed))

    def _defined(self, field: Field) -> object:
        """A field, with data replaced by pointers: their C names, and what is skipped."""
        if isinstance(field, Data):
            return text_of(plus((Name(self._define(field)),), field.skip))
        if isinstance(field, Mapping):
            return {name: self._defined(own) for name, own in field.items()}
        return field

    def pointer(self, value: Value) -> Tokens:
        """A pointer to the first element of a tensor, in the arena or in the weights.

        A constant becomes an array of the weights file.
        """
        if value.is_constant:
            return (Name(self._constant(value)),)
        if value.name in self.placed:
            return self.placed[value.name]
        port = self._port(value)
        if port:
            return port
        place = self._inside(value.name)
        if value.dtype is DType.INT8:
            return (place,)
        return f"({c_text.c_type(value.dtype)} *)(void *)(", place, ")"

    @property
    def weight_bytes(self) -> int:
        """Bytes of all constants of the weights' file."""
        return sum(data.array.nbytes for data in self.weights.values())

    @property
    def filter_bytes(self) -> int:
        """Bytes of the weights of convolutions and dense layers, without biases and mantissas."""
        return sum(data.array.nbytes for data in self.weights.values() if data.role == FILTERS)

    def _constant(self, value: Value) -> str:
        if value.name not in self._constants:
            node = self._current()
            i = next(i for i, v in enumerate(node.inputs) if v is not None and v.name == value.name)
            roles = {1: FILTERS, 2: "bias"} if is_weighted(node) else {}
            role = roles.get(i, f"c{i}")
            name = self._global(self._local_name(role))
            self._constants[value.name] = name
            self.weights[name] = Data(role, np.asarray(value.data))
            self.described[name] = value
        return self._constants[value.name]

    def _local_name(self, suffix: str) -> str:
        return f"n{self._current().index}{self._variant}_{suffix}"

    def _current(self) -> BoundNode:
        assert self._node is not None  # ops are written within ``write_op`` alone
        return self._node

    def _port(self, value: Value) -> Tokens:
        """The variable of the model input or output that the value is or views; empty if none."""
        root, start = self._plan.views.get(value.name, (value.name, 0))
        if root not in self._ports:
            return ()
        return plus((Port(self._ports[root]),), start // value.dtype.itemsize)

    def _inside(self, name: str) -> At:
        """The first byte of a value or scratch memory, in a region or in the state memory."""
        root, start = self._plan.views.get(name, (name, 0))
        if root in self._states.offsets:
            return At("state", (self._states.offsets[root] + start,))
        region = self._plan.region_of.get(name, 0)
        return At(base_of(self._plan, region), (self._plan.offsets[name],))

    def _shown_place(self, value: Value) -> str:
        place = self.placed.get(value.name) or self._port(value)
        return text_of(place) if place else str(self._inside(value.name)).replace(" + ", " ")


def base_of(plan: ArenaPlan, region: int) -> str:
    """The C variable that points to a region's start."""
    return "arena" if len(plan.regions) == 1 else f"arena_{plan.regions[region].name.lower()}"


def short_name(name: str) -> str:
    """A node's name, shortened: converters join the names of all fused ops, the first is shown."""
    first = clean(name.split(";")[0])
    return first if len(first) <= MAX_NAME else f"...{first[-MAX_NAME:]}"
