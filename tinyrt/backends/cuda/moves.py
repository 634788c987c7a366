"""How ops that only move elements are written for a GPU."""

from __future__ import annotations

import math

import numpy as np

from tinyrt.backends.cuda.writer import C_TYPES, DeviceWriter, index_of
from tinyrt.ir import BoundNode, Value
from tinyrt.ops.concatenation import ConcatenationS8
from tinyrt.ops.embedding import EmbeddingAttrs
from tinyrt.ops.gather_nd import GatherNdAttrs
from tinyrt.ops.pad import PadS8
from tinyrt.ops.shared.move import MoveS8, Picks
from tinyrt.ops.shared.walks import strides_of
from tinyrt.ops.slice_at import SliceAtAttrs
from tinyrt.ops.transpose import TransposeAttrs


def emit_gather(
    node: BoundNode,
    at: str,
    w: DeviceWriter,
    blobs: dict[str, np.ndarray] | None = None,
    fill: int = 0,
) -> None:
    """Write ``gather``; ``at`` is the C++ expression for where element ``i`` comes from."""
    x, y = node.input(0), node.output
    types = {"Y": C_TYPES[y.dtype]}
    functions = {"int at(const Team &t, int i)": f"(void)t, (void)i, {at}"}
    w.op(
        "gather",
        "elementwise",
        y.size,
        ints={"SIZE": y.size, "FILL": fill},
        tensors={"x": x, "y": y},
        types=types,
        blobs=blobs,
        functions=functions,
    )


def emit_move(node: BoundNode, p: MoveS8, w: DeviceWriter) -> None:
    """A walk in regular steps, or rows and columns by tables."""
    layout = p.layout
    if not isinstance(layout, Picks):
        emit_gather(node, index_of(layout.dims, layout.strides, layout.begin), w)
        return
    rows, columns, run = len(layout.rows), len(layout.columns), layout.run
    table = np.concatenate([layout.rows, layout.columns]).astype(np.int32)
    image = f"i / {rows * columns * run} * {layout.x_size}"
    row = _entry(f"i / {columns * run} % {rows}")
    column = _entry(f"{rows} + i / {run} % {columns}")
    emit_gather(node, f"{image} + {row} + {column} + i % {run}", w, {"table": table})


def _entry(index: str) -> str:
    return f"static_cast<int>(constant4(table(t) + 4 * ({index})))"


def emit_transpose(node: BoundNode, p: object, w: DeviceWriter) -> None:
    """A walk over permuted axes."""
    del p
    strides = strides_of(node.input(0).shape)
    emit_gather(
        node,
        index_of(node.output.shape, [strides[i] for i in node.attrs_as(TransposeAttrs).perm]),
        w,
    )


def emit_reshape(node: BoundNode, p: object, w: DeviceWriter) -> None:
    """A copy; reshapes within the arena are views and do not come here."""
    del p
    emit_gather(node, "i", w)


def emit_pad(node: BoundNode, p: PadS8, w: DeviceWriter) -> None:
    """Write the input inside a border."""
    x, y = node.input(0).shape, node.output.shape
    strides, inner, inside, terms = strides_of(x), 1, [], []
    for axis in range(len(y) - 1, -1, -1):
        at = f"(i / {inner} % {y[axis]} - {p.paddings[axis][0]})"
        if x[axis] != y[axis]:
            inside.append(f"static_cast<u32>{at} < {x[axis]}u")
        terms.append(f"{at} * {strides[axis]}")
        inner *= y[axis]
    where = " + ".join(terms)
    emit_gather(node, f"{' && '.join(inside) or 'true'} ? {where} : -1", w, fill=p.fill)


