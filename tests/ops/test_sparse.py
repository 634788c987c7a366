"""Weights without their zeros, put together again; and which layers are stored so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ops.test_packing import DSP, SCALAR, requant
from tinyrt.ops.packing import eight_at_a_time, pack_block
from tinyrt.ops.sparse import Cost, Weights, cheapest, costs, first_sums, in_blocks, n_of_4


def packed(w, isa):
    return pack_block(w.astype(np.int8), np.arange(len(w), dtype=np.int32), 3, requant(len(w)), isa)


def with_zeros(words, blocks, taps):
    """The dense words again, as the kernels read them; and where each block ends."""
    found, ends, at = np.zeros((blocks, taps, 1), np.int64), [], 0
    width = found.shape[2]
    for block in range(blocks):
        last = False
        while not last:
            head = int(words[at]) & 0xFFFFFFFF
            first, count, last = head >> 16, head >> 1 & 0x7FFF, bool(head & 1)
            assert count > 0
            at += 1
            found[block, first : first + count] = words[at : at + count * width].reshape(-1, width)
            at += count * width
        ends.append(at)
    return found, ends


@given(
    c_out=st.integers(1, 9),
    fours=st.integers(1, 12),
    isa=st.sampled_from([SCALAR, DSP]),
    seed=st.integers(0, 2**32 - 1),
)
def test_blocks_give_the_dense_words(c_out, fours, isa, seed):
    rng = np.random.default_rng(seed)
    kept = np.repeat(rng.random((c_out, fours)) < 0.3, 4, axis=1)
    dense = packed(rng.integers(-127, 128, (c_out, 4 * fours)) * kept, isa)
    sparse = in_blocks(dense, 4, c_out)
    blocks = len(dense.init) // 4
    found, ends = with_zeros(sparse.w, blocks, dense.taps)
    np.testing.assert_array_equal(found.ravel(), dense.w)
    assert ends[-1] == len(sparse.w)
    assert sparse.taps == ([0, *ends])[c_out // 4]


def test_rows_of_scalar_cores_have_blocks_of_eight_channels():
    w = np.zeros((16, 12), int)
    w[3, 5] = 7
    w[9, 8:] = 1
    dense = eight_at_a_time(packed(w, SCALAR), 12)
    sparse = in_blocks(dense, 8, 16)
    heads = [4 << 16 | 4 << 1 | 1, 8 << 16 | 4 << 1 | 1]
    assert [sparse.w[0], sparse.w[9]] == heads
    assert len(sparse.w) == 18
    by_tap = dense.w.reshape(2, 12, 2)
    np.testing.assert_array_equal(sparse.w[1:9], by_tap[0, 4:8].ravel())
    np.testing.assert_array_equal(sparse.w[10:], by_tap[1, 8:].ravel())


@given(n=st.sampled_from([1, 2]), seed=st.integers(0, 2**32 - 1))
def test_n_of_4_gives_the_weights(n, seed):
    rng = np.random.default_rng(seed)
    order = rng.permuted(np.tile(np.arange(4), (5 * 8, 1)), axis=1)
    w = (rng.integers(-127, 128, (5 * 8, 4)) * (order < n)).reshape(5, 32)
    w[0] = 0  # a channel without weights
    w[1, 0:4] = np.eye(4, dtype=int)[2] * 5
    if n == 2:
        w[2, 0:4] = [1, 0, 0, 1]
    kept = n_of_4(packed(w, DSP))
    assert kept.n == n
    places = (kept.places.view(np.uint8)[:, None] >> 2 * np.arange(4) & 3).reshape(-1, n)
    found = np.zeros((5 * 8, 4), int)
    np.add.at(found, (np.arange(40)[:, None], places), kept.w.reshape(-1, n))
    np.testing.assert_array_equal(found.reshape(5, 32), w)


def test_other_patterns_are_refused():
    three = np.tile([1, 2, 3, 0], (4, 4))
    assert n_of_4(packed(three, DSP)) is None
    assert n_of_4(packed(np.tile([1, 0, 0, 0], (4, 3)), DSP)) is None  # 12 taps: no whole byte
    assert n_of_4(packed(np.tile([1, 0], (4, 3)), DSP)) is None  # 6 taps: no groups


def test_first_sums_are_those_of_every_channel():
    w = np.arange(-16, 16).reshape(4, 8)
    np.testing.assert_array_equal(first_sums(packed(w, DSP)), np.arange(4) - 3 * w.sum(axis=1))


def test_the_cheapest_is_dense_unless_it_pays():
    found = {
        Weights.DENSE: Cost(100, 1000),
        Weights.BLOCKS: Cost(80, 900),
        Weights.TWO_OF_4: Cost(250, 600),
    }
    assert cheapest(found, small=False) is Weights.BLOCKS
    assert cheapest(found, small=True) is Weights.TWO_OF_4
    found[Weights.BLOCKS] = Cost(98, 990)
    assert cheapest(found, small=False) is Weights.DENSE


@pytest.mark.parametrize("isa", [SCALAR, DSP])
def test_windows_have_no_n_of_4(isa):
    layer = packed(np.tile([1, 0, 0, 0], (8, 8)), isa)
    assert Weights.ONE_OF_4 in costs(layer, 4, 10, matrix=True, isa=isa)
    assert set(costs(layer, 4, 10, matrix=False, isa=isa)) == {Weights.DENSE, Weights.BLOCKS}
