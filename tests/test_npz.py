"""Arrays are read as NumPy reads them, whatever their order in memory, dtype and container."""

import zipfile
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyrt import npz
from tinyrt.errors import DataError
from tinyrt.npz import ArrayFile

DTYPES = ("<f4", ">f4", "<f8", "<f2", "<i8", "|i1", ">u2", "|b1")
shapes = st.lists(st.integers(0, 5), min_size=1, max_size=4).map(tuple)
SAVES = {
    "npy": lambda path, array: np.save(path, array),
    "npz": lambda path, array: np.savez(path, x=array),
    "compressed npz": lambda path, array: np.savez_compressed(path, x=array),
}


def array_of(shape, dtype, order, step):
    """Counted elements, in an order, perhaps as a view with gaps between its rows."""
    count = int(np.prod(shape)) * step
    data = np.arange(count).reshape((shape[0] * step, *shape[1:]))[::step].astype(dtype)
    return np.asarray(data, order=order)


@pytest.mark.parametrize("save", SAVES)
@given(shapes, st.sampled_from(DTYPES), st.sampled_from("CF"), st.sampled_from((1, 2)))
def test_whole_arrays_and_rows(tmp_path_factory, save, shape, dtype, order, step):
    expected = array_of(shape, dtype, order, step)
    path = tmp_path_factory.mktemp("data") / f"x.{save[-3:]}"
    SAVES[save](path, expected)
    with ArrayFile(path) as file:
        (name,) = file.headers
        whole = file.read(name)
        rows = [row.copy() for row in file.rows(name, 2)]
    np.testing.assert_array_equal(whole, expected)
    assert whole.shape == shape
    assert sum(map(len, rows)) == shape[0]
    if shape[0]:
        np.testing.assert_array_equal(np.concatenate(rows), expected)


def test_arrays_larger_than_a_piece_are_read_piece_by_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(npz, "CHUNK", 7)
    expected = np.arange(40, dtype=np.int16).reshape(8, 5)
    for how, save in SAVES.items():
        path = tmp_path / f"x.{how[-3:]}"
        save(path, expected)
        with ArrayFile(path) as file:
            (name,) = file.headers
            np.testing.assert_array_equal(file.read(name), expected)
            rows = np.concatenate([*file.rows(name, 3)])
        np.testing.assert_array_equal(rows, expected)


def test_a_directory_in_another_order_than_its_arrays(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        for i, name in enumerate("abc"):
            with archive.open(f"{name}.npy", "w") as file:
                np.save(file, np.full(3 * i + 1, i))
        archive.filelist.reverse()
    with ArrayFile(tmp_path / "x.npz") as file:
        assert [*file.headers] == ["c", "b", "a"]
        assert {name: file.read(name).tolist() for name in "abc"} == {
            "a": [0],
            "b": [1] * 4,
            "c": [2] * 7,
        }


@pytest.mark.parametrize(("most", "fits"), [(3, True), (2, False)])
def test_as_many_arrays_as_a_file_may_have(most, fits, tmp_path, monkeypatch):
    monkeypatch.setattr(npz, "MAX_MEMBERS", most)
    np.savez(tmp_path / "x.npz", a=1, b=2, c=3)
    refused = nullcontext() if fits else pytest.raises(DataError, match="3 members")
    with refused, ArrayFile(tmp_path / "x.npz") as file:
        assert len(file.headers) == most


def test_a_directory_may_be_as_large_as_the_limit_and_names_as_long():
    assert npz._quoted("x" * 60) == repr("x" * 60)
    assert npz._quoted("x" * 61) == repr("x" * 57 + "...")
    with npz._open(__file__) as file:
        file.limit = 3
        assert file.read(3) == b'"""'
        with pytest.raises(zipfile.BadZipFile, match="4 bytes"):
            file.read(4)


def test_as_many_dimensions_as_numpy_has(tmp_path):
    """64 since NumPy 2; it is not asked, since those before have 32."""
    shape = (1,) * 63 + (2,)
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    path = tmp_path / "x.npy"
    path.write_bytes(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + bytes(8))
    with ArrayFile(path) as file:
        assert [header.shape for header in file.headers.values()] == [shape]
