"""Strided walks over tensors, merged to as few axes as possible; strides are in elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tinyrt.errors import UnsupportedError
from tinyrt.ir import BoundNode, Shape

MAX_RANK = 6
"""Maximum number of axes in a kernel's walk: TINYRT_MAX_RANK of the C library."""

Walk = dict[str, int | Sequence[int]]
"""Sizes and strides by name."""


def strides_of(shape: Shape) -> list[int]:
    """Strides in elements of a dense tensor."""
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


def merge_axes(
    dims: Sequence[int], *strides: Sequence[int]
) -> tuple[list[int], tuple[list[int], ...]]:
    """The same walk over as few axes as possible, at least one.

    Args:
        dims: sizes of the axes, the last one fastest.
        strides: for each tensor of the walk, its strides in elements.

    Raises:
        UnsupportedError: more than ``MAX_RANK`` axes are left.

    """
    sizes: list[int] = []
    steps: list[tuple[int, ...]] = []
    for size, *step in zip(dims, *strides, strict=True):
        if size == 1:
            continue
        if sizes and all(before == s * size for before, s in zip(steps[-1], step, strict=True)):
            sizes[-1] *= size
            steps[-1] = tuple(step)
        else:
            sizes.append(size)
            steps.append(tuple(step))
    if not sizes:
        sizes, steps = [1], [(0,) * len(strides)]
    if len(sizes) > MAX_RANK:
        raise UnsupportedError(
            f"{len(sizes)} dimensions that cannot be merged", expected=f"at most {MAX_RANK}"
        )
    return sizes, tuple([step[i] for step in steps] for i in range(len(strides)))


def in_runs(
    dims: Sequence[int], strides: Sequence[int], itemsize: int
) -> tuple[list[int], list[int], int]:
    """The walk over elements as a walk over runs of contiguous bytes.

    Returns:
        Sizes of the axes, their strides in bytes, and the length of a run.

    """
    dims, steps, run = list(dims), [step * itemsize for step in strides], itemsize
    if strides[-1] == 1:
        run *= dims[-1]
        dims, steps = (dims[:-1], steps[:-1]) if len(dims) > 1 else ([1], [0])
    return dims, steps, run


def broadcast_fields(node: BoundNode) -> Walk:
    """The fields of ``tinyrt_broadcast`` for a node with two inputs."""
    y = node.output.shape
    a, b = (repeating_strides(node.input(i).shape, y) for i in (0, 1))
    dims, (a_strides, b_strides) = merge_axes(y, a, b)
    return {"rank": len(dims), "dims": dims, "a_strides": a_strides, "b_strides": b_strides}


def reduction_fields(shape: Shape, axes: Sequence[int]) -> Walk:
    """The fields of ``tinyrt_reduction``; axes are counted from the front."""
    strides = strides_of(shape)
    fields: Walk = {}
    for name, is_reduced in (("kept", False), ("reduced", True)):
        chosen = [i for i in range(len(shape)) if (i in axes) is is_reduced]
        dims, (steps,) = merge_axes([shape[i] for i in chosen], [strides[i] for i in chosen])
        fields |= {f"{name}_rank": len(dims), f"{name}_dims": dims, f"{name}_strides": steps}
    return fields


def line_fields(shape: Shape, axis: int) -> Walk:
    """A tensor as (outer, depth, inner), with lines of ``depth`` elements along the axis."""
    at = axis % len(shape)
    return {
        "outer": math.prod(shape[:at]),
        "depth": shape[at],
        "inner": math.prod(shape[at + 1 :]),
    }


def repeating_strides(shape: Shape, y: Shape) -> list[int]:
    """Strides in elements of a tensor that is broadcast to ``y``; 0 for repeated axes."""
    aligned = (1,) * (len(y) - len(shape)) + shape
    return [0 if d == 1 else s for d, s in zip(aligned, strides_of(aligned), strict=True)]
