"""What a .tflite file declares and its ops do not compute: shapes and scales. The ops are right.

Converters write a shape beside every tensor, and tools that change a model's input leave others as
they were. LiteRT computes all shapes anew, and so does the reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tinyrt.errors import ConversionWarning, TinyrtError, warn
from tinyrt.ir import DType, Graph, Node, Shape, TensorType, Value
from tinyrt.ops import OPS
from tinyrt.ops.quantize import QuantizeAttrs

SHOWN = 5
"""Tensors that a warning names."""

TAKEN_OVER = "/kept"
"""Behind the name of an input whose integers an op takes over on another scale."""

RESIZING = frozenset({"resize_bilinear", "resize_nearest_neighbor"})


def computed_shapes(node: Node, inputs: Sequence[Value | None]) -> tuple[Shape, ...]:
    """Shapes of the node's outputs; none where the op refuses its inputs, as ``verify`` will say.

    The file's dtypes count as those that they become once it is read: uint8 as int8, and integer
    weights beside float activations as floats.
    """
    hybrid = bool(inputs) and inputs[0] is not None and inputs[0].dtype is DType.FLOAT32
    types = [None if value is None else _type(value, hybrid) for value in inputs]
    try:
        derived = OPS[node.op].infer(node.attrs, types)
    except TinyrtError:
        return ()
    return tuple(each.shape for each in derived)


def _type(value: Value, hybrid: bool) -> TensorType:
    if hybrid and value.q is not None and value.dtype in (DType.INT8, DType.INT4):
        return replace(value.type, dtype=DType.FLOAT32)
    if value.dtype is DType.UINT8 and value.q is not None:
        return replace(value.type, dtype=DType.INT8)
    return value.type


def warn_of_scales(graph: Graph) -> None:
    """Warn of images that are resized, and data that move, to tensors of another scale, if any.

    All runtimes move the integers as they are: what these stand for changes.
    """
    resized = [n for n in graph.bound() if n.op in RESIZING]
    _warn_of_change(
        "images are resized", [n.output.name for n in resized if n.output.q != n.input(0).q]
    )
    kept = [n for n in graph.bound() if isinstance(n.attrs, QuantizeAttrs) and n.attrs.kept]
    _warn_of_change("integers move", [n.output.name.removesuffix(TAKEN_OVER) for n in kept])


def _warn_of_change(what: str, names: Sequence[str]) -> None:
    if not names:
        return
    named = ", ".join(f"'{name}'" for name in names[:SHOWN])
    more = f", and {len(names) - SHOWN} more tensors" if len(names) > SHOWN else ""
    warn(
        f"{what} to another scale or zero point: {named}{more}. As in TFLite's runtimes, their "
        "integers stay, and what these stand for changes. If that is not meant, quantise the "
        "model again",
        ConversionWarning,
    )


def warn_of(stale: Mapping[str, tuple[Shape, Shape]]) -> None:
    """Warn of tensors whose declared shapes do not count, if there are any.

    Args:
        stale: name of a tensor -> its shape as declared and as computed.

    """
    if not stale:
        return
    texts = [
        f"'{name}' is declared {list(declared)} and computed {list(shape)}"
        for name, (declared, shape) in list(stale.items())[:SHOWN]
    ]
    more = f", and {len(stale) - SHOWN} more tensors likewise" if len(stale) > SHOWN else ""
    warn(
        f"the file declares shapes that its ops do not compute; what they compute is used: "
        f"{'; '.join(texts)}{more}. Convert the model again to have them right",
        ConversionWarning,
    )
