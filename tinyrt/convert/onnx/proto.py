"""ONNX files as checked Python values: the parsed model, tensors, nodes with typed attributes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.descriptor import Descriptor  # type: ignore[import-untyped]
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from tinyrt import budget
from tinyrt.convert.onnx.weights import Array, WeightsReader, listed
from tinyrt.errors import ModelFormatError

LARGEST = 2**31 - 1
"""Bytes that protobuf parses at most."""

MESSAGE = budget.OP // 4
"""Work for each message that is parsed and looked through."""


def parse_model(path: Path) -> onnx.ModelProto:
    """The parsed file; weights kept in other files are not read yet.

    Raises:
        ModelFormatError: the file is missing, not readable, or not a whole ONNX model.
        BudgetError: it has more parts than a file of its size may have.

    """
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise _not_a_model(f"the file has {size} bytes, more than {LARGEST}")
        budget.current().reserve(3 * size, "the parsed file")
        data = path.read_bytes()
    except OSError as error:
        raise ModelFormatError(
            f"cannot read the model: {error.strerror or error}", hint="check the path"
        ) from error
    _reserve_parts(data, budget.current())
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except (DecodeError, RuntimeError) as error:
        raise _not_a_model("the file cannot be parsed: it is cut short or damaged") from error
    if not _all_text(model):
        raise _not_a_model("the file is damaged: a name in it is no text")
    if not model.opset_import or not model.graph.output:
        raise _not_a_model("the file holds no graph with outputs and operator set versions")
    return model


def _reserve_parts(data: bytes, limits: budget.Budget) -> None:
    """Ask for the parts of the file before the parser makes them.

    An empty one has two bytes in the file, and takes a hundred in memory. Where the bytes make no
    sense, the parser will say so.

    Raises:
        BudgetError: there are too many.

    """
    stack = [(_parts_of(onnx.ModelProto.DESCRIPTOR), 0, len(data))]
    while stack:
        kinds, at, stop = stack.pop()
        while at < stop:
            tag, at = _number_at(data, at)
            wire = tag & 7
            if wire == _LENGTH:
                length, at = _number_at(data, at)
                inner = kinds.get(tag >> 3)
                if inner is not None:
                    limits.spend(MESSAGE, "looking through the parts of the file")
                    stack.append((_parts_of(inner), at, min(at + length, stop)))
                at += length
            elif wire == _VARINT:
                _, at = _number_at(data, at)
            elif wire in _FIXED:
                at += _FIXED[wire]
            else:
                return


_VARINT, _LENGTH = 0, 2
_FIXED = {1: 8, 5: 4}
"""Wire types of Protocol Buffers: varints, length-delimited fields, and words by their bytes."""


def _number_at(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits to a byte, lowest first, and where it ends."""
    if at < len(data) and data[at] < 128:
        return data[at], at + 1
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            break
    return number, at


@cache
def _parts_of(kind: Descriptor) -> dict[int, Descriptor]:
    """Field number -> kind, of the fields of a message that are messages."""
    return {f.number: f.message_type for f in kind.fields if f.message_type is not None}