def emit_embedding(node: BoundNode, p: object, w: DeviceWriter) -> None:
    """Write a lookup of a table's rows by indices."""
    del p
    table, indices, y = node.input(0), node.input(1), node.output
    attrs = node.attrs_as(EmbeddingAttrs)
    at = attrs.batch_dims
    outer, run = math.prod(table.shape[:at]), math.prod(table.shape[at + 1 :])
    ints = {"SIZE": y.size, "PART": y.size // outer, "RUN": run, "ROWS": table.shape[at]}
    ints["FROM_END"] = int(attrs.from_end)
    tensors = {"table": table, "indices": indices, "y": y}
    w.op("table_rows", "elementwise", y.size, ints=ints, tensors=tensors)


def emit_gather_nd(node: BoundNode, p: object, w: DeviceWriter) -> None:
    """Write a copy of parts, whose places are tensors."""
    del p
    x, places, y = node.input(0), node.input(1), node.output
    depth = places.shape[-1]
    steps = zip(x.shape[:depth], strides_of(x.shape)[:depth], strict=True)
    place = "from_end(at[{i}], {size})" if node.attrs_as(GatherNdAttrs).from_end else "at[{i}]"
    terms = [
        f"nearest({place.format(i=i, size=size)}, {size}) * {step}"
        for i, (size, step) in enumerate(steps)
    ]
    run = math.prod(x.shape[depth:])
    _emit_parts(x, places, y, run, terms, f"i % {run}", w)


def emit_slice_at(node: BoundNode, p: SliceAtAttrs, w: DeviceWriter) -> None:
    """Write a copy of the part that begins where a tensor says."""
    x, begin, y = node.input(0), node.input(1), node.output
    strides = strides_of(x.shape)
    limits = [d - n + 1 for d, n in zip(x.shape, p.size, strict=True)]
    terms = [f"nearest(at[{i}], {n}) * {strides[i]}" for i, n in enumerate(limits)]
    _emit_parts(x, begin, y, y.size, terms, index_of(y.shape, strides), w)


def emit_update(node: BoundNode, p: object, w: DeviceWriter) -> None:
    """Write a copy with a part of it replaced."""
    del p
    x, part, begin, y = *(node.input(i) for i in range(3)), node.output
    strides, inner, inside, terms = strides_of(part.shape), 1, [], []
    for axis in range(len(x.shape) - 1, -1, -1):
        size, count = x.shape[axis], part.shape[axis]
        at = f"(i / {inner} % {size} - nearest(at[{axis}], {size - count + 1}))"
        inside.append(f"static_cast<u32>{at} < {count}u")
        terms.append(f"{at} * {strides[axis]}")
        inner *= size
    w.op(
        "update",
        "elementwise",
        y.size,
        ints={"SIZE": y.size},
        tensors={"x": x, "part": part, "places": begin, "y": y},
        functions={
            "bool inside(const i32 *at, int i)": " && ".join(inside),
            "int from(const i32 *at, int i)": " + ".join(terms),
        },
    )


def _emit_parts(
    x: Value, places: Value, y: Value, run: int, terms: list[str], inside: str, w: DeviceWriter
) -> None:
    """``parts``: the sum of terms is where a part begins, ``inside`` the place in it."""
    ints = {"SIZE": y.size, "DEPTH": len(terms), "RUN": run}
    w.op(
        "parts",
        "elementwise",
        y.size,
        ints=ints,
        tensors={"x": x, "places": places, "y": y},
        functions={
            "int from(const i32 *at)": " + ".join(terms),
            "int inside(int i)": f"(void)i, {inside}",
        },
    )


def emit_concatenation(node: BoundNode, p: ConcatenationS8, w: DeviceWriter) -> None:
    """One phase per input: its runs to their places."""
    y = node.output
    inner = math.prod(y.shape[p.axis + 1 :])
    begin = 0
    for x in node.operands:
        run = x.shape[p.axis] * inner
        _emit_runs(x, y, run, y.shape[p.axis] * inner, begin, w)
        begin += run


def _emit_runs(x: Value, y: Value, run: int, pitch: int, begin: int, w: DeviceWriter) -> None:
    ints = {"SIZE": x.size, "RUN": run, "PITCH": pitch, "BEGIN": begin}
    w.op("scatter_runs", "elementwise", x.size, ints=ints, tensors={"x": x, "y": y})
