"""Weights without their zeros, put together again; and which layers are stored so."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.backends.c.test_packing import DSP, SCALAR, requant
from tinyrt.backends.c.blocks.block import pair_block
from tinyrt.backends.c.blocks.dense import _stored
from tinyrt.backends.c.blocks.form_cost import MLA, Sizes
from tinyrt.backends.c.blocks.stored import block_fields, stored_words
from tinyrt.backends.c.blocks.zeros import costs, kept_of_4, n_of_4
from tinyrt.backends.c.kernel import Params, Scratch, call
from tinyrt.backends.c.parts.cutting import cut_of
from tinyrt.backends.c.parts.edit import params_of
from tinyrt.backends.c.weights import Cost, Stored, Weights
from tinyrt.ir import DType, QParams, Value


def block_of(w, isa):
    bias = np.arange(len(w), dtype=np.int32)
    return pair_block(w.astype(np.int8), bias, 3, requant(len(w)), isa)


def with_zeros(words, blocks, taps):
    """The dense words again, as the kernels read them; and where each block ends."""
    dense, ends, at = np.zeros((blocks, taps), np.int64), [], 0
    for block in range(blocks):
        last = False
        while not last:
            head = int(words[at]) & 0xFFFFFFFF
            first, count, last = head >> 16, head >> 1 & 0x7FFF, bool(head & 1)
            assert count > 0
            at += 1
            dense[block, first : first + count] = words[at : at + count]
            at += count
        ends.append(at)
    return dense, ends


@given(
    c_out=st.integers(1, 9),
    fours=st.integers(1, 12),
    isa=st.sampled_from([SCALAR, DSP]),
    seed=st.integers(0, 2**32 - 1),
)
def test_blocks_give_the_dense_words(c_out, fours, isa, seed):
    rng = np.random.default_rng(seed)
    kept = np.repeat(rng.random((c_out, fours)) < 0.3, 4, axis=1)
    block = block_of(rng.integers(-127, 128, (c_out, 4 * fours)) * kept, isa)
    dense = block.packed.w
    words, taps = stored_words(block, Weights.BLOCKS, 4, block.taps)
    filled, ends = with_zeros(words, block.channels // 4, block.taps)
    np.testing.assert_array_equal(filled.ravel(), dense)
    assert ends[-1] == len(words)
    assert taps == ([0, *ends])[c_out // 4]


def test_rows_of_scalar_cores_have_blocks_of_eight_channels():
    w = np.zeros((16, 12), int)
    w[3, 5] = 7
    w[9, 8:] = 1
    block = block_of(w, SCALAR)
    dense, _ = stored_words(block, Weights.DENSE, 8, 12)
    words, _ = stored_words(block, Weights.BLOCKS, 8, 12)
    heads = [4 << 16 | 4 << 1 | 1, 8 << 16 | 4 << 1 | 1]
    assert [words[0], words[9]] == heads
    assert len(words) == 18
    by_tap = dense.reshape(2, 12, 2)
    np.testing.assert_array_equal(words[1:9], by_tap[0, 4:8].ravel())
    np.testing.assert_array_equal(words[10:], by_tap[1, 8:].ravel())


@given(n=st.sampled_from([1, 2]), seed=st.integers(0, 2**32 - 1))
def test_n_of_4_gives_the_weights(n, seed):
    rng = np.random.default_rng(seed)
    order = rng.permuted(np.tile(np.arange(4), (5 * 8, 1)), axis=1)
    w = (rng.integers(-127, 128, (5 * 8, 4)) * (order < n)).reshape(5, 32)
    w[0] = 0  # a channel without weights
    w[1, 0:4] = np.eye(4, dtype=int)[2] * 5
    if n == 2:
        w[2, 0:4] = [1, 0, 0, 1]
    w = w.astype(np.int8)
    assert kept_of_4(w) == n
    kept = n_of_4(w, n)
    assert kept.n == n
    places = (kept.places.view(np.uint8)[:, None] >> 2 * np.arange(4) & 3).reshape(-1, n)
    filled = np.zeros((5 * 8, 4), int)
    np.add.at(filled, (np.arange(40)[:, None], places), kept.w.reshape(-1, n))
    np.testing.assert_array_equal(filled.reshape(5, 32), w)


@pytest.mark.parametrize(
    ("row", "times"),
    [([1, 2, 3, 0], 4), ([1, 0, 0, 0], 3), ([1, 0], 3)],
    ids=["three of four", "12 taps: no whole byte of places", "6 taps: no groups"],
)
def test_other_patterns_are_refused(row, times):
    block = block_of(np.tile(row, (4, times)), DSP)
    assert kept_of_4(block.layer.w) is None
    forms = costs(block, Sizes(10, block.taps), MLA, matrix=True)
    assert set(forms) == {Weights.DENSE, Weights.BLOCKS}


def test_first_sums_are_those_of_every_channel():
    w = np.arange(-16, 16).reshape(4, 8)
    sums = block_of(w, DSP).layer.first_sums(3)
    np.testing.assert_array_equal(sums, np.arange(4) - 3 * w.sum(axis=1))


def test_the_cheapest_is_dense_unless_it_pays():
    forms = {
        Weights.DENSE: Cost(100, 1000),
        Weights.BLOCKS: Cost(80, 900),
        Weights.TWO_OF_4: Cost(250, 600),
    }
    assert Stored.cheapest(forms, small=False) == Stored(Weights.BLOCKS, forms)
    assert Stored.cheapest(forms, small=True).form is Weights.TWO_OF_4
    forms[Weights.BLOCKS] = Cost(98, 990)
    assert Stored.cheapest(forms, small=False).form is Weights.DENSE


@pytest.mark.parametrize("isa", [SCALAR, DSP])
def test_windows_have_no_n_of_4(isa):
    block = block_of(np.tile([1, 0, 0, 0], (8, 8)), isa)
    assert Weights.ONE_OF_4 in costs(block, Sizes(10, block.taps), MLA, matrix=True)
    forms = costs(block, Sizes(10, block.taps), MLA, matrix=False)
    assert set(forms) == {Weights.DENSE, Weights.BLOCKS}


@pytest.mark.parametrize("kernel", ["dense_sparse_s8", "dense_row_sparse_s8"])
def test_parts_have_the_blocks_of_their_channels(kernel):
    """Three blocks of other sizes, of which the last has three channels alone."""
    kept = np.kron(np.array([[1, 0, 1], [0, 1, 1], [1, 0, 0]]), np.ones((4, 4), int))[:11]
    rng = np.random.default_rng(0)
    block = block_of(rng.integers(1, 128, (11, 12)) * kept, DSP)
    words, taps = stored_words(block, Weights.BLOCKS, 4, 12)
    dense, ends = with_zeros(words, 3, 12)
    fields = block_fields(replace(block.packed, w=words), taps, 11, 0)
    params = Params("p_t", {"rows": 1, "c_in": 12, "block": fields})
    x, y = (Value(name, DType.INT8, (1, n), QParams((0.5,))) for name, n in (("x", 12), ("y", 11)))
    cut = cut_of(call(f"tinyrt_{kernel}", params, x, Scratch(), y), DSP, False)
    assert cut.units == 3
    for a, b, whole in ((0, 1, 1), (1, 3, 1), (0, 2, 2), (2, 3, 0)):
        part = cut.part(a, b)
        own = params_of(part)["block"]
        assert (own["c_out"], part.args[-1].skip) == (min(4 * b, 11) - 4 * a, 4 * a)
        found, own_ends = with_zeros(words[own["w"].skip :], b - a, 12)
        np.testing.assert_array_equal(found, dense[a:b])
        # Words of whole blocks, behind which the kernels find the one that is not.
        assert own["taps"] == [0, *own_ends][whole]
        assert own["w"].skip == [0, *ends][a]


@pytest.mark.parametrize(
    ("dtype", "sparse", "choices", "form"),
    [
        (DType.INT4, 99, None, Weights.BLOCKS),
        (DType.INT4, 100, None, Weights.DENSE),
        (DType.INT4, 99, {}, Weights.DENSE),
        (DType.INT8, 99, None, Weights.DENSE),
        (DType.INT4, None, None, Weights.DENSE),
    ],
    ids=["fewer bytes", "as many", "chosen before", "of 8 bits", "no blocks"],
)
def test_weights_of_4_bits_take_no_8_whole_where_blocks_are_smaller(dtype, sparse, choices, form):
    """Though whole ones would be faster: who asked for 4 bits asked for fewer bytes."""
    forms = {Weights.DENSE: Cost(1, 100)}
    forms |= {Weights.BLOCKS: Cost(2, sparse)} if sparse else {}
    target = SimpleNamespace(stored=lambda i, found: Stored(Weights.DENSE, found), choices=choices)
    node = SimpleNamespace(index=0, input=lambda i: Value("w", dtype, (4, 8)))
    assert _stored(node, SimpleNamespace(nbytes=100), forms, target) == Stored(form, forms)
