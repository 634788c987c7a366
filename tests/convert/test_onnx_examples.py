"""Sizes that are proposed for dimensions of no fixed size."""

import pytest

from tinyrt.convert.examples import example_size


@pytest.mark.parametrize(
    ("symbol", "is_index", "rank", "shape"),
    [
        ("?", True, 2, [1, 128]),
        ("?", True, 1, [1]),
        ("?", False, 2, [1, 16_000]),
        ("?", False, 3, [1, 100, 80]),
        ("?", False, 4, [1, 3, 224, 224]),
        ("?", False, 5, [1, 32, 32, 32, 32]),
    ],
)
def test_a_size_is_one_that_such_an_input_often_has(symbol, is_index, rank, shape):
    sizes = [example_size(symbol, place, rank, is_index=is_index) for place in range(rank)]
    assert sizes == shape


@pytest.mark.parametrize(
    ("symbol", "size"),
    [
        *(("N", 1), ("batch", 1), ("C", 3), ("Height", 224), ("W", 224), ("sequence", 128)),
        *(("s", 128), ("context", 128), ("audio", 16_000), ("n_mels", 80), ("time", 100)),
    ],
)
def test_a_name_counts_more_than_a_place(symbol, size):
    assert example_size(symbol, 1, 5, is_index=False) == size
