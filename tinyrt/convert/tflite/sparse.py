"""Constants that a .tflite file stores without their zeros.

The format is TACO's (Kjolstad et al., "The Tensor Algebra Compiler", OOPSLA 2017, section 3): a
tensor is a tree with one level for each dimension, in any order; a level stores all its children,
or those alone that are not zero. Dimensions may be cut into blocks, which are the last levels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray

from tinyrt.budget import current
from tinyrt.errors import ModelFormatError
from tinyrt.ir import Shape

VECTORS = {1: tflite.Int32Vector, 2: tflite.Uint16Vector, 3: tflite.Uint8Vector}
"""Member of the union ``SparseIndexVector`` -> its table."""
DENSE = 0
"""``DimensionType`` of a level that stores all its children."""
PLACE = 40
"""Bytes of memory that finding an element's place takes."""

Places = NDArray[np.int64]


def places_of(sparsity: Any, shape: Shape, what: str) -> Places:
    """Where the stored elements lie in the dense tensor, in the order in which they are stored.

    Args:
        sparsity: the tensor's ``SparsityParameters``.
        shape: the dense tensor's.
        what: the tensor, as messages name it.

    Raises:
        ModelFormatError: the levels do not fit the shape, or each other.

    """
    rank, count = len(shape), sparsity.TraversalOrderLength()
    if count != sparsity.DimMetadataLength() or count != rank + sparsity.BlockMapLength():
        raise _contradiction(what, f"{count} levels of {sparsity.DimMetadataLength()}")
    if count > 2 * rank:
        raise _contradiction(what, f"{count} levels of {rank} dimensions")
    order = [int(sparsity.TraversalOrder(i)) for i in range(count)]
    blocked = [int(sparsity.BlockMap(i)) for i in range(count - rank)]
    levels = [sparsity.DimMetadata(i) for i in range(count)]
    fits = sorted(order[:rank]) == list(range(rank)) and order[rank:] == list(range(rank, count))
    if not fits or len(set(blocked) & set(range(rank))) != len(blocked):
        raise _contradiction(what, f"levels {order} with blocks of dimensions {blocked}")
    blocks = [1] * rank
    for dimension, level in zip(blocked, levels[rank:], strict=True):
        blocks[dimension] = int(level.DenseSize())
        if blocks[dimension] < 1 or shape[dimension] % blocks[dimension]:
            raise _contradiction(what, f"blocks of {blocks[dimension]} in dimension {dimension}")
    strides = [int(np.prod(shape[i + 1 :], dtype=np.int64)) for i in range(rank)]
    places = np.zeros(1, np.int64)
    for number, level in zip(order, levels, strict=True):
        if number < rank:
            size, step = shape[number] // blocks[number], strides[number] * blocks[number]
        else:
            size, step = blocks[blocked[number - rank]], strides[blocked[number - rank]]
        places = _children(places, level, size, step, what)
    return places


def _children(places: Places, level: Any, size: int, step: int, what: str) -> Places:
    """The places of a level's children, of all its nodes."""
    if level.Format() == DENSE:
        if level.DenseSize() != size:
            raise _contradiction(what, f"a level of {level.DenseSize()} elements, not {size}")
        current().reserve(PLACE * len(places) * size, what)
        return (places[:, None] + step * np.arange(size)).reshape(-1)
    ends = _numbers(level.ArraySegments(), level.ArraySegmentsType(), what)
    indices = _numbers(level.ArrayIndices(), level.ArrayIndicesType(), what)
    counts = np.diff(ends)
    fits = len(counts) == len(places) > 0 and ends[0] == 0 and ends[-1] == len(indices)
    if not fits or (counts < 0).any() or not ((indices >= 0) & (indices < size)).all():
        raise _contradiction(what, f"{len(ends)} segments for {len(places)} nodes of {size}")
    return np.repeat(places, counts) + step * indices


def _numbers(table: Any, kind: int, what: str) -> NDArray[np.int64]:
    vector = VECTORS.get(kind, tflite.Int32Vector)()
    if table is not None:
        vector.Init(table.Bytes, table.Pos)
    if table is None or not vector.ValuesLength():
        return np.zeros(0, np.int64)
    current().reserve(PLACE * vector.ValuesLength(), what)
    return np.asarray(vector.ValuesAsNumpy()).astype(np.int64)


def _contradiction(what: str, problem: str) -> ModelFormatError:
    return ModelFormatError(
        f"a tensor is stored sparse in a way that contradicts itself: {problem}",
        tensor=what,
        expected="levels for all its dimensions, then for blocks, with children in their range",
    )


def densified(stored: NDArray[Any], places: Places, shape: Shape) -> NDArray[Any]:
    """The dense tensor: the stored elements in their places, zeros elsewhere."""
    dense = np.zeros(shape, stored.dtype)
    dense.reshape(-1)[places] = stored
    return dense
