"""Weights beyond int8 as int8 ones and a number behind each channel's taps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.sampling import sampled
from tinyrt.backends.c.blocks.layer import padded
from tinyrt.backends.c.blocks.summed import MAX_TAPS, place_of, runs_of, sum_fields, summed_block
from tinyrt.backends.c.blocks.words import fit_halves
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.ops.shared.requant import Requant

DSP, SCALAR = InstructionSet.DSP, InstructionSet.SCALAR
SETS = [DSP, SCALAR]


def scales(channels, shift=-9):
    mult, shifts = np.full(channels, 1 << 30, np.int32), np.full(channels, shift, np.int32)
    return Requant(mult, shifts, 0, -128, 127)


def block_of(w, isa=DSP, x_zp=0, shift=-9):
    return summed_block(np.asarray(w, np.int16), None, x_zp, scales(len(w), shift), isa)


SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 9))


@settings(max_examples=sampled(80, 300), deadline=None)
@given(
    w=SHAPES.flatmap(lambda shape: arrays(np.int16, shape, elements=st.integers(-3, 251))),
    x_zp=st.integers(-128, 127),
    isa=st.sampled_from(SETS),
    down=st.integers(0, 252),
)
def test_sums_hold_what_a_byte_has_no_room_for(w, x_zp, isa, down):
    """All that are no more than 254 apart."""
    whole = w - np.int16(down)
    block = block_of(whole, isa, x_zp)
    layer, taps = block.layer, w.shape[1]
    assert fit_halves(layer.w)
    x = np.random.default_rng(0).integers(-128, 128, taps)
    column = np.append(x, x.sum())
    alive = layer.shift > 1  # others give one output, whatever they read
    np.testing.assert_array_equal((layer.w @ column)[alive], (whole @ x)[alive])
    first = layer.first_sums(x_zp)
    np.testing.assert_array_equal(first[alive], (-x_zp * whole.sum(axis=1))[alive])
    least, most = layer.reach(x_zp)
    assert (least <= layer.w @ column + first).all()
    assert (layer.w @ column + first <= most).all()
    assert block.taps == padded(taps + 1)


def test_a_whole_byte_fits_where_no_negative_weight_lies_below_the_least():
    low, high = [-110, 145, 0], [5, 5, 5]
    assert block_of([low, high]) is not None
    assert block_of([high, low]) is not None
    assert block_of([[-110, -1, 0], low]) is None
    assert block_of([low, [-111, 145, 0]]) is None
    assert block_of([[-111, 146, 0], high]) is None


@pytest.mark.parametrize("number", [255, -255])
def test_numbers_are_no_more_than_a_byte_holds(number):
    assert block_of([[number, number // 2]]) is None
    assert block_of([[number - number // 255, number // 2]]) is not None


def test_layers_of_long_sums_fine_scales_and_little_but_padding_have_none():
    assert block_of(np.full((4, 8), 140)) is not None
    assert block_of(np.full((4, 8), 140), shift=0) is None
    assert block_of(np.full((4, 1 << 10), 140)) is None
    assert block_of(np.full((1, 2048), 1)) is None


@pytest.mark.parametrize(
    ("taps", "isa", "runs"),
    [
        (7, DSP, [7]),
        (252, DSP, [252]),
        (253, DSP, [252, 1]),
        (600, DSP, [252, 252, 96]),
        (600, SCALAR, [600]),
    ],
)
def test_sums_fit_in_elements_of_columns(taps, isa, runs):
    assert runs_of(taps, isa).tolist() == runs
    fields = sum_fields(taps, isa)
    assert fields["count"] == len(runs)
    places = fields["places"].array.reshape(-1, 2)
    assert places[:, 0].tolist() == runs
    written = place_of(taps + np.arange(len(runs)), isa)
    assert places[:, 1].tolist() == written.tolist()


@pytest.mark.parametrize("isa", SETS)
def test_places_have_16_bits(isa):
    most = MAX_TAPS - len(runs_of(MAX_TAPS - 1, isa))
    assert sum_fields(most, isa)["places"].array.max() < 1 << 15
    w = np.zeros((4, most), np.int16)
    w[:, 0] = 200
    assert block_of(w, isa) is not None
    assert block_of(np.pad(w, ((0, 0), (0, 1))), isa) is None
