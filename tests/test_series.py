"""Recordings of several axes from files: what is read, and what is refused."""

import re

import numpy as np
import pytest

from tinyrt.budget import limited
from tinyrt.errors import BudgetError, DataError
from tinyrt.series import read_series

SAMPLES = np.array([[1, -2, 3], [32_767, -32_768, 0]], np.int16)


def test_arrays_and_text_are_read(tmp_path):
    np.save(tmp_path / "a.npy", SAMPLES)
    (tmp_path / "a.csv").write_text("x,y,z\n1, -2,3\n\n32767,-32768,0\n")
    (tmp_path / "b.CSV").write_text("\ufeff1,-2,3\n32767,-32768,0")
    for name in ("a.npy", "a.csv", "b.CSV"):
        found = read_series(tmp_path / name, 3)
        assert found.dtype == np.int16
        np.testing.assert_array_equal(found, SAMPLES)
    for text in ("x,y,z\n", ""):
        (tmp_path / "empty.csv").write_text(text)
        assert read_series(tmp_path / "empty.csv", 3).shape == (0, 3)


TEXTS = {
    "line 2 is '1,2'": b"x,y,z\n1,2",
    "line 1 is '1,2,3,4'": b"1,2,3,4",
    "line 1 is '1,2,32768'": b"1,2,32768",
    "line 2 is '-32769,2,3'": b"1,2,3\n-32769,2,3",
    "line 1 is '1,2,3.5'": b"1,2,3.5",
    "line 2 is 'x,y,z'": b"1,2,3\nx,y,z",
    "cannot read the recording: no text in UTF-8": b"\xff\xfe1,2,3",
}


@pytest.mark.parametrize("text", TEXTS)
def test_text_that_holds_no_samples_is_refused(text, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(TEXTS[text])
    with pytest.raises(DataError, match=re.escape(text)) as caught:
        read_series(path, 3)
    assert caught.value.file == str(path)
    assert caught.value.expected


@pytest.mark.parametrize("wrong", [SAMPLES.astype(np.int32), SAMPLES[:, :2], SAMPLES[0]])
def test_arrays_of_another_form_are_refused(wrong, tmp_path):
    np.save(tmp_path / "a.npy", wrong)
    with pytest.raises(DataError, match=r"the recording is int.* of the shape"):
        read_series(tmp_path / "a.npy", 3)


def test_text_is_read_within_the_memory_there_is(tmp_path):
    (tmp_path / "a.csv").write_text("1,2,3\n" * 100)
    with limited(memory=60 * 600):
        assert len(read_series(tmp_path / "a.csv", 3)) == 100
    with limited(memory=60 * 600 - 1), pytest.raises(BudgetError, match="the recording"):
        read_series(tmp_path / "a.csv", 3)
    with limited() as budget:
        before = budget.memory
        read_series(tmp_path / "a.csv", 3)
        assert budget.memory == before + 600 * budget.memory_per_byte


def test_other_files_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"a recording of 3 axes in a file called \*.wav"):
        read_series(tmp_path / "a.wav", 3)
    with pytest.raises(DataError, match="cannot read the recording: No such file"):
        read_series(tmp_path / "a.csv", 3)
