"""Calls whose constants come from a blob: ``constants->n0_w`` stands where others name an array.

Parameter structs lie on the stack, each in the block of its call. What training changes is read
from the blob into them; shapes, offsets and choices are compiled in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.blocks.layer import QUAD
from tinyrt.backends.c.choice import choose
from tinyrt.backends.c.kernel import Arg, Call, Data, Field, Fields, Kernel, Number, Params, Target
from tinyrt.backends.c.mve.zeros import most_words
from tinyrt.backends.c.weights import Weights
from tinyrt.errors import UnsupportedError
from tinyrt.export import text as c_text
from tinyrt.export.blob.layout import ELEMENTS, Member
from tinyrt.export.blob.trained import ARGUMENTS, BYTES, COMPILED_IN, FIELDS
from tinyrt.export.code import Declaration, Name, Nested, NodeNumber, Tokens, line
from tinyrt.export.states import StateLayout
from tinyrt.export.writer import ModelWriter
from tinyrt.fixedpoint import INT32_MAX, INT32_MIN
from tinyrt.ir import BoundNode, Graph
from tinyrt.memory import ArenaPlan

POINTER = "constants->"
"""How C reaches the body of the blob."""

SPARSE = "_sparse_"
"""In the names of kernels for weights without blocks of zeros."""

FOURS = "_four_"
"""In the names of kernels for four pixels, whose scales go on channel by channel."""

BLOB_KERNELS = ("tinyrt_blob_open", "tinyrt_blob_sha256")
"""C functions that check a blob."""

C_TYPES = {np.dtype(element): ctype for ctype, element in ELEMENTS.items()}


@dataclass(frozen=True, slots=True)
class Trained(Number):
    """A number that lies in the blob.

    Attributes:
        member: how C reaches it.

    """

    member: str = ""


class BlobWriter(ModelWriter):
    """As ``ModelWriter``, for constants in a blob.

    Attributes:
        numbers: C name -> single numbers and short arrays, beside ``weights``.

    """

    def __init__(
        self, prefix: str, graph: Graph, plan: ArenaPlan, target: Target, states: StateLayout
    ) -> None:
        super().__init__(prefix, graph, plan, target, states)
        self.numbers: dict[str, Member] = {}
        self.functions += BLOB_KERNELS
        self._in_blob = FIELDS
        self._longer: dict[tuple[int, int], tuple[NDArray[Any], NDArray[Any]]] = {}

    @property
    def members(self) -> dict[str, Member]:
        """Name -> constants of the blob's body, in the order of first use."""
        arrays = {
            name: Member(self._ctype(name, data), np.asarray(data.array))
            for name, data in self.weights.items()
        }
        return {name.removeprefix(POINTER): m for name, m in {**self.numbers, **arrays}.items()}

    def kernel_of(self, node: BoundNode) -> Kernel | None:
        """As ``ModelWriter``'s; packed layers have a mantissa for each channel before any cut."""
        kernel = super().kernel_of(node)
        if kernel is None:
            return None
        return replace(kernel, make_calls=lambda: tuple(map(self._each_channel, kernel.calls)))

    def write_part(self, node: BoundNode, calls: Iterable[Call]) -> None:
        """Write some of a node's calls, each in a block with its parameters."""
        self.statements.append(line("TINYRT_PROFILE_BEGIN(", NodeNumber(node.index), ");"))
        for number, one in enumerate(calls):
            with self.variant(self._variant) as inner:
                self.write_call(self._with_members(one, number))
            if inner:
                self.statements += [line("{"), Nested(tuple(inner)), line("}")]
        self.statements.append(line("TINYRT_PROFILE_END(", NodeNumber(node.index), ");"))

    def _with_members(self, one: Call, number: int) -> Call:
        """The call, with numbers that training changes as members."""
        args = list(one.args)
        self._in_blob = FIELDS
        if SPARSE in one.function:
            self._in_blob = FIELDS | {"taps"}
            args = [self._with_room(arg) for arg in args]
        for i in ARGUMENTS.get(one.function, ()):
            arg = args[i]
            if isinstance(arg, Number):
                member = self._keep(f"call{number}_{i}", arg.value)
                args[i] = Trained(arg.value, arg.each, member)
        return replace(one, args=tuple(args))

    def _each_channel(self, one: Call) -> Call:
        """The call of a packed layer with a mantissa for each channel, also where all are alike.

        Whether they are follows from the weights: one channel without any is not as the others.
        """
        step = 1 if FOURS in one.function else QUAD
        args = (
            replace(arg, fields=self._by_channel(arg.fields, step))
            if isinstance(arg, Params)
            else arg
            for arg in one.args
        )
        return replace(one, args=tuple(args))

    def _by_channel(
        self, fields: Mapping[str, Field], step: int, in_groups: bool = False
    ) -> Fields:
        are_groups = "init_step" in fields
        own: Fields = {
            name: self._by_channel(field, step, are_groups) if isinstance(field, Mapping) else field
            for name, field in fields.items()
        }
        if own.get("requant_step") != 0:
            return own
        if are_groups:
            return own | {"requant_step": own["init_step"]}
        init = own["init"]
        assert isinstance(init, Data)
        # A block says how many channels a group has; by tiles, sums begin with more than those.
        channels = init.array.size if in_groups else own.get("c_out", init.array.size)
        assert isinstance(channels, int)
        size = -(-channels // QUAD) * QUAD
        for name in ("mult", "shift"):
            data = own[name]
            assert isinstance(data, Data)
            own[name] = replace(data, array=self._filled(data.array, size))
        return own | {"requant_step": step}

    def _filled(self, array: NDArray[Any], size: int) -> NDArray[Any]:
        """So many of the array's first element; of one array always the same one."""
        key = id(array), size
        if key not in self._longer:
            self._longer[key] = array, np.full(size, array.flat[0], array.dtype)
        return self._longer[key][1]

    def _with_room(self, arg: Arg) -> Arg:
        """Weights without blocks of zeros, with room for weights that have none; others as is."""
        if isinstance(arg, Data) and arg.role == "w":
            room = most_words(self._current().input(1).shape) - arg.array.size
            return replace(arg, array=np.pad(arg.array, (0, room)))
        if isinstance(arg, Params) and "block" in arg.fields:
            return self._block_with_room(arg)
        return arg

    def _block_with_room(self, params: Params) -> Params:
        """The same, of a packed layer's parameters."""
        kernel = choose(self._current(), self.target)
        assert kernel.stored is not None
        block = params.fields["block"]
        assert isinstance(block, Mapping)
        w, init = block["w"], block["init"]
        dense = kernel.stored.forms[Weights.DENSE].nbytes // w.array.itemsize
        heads = init.array.size // QUAD
        w = replace(w, array=np.pad(w.array, (0, dense + heads - w.array.size)))
        return replace(params, fields={**params.fields, "block": {**block, "w": w}})

    def _arg(self, arg: Arg) -> Tokens:
        return (Name(arg.member),) if isinstance(arg, Trained) else super()._arg(arg)

    def _keep(self, suffix: str, value: Field) -> str:
        """The member that holds one number of the current op, or several."""
        name = self._global(self._local_name(suffix))
        array = np.asarray(value)
        single = array.ndim == 0
        ctype = "float" if array.dtype.kind == "f" else "int32_t"
        if suffix.rpartition("_")[2] in BYTES:
            ctype = "uint8_t"
        self.numbers[name] = Member(ctype, array, single)
        return name

    def _global(self, local: str) -> str:
        return POINTER + local

    def _ctype(self, name: str, data: Data) -> str:
        if name in self.described:
            return c_text.c_type(self.described[name].dtype)
        return data.table or C_TYPES[np.asarray(data.array).dtype.newbyteorder("<")]

    def _define(self, data: Data) -> str:
        """The member that holds these data; parts of an op share it where they share the array.

        Whether two arrays are equal by chance must not matter: training would change the layout.
        """
        if data.role in COMPILED_IN:
            return super()._define(data)
        local = self._local_name(data.role)
        names = [f"n{self._current().index}_{data.role}", local]
        names += [f"{local}_{i}" for i in range(len(self.weights))]
        for name in map(self._global, names):
            kept = self.weights.setdefault(name, data)
            if kept.array is data.array:
                return name
        raise AssertionError(names)  # there are more names than data

    def _define_params(self, params: Params) -> str:
        name = self._local_name("params")
        fields = self._read(params.fields, "params")
        self.parameters[name] = params
        self.statements.append(
            Declaration(c_text.struct(params.ctype, name, fields, qualifiers="const"))
        )
        return name

    def _read(self, fields: Mapping[str, Field], path: str) -> dict[str, object]:
        """The fields, with members for what training changes."""
        read: dict[str, object] = {}
        for name, field in fields.items():
            where = f"{path}_{name}"
            if isinstance(field, Mapping):
                read[name] = self._read(field, where)
            elif isinstance(field, Data) or name not in self._in_blob or not _is_word(field):
                read[name] = self._defined(field)
            else:
                member = self._keep(where, field)
                several = isinstance(field, Sequence | np.ndarray)
                places = [f"{member}[{i}]" for i in range(np.size(field))]
                read[name] = places if several else member
        return read


def require_whole_tensors(graph: Graph, plan: ArenaPlan) -> None:
    """Check that no op runs row by row.

    Raises:
        UnsupportedError: one does.

    """
    if plan.segments:
        first = graph.bind(plan.segments[0].first)
        raise UnsupportedError(
            "ops that run row by row cannot read their constants from a blob",
            op=first.describe(),
            expected="an arena with room for whole tensors",
            hint="leave out --blob, or --max-arena",
        )


def _is_word(field: Field) -> bool:
    """Whether all numbers of a field are such as a member holds: floats, or integers of 32 bits."""
    array = np.asarray(field)
    if array.dtype.kind not in "iub":
        return array.dtype.kind == "f"
    return bool(array.min() >= INT32_MIN and array.max() <= INT32_MAX)
