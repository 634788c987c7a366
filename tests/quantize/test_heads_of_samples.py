"""The first samples of what comes in batches, and all of it again."""

import numpy as np
import pytest

from tests.graphs import small_cnn
from tinyrt.quantize.calibration.samples import read_batches, split_head
from tinyrt.quantize.methods.chosen import hold_back


def batches(sizes, rows):
    """Batches of so many samples, whose rows are numbered from 0; y has one row each."""
    first = 0
    for size in sizes:
        samples = np.arange(first, first + size)
        x = rows * first + np.arange(rows * size)
        yield {"x": x, "y": samples}
        first += size


@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("sizes", [(1,) * 6, (2, 3, 1), (6,)])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 9])
def test_a_head_has_as_many_samples_as_are_asked_for(sizes, rows, count):
    read = []

    def counted():
        for batch in batches(sizes, rows):
            read.append(len(batch["y"]))
            yield batch

    head, again = split_head(counted(), count, {"x": rows, "y": 1})
    most = min(count, 6)
    np.testing.assert_array_equal(head["x"], np.arange(rows * most))
    np.testing.assert_array_equal(head["y"], np.arange(most))
    assert sum(read[:-1]) < count, "no more is read than the head takes"
    found = list(again)
    np.testing.assert_array_equal(np.concatenate([b["x"] for b in found]), np.arange(6 * rows))
    assert len(found) == len(sizes)


@pytest.mark.parametrize(
    ("samples", "count", "parts"),
    [
        (24, 60, (16, 8)),
        (23, 60, None),
        (60, 24, (24, 36)),
        (60, 23, None),
    ],
)
def test_samples_are_held_back_where_both_parts_say_enough(samples, count, parts):
    """Of a model so large that few are fitted to, none are."""
    found = hold_back(small_cnn(), {"x": np.zeros((samples, 8, 8, 3), np.float32)}, count)
    assert parts == (found and tuple(len(part["x"]) for part in found))


def test_files_of_a_folder_are_read_in_the_order_of_their_names(tmp_path):
    """However they were written there."""
    for i in (7, 2, 9, 0, 4, 8, 1, 6, 3, 5):
        np.save(tmp_path / f"{i}.npy", np.full((2, 3), i, np.float32))
    assert [batch["x"][0, 0] for batch in read_batches(tmp_path)] == list(range(10))
