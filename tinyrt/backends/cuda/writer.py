"""Writer of CUDA C++: one struct of constants per op, one blob of weights per model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import BoundNode, DType, Value
from tinyrt.memory import ArenaPlan
from tinyrt.ops.shared.spec import Array

ALIGNMENT = 16
"""Of everything that a thread may load with one instruction of 128 bits."""

C_TYPES = {
    DType.INT8: "i8",
    DType.INT16: "i16",
    DType.INT32: "i32",
    DType.INT64: "i64",
    DType.FLOAT32: "float",
    DType.BOOL: "i8",
}
"""Element types that device code has; truth values are bytes, 0 or 1."""

Ints = dict[str, int | bool]
"""Integer constants of a kernel, by their names in device code."""


class Blob:
    """Constants of a model, one behind the other, each at a multiple of ``ALIGNMENT``."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._offsets: dict[bytes, int] = {}

    def add(self, data: Array) -> int:
        """Where the array begins; equal arrays are kept once."""
        raw = np.ascontiguousarray(data).tobytes()
        if raw in self._offsets:
            return self._offsets[raw]
        offset = self._size
        padded = raw + bytes(-len(raw) % ALIGNMENT)
        self._parts.append(padded)
        self._size += len(padded)
        self._offsets[raw] = offset
        return offset

    def array(self) -> NDArray[np.uint8]:
        """The whole blob, never empty."""
        return np.frombuffer(b"".join(self._parts) or bytes(ALIGNMENT), np.uint8)


@dataclass(frozen=True, slots=True)
class Phase:
    """One op: what threads do between two barriers.

    Attributes:
        title: which op of the model it is.
        call: the C++ expression that one thread evaluates.
        work: threads that have something to do, at most.
        steps: how often, with a barrier after each; all threads are then of one block.

    """

    title: str
    call: str
    work: int
    steps: int = 1


def index_of(dims: Sequence[int], strides: Sequence[int], begin: int = 0) -> str:
    """C++ expression for the element that is number ``i`` of a walk, the last axis fastest."""
    terms, inner = [], 1
    for axis in range(len(dims) - 1, -1, -1):
        size, stride = dims[axis], strides[axis]
        if size > 1 and stride:
            divided = "i" if inner == 1 else f"i / {inner}"
            outermost = all(d == 1 for d in dims[:axis])
            index = divided if outermost else f"{divided} % {size}"
            terms.append(index if stride == 1 else f"({index}) * {stride}")
        inner *= size
    if begin:
        terms.append(str(begin))
    return " + ".join(terms) or "0"


class DeviceWriter:
    """Collects the structs and phases of one model.

    Attributes:
        threads: threads of a block.
        samples: samples whose arenas a block holds at once.
        stride: bytes from one to the next.
        structs: the text of every struct.
        phases: one per op that has something to do.
        headers: device headers that the phases need.
        blob: constants.
        paddings: zero point -> where in the arena 16 bytes of it lie.

    """

    def __init__(
        self,
        plan: ArenaPlan,
        threads: int,
        samples: int,
        stride: int,
        paddings: Mapping[int, int] | None = None,
    ) -> None:
        self.threads = threads
        self.samples = samples
        self.structs: list[str] = []
        self.phases: list[Phase] = []
        self.headers: list[str] = []
        self.blob = Blob()
        self.paddings = paddings or {}
        self._plan = plan
        self.stride = stride
        self._title = ""

    def begin(self, node: BoundNode) -> None:
        """Start a node."""
        self._title = f"{node.index}: {node.op}"

    def begin_input(self, port: int) -> None:
        """Start a model input."""
        self._title = f"input {port}"

    def offset(self, value: Value) -> int:
        """Where a tensor lies in its sample's arena."""
        root, start = self._plan.views.get(value.name, (value.name, 0))
        return self._plan.offsets[root] + start

    def op(
        self,
        kernel: str,
        header: str,
        work: int,
        *,
        ints: Mapping[str, int | bool],
        tensors: Mapping[str, Value],
        types: Mapping[str, str] | None = None,
        blobs: Mapping[str, Array] | None = None,
        functions: Mapping[str, str] | None = None,
        arguments: str = "t",
        steps: int = 1,
    ) -> None:
        """Write a struct of an op's constants, and its phase.

        Args:
            kernel: C++ name, ``dense`` or ``pairs<@, Add>``, where ``@`` stands for the struct.
            header: the device header that has it.
            work: threads that have something to do for one sample, at most.
            ints: constants.
            tensors: function name -> activation or constant that it points to.
            types: type names.
            blobs: function name -> constants that it points to.
            functions: signature -> expression that it returns.
            arguments: what the kernel is called with.
            steps: how often it is called, with a barrier after each.

        """
        name = f"Op{len(self.structs)}"
        lines = [f"    typedef {ctype} {alias};" for alias, ctype in (types or {}).items()]
        numbers = {"SAMPLES": self.samples, **ints}
        lines += [
            f"    static constexpr {_type_of(v)} {k} = {_literal(v)};" for k, v in numbers.items()
        ]
        lines += [self._pointer(function, value) for function, value in tensors.items()]
        for function, data in (blobs or {}).items():
            place = f"t.weights + {self.blob.add(data)}"
            lines.append(f"    TINYRT_FN const i8 *{function}(const Team &t) {{ return {place}; }}")
        lines += [
            f"    TINYRT_FN {signature} {{ return {expression}; }}"
            for signature, expression in (functions or {}).items()
        ]
        body = "\n".join(lines)
        self.structs.append(f"// {self._title}\nstruct {name} {{\n{body}\n}};\n")
        call = kernel.replace("@", name) if "@" in kernel else f"{kernel}<{name}>"
        phase = Phase(self._title, f"{call}({arguments})", work * self.samples, steps)
        self.phases.append(phase)
        if header not in self.headers:
            self.headers.append(header)

    def _pointer(self, function: str, value: Value) -> str:
        ctype = C_TYPES[value.dtype]
        if value.data is not None:
            place, const = f"t.weights + {self.blob.add(value.data)}", "const "
        else:
            place, const = f"t.arena + s * {self.stride} + {self.offset(value)}", ""
        signature = f"{const}{ctype} *{function}(const Team &t, int s)"
        used = "(void)s; " if value.data is not None else ""
        cast = f"reinterpret_cast<{const}{ctype} *>({place})" if ctype != "i8" else place
        return f"    TINYRT_FN {signature} {{ {used}return {cast}; }}"


def _type_of(value: int | bool) -> str:
    if isinstance(value, bool):
        return "bool"
    return "i32" if -(2**31) <= value < 2**31 else "u32" if value < 2**32 else "u64"


def _literal(value: int | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if _type_of(value) != "i32":
        return f"{value}ull"
    return "-2147483647 - 1" if value == -(2**31) else str(int(value))
