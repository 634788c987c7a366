"""Functions that are flat at an end, as a sigmoid is: values beyond it change no answer.

A range that included such values would leave fewer steps for those that do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import DType, Graph, Node
from tinyrt.ops import OPS
from tinyrt.ops.shared.evaluate import as_tuple
from tinyrt.ops.shared.spec import Form, Quant
from tinyrt.quantize.ranges import AVERAGING, Range

TOLERANCE = 0.25
"""Of a step of the function's output: by how much a value that is cut off may change it."""
POINTS = 4096

RangeOf = Callable[[str], Range | None]


def deciding(
    graph: Graph, name: str, own_range: Range, range_of: RangeOf, dtypes: Mapping[str, DType]
) -> Range:
    """The part of a tensor's range over which what its readers compute changes.

    Args:
        graph: the float graph.
        name: the tensor. Only in int8 it gives up range: steps of int16 are fine enough.
        own_range: its finite range.
        range_of: the range of any tensor, None where it has none.
        dtypes: the dtype that every tensor gets.

    """
    if dtypes.get(name) is not DType.INT8 or name in graph.outputs:
        return own_range
    parts: list[Range] = []
    for reader in graph.consumers(name):
        part = _by_reader(graph, reader, own_range, range_of, dtypes)
        if part is None:
            return own_range
        parts.append(part)
    if not parts:
        return own_range
    return Range(min(p.low for p in parts), max(p.high for p in parts))


def decided(
    graph: Graph,
    name: str,
    reference: Mapping[str, NDArray[Any]],
    dtypes: Mapping[str, DType],
) -> Range | None:
    """The part of a tensor's values that changes answers; None where all do.

    Args:
        graph: the float graph.
        name: the tensor.
        reference: value name -> its values.
        dtypes: the dtype that every tensor gets.

    """

    def range_of(name: str) -> Range | None:
        return Range.of(reference[name]) if name in reference else None

    whole = Range.of(reference[name]).finite()
    part = deciding(graph, name, whole, range_of, dtypes)
    return part if part != whole else None


def _by_reader(
    graph: Graph, node: Node, own_range: Range, range_of: RangeOf, dtypes: Mapping[str, DType]
) -> Range | None:
    """The part that decides what the reader computes; None where the whole range does."""
    spec, name = OPS[node.op], node.output
    if dtypes.get(name) is not DType.INT8 or len(node.inputs) != 1 or node.op in AVERAGING:
        return None
    if spec.quant is Quant.SAME_AS_INPUT:
        part = deciding(graph, name, own_range, range_of, dtypes)
        return part if part != own_range else None
    output, reference = range_of(name), spec.ref_f32
    if not spec.traits.elementwise or output is None or reference is None:
        return None
    prescribed = spec.forms[Form.INT8].fixed_output
    step = prescribed[0] if prescribed is not None else output.asymmetric().scale
    x = np.linspace(own_range.low, own_range.high, POINTS).astype(np.float32)
    with np.errstate(all="ignore"):
        y = np.asarray(as_tuple(reference(node.attrs, x))[0], np.float64)
    low, high = _flat(y, TOLERANCE * step), POINTS - 1 - _flat(y[::-1], TOLERANCE * step)
    return Range(float(x[low]), float(x[high])) if low < high else None


def _flat(y: NDArray[np.float64], tolerance: float) -> int:
    """The last of the first points, each as good as all that come before it."""
    with np.errstate(invalid="ignore"):
        spread = np.maximum(np.maximum.accumulate(y) - y, y - np.minimum.accumulate(y))
    changes = ~(spread <= tolerance)
    return max(int(np.argmax(changes)) - 1, 0) if changes.any() else len(y) - 1
