"""Inputs of .tflite files whose dimensions are open: the user says how large they are.

A file has a size of 1 where its author left one open, and ``shape_signature`` has -1 there. All
other shapes are computed from those of the inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tinyrt.convert.examples import example_size
from tinyrt.convert.tflite.directory import signature_of
from tinyrt.convert.tflite.parts import Parts
from tinyrt.errors import DataError, ShapeError
from tinyrt.ir import DType, Shape, Value

IMAGE = ("batch", "height", "width", "channel")
"""What dimensions of an input of four are, as a rule."""


@dataclass(frozen=True, slots=True)
class Port:
    """An input.

    Attributes:
        value: its tensor.
        signature: its shape, with -1 for open dimensions.

    """

    value: Value
    signature: Shape

    @property
    def unknown(self) -> tuple[int, ...]:
        """Open dimensions of which the file has no usual size; the first is the batch."""
        places = range(1, len(self.signature))
        return tuple(i for i in places if self.signature[i] < 0 and self.value.shape[i] == 1)

    @property
    def text(self) -> str:
        """Dtype and dimensions, open ones as ?."""
        dims = ",".join("?" if n < 0 else str(n) for n in self.signature)
        return f"'{self.value.name}' {self.value.dtype.short}[{dims}]"

    @property
    def example(self) -> str:
        """``--shape x=1,224,224,3``: the fixed sizes, and usual ones for the open dimensions."""
        sizes = list(self.value.shape)
        names = IMAGE if len(sizes) == len(IMAGE) else ("",) * len(sizes)
        is_index = self.value.dtype in (DType.INT32, DType.INT64)
        for i in self.unknown:
            sizes[i] = example_size(names[i], i, len(sizes), is_index=is_index)
        return f"--shape {self.value.name}={','.join(map(str, sizes))}"

    def takes(self, shape: Shape) -> bool:
        """Whether a shape has positive sizes, and those that the file fixes."""
        if len(shape) != len(self.signature) or min(shape, default=1) < 1:
            return False
        return all(n in (-1, size) for n, size in zip(self.signature, shape, strict=True))


def ports_of(graph: Any, values: Sequence[Value]) -> list[Port]:
    """The inputs of a subgraph, by its tensors' numbers."""
    numbers = [int(i) for i in graph.InputsAsNumpy()]
    return [Port(values[i], signature_of(graph.Tensors(i), values[i])) for i in numbers]


def fix_shapes(parts: Parts, ports: Sequence[Port], shapes: Mapping[str, Shape]) -> None:
    """Give inputs the shapes that the user says.

    Args:
        parts: the graph, none of whose ops have been read.
        ports: its inputs.
        shapes: input name -> shape.

    Raises:
        DataError: one is given for what is no input, or one without open dimensions.
        ShapeError: one contradicts the file, or is needed and not given.

    """
    by_name = {port.value.name: port for port in ports}
    for name, shape in shapes.items():
        port = by_name.get(name)
        if port is None or min(port.signature, default=1) >= 0:
            raise DataError(
                f"a shape is given for '{name}', which "
                + ("is no input" if port is None else "the .tflite file fixes"),
                expected=_openings(ports),
                hint="leave out --shape",
            )
        if not port.takes(shape):
            raise ShapeError(
                f"the shape {list(shape)} given for '{name}' contradicts the model",
                expected=port.text,
                hint=f"give a shape that fits, such as {port.example}",
            )
        parts.state_shape(port.value, shape)
    _check_known([port for port in ports if port.value.name not in shapes])


def _openings(ports: Sequence[Port]) -> str:
    """What shapes can be given for."""
    names = [port.text for port in ports if min(port.signature, default=1) < 0]
    return f"shapes of inputs with open dimensions: {', '.join(names) or 'there are none'}"


def _check_known(ports: Sequence[Port]) -> None:
    """Raise ``ShapeError`` where an open dimension has no size; what to give for all of them."""
    lacking = [port for port in ports if port.unknown]
    if not lacking:
        return
    places = lacking[0].unknown
    what = "an open dimension" if len(places) == 1 else "open dimensions"
    raise ShapeError(
        f"the input '{lacking[0].value.name}' has {what}: number {' and '.join(map(str, places))}",
        tensor=lacking[0].text,
        expected="a fixed size for every dimension but the first",
        hint="fix it, with your numbers: tinyrt convert MODEL -o FIXED.tflite "
        + " ".join(port.example for port in lacking),
    )
