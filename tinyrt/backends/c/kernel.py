"""One node's C kernel as a value, and the calls that it consists of.

A kernel is chosen once, see ``choice``. The planner reads its scratch memory and its order of reads
and writes; the exporter reads its calls. A call is a record, too. The exporter fills in the places
of its tensors when the plan is known, and turns it into C text last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.weights import BYTE_PAYS, Cost, Stored, Weights
from tinyrt.ir import Value
from tinyrt.memory.sweep import Sweep


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices that follow from weights and scales.

    Attributes:
        blocks: indices of the ops whose weights are stored without blocks of zeros.
        plain_sums: indices of the sums that have no form with one rounding.
        tiles: indices of the convolutions by tiles.
        relus: indices of the layers whose scales need no sign.
        room: for vectors, indices of convolutions whose weights may be beyond int8, and how many
            places of a point may be read again.

    """

    blocks: frozenset[int]
    plain_sums: frozenset[int]
    tiles: frozenset[int] = frozenset()
    relus: frozenset[int] = frozenset()
    room: frozenset[tuple[int, int]] = frozenset()


NO_CHOICES = Choices(frozenset(), frozenset())
"""For code that other weights are to fit, before anything is chosen for the first ones."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target that kernels are chosen for.

    Attributes:
        isa: the instruction set that the code is written for.
        mla: whether scalar kernels are for cores with an instruction for a product and a sum.
        high_products: whether they are for cores with one for the upper half of a product.
        fours: whether scalar kernels compute four pixels at once, by three words.
        raised: whether these read weights without a sign, raised by 128.
        small: whether a choice minimises bytes of flash, and not instructions.
        byte_pays: instructions of an inference that a byte of flash has to save.
        in_one_go: most instructions of what cannot be cut into slices, where there is a choice.
        tiles: whether convolutions may go by tiles, which take more scratch memory.
        row_kernels: whether convolutions on rows may take kernels without padding above or below;
            otherwise they take the kernels for images.
        strips: whether layers take kernels for vectors of RISC-V, and all else the scalar ones.
        choices: for code that other weights and scales are to fit, too: what was chosen for the
            first ones. None where each op's own say what pays.

    """

    isa: InstructionSet = InstructionSet.SCALAR
    mla: bool = False
    high_products: bool = False
    fours: bool = False
    raised: bool = False
    small: bool = False
    byte_pays: float = BYTE_PAYS
    in_one_go: float = math.inf
    tiles: bool = True
    row_kernels: bool = True
    strips: bool = False
    choices: Choices | None = None

    @property
    def sources(self) -> InstructionSet:
        """The instruction set whose folder has the kernels' sources."""
        return InstructionSet.RVV if self.strips else self.isa

    def stored(self, index: int, forms: Mapping[Weights, Cost]) -> Stored:
        """The form of an op's weights, of those that they can have."""
        if self.choices is None:
            return Stored.cheapest(forms, self.small, self.byte_pays)
        chosen = {Weights.BLOCKS: self.choices.blocks, Weights.WINOGRAD: self.choices.tiles}
        found = (form for form, indices in chosen.items() if index in indices and form in forms)
        return Stored(next(found, Weights.DENSE), forms)


Each = tuple[int, int]
"""What advances with rounds and turns of a slice, see ``tinyrt.backends.c.parts.rounds``."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number as an argument.

    Attributes:
        value: the number.
        each: what is added to it for each round and turn of a slice.

    """

    value: int | float
    each: Each = (0, 0)


