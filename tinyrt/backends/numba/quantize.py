"""quantize and dequantize: the border between float32 and int8."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tinyrt.backends.numba import lut
from tinyrt.backends.numba.abi import Call, f32_at, row_of, s8_at
from tinyrt.backends.numba.fixedpoint import saturate
from tinyrt.backends.numba.workspace import Workspace
from tinyrt.ir import BoundNode
from tinyrt.ops.quantize import Affine
from tinyrt.ops.shared.lut import LutS8


class Row(NamedTuple):
    """Arguments of both kernels; ``scale`` is the address of a float32."""

    x: int
    y: int
    size: int
    scale: int
    zero_point: int


def quantize_f32_s8(address: int) -> None:
    """``clamp(round(x / scale) + zero_point)``, halves away from zero; NaN counts as 0."""
    p = row_of(address, Row)
    x, y, scale = f32_at(p.x), s8_at(p.y), f32_at(p.scale)[0]
    for i in range(p.size):
        steps = np.float64(x[i] / scale)
        rounded = np.floor(abs(steps) + 0.5)
        # Beyond the clamp to int8 the count does not matter, but an infinity must not overflow.
        bounded = np.int64(min(rounded, 512.0)) if steps == steps else 0
        y[i] = saturate((-bounded if steps < 0 else bounded) + p.zero_point, -128, 127)


def dequantize_s8_f32(address: int) -> None:
    """``scale * (x - zero_point)``, rounded once."""
    p = row_of(address, Row)
    x, y, scale = s8_at(p.x), f32_at(p.y), f32_at(p.scale)[0]
    for i in range(p.size):
        y[i] = scale * np.float32(x[i] - p.zero_point)


def pack_quantize(node: BoundNode, p: Affine | LutS8, workspace: Workspace) -> Call:
    """From float32 as ``Row``, from int8 as a table."""
    if isinstance(p, LutS8):
        return lut.pack(node, p, workspace)
    return Call(quantize_f32_s8, _row(node, p, workspace))


def pack_dequantize(node: BoundNode, p: Affine, workspace: Workspace) -> Call:
    """Pack a dequantisation to float32."""
    return Call(dequantize_s8_f32, _row(node, p, workspace))


def _row(node: BoundNode, p: Affine, workspace: Workspace) -> Row:
    return Row(
        x=workspace.tensor(node.input(0)),
        y=workspace.tensor(node.output),
        size=node.output.size,
        scale=workspace.pack(np.array([p.scale], np.float32)),
        zero_point=p.zero_point,
    )
