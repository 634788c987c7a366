"""Numbers as C reads them: of each, the same bits come back."""

import numpy as np
import pytest

from tinyrt.export.text import float_literal, has_odd_floats, integer_literal

ODD = {"NAN": np.nan, "-NAN": -np.nan, "INFINITY": np.inf, "-INFINITY": -np.inf}
RNG = np.random.default_rng(2)


@pytest.mark.parametrize("name", ODD)
def test_numbers_that_have_names_keep_their_sign(name):
    number = np.copysign(np.float32(ODD[name]), -1 if name[0] == "-" else 1)
    assert float_literal(number) == name
    assert has_odd_floats([1.0, number])
    assert has_odd_floats({"scale": np.array([number])})


def test_floats_come_back_bit_by_bit():
    bits = RNG.integers(0, 2**32, 3000, np.uint32)
    ends = np.array([0, 1, 0x80000000, 0x80000001, 0x7F7FFFFF, 0xFF7FFFFF, 0x00800000], np.uint32)
    singles = np.concatenate([bits, ends]).view(np.float32)
    for single in singles[np.isfinite(singles)]:
        text = float_literal(float(single))
        assert text.endswith("F")
        assert any(c in text for c in ".e"), "an integer with an F is no C"
        assert np.float32(text[:-1]).tobytes() == single.tobytes()
        assert not has_odd_floats(single)


def test_the_least_integer_has_a_name():
    assert integer_literal(-(2**31)) == "INT32_MIN"
    assert [integer_literal(n) for n in (-(2**31) + 1, 2**31 - 1)] == ["-2147483647", "2147483647"]
