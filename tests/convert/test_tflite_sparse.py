"""Constants stored without their zeros: read as LiteRT reads them, and refused where they lie."""

import numpy as np
import pytest

from tests.convert.raw_tflite import Op, Sparse, Subgraph, Tensor, build, single
from tests.convert.test_tflite_breadth import agree
from tests.convert.tflite_files import T
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.errors import BudgetError, ModelFormatError, TinyrtError


def stored(name, dense, order, kinds, blocks=(), index=np.int32, **grid):
    """A sparse constant.

    Args:
        name: the tensor's.
        dense: its elements.
        order: of its dimensions, and then of its blocks.
        kinds: for each level, whether only children that are not zero are stored.
        blocks: dimension -> size.
        index: dtype of segments and indices.
        grid: scale and zero point.

    """
    blocks, rank = dict(blocks), dense.ndim
    cut = []
    for i, n in enumerate(dense.shape):
        cut += [n // blocks.get(i, 1), blocks.get(i, 1)]
    parts = dense.reshape(cut).transpose([2 * i for i in range(rank)] + [2 * i + 1 for i in blocks]
        + [2 * i + 1 for i in range(rank) if i not in blocks])  # fmt: skip
    parts = parts.reshape(parts.shape[: rank + len(blocks)]).transpose(order)
    nodes, levels = [parts], []
    for is_sparse in kinds:
        if not is_sparse:
            levels.append(nodes[0].shape[0])
            nodes = [child for node in nodes for child in node]
            continue
        held = [[i for i, child in enumerate(node) if np.any(child)] for node in nodes]
        segments = np.cumsum([0, *map(len, held)])
        indices = np.array([i for some in held for i in some])
        levels.append((segments.astype(index), indices.astype(index)))
        nodes = [node[i] for node, some in zip(nodes, held, strict=True) for i in some]
    data = np.array([float(node) for node in nodes], dense.dtype)
    sparse = Sparse(order, levels, list(blocks))
    return Tensor(name, dense.shape, dense.dtype.name.upper(), data, sparse=sparse, **grid)


def thinned(*shape, share=0.7, dtype=np.float32):
    """The same elements for each shape, some of them not zero: LiteRT needs one."""
    rng = np.random.default_rng(shape)
    dense = np.where(rng.random(shape) < share, 0, rng.integers(1, 100, shape)).astype(dtype)
    assert dense.any()
    return dense


def added(k, dense):
    """y = x + DENSIFY(k)."""
    h = T("h", dense.shape)
    ports = [T("x", dense.shape), T("y", dense.shape)]
    ops = [Op("DENSIFY", ["k"], ["h"], "DensifyOptions")]
    ops.append(Op("ADD", ["x", "h"], ["y"], "AddOptions"))
    return build(Subgraph([*ports, k, h], ops, ["x"], ["y"]))


FORMS = {
    "rows": ((4, 5), (0, 1), (0, 1), {}),
    "columns": ((4, 5), (1, 0), (0, 1), {}),
    "both": ((4, 5), (0, 1), (1, 1), {}),
    "none": ((4, 5), (1, 0), (0, 0), {}),
    "rows of many": ((5, 90), (0, 1), (1, 0), {}),
    "a vector": ((9,), (0,), (1,), {}),
    "blocks": ((4, 6), (0, 1, 2, 3), (0, 1, 0, 0), {0: 2, 1: 3}),
    "blocks of columns": ((4, 8), (0, 1, 2), (0, 1, 0), {1: 4}),
    "four dimensions": ((3, 2, 4, 5), (3, 0, 2, 1), (1, 0, 1, 0), {}),
    "blocks of four": ((4, 1, 1, 8), (0, 1, 2, 3, 4), (0, 0, 0, 1, 0), {3: 4}),
}


@pytest.mark.parametrize("index", [np.int32, np.uint16, np.uint8])
@pytest.mark.parametrize("form", FORMS)
def test_what_is_left_out_is_zero_as_in_litert(form, index):
    shape, order, kinds, blocks = FORMS[form]
    dense = thinned(*shape)
    data = added(stored("k", dense, order, kinds, blocks, index), dense)
    graph = parse_tflite(data)
    (constant,) = (v for v in graph.values.values() if v.is_constant)
    np.testing.assert_array_equal(constant.data, dense)
    agree(data)


@pytest.mark.parametrize("dtype", [np.int8, np.float16])
def test_weights_of_other_types_come_back(dtype):
    dense = thinned(3, 8, dtype=dtype)
    grid = {"scale": 0.5} if dtype == np.int8 else {}
    weights = stored("w", dense, (0, 1, 2), (0, 1, 0), {1: 4}, **grid)
    half = T("h", (3, 8), "INT8" if grid else "FLOAT16", **grid)
    ops = [Op("DENSIFY", ["w"], ["h"], "DensifyOptions"), Op("DEQUANTIZE", ["h"], ["f"])]
    ops.append(Op("FULLY_CONNECTED", ["x", "f"], ["y"], "FullyConnectedOptions"))
    tensors = [T("x", (2, 8)), weights, half, T("f", (3, 8)), T("y", (2, 3))]
    agree(build(Subgraph(tensors, ops, ["x"], ["y"])))


def test_a_layer_reads_sparse_weights_itself():
    dense = thinned(3, 8)
    weights = stored("w", dense, (0, 1), (0, 1))
    data = single("FULLY_CONNECTED", [T("x", (2, 8)), weights, T("y", (2, 3))],
                  "FullyConnectedOptions")  # fmt: skip
    (constant,) = (v for v in parse_tflite(data).values.values() if v.is_constant)
    np.testing.assert_array_equal(constant.data, dense)


def test_a_constant_of_zeros_alone_has_no_bytes():
    data = added(stored("k", np.zeros((2, 3), np.float32), (0, 1), (0, 1)), np.zeros((2, 3)))
    (constant,) = (v for v in parse_tflite(data).values.values() if v.is_constant)
    assert not constant.data.any()


ROWS = (np.int32([0, 1, 2]), np.int32([0, 2]))
WRONG = {
    "no levels": (Sparse(), "0 levels of 0"),
    "too few": (Sparse([0, 1], [2]), "2 levels of 1"),
    "blocks that no level has": (Sparse([0, 1], [2, ROWS], [0]), "2 levels of 2"),
    "more blocks than dimensions": (
        Sparse([*range(5)], [2, ROWS, 1, 1, 1], [0, 1, 0]), "5 levels of 2 dimensions"),
    "one twice": (Sparse([0, 0], [2, ROWS]), "levels [0, 0]"),
    "a block first": (Sparse([2, 1, 0], [2, ROWS, 1], [0]), "levels [2, 1, 0]"),
    "a dimension in blocks twice": (Sparse([0, 1, 2, 3], [2, ROWS, 1, 1], [0, 0]), "[0, 0]"),
    "blocks of no dimension": (Sparse([0, 1, 2], [2, ROWS, 1], [2]), "dimensions [2]"),
    "blocks that do not fit": (Sparse([0, 1, 2], [2, ROWS, 2], [1]), "blocks of 2"),
    "blocks of nothing": (Sparse([0, 1, 2], [2, ROWS, 0], [1]), "blocks of 0"),
    "another size": (Sparse([0, 1], [3, ROWS]), "a level of 3 elements, not 2"),
    "too few segments": (Sparse([0, 1], [2, (ROWS[0][:2], ROWS[1])]), "2 segments"),
    "no segments": (Sparse([0, 1], [2, (np.int32([]), ROWS[1])]), "0 segments"),
    "no list of segments": (Sparse([0, 1], [2, (None, ROWS[1])]), "0 segments"),
    "a late start": (Sparse([0, 1], [2, (np.int32([1, 1, 2]), ROWS[1])]), "3 segments"),
    "an early end": (Sparse([0, 1], [2, (np.int32([0, 1, 1]), ROWS[1])]), "3 segments"),
    "backwards": (Sparse([0, 1], [2, (np.int32([0, 3, 2]), ROWS[1])]), "3 segments"),
    "too large": (Sparse([0, 1], [2, (ROWS[0], np.int32([0, 3]))]), "nodes of 3"),
    "below 0": (Sparse([0, 1], [2, (ROWS[0], np.int32([0, -1]))]), "nodes of 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_levels_that_contradict_each_other_are_refused(name):
    sparse, part = WRONG[name]
    dense = np.zeros((2, 3), np.float32)
    k = Tensor("k", (2, 3), data=np.float32([1, 2]), sparse=sparse)
    with pytest.raises(ModelFormatError, match="contradicts itself") as caught:
        parse_tflite(added(k, dense))
    assert part in caught.value.problem
    assert "'k' [2,3]" in caught.value.tensor
    assert "levels for all its dimensions" in caught.value.expected


def test_elements_that_are_missing_are_counted():
    k = Tensor("k", (2, 3), data=np.float32([1]), sparse=Sparse([0, 1], [2, ROWS]))
    with pytest.raises(ModelFormatError, match="its buffer has 4 bytes"):
        parse_tflite(added(k, np.zeros((2, 3))))


def test_what_is_dense_costs_its_own_size():
    """A file of a few bytes whose constant would be two gigabytes."""
    nothing = (np.int32([0, 0]), np.int32([]))
    k = Tensor("k", (1, 2**29), data=np.float32([]), sparse=Sparse([0, 1], [1, nothing]))
    with pytest.raises(BudgetError, match="'k'"):
        parse_tflite(added(k, np.zeros((1, 3))))


@pytest.mark.parametrize("h", [T("h", (2, 3), "INT8", scale=1.0), T("h", (2, 3))])
def test_only_constants_of_the_same_type_become_dense(h):
    data = single("DENSIFY", [T("x", (2, 3)), T("y", (2, 3), h.dtype, scale=h.scale)],
                  "DensifyOptions")  # fmt: skip
    with pytest.raises(TinyrtError, match=r"DENSIFY of 'x' f32\[2,3\]") as caught:
        parse_tflite(data)
    assert "a constant of its type" in caught.value.expected
