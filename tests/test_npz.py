"""Arrays are read as NumPy reads them, whatever their order in memory, dtype and container."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_as_many_dimensions_as_numpy_has(tmp_path):
    """64 since NumPy 2; it is not asked, since those before have 32."""
    shape = (1,) * 63 + (2,)
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    path = tmp_path / "x.npy"
    path.write_bytes(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + bytes(8))
    with ArrayFile(path) as file:
        assert [header.shape for header in file.headers.values()] == [shape]
