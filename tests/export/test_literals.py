"""Numbers as C reads them: of each, the same bits come back."""

import numpy as np
import pytest

from tinyrt.errors import UnsupportedError
from tinyrt.export.text import C_TYPES, c_type, float_literal, has_odd_floats, integer_literal
from tinyrt.export.writer import MAX_NAME, short_name
from tinyrt.ir import DType

ODD = {"NAN": np.nan, "-NAN": -np.nan, "INFINITY": np.inf, "-INFINITY": -np.inf}
RNG = np.random.default_rng(2)


@pytest.mark.parametrize("name", ODD)
def test_numbers_that_have_names_keep_their_sign(name):
    number = np.copysign(np.float32(ODD[name]), -1 if name[0] == "-" else 1)
    assert float_literal(number) == name
    assert has_odd_floats([1.0, number])
    assert has_odd_floats({"scale": np.array([1.0, number])})


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


def test_elements_have_a_type_in_c_or_are_refused():
    assert {c_type(dtype) for dtype in C_TYPES} >= {"int8_t", "uint8_t", "int16_t", "float"}
    for dtype in (each for each in DType if each not in C_TYPES):
        with pytest.raises(UnsupportedError, match=f"no {dtype.value} tensors"):
            c_type(dtype)


@pytest.mark.parametrize(("length", "shown"), [(MAX_NAME, MAX_NAME), (MAX_NAME + 1, MAX_NAME + 3)])
def test_of_a_long_name_the_end_is_shown(length, shown):
    name = "ab" * length
    found = short_name(f"{name[:length]};fused")
    assert len(found) == shown
    assert found == (name[:length] if shown == length else f"...{name[1:length]}")


def test_the_least_integer_has_a_name():
    assert integer_literal(-(2**31)) == "INT32_MIN"
    assert [integer_literal(n) for n in (-(2**31) + 1, 2**31 - 1)] == ["-2147483647", "2147483647"]
