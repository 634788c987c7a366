"""Row-by-row form of ops: how one output row is computed from rows of the inputs.

To compute one output row, the op runs on a tensor that is as high as its window. Padding above and
below the image is held as rows that are filled with the padding's value. So every output row is
computed in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.ir import BoundNode, Value
from tinyrt.ops.shared.window import BARE_ROWS, ROWS, Window


@dataclass(frozen=True, slots=True)
class RowWindow:
    """The rows of one input that an output row reads.

    Output row ``r`` reads the input rows from ``r * step - above`` on.

    Attributes:
        rows: number of rows read.
        step: rows from one window to the next; 0 if all output rows read the same input row.
        above: rows of padding above the input.
        below: rows of padding below it.
        fill: the raw value of padding.

    """

    rows: int = 1
    step: int = 1
    above: int = 0
    below: int = 0
    fill: int = 0

    @property
    def padded(self) -> bool:
        """Whether a window reaches over the input's first or last row."""
        return self.above > 0 or self.below > 0


@dataclass(frozen=True, slots=True)
class Fold:
    """An average over height and width as per-channel sums of rows.

    Attributes:
        channels: number of int32 sums.
        finish: computes the op's flat output from the sums.

    """

    channels: int
    finish: Callable[[NDArray[np.int32]], NDArray[np.int8]]


@dataclass(frozen=True, slots=True)
class RowOp:
    """An op that works row by row.

    Attributes:
        node: the same op on the rows of one window, with one row of outputs.
        windows: for each input, the rows that it reads; None for a constant or absent input.
        fold: set if rows of input 0 are only added up and the output follows from the sums.

    """

    node: BoundNode
    windows: tuple[RowWindow | None, ...]
    fold: Fold | None = None

    def on_rows(self, count: int) -> BoundNode:
        """The same op on the rows of ``count`` windows, with ``count`` rows of outputs."""
        inputs = list(self.node.inputs)
        for i, (value, window) in enumerate(zip(inputs, self.windows, strict=True)):
            if value is not None and window is not None:
                inputs[i] = _with_rows(value, (count - 1) * window.step + window.rows)
        outputs = self.node.outputs
        if self.fold is None:
            outputs = (_with_rows(self.node.output, count),)
        node = replace(self.node, inputs=tuple(inputs), outputs=outputs)
        return node.noting(self.node.notes.on_rows(count))


def windowed_rows(node: BoundNode, window: Window, fill: int | None) -> RowOp | None:
    """The rows of a convolution or pooling of input 0.

    Args:
        node: input and output are (1, h, w, c); weights that the model computes have no rows.
        window: the window that slides over the input.
        fill: the raw value of padding; None if no raw value can stand for the padding.

    """
    x = node.input(0)
    if x.shape[0] != 1 or any(not v.is_constant for v in node.inputs[1:] if v is not None):
        return None
    rows = (window.kernel[0] - 1) * window.dilation[0] + 1
    needed = RowWindow(rows, window.stride[0], window.before[0], window.after[0], fill or 0)
    if needed.padded and fill is None:
        return None
    attrs: Any = node.attrs  # of a convolution or a pool
    padding = ROWS if attrs.padding == "SAME" else BARE_ROWS
    on_rows = _on_rows(
        node,
        {x.name: replace(x, shape=(1, rows, *x.shape[2:]))},
        replace(attrs, padding=padding),
    )
    return RowOp(on_rows, (needed, *(None,) * (len(node.inputs) - 1)))


def folded_rows(node: BoundNode, fold: Fold) -> RowOp | None:
    """The rows of an average over the height and width of input 0, (1, h, w, c)."""
    x = node.input(0)
    if x.shape[0] != 1:
        return None
    on_rows = replace(node, inputs=(_row(x),))
    return RowOp(on_rows.noting(node.notes.on_rows(1)), (RowWindow(),), fold)


def one_row(node: BoundNode, attrs: Any = None) -> BoundNode:
    """The node on one row of each activation; ``attrs`` replaces its attributes if given."""
    activations = [v for v in node.inputs if v is not None and not v.is_constant]
    return _on_rows(node, {v.name: _row(v) for v in activations}, attrs)


def elementwise_rows(node: BoundNode) -> RowOp | None:
    """The rows of an op that works element by element; inputs may repeat along the height."""
    y = node.output
    if len(y.shape) != 4 or y.shape[0] != 1:
        return None
    windows: list[RowWindow | None] = []
    for value in node.inputs:
        if value is None or value.is_constant:
            if value is not None and len(value.shape) >= 3 and value.shape[-3] != 1:
                return None
            windows.append(None)
        elif value.shape == y.shape:
            windows.append(RowWindow())
        elif len(value.shape) == 4 and value.shape[:2] == (1, 1):
            windows.append(RowWindow(step=0))
        else:
            return None
    return RowOp(one_row(node), tuple(windows))


def joined_rows(node: BoundNode, axis: int) -> RowOp | None:
    """The rows of a join along the width or the channels."""
    y = node.output
    constant = any(v is None or v.is_constant for v in node.inputs)
    if len(y.shape) != 4 or y.shape[0] != 1 or axis not in (2, 3) or constant:
        return None
    return RowOp(one_row(node), (RowWindow(),) * len(node.inputs))


def _on_rows(node: BoundNode, inputs: Mapping[str, Value], attrs: Any) -> BoundNode:
    """The node with these inputs and attributes, and one row of outputs."""
    on_rows = replace(
        node,
        node=node.node if attrs is None else replace(node.node, attrs=attrs),
        inputs=tuple(inputs.get(v.name, v) if v is not None else None for v in node.inputs),
        outputs=(_row(node.output),),
    )
    return on_rows.noting(node.notes.on_rows(1))


def _row(value: Value) -> Value:
    return _with_rows(value, 1)


def _with_rows(value: Value, count: int) -> Value:
    return replace(value, shape=(1, count, *value.shape[2:]))
