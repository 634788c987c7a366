""".tflite flatbuffer -> ir.Graph; constants are views into the (memory-mapped) file."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import tflite

from tinyrt.budget import current, limited
from tinyrt.convert.free_weights import products_of_activations
from tinyrt.convert.hybrid import dequantize_weights
from tinyrt.convert.indices import places_in_integers
from tinyrt.convert.pointwise import gather_islands
from tinyrt.convert.tflite import schema
from tinyrt.convert.tflite.advice import advice_on
from tinyrt.convert.tflite.codec import Codec
from tinyrt.convert.tflite.custom import read_options
from tinyrt.convert.tflite.declared import warn_of, warn_of_scales
from tinyrt.convert.tflite.directory import PORT, Directory, read_directory
from tinyrt.convert.tflite.expand import EXPANSIONS
from tinyrt.convert.tflite.from_end import places_from_end
from tinyrt.convert.tflite.one_scale import give_scale, on_one_scale
from tinyrt.convert.tflite.open_shapes import fix_shapes, ports_of
from tinyrt.convert.tflite.operands import operands_of
from tinyrt.convert.tflite.ops import DECODERS
from tinyrt.convert.tflite.options import options_in
from tinyrt.convert.tflite.parts import Parts
from tinyrt.convert.tflite.products import with_legacy, with_products
from tinyrt.convert.tflite.states import read_fresh, read_states
from tinyrt.convert.tflite.subgraphs import DEEPEST, FLOWS, Body, Caller, check_alike
from tinyrt.convert.tflite.tensors import Buffer, TensorReader, empty
from tinyrt.convert.tflite.variables import HANDLES, Variables, check_initial
from tinyrt.convert.tflite.written_out import WRITTEN_OUT
from tinyrt.convert.unsigned import to_signed
from tinyrt.errors import (
    ModelFormatError,
    ShapeError,
    TinyrtError,
    UnsupportedError,
    VerifyError,
    advising,
    boundary,
    error_context,
)
from tinyrt.ir import Graph, Node, Shape, Value, check_order
from tinyrt.ops import verify
from tinyrt.ops.slice import SliceAttrs


def map_file(path: str | Path) -> Buffer:
    """The file's bytes, mapped read-only.

    Raises:
        ModelFormatError: the file is missing, not readable, or empty.

    """
    try:
        with Path(path).open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise ModelFormatError(
            f"cannot read the model: {error.strerror}", file=str(path), hint="check the path"
        ) from error
    except ValueError as error:
        raise ModelFormatError(
            "the model file is empty", file=str(path), hint="copy or export the model again"
        ) from error


def read_tflite(path: str | Path) -> Graph:
    """Read a .tflite file; its constants stay views into the mapped file.

    Raises:
        ModelFormatError: the file is not a .tflite model, is cut short, or contradicts itself.
        UnsupportedError: it uses ops or dtypes that tinyrt does not have; all of them are named.
        ShapeError: a dimension of an input is open.

    """
    data = map_file(path)
    with error_context(file=str(path)), limited(file_bytes=len(data)):
        return import_tflite(data, Path(path).stem, shapes={})[0]


def parse_tflite(data: Buffer, name: str = "model") -> Graph:
    """Read a .tflite model from bytes or a map; raises as ``read_tflite``."""
    return parse_with_directory(data, name)[0]


def parse_with_directory(
    data: Buffer, name: str = "model", subgraph: int = 0
) -> tuple[Graph, Directory]:
    """As ``parse_tflite``, with what the file says about its tensors and signatures.

    Args:
        data: the file.
        name: the graph's name.
        subgraph: which of the file's subgraphs; the first one is the model where others only
            serve its ops.

    """
    with limited(file_bytes=len(data)):
        return import_tflite(data, name, subgraph)


def import_tflite(
    data: Buffer,
    name: str = "model",
    subgraph: int = 0,
    *,
    shapes: Mapping[str, Shape] | None = None,
) -> tuple[Graph, Directory]:
    """As ``parse_with_directory``, for callers that have opened a budget for the file.

    Args:
        data: the file.
        name: the graph's name.
        subgraph: which of the file's subgraphs.
        shapes: input name -> shape, where it is open; None takes whatever the file has there.

    """
    if len(data) < 8 or bytes(data[4:8]) != schema.IDENTIFIER:
        raise ModelFormatError(
            "this is not a .tflite file",
            expected=f"the identifier {schema.IDENTIFIER.decode()} at byte 4",
            hint="make one with tinyrt convert (float) or tinyrt quantize (int8)",
        )
    with (
        boundary(".tflite file", parsers=("flatbuffers", "tflite"), corrupt=(UnicodeDecodeError,)),
        advising(HINTS),
    ):
        with _hopping(data):
            reader = _Reader(data, name, subgraph)
            graph = with_legacy(reader.model, check_order(reader.read(shapes)), subgraph)
            directory = read_directory(reader.model, reader.graph, reader.stated())
        warn_of({} if shapes else reader.parts.stale)  # all others follow from those given
        graph = dequantize_weights(to_signed(products_of_activations(graph)))
        graph = verify(places_from_end(places_in_integers(gather_islands(graph))))
        warn_of_scales(graph)
        return graph, directory


@contextmanager
def _hopping(data: Buffer) -> Iterator[None]:
    """Keep the system from mapping megabytes of weights around every small table that is read."""
    if isinstance(data, mmap.mmap) and hasattr(mmap, "MADV_RANDOM"):
        data.madvise(mmap.MADV_RANDOM)
        try:
            yield
        finally:
            data.madvise(mmap.MADV_NORMAL)
    else:
        yield


HINTS: dict[type[TinyrtError], str] = {
    ModelFormatError: "copy the file again, or convert the model again",
    ShapeError: "convert the model again",
    UnsupportedError: "change this part of the model, and convert it again",
    VerifyError: "convert the model again",
}
"""What to do about errors that do not say it themselves."""

SHOWN = 10
"""Missing ops that a message names."""


class _Reader:
    """One subgraph of a model being read: its parts so far, and its tensors by index."""

    def __init__(self, data: Buffer, name: str, subgraph: int, depth: int = 0) -> None:
        self.data = data
        self.subgraph = subgraph
        self.depth = depth
        self.model = tflite.Model.GetRootAs(data)
        self.name = name
        if self.model.Version() != schema.VERSION:
            raise ModelFormatError(
                f"the file has schema version {self.model.Version()}", expected=str(schema.VERSION)
            )
        if not 0 <= subgraph < self._count(self.model.SubgraphsLength()):
            raise ModelFormatError(
                f"subgraph {subgraph} of {self.model.SubgraphsLength()}",
                expected=f"0 to {self.model.SubgraphsLength() - 1}",
            )
        self.graph = self.model.Subgraphs(subgraph)
        self.builtins = self._builtins()  # first: a missing op often brings tensors of its own kind
        self._count(self.graph.TensorsLength())
        tensors = TensorReader(data, self.model, self.graph)
        self.values = with_products(self.model, tensors.read(), subgraph)
        self.changing = tensors.changing
        self.fresh = read_fresh(self.model)
        self.parts = Parts(self.values)
        self.variables = Variables(self.parts)

    def read(self, shapes: Mapping[str, Shape] | None = None) -> Graph:
        inputs = self._names(self.graph.InputsAsNumpy() if self.graph.InputsLength() else ())
        if not inputs or not self.graph.OutputsLength():
            raise ModelFormatError(
                f"the model has {len(inputs)} inputs and {self.graph.OutputsLength()} outputs",
                expected="at least one of each",
            )
        if shapes is not None:
            fix_shapes(self.parts, ports_of(self.graph, self.values), shapes)
        self.parts.protect(inputs)
        self._operators()
        self.variables.finish()
        outputs = self._names(self.graph.OutputsAsNumpy() if self.graph.OutputsLength() else ())
        own = self.parts.states
        states = (*read_states(self.model, inputs, outputs), *own)
        inputs += tuple(before for before, _ in own)
        outputs += tuple(after for _, after in own)
        nodes = self.parts.needed(outputs)
        used = {n for node in nodes for n in (*node.inputs, *node.outputs) if n}
        used.update(inputs, outputs)
        values = {name: value for name, value in self.parts.values.items() if name in used}
        return Graph(self.name, inputs, outputs, values, tuple(nodes), states)

    def stated(self) -> list[Value]:
        """The tensors by number, in the shapes that their ops compute."""
        shapes = {name: shape for name, (_, shape) in self.parts.stale.items()}
        return [replace(value, shape=shapes.get(value.name, value.shape)) for value in self.values]

    def body(self, given: Sequence[Value]) -> Body:
        """The subgraph for these inputs: those that are constants are constants inside.

        Raises:
            ModelFormatError: it has another number of inputs.
            UnsupportedError: an input has another type, or the subgraph keeps state.

        """
        inputs = self._names(self.graph.InputsAsNumpy() if self.graph.InputsLength() else ())
        if len(inputs) != len(given):
            raise ModelFormatError(
                f"subgraph {self.subgraph} has {len(inputs)} inputs", expected=str(len(given))
            )
        for name, value in zip(inputs, given, strict=True):
            check_alike(self.parts.state_shape(self.parts.values[name], value.shape), value)
            if value.data is not None:
                self.parts.set(self.parts.values[name], value.data)
        self.parts.protect(inputs)
        self._operators()
        outputs = self._names(self.graph.OutputsAsNumpy() if self.graph.OutputsLength() else ())
        if self.parts.states or any(name in HANDLES for name in self.builtins.values()):
            raise UnsupportedError(
                f"subgraph {self.subgraph} keeps state", expected="variables in the model alone"
            )
        parts = self.parts
        return Body(inputs, outputs, parts.values, parts.nodes, parts.stale)

    def _operators(self) -> None:
        where = f" of subgraph {self.subgraph}" if self.depth else ""
        for i in range(self._count(self.graph.OperatorsLength())):
            operator = self.graph.Operators(i)
            builtin = self.builtins[operator.OpcodeIndex()]
            with error_context(op=f"#{i} {builtin}{where}"):
                self._operator(operator, builtin)

    def _body(self, index: int, given: Sequence[Value]) -> Body:
        """Another subgraph, which runs inside this one."""
        if self.depth == DEEPEST:
            raise ModelFormatError(
                f"subgraphs run each other {DEEPEST} deep",
                expected="fewer, and none that runs itself",
            )
        reader = _Reader(self.data, self.name, index, self.depth + 1)
        return reader.body(given)

    def _count(self, length: int) -> int:
        """A vector's length, which can't exceed the file's own size."""
        if not 0 <= length <= len(self.data):
            raise ModelFormatError(
                f"a vector of {length} entries in {len(self.data)} bytes",
                expected=f"at most {len(self.data)}",
            )
        return length

    def _builtins(self) -> dict[int, str]:
        """Operator code -> its builtin name, for the codes in use, all of which can be read."""
        operators = range(self._count(self.graph.OperatorsLength()))
        used = sorted({self.graph.Operators(i).OpcodeIndex() for i in operators})
        names = {i: schema.builtin_name(self.model, i) for i in used}
        readable = (*DECODERS, *EXPANSIONS, *FLOWS, *HANDLES)
        missing = sorted({name for name in names.values() if name not in readable})
        if missing:
            raise UnsupportedError(
                f"the model uses ops that tinyrt does not have: {', '.join(missing[:SHOWN])}"
                + (f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""),
                expected="ops of the table that 'tinyrt ops' prints",
                hint=advice_on(missing),
            )
        return names

    def _operator(self, operator: Any, builtin: str) -> None:
        ports = operator.InputsLength() + operator.OutputsLength()
        current().spend(PORT * ports, "reading ops")
        indices = operator.InputsAsNumpy() if operator.InputsLength() else ()
        inputs = [self._filled(int(i)) if i >= 0 else None for i in indices]
        places = operator.OutputsAsNumpy() if operator.OutputsLength() else ()
        outputs = [self._filled(int(i)) for i in places]
        inputs = operands_of(self.parts, builtin, inputs, outputs)
        inputs, results = on_one_scale(self.parts, builtin, inputs, outputs)
        self._read_op(operator, builtin, inputs, results)
        for own, output in zip(results, outputs, strict=True):
            if own is not output:
                give_scale(self.parts, own, output)

    def _read_op(
        self, operator: Any, builtin: str, inputs: list[Value | None], outputs: list[Value]
    ) -> None:
        if builtin in HANDLES:
            self._variable(operator, builtin, inputs, outputs)
            return
        if not outputs:
            raise ModelFormatError("the op has no output", expected="at least 1")
        if builtin in FLOWS:
            table, put_in = FLOWS[builtin]
            put_in(Caller(self.parts, self._body, inputs, outputs), options_in(operator, table))
            return
        if builtin in EXPANSIONS:
            expansion = EXPANSIONS[builtin]
            options = options_in(operator, expansion.table)
            expansion.expand(self.parts, options, inputs, outputs)
            return
        codec = DECODERS[builtin]
        write_out = WRITTEN_OUT.get(builtin)
        if write_out and write_out(self.parts, options_in(operator, codec.table), inputs, outputs):
            return
        self._node(operator, codec, inputs, outputs)

    def _node(
        self, operator: Any, codec: Codec, inputs: list[Value | None], outputs: list[Value]
    ) -> None:
        options = (
            options_in(operator, codec.table)
            if codec.options is None
            else read_options(operator, codec.options)
        )
        decoded = codec.decode(options, inputs, outputs[0])
        if isinstance(decoded.attrs, SliceAttrs) and 0 in decoded.attrs.size:
            self.parts.empty.add(outputs[0].name)
            return
        picked = [inputs[i] for i in decoded.picked or range(min(decoded.inputs, len(inputs)))]
        after = tuple(self._next(picked[i]) for i in decoded.states)
        hidden = [self.parts.hidden_state(outputs[0], kind) for kind in decoded.hidden]
        after += tuple(self.parts.next_of(state) for state in hidden)
        names = tuple(v.name if v else "" for v in (*picked, *hidden))
        while names and not names[-1]:
            names = names[:-1]
        results = (*(v.name for v in outputs), *after)
        op = decoded.op or codec.op
        self.parts.append(Node(op, outputs[0].name, names, results, decoded.attrs))

    def _variable(
        self, operator: Any, builtin: str, inputs: list[Value | None], outputs: list[Value]
    ) -> None:
        first = inputs[0] if inputs else None
        if builtin == "VAR_HANDLE" and outputs:
            self.variables.handle(options_in(operator, "VarHandleOptions"), outputs[0])
        elif builtin == "READ_VARIABLE" and outputs:
            self.variables.read(first, outputs[0])
        elif builtin == "ASSIGN_VARIABLE":
            self.variables.assign(first, inputs[1] if len(inputs) > 1 else None)
        elif builtin == "CALL_ONCE":
            index = options_in(operator, "CallOnceOptions").InitSubgraphIndex()
            if outputs:
                raise ModelFormatError("the op has outputs", expected="none")
            other = _Reader(self.data, self.name, index)
            check_initial(self.model, index, other.values)
        else:
            raise ModelFormatError("the op has no output", expected="1")

    def _next(self, state: Value | None) -> str:
        """The name of a variable's next value."""
        if state is None or state.name not in self.changing:
            raise ModelFormatError(
                "the op's state is no variable",
                tensor=state.describe() if state else None,
                expected="a tensor with is_variable set",
            )
        return self.parts.next_of(state, begins_anew=state.name in self.fresh)

    def _names(self, indices: Any) -> tuple[str, ...]:
        return tuple(self._filled(int(i)).name for i in indices)

    def _filled(self, index: int) -> Value:
        """A tensor that an op or a port names."""
        if not 0 <= index < len(self.values):
            raise ModelFormatError(
                f"tensor {index} of {len(self.values)}",
                expected=f"0 to {len(self.values) - 1}",
            )
        value = self.parts.values[self.values[index].name]
        if not value.is_constant and not value.size:
            raise empty(value.describe())
        return value
