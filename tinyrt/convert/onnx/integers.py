"""ONNX ops that move integers or look at their places, imported as on what these stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tinyrt.convert.onnx.call import Call, Operand
from tinyrt.convert.onnx.grid import Grid, Quantized, moved_grid
from tinyrt.convert.onnx.quantized import PLACES
from tinyrt.errors import UnsupportedError
from tinyrt.ir import Value


def on_integers(call: Call, plain: Callable[[Call], Sequence[Operand]]) -> Sequence[Operand]:
    """The outputs of an op that takes integers as it takes numbers.

    Args:
        call: the node.
        plain: imports it on numbers.

    Raises:
        UnsupportedError: its border has no scale.

    """
    builder, outer = call.builder, call.builder.tensors
    operands = {name: outer[name] for name in call.node.inputs if name in outer}
    integers = {name: x for name, x in operands.items() if isinstance(x, Quantized)}
    if not integers:
        return plain(call)
    moves = call.node.op not in PLACES
    grid = moved_grid(call.node.op, list(integers.values())) if moves else ""
    scope: dict[str, Operand] = {name: x.value for name, x in integers.items()}
    builder.tensors = outer.new_child(scope)
    if call.node.op == "Pad":
        scope |= _real_border(call, grid)
    try:
        results = plain(call)
    finally:
        builder.tensors = outer
    if not moves:
        return results
    return [Quantized(x, grid) if isinstance(x, Value) else x for x in results]


def _real_border(call: Call, grid: Grid | str) -> dict[str, Operand]:
    """What Pad fills with, as the number that the integer stands for."""
    constant = call.node.get_string("mode", "constant") == "constant"
    if not constant:
        return {}
    if isinstance(grid, str) or not call.has(2):
        raise UnsupportedError(
            "a border of integers without a scale",
            expected="a border whose integer is given, behind QuantizeLinear",
            hint="quantise the model in QDQ form",
        )
    scale, zero_point = grid.along(0)
    steps = call.array(2).astype(np.float64) - zero_point
    return {call.node.inputs[2]: np.asarray(steps * scale, np.float32)}
