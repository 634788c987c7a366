"""Options whose value is more than a word: sizes."""

import pytest

from tinyrt.amounts import parse_bytes
from tinyrt.errors import TinyrtError

SIZES = {
    "0": 0,
    "640": 640,
    "32k": 32 * 1024,
    "32K": 32 * 1024,
    "1M": 1024**2,
    "3m": 3 * 1024**2,
    "2G": 2 * 1024**3,
    "2g": 2 * 1024**3,
}


@pytest.mark.parametrize(("text", "nbytes"), SIZES.items())
def test_sizes(text, nbytes):
    assert parse_bytes(text) == nbytes


@pytest.mark.parametrize("text", ["", "k", "1T", "1kk", "1.5k", "-1", "1 k", "٣", "9" * 19])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(TinyrtError, match="not a number of bytes"):
        parse_bytes(text)
