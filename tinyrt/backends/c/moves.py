"""Ops that only move elements: walks over the input with constant strides, and picks by tables.

All these kernels count in bytes, so that they serve every element type.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import starmap

from tinyrt.backends.c.chooser import Choosers, always
from tinyrt.backends.c.kernel import Calls, Data, Fields, Params, Place, Target, call
from tinyrt.ir import BoundNode, Shape, Value
from tinyrt.memory.indices import Places, Steps, Table
from tinyrt.memory.sweep import Sweep, in_order
from tinyrt.ops.depth_to_space import walk_depth_to_space, walk_space_to_depth
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.gather import picks as gather_picks
from tinyrt.ops.gather_nd import GatherNdAttrs
from tinyrt.ops.mirror_pad import picks as mirror_picks
from tinyrt.ops.repeat import walk_broadcast, walk_tile
from tinyrt.ops.resize import nearest_picks
from tinyrt.ops.shared.move import LayoutOf, Picks, Walk
from tinyrt.ops.shared.spec import Form
from tinyrt.ops.shared.walks import in_runs, merge_axes, strides_of
from tinyrt.ops.slice import walk as slice_walk
from tinyrt.ops.slice_at import SliceAtAttrs
from tinyrt.ops.transpose import TransposeAttrs


def _permuted(attrs: TransposeAttrs, shape: Shape) -> Walk:
    """Along each dimension of the output, the stride of the input dimension it comes from."""
    strides = strides_of(shape)
    return Walk(tuple(shape[i] for i in attrs.perm), tuple(strides[i] for i in attrs.perm))


LAYOUTS: Mapping[str, LayoutOf] = {
    "broadcast_to": walk_broadcast,
    "depth_to_space": walk_depth_to_space,
    "gather": gather_picks,
    "mirror_pad": mirror_picks,
    "resize_nearest_neighbor": nearest_picks,
    "slice": slice_walk,
    "space_to_depth": walk_space_to_depth,
    "tile": walk_tile,
    "transpose": _permuted,
}
"""Op -> the places of its output's elements in the input."""


def _layout(node: BoundNode) -> Walk | Picks:
    return LAYOUTS[node.op](node.attrs, node.input(0).shape)


def move_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_move``, or of ``tinyrt_gather``."""
    del target
    layout = _layout(node)
    return _walk_calls(node, layout) if isinstance(layout, Walk) else _pick_calls(node, layout)


def _walk_calls(node: BoundNode, walk: Walk) -> Calls:
    x = node.input(0)
    fields = _walk_fields(walk, x.dtype.itemsize)
    first = Place(x, skip=walk.begin)
    return (call("tinyrt_move", Params("tinyrt_move_params", fields), first, node.output),)


def _walk_fields(walk: Walk, itemsize: int) -> Fields:
    """``tinyrt_move_params``."""
    dims, (strides,) = merge_axes(walk.dims, walk.strides)
    dims, steps, run = in_runs(dims, strides, itemsize)
    return {"rank": len(dims), "dims": dims, "x_strides": steps, "run": run}


def _pick_calls(node: BoundNode, picks: Picks) -> Calls:
    x = node.input(0)
    size = x.dtype.itemsize
    fields: Fields = {
        "n": picks.n,
        "x_bytes": picks.x_size * size,
        "rows": len(picks.rows),
        "columns": len(picks.columns),
        "run": picks.run * size,
        "row_at": Data("row_at", picks.rows * size, "int32_t"),
        "column_at": Data("column_at", picks.columns * size, "int32_t"),
    }
    return (call("tinyrt_gather", Params("tinyrt_gather_params", fields), x, node.output),)


def move_sweep(node: BoundNode) -> Sweep:
    """Writes go from front to back; each element is read from its place in the input."""
    return in_order(node, [_places(_layout(node))])


def _places(layout: Walk | Picks) -> Places:
    if isinstance(layout, Walk):
        begin = Table.between(layout.begin, layout.begin)
        return begin, *starmap(Steps, zip(layout.dims, layout.strides, strict=True))
    images, run = Steps(layout.n, layout.x_size), Steps(layout.run, 1)
    return images, Table.of(layout.rows), Table.of(layout.columns), run


def embedding_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_embedding``, or of its like that counts from the end."""
    del target
    table, indices = node.input(0), node.input(1)
    attrs = node.attrs_as(EmbeddingAttrs)
    at = attrs.batch_dims
    outer, run = math.prod(table.shape[:at]), math.prod(table.shape[at + 1 :])
    fields: Fields = {
        "outer": outer,
        "n": indices.size // outer,
        "rows": table.shape[at],
        "run": run * table.dtype.itemsize,
    }
    params = Params("tinyrt_embedding_params", fields)
    function = "tinyrt_embedding_from_end" if attrs.from_end else "tinyrt_embedding"
    return (call(function, params, table, indices, node.output),)


def gather_nd_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_gather_nd``, or of its like that counts from the end."""
    del target
    x, places = node.input(0), node.input(1)
    depth, size = places.shape[-1], x.dtype.itemsize
    fields: Fields = {
        "n": places.size // depth,
        "depth": depth,
        "sizes": x.shape[:depth],
        "steps": tuple(size * step for step in strides_of(x.shape)[:depth]),
        "run": size * math.prod(x.shape[depth:]),
    }
    params = Params("tinyrt_gather_nd_params", fields)
    from_end = node.attrs_as(GatherNdAttrs).from_end
    function = "tinyrt_gather_nd_from_end" if from_end else "tinyrt_gather_nd"
    return (call(function, params, x, places, node.output),)


def slice_at_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_slice_at``."""
    del target
    x = node.input(0)
    fields = _part_fields(x, node.attrs_as(SliceAtAttrs).size)
    params = Params("tinyrt_slice_at_params", fields)
    return (call("tinyrt_slice_at", params, x, node.input(1), node.output),)


def update_calls(node: BoundNode, target: Target) -> Calls:
    """The call of ``tinyrt_dynamic_update_slice``."""
    del target
    x, part, begin = (node.input(i) for i in range(3))
    fields: Fields = {"bytes": x.nbytes, **_part_fields(x, part.shape)}
    params = Params("tinyrt_dynamic_update_slice_params", fields)
    return (call("tinyrt_dynamic_update_slice", params, x, part, begin, node.output),)


def _part_fields(x: Value, size: Shape) -> Fields:
    """A part of ``x`` of that size: its walk, and where it may begin."""
    strides = tuple(strides_of(x.shape))
    return {
        "part": _walk_fields(Walk(size, strides), x.dtype.itemsize),
        "rank": len(size),
        "most": tuple(d - n for d, n in zip(x.shape, size, strict=True)),
        "steps": tuple(x.dtype.itemsize * step for step in strides),
    }


_MOVE, _EMBEDDING = always(move_calls, move_sweep), always(embedding_calls)

NOT_IN_INT16 = ("depth_to_space", "space_to_depth")
"""Ops that TFLite does not have for int16."""

KERNELS: Choosers = {
    **{op: dict.fromkeys(Form, _MOVE) for op in LAYOUTS},
    **{op: {Form.INT8: _MOVE, Form.FLOAT: _MOVE} for op in NOT_IN_INT16},
    "embedding": dict.fromkeys(Form, _EMBEDDING),
    "gather_nd": dict.fromkeys(Form, always(gather_nd_calls)),
    "dynamic_update_slice": dict.fromkeys(Form, always(update_calls)),
    "slice_at": dict.fromkeys(Form, always(slice_at_calls)),
}