@dataclass(frozen=True, slots=True)
class Function:
    """A C function as an argument."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """A constant array of the exported program.

    Attributes:
        role: its role in the op; its C name ends in this.
        array: its elements, in the order in which the kernel reads them.
        table: C type of an element of a table beside the parameters; None for data that are written
            with the weights, whose type follows from the array's.
        skip: elements behind the first one, where a pointer into the array is meant.
        each: further elements for each round and turn of a slice.

    """

    role: str
    array: NDArray[Any]
    table: str | None = None
    skip: int = 0
    each: Each = (0, 0)

    def is_same(self, other: Data) -> bool:
        """Whether both have the same role, type and elements; pointers into them may differ."""
        if (self.role, self.table) != (other.role, other.table):
            return False
        return self.array is other.array or self.contents == other.contents

    @property
    def contents(self) -> tuple[str, str | None, str, bytes]:
        """The same for data that one array can hold, and no others."""
        return self.role, self.table, str(self.array.dtype), self.array.tobytes()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tensor lies, as a pointer to its elements; a constant lies in the weights file.

    Attributes:
        value: the tensor.
        skip: elements behind the first one.
        pointer: C type of the pointer, where it is not that of the tensor's elements.
        each: further elements for each round and turn of a slice.

    """

    value: Value
    skip: int = 0
    pointer: str | None = None
    each: Each = (0, 0)


@dataclass(frozen=True, slots=True)
class Scratch:
    """The node's scratch memory.

    Attributes:
        skip: bytes behind its start.
        pointer: C type of the pointer, where it is not ``int8_t *``.

    """

    skip: int = 0
    pointer: str | None = None


@dataclass(frozen=True, slots=True)
class Sums:
    """The sums of a segment's rows, see ``tinyrt.ops.shared.rows.Fold``."""


@dataclass(frozen=True, slots=True)
class Null:
    """No pointer."""


@dataclass(frozen=True, slots=True)
class Places:
    """An array of pointers to tensors.

    Attributes:
        ctype: C type of the elements that they point to.
        values: the tensors.

    """

    ctype: str
    values: tuple[Value, ...]


Field = int | float | np.integer[Any] | np.floating[Any] | Data | Sequence[Any] | Mapping[str, Any]
"""A number, data, numbers, or a struct of fields."""

Fields = dict[str, Field]


@dataclass(frozen=True, slots=True, eq=False)
class Params:
    """A constant parameter struct, as a pointer to it.

    Attributes:
        ctype: its C type.
        fields: its fields, in their order.

    """

    ctype: str
    fields: Mapping[str, Field]


Arg = Number | Function | Data | Place | Scratch | Sums | Null | Places | Params


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One call of a C function.

    Attributes:
        function: its name.
        args: its arguments.
        data: data in the order in which they are written, where it is not that of the arguments.

    """

    function: str
    args: tuple[Arg, ...]
    data: tuple[Data, ...] = ()


Calls = tuple[Call, ...]
"""Calls in the order in which they are made."""


def call(function: str, *args: Arg | Value | int | float | None) -> Call:
    """A call; tensors stand for their places, numbers for themselves, None for no pointer."""
    return Call(function, tuple(map(_arg, args)))


def _arg(arg: Arg | Value | int | float | None) -> Arg:
    if arg is None:
        return Null()
    if isinstance(arg, Value):
        return Place(arg)
    if isinstance(arg, int | float | np.integer | np.floating):
        return Number(arg.item() if isinstance(arg, np.generic) else arg)
    return arg


def unordered() -> None:
    """The sweep of a kernel that keeps to no order."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """How one node is computed in C.

    Attributes:
        make_calls: makes its calls, with all data packed; called once, when C is written. Raises
            ``UnsupportedError`` where C code cannot have the node's weights.
        scratch_bytes: working memory.
        sweep: the order of reads and writes of a kernel that goes from front to back, so that the
            output may overlap an input; None for other kernels.
        stored: the form of its weights, where there is a choice.
        cost: approximate instructions of one run; None without a formula.

    """

    make_calls: Callable[[], Calls]
    scratch_bytes: int = 0
    sweep: Callable[[], Sweep | None] = unordered
    stored: Stored | None = None
    cost: Callable[[], float] | None = None

    @cached_property
    def calls(self) -> Calls:
        """The kernel's calls."""
        return self.make_calls()

    @property
    def name(self) -> str:
        """The C function that does the work."""
        return self.calls[0].function
