"""How ops that work element by element are written for a GPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tinyrt.backends.cuda.fold import fold_pair
from tinyrt.backends.cuda.writer import C_TYPES, DeviceWriter, Ints, index_of
from tinyrt.ir import BoundNode, DType
from tinyrt.ops import OPS
from tinyrt.ops.add import AddS8
from tinyrt.ops.comparison import ACCEPTED, Compared
from tinyrt.ops.comparison import LEFT_SHIFT as COMPARED_LEFT
from tinyrt.ops.mul import MulS8
from tinyrt.ops.prelu import PreluS8
from tinyrt.ops.quantize import Affine, Rescale
from tinyrt.ops.shared.lut import LutS8
from tinyrt.ops.shared.spec import limits_of, qparams
from tinyrt.ops.shared.walks import strides_of
from tinyrt.ops.squared_difference import SquaredDifferenceS8


def emit_table(node: BoundNode, p: LutS8, w: DeviceWriter) -> None:
    """An op of one int8 input."""
    tensors = {"x": node.input(0), "y": node.output}
    size = node.output.size
    w.op(
        "table",
        "elementwise",
        size,
        ints={"SIZE": size},
        tensors=tensors,
        blobs={"table": p.table},
    )


def emit_table_wide(node: BoundNode, p: object, w: DeviceWriter) -> None:
    """An op of one int16 input: all its answers."""
    values = np.arange(-32768, 32768).astype(np.int16)
    table = OPS[node.op].form(node).ref(p, values)
    size = node.output.size
    w.op(
        "table_wide",
        "elementwise",
        size,
        ints={"SIZE": size},
        tensors={"x": node.input(0), "y": node.output},
        blobs={"table": table},
    )


def _places(node: BoundNode, names: str) -> dict[str, str]:
    """For each input, by name, the index of the element that an output element is computed from."""
    y = node.output.shape
    functions = {}
    for i, name in enumerate(names):
        shape = (1,) * (len(y) - len(node.input(i).shape)) + node.input(i).shape
        strides = [0 if d == 1 else s for d, s in zip(shape, strides_of(shape), strict=True)]
        functions[f"int {name}_at(int i)"] = f"(void)i, {index_of(y, strides)}"
    return functions


def emit_pair(
    function: str, ints_of: Callable[[Any], Ints], node: BoundNode, p: Any, w: DeviceWriter
) -> None:
    """An op of two inputs that repeat along axes of size 1.

    Args:
        function: of ``elementwise.cuh``.
        ints_of: its constants, from what the op's record has prepared.
        node: the op.
        p: what its record has prepared.
        w: the writer.

    """
    words, size = _words(node), node.output.size
    if words:
        kernel, work = f"pairs_side_by_side<@, {function}, {words}>", size // 4 // words
    else:
        kernel, work = f"pairs<@, {function}>", size
    _write_pair(kernel, work, ints_of(p), node, w)


def _words(node: BoundNode) -> int:
    """Words that a thread takes at once; 0 where it takes elements one by one."""
    a, b, y = node.input(0), node.input(1), node.output
    if y.dtype is not DType.INT8 or not a.shape == b.shape == y.shape or y.size % 4:
        return 0
    return 4 if y.size % 16 == 0 else 1


def _write_pair(kernel: str, work: int, ints: Ints, node: BoundNode, w: DeviceWriter) -> None:
    a, b, y = node.input(0), node.input(1), node.output
    w.op(
        kernel,
        "elementwise",
        work,
        ints={"SIZE": y.size, **ints},
        tensors={"a": a, "b": b, "y": y},
        types={"X": C_TYPES[a.dtype], "Y": C_TYPES[y.dtype]},
        functions=_places(node, "ab"),
    )


def _add_ints(sign: int, p: AddS8) -> Ints:
    return {
        **_rescaled_ints(p), "LEFT": p.left_shift, "SIGN": sign,
        "ACT_MIN": p.act_min, "ACT_MAX": p.act_max,
    }  # fmt: skip


def _rescaled_ints(p: AddS8 | SquaredDifferenceS8) -> Ints:
    return {
        "A_ZP": p.a_zp, "A_MULT": p.a_mult, "A_SHIFT": p.a_shift,
        "B_ZP": p.b_zp, "B_MULT": p.b_mult, "B_SHIFT": p.b_shift,
        "Y_MULT": p.y_mult, "Y_SHIFT": p.y_shift, "Y_ZP": p.y_zp,
    }  # fmt: skip


def _mul_ints(p: MulS8) -> Ints:
    return {
        "A_ZP": p.a_zp, "B_ZP": p.b_zp, "MULT": p.mult, "SHIFT": p.shift, "Y_ZP": p.y_zp,
        "ACT_MIN": p.act_min, "ACT_MAX": p.act_max,
    }  # fmt: skip


def _prelu_ints(p: PreluS8) -> Ints:
    return {
        "X_ZP": p.x_zp, "ALPHA_ZP": p.alpha_zp, "Y_ZP": p.y_zp,
        "POS_MULT": p.pos_mult, "POS_SHIFT": p.pos_shift,
        "NEG_MULT": p.neg_mult, "NEG_SHIFT": p.neg_shift,
    }  # fmt: skip


def _no_ints(p: object) -> Ints:
    del p
    return {}


def emit_sum(sign: int, node: BoundNode, p: AddS8, w: DeviceWriter) -> None:
    """A sum or difference, in one step where that is exact."""
    words = _words(node)
    folded = _folded(sign, node, p) if words else None
    if folded is None:
        emit_pair("Add", partial(_add_ints, sign), node, p, w)
    else:
        work = node.output.size // 4 // words
        _write_pair(f"folded_sums<@, {words}>", work, folded, node, w)


def _folded(sign: int, node: BoundNode, p: AddS8) -> Ints | None:
    """Constants of ``folded_sums``, by all pairs of int8."""
    values = np.arange(-128, 128).astype(np.int8)
    answers = OPS[node.op].form(node).ref(p, values[:, None], values[None, :])
    y_scale = qparams(node.output)[0]
    a, b = (float(qparams(node.input(i))[0] / y_scale) for i in range(2))
    pair = fold_pair(answers, (p.act_min, p.act_max), a, sign * b)
    if pair is None:
        return None
    return {
        "A_MULT": pair.a_mult, "A_FLIP": pair.a_flip,
        "B_MULT": pair.b_mult, "B_FLIP": pair.b_flip, "OFFSET": pair.offset,
        "ACT_MIN": p.act_min, "ACT_MAX": p.act_max,
    }  # fmt: skip


emit_add = partial(emit_sum, 1)
emit_sub = partial(emit_sum, -1)
emit_mul = partial(emit_pair, "Mul", _mul_ints)
emit_minimum = partial(emit_pair, "Least", _no_ints)
emit_maximum = partial(emit_pair, "Greatest", _no_ints)
emit_prelu = partial(emit_pair, "Prelu", _prelu_ints)
emit_squared_difference = partial(
    emit_pair,
    "SquaredDifference",
    lambda p: {
        **_rescaled_ints(p), "LEFT": p.left_shift, "ACT_MIN": p.act_min, "ACT_MAX": p.act_max
    },
)  # fmt: skip


def emit_comparison(node: BoundNode, p: Compared, w: DeviceWriter) -> None:
    """Write a comparison or logic of two inputs."""
    ints: Ints = {"ACCEPTED": ACCEPTED[node.op]}
    function = "OrderOfStored"
    if not p.stored:
        function = "Order"
        ints |= {
            "A_ZP": p.zps[0], "A_MULT": p.mults[0], "A_SHIFT": p.shifts[0],
            "B_ZP": p.zps[1], "B_MULT": p.mults[1], "B_SHIFT": p.shifts[1],
            "LEFT": COMPARED_LEFT,
        }  # fmt: skip
    _write_pair(f"pairs<@, {function}>", node.output.size, ints, node, w)


def emit_select(node: BoundNode, p: object, w: DeviceWriter) -> None:
    """Write a selection between two inputs by a truth value."""
    del p
    condition, a, b, y = node.input(0), node.input(1), node.input(2), node.output
    w.op(
        "choose",
        "elementwise",
        y.size,
        ints={"SIZE": y.size},
        tensors={"condition": condition, "a": a, "b": b, "y": y},
        functions=_places(node, "cab"),
    )


def emit_pair_table(node: BoundNode, p: object, w: DeviceWriter) -> None:
    """An op of two int8 inputs whose arithmetic is worth no kernel: all 65,536 answers."""
    values = np.arange(-128, 128).astype(np.int8)
    form = OPS[node.op].form(node)
    table = form.ref(p, values[:, None], values[None, :])
    y = node.output
    w.op(
        "pairs_by_table",
        "elementwise",
        y.size,
        ints={"SIZE": y.size},
        tensors={"a": node.input(0), "b": node.input(1), "y": y},
        blobs={"table": table},
        functions=_places(node, "ab"),
    )


def emit_quantize(node: BoundNode, p: Affine | LutS8 | Rescale, w: DeviceWriter) -> None:
    """From float, from another scale by a table, or from or to int16."""
    if isinstance(p, LutS8):
        emit_table(node, p, w)
        return
    x, y = node.input(0), node.output
    low, high = limits_of(y.dtype)
    types = {"X": C_TYPES[x.dtype], "Y": C_TYPES[y.dtype]}
    ints: Ints = {"SIZE": y.size, "ACT_MIN": low, "ACT_MAX": high}
    tensors = {"x": x, "y": y}
    if isinstance(p, Affine):
        scale = {"float scale()": _float(p.scale)}
        ints["Y_ZP"] = p.zero_point
        w.op(
            "quantize",
            "elementwise",
            y.size,
            ints=ints,
            tensors=tensors,
            types=types,
            functions=scale,
        )
        return
    ints |= {"X_ZP": p.x_zp, "MULT": p.mult, "SHIFT": p.shift, "Y_ZP": p.y_zp}
    w.op("rescale", "elementwise", y.size, ints=ints, tensors=tensors, types=types)


def emit_dequantize(node: BoundNode, p: Affine, w: DeviceWriter) -> None:
    """To float."""
    x, y = node.input(0), node.output
    ints: Ints = {"SIZE": y.size, "X_ZP": p.zero_point}
    scale = {"float scale()": _float(p.scale)}
    w.op("dequantize", "elementwise", y.size, ints=ints, tensors={"x": x, "y": y}, functions=scale)


def _float(value: float) -> str:
    """A literal that is exactly this float32."""
    return f"{float(np.float32(value)).hex()}f"