def _all_text(message: Any) -> bool:
    """Whether all strings of a message are UTF-8; those that are not come as bytes."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_STRING:
            texts = value if not isinstance(value, str | bytes) else [value]
            if any(isinstance(text, bytes) for text in texts):
                return False
        elif field.type == field.TYPE_MESSAGE:
            inner = [value] if hasattr(value, "ListFields") else value
            if not all(_all_text(part) for part in inner):
                return False
    return True


def _not_a_model(problem: str) -> ModelFormatError:
    return ModelFormatError(
        problem, expected="an ONNX model", hint="check the path, or export or copy the model again"
    )


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """One node with typed access to its attributes.

    Attributes:
        index: its position in the file's graph.
        op: the operator's type, such as ``Conv``.
        domain: the operator set's domain; empty for ONNX's own.
        name: as in the file, or ``Conv_3`` where it has none.
        inputs: tensor names, empty where an optional input is absent.
        outputs: tensor names.
        opset: the version that the model imports of the domain; 0 where it imports none.
        attributes: by name, as in the file.
        weights: reads the file's tensors.

    """

    index: int
    op: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    opset: int
    attributes: Mapping[str, onnx.AttributeProto]
    weights: WeightsReader

    @classmethod
    def of(
        cls,
        proto: onnx.NodeProto,
        index: int,
        opset: int,
        weights: WeightsReader,
        arguments: Mapping[str, onnx.AttributeProto] | None = None,
        absent: Collection[str] = (),
    ) -> OnnxNode:
        """The node as it stands in the file.

        Args:
            proto: the node.
            index: its position.
            opset: the version of its domain.
            weights: reads the file's tensors.
            arguments: in a function, the attributes of its call.
            absent: in a function, inputs that it is called without.

        """
        attributes = {}
        for attribute in proto.attribute:
            name = attribute.ref_attr_name
            if attribute.name in attributes or (name and arguments is None):
                raise ModelFormatError(
                    f"attribute '{attribute.name}' "
                    + ("is that of a function" if name else "is given twice"),
                    op=f"#{index} {proto.op_type} '{proto.name}'",
                    expected="one value for each attribute",
                    hint="the file is damaged: export the model again",
                )
            source = attribute if not name or arguments is None else arguments.get(name)
            if source is not None:
                attributes[attribute.name] = source
        inputs = tuple(proto.input)
        return cls(
            index=index,
            op=proto.op_type,
            domain="" if proto.domain == "ai.onnx" else proto.domain,
            name=proto.name or f"{proto.op_type}_{index}",
            inputs=tuple("" if n in absent else n for n in inputs) if absent else inputs,
            outputs=tuple(proto.output),
            opset=opset,
            attributes=attributes,
            weights=weights,
        )

    @property
    def qualified_op(self) -> str:
        """The operator's type with its domain, where that is not ONNX's own."""
        return f"{self.domain}.{self.op}" if self.domain else self.op

    def describe(self) -> str:
        """``#3 Conv 'stem/conv' (ONNX opset 13)``, for messages."""
        version = f" opset {self.opset}" if self.opset else ""
        return f"#{self.index} {self.op} '{self.name}' ({self.domain or 'ONNX'}{version})"

    def has(self, name: str) -> bool:
        """Whether the file gives the attribute."""
        return name in self.attributes

    def get_int(self, name: str, default: int) -> int:
        """An integer attribute."""
        attribute = self._attribute(name, onnx.AttributeProto.INT)
        return default if attribute is None else int(attribute.i)

    def get_float(self, name: str, default: float) -> float:
        """A float attribute."""
        attribute = self._attribute(name, onnx.AttributeProto.FLOAT)
        return default if attribute is None else float(attribute.f)

    def get_string(self, name: str, default: str) -> str:
        """A string attribute."""
        attribute = self._attribute(name, onnx.AttributeProto.STRING)
        return default if attribute is None else attribute.s.decode(errors="replace")

    def get_choice(self, name: str, *choices: str) -> str:
        """A string attribute that is one of the choices; the first where it is absent."""
        choice = self.get_string(name, choices[0])
        if choice not in choices:
            raise ModelFormatError(
                f"attribute '{name}' is {listed([choice])}", expected=", ".join(choices)
            )
        return choice

    def get_ints(self, name: str, length: int | None = None) -> tuple[int, ...] | None:
        """A list of integers, of that length if one is given; None where it is absent."""
        attribute = self._attribute(name, onnx.AttributeProto.INTS)
        if attribute is not None and length is not None and len(attribute.ints) != length:
            raise ModelFormatError(
                f"attribute '{name}' is {listed(attribute.ints)}", expected=f"{length} integers"
            )
        return None if attribute is None else tuple(attribute.ints)

    def get_floats(self, name: str) -> tuple[float, ...] | None:
        """A list of floats; None where it is absent."""
        attribute = self._attribute(name, onnx.AttributeProto.FLOATS)
        return None if attribute is None else tuple(attribute.floats)

    def get_tensor(self, name: str) -> Array | None:
        """A tensor attribute's elements; None where it is absent."""
        attribute = self._attribute(name, onnx.AttributeProto.TENSOR)
        return None if attribute is None else self.weights.array(attribute.t)

    def get_strings(self, name: str) -> tuple[str, ...] | None:
        """A list of strings; None where it is absent."""
        attribute = self._attribute(name, onnx.AttributeProto.STRINGS)
        return (
            None
            if attribute is None
            else tuple(s.decode(errors="replace") for s in attribute.strings)
        )

    def get_graph(self, name: str) -> onnx.GraphProto:
        """A body, which must be there."""
        attribute = self._attribute(name, onnx.AttributeProto.GRAPH)
        if attribute is None:
            raise ModelFormatError(f"attribute '{name}' is missing", expected="a graph")
        return attribute.g

    def _attribute(self, name: str, kind: int) -> onnx.AttributeProto | None:
        attribute = self.attributes.get(name)
        if attribute is not None and attribute.type != kind:
            kinds = onnx.AttributeProto.AttributeType
            actual = kinds.Name(attribute.type) if attribute.type in kinds.values() else "?"
            raise ModelFormatError(
                f"attribute '{name}' is of type {actual}",
                expected=kinds.Name(kind),
            )
        return attribute
