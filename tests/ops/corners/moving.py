"""Ops that move bytes: runs of every length, parts that are empty, whole, backwards or mirrored."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tests.ops.build import Built
from tests.ops.corners.given import LENGTHS, Given, corner, plain, q_of, spread
from tinyrt.ir import DType
from tinyrt.ops import OPS
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.depth_to_space import BlockAttrs
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.gather import GatherAttrs
from tinyrt.ops.gather_nd import GatherNdAttrs
from tinyrt.ops.mirror_pad import MirrorPadAttrs
from tinyrt.ops.pad import PadAttrs
from tinyrt.ops.repeat import BroadcastToAttrs, TileAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.resize import ResizeAttrs
from tinyrt.ops.shared.spec import Form, NoAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.ops.slice_at import SliceAtAttrs
from tinyrt.ops.transpose import TransposeAttrs

Q = q_of(0.5, -3)

SLICES = {
    "all": (((4, 5), (0, 0), (4, 5), (1, 1))),
    "the last element": (((4, 5), (3, 4), (1, 1), (1, 1))),
    "backwards": (((4, 5), (3, 4), (4, 5), (-1, -1))),
    "backwards to the front in steps": (((4, 5), (2, 4), (2, 3), (-2, -2))),
    "a step beyond the end": (((4, 5), (0, 0), (1, 1), (9, 9))),
    "six axes": ((2, 1, 3, 2, 2, 3), (0,) * 6, (2, 1, 2, 1, 2, 2), (1,) * 6),
}
PADDINGS = {
    "none": ((0, 0), (0, 0)),
    "before": ((2, 0), (1, 0)),
    "after": ((0, 1), (0, 3)),
    "all sides": ((1, 1), (2, 2)),
}
TRANSPOSED = {
    "as it was": ((2, 3, 4), (0, 1, 2)),
    "turned": ((2, 3, 4), (2, 1, 0)),
    "an axis of one": ((1, 3, 1, 4), (3, 1, 2, 0)),
    "six axes": ((2, 1, 2, 3, 1, 2), (5, 4, 3, 2, 1, 0)),
}
RESIZED = {
    "to one pixel": ((2, 4, 5, 3), (1, 1)),
    "from one pixel": ((2, 1, 1, 3), (4, 5)),
    "the same size": ((1, 3, 4, 1), (3, 4)),
    "twice": ((2, 3, 4, 2), (6, 8)),
    "a part": ((1, 7, 5, 2), (3, 2)),
}


def _moved(dtype: DType) -> dict[str, Built]:
    """Elements of this type, with bytes that differ: halves in another order are noticed."""
    made: dict[str, Built] = {}
    form, step, q = Form.INT8, 37, Q
    if dtype is not DType.INT8:
        form, step, q = Form.INT16X8, 4099, q_of(0.5)

    def add(name: str, attrs: Any, shape: tuple[int, ...]) -> None:
        op, x = name.split(":")[0], Given(spread(shape, dtype, step), 0.5, q.zero_point)
        if form in OPS[op].forms:
            made[f"{name}, {dtype.short}"] = corner(op, attrs, [x], q)

    for name, (shape, begin, size, strides) in SLICES.items():
        add(f"slice: {name}", SliceAttrs(begin, size, strides), shape)
    for name, (shape, perm) in TRANSPOSED.items():
        add(f"transpose: {name}", TransposeAttrs(perm), shape)
    for name, paddings in PADDINGS.items():
        add(f"pad: {name}", PadAttrs(paddings), (3, 4))
        add(f"pad: {name}, a value", PadAttrs(paddings, 1e6), (3, 4))
        for mode in ("REFLECT", "SYMMETRIC"):
            add(f"mirror_pad: {name}, {mode}", MirrorPadAttrs(paddings, mode), (3, 4))
    for op, attrs, shape in (
        ("tile", TileAttrs((1, 1)), (3, 5)),
        ("tile", TileAttrs((2, 3)), (1, 1)),
        ("broadcast_to", BroadcastToAttrs((3, 5)), (3, 5)),
        ("broadcast_to", BroadcastToAttrs((2, 3, 5)), (1,)),
        ("reshape", ReshapeAttrs((-1,)), (1, 1)),
        ("reshape", ReshapeAttrs((3, -1)), (33, 1)),
        ("depth_to_space", BlockAttrs(1), (1, 1, 1, 3)),
        ("depth_to_space", BlockAttrs(3), (2, 1, 2, 9)),
        ("space_to_depth", BlockAttrs(1), (1, 1, 1, 3)),
        ("space_to_depth", BlockAttrs(3), (2, 3, 3, 1)),
    ):
        add(f"{op}: {attrs} of {shape}", attrs, shape)
    return made


def _runs() -> dict[str, Built]:
    """Runs of every length from and to every place."""
    made = {}
    for n in LENGTHS:
        x = Given(spread((3, n)), 0.5, -3)
        one = Given(spread((3, 1)), 0.5, -3)
        for name, order in (("before", [one, x]), ("behind", [x, one, x])):
            attrs = ConcatenationAttrs(1)
            made[f"concatenation: {n} elements, one {name}"] = corner(
                "concatenation", attrs, order, Q
            )
        made[f"gather: {n} elements"] = corner("gather", GatherAttrs(0, (2, 0, 2), (3,)), [x], Q)
        made[f"gather: of {n} elements"] = corner(
            "gather", GatherAttrs(1, (n - 1, 0), (2,)), [x], Q
        )
        attrs = SliceAttrs((1, n // 2), (2, n - n // 2), (1, 1))
        made[f"slice: half of {n} elements"] = corner("slice", attrs, [x], Q)
        made[f"pad: {n} elements"] = corner("pad", PadAttrs(((0, 1), (1, n))), [x], Q)
        rows = Given(spread((4, n)), 0.5, -3, constant=True)
        picked = plain([0, 3, 3, 1], np.int32)
        made[f"embedding: {n} elements"] = corner("embedding", EmbeddingAttrs(), [rows, picked], Q)
        beyond = plain([-1, 4, -(2**31), 2**31 - 1], np.int32)
        made[f"embedding: beyond its rows of {n}"] = corner(
            "embedding", EmbeddingAttrs(), [rows, beyond], Q
        )
        beyond = plain([-1, -4, -5, 4, -(2**31), 2**31 - 1], np.int32)
        made[f"embedding: from the end, beyond its rows of {n}"] = corner(
            "embedding", EmbeddingAttrs(from_end=True), [rows, beyond], Q
        )
        for place in ([0, 0], [1, n // 2], [2, n], [-1, -(2**31)], [2**31 - 1, 1]):
            made[f"slice_at: half of {n} elements from {place}"] = corner(
                "slice_at",
                SliceAtAttrs((2, n - n // 2)),
                [Given(spread((3, n)), 0.5, -3), plain(place, np.int32)],
                Q,
            )
            parts = [Given(spread((3, n)), 0.5, -3), Given(spread((2, n - n // 2)), 0.5, -3)]
            made[f"dynamic_update_slice: half of {n} elements at {place}"] = corner(
                "dynamic_update_slice", NoAttrs(), [*parts, plain(place, np.int32)], Q
            )
        parts = [Given(spread(shape), 0.5, -3) for shape in ((3, 4, 3, n), (2, 3, 2, n))]
        made[f"dynamic_update_slice: blocks of {n} elements"] = corner(
            "dynamic_update_slice", NoAttrs(), [*parts, plain([1, 0, 1, 0], np.int32)], Q
        )
        x, found = Given(spread((2, 3, n)), 0.5, -3), [[1, 2], [0, 0], [1, 0]]
        for name, places in (("inside", found), ("beyond", [[2, -1], [-1, 3], [9, 9]])):
            made[f"gather_nd: {n} elements, {name}"] = corner(
                "gather_nd", GatherNdAttrs(), [x, plain(places, np.int32)], Q
            )
            made[f"gather_nd: {n} elements, from the end, {name}"] = corner(
                "gather_nd", GatherNdAttrs(from_end=True), [x, plain(places, np.int32)], Q
            )
        tables = Given(spread((2, 3, n)), 0.5, -3)
        for name, own in (("each its own", [[0, 2], [2, 1]]), ("beyond", [[3, 0], [2, -1]])):
            made[f"embedding: tables of {n}, {name}"] = corner(
                "embedding", EmbeddingAttrs(1), [tables, plain(own, np.int32)], Q
            )
            own = [[-1, -2], own[1]]
            made[f"embedding: tables of {n}, from the end, {name}"] = corner(
                "embedding", EmbeddingAttrs(1, from_end=True), [tables, plain(own, np.int32)], Q
            )
    return made


def _resized() -> dict[str, Built]:
    return {
        f"{op}: {name}, {mode or 'plain'}": corner(
            op,
            ResizeAttrs(size, mode == "corners", mode == "centers"),
            [Given(spread(shape), 0.5, -3)],
            Q,
        )
        for op, (name, (shape, size)), mode in product(
            ("resize_bilinear", "resize_nearest_neighbor"),
            RESIZED.items(),
            ("", "corners", "centers"),
        )
    }


def moving() -> dict[str, Built]:
    """All of these."""
    return {**_moved(DType.INT8), **_moved(DType.INT16), **_runs(), **_resized()}
