"""Generators that tests share begin anew in each of them."""

import numpy as np
import pytest

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("turn", range(4))
def test_numbers_are_those_of_the_first_test(turn):
    assert RNG.integers(1 << 30) == np.random.default_rng(11).integers(1 << 30)
