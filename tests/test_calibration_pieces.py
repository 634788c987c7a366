"""Calibration data come some samples at a time, or whole where arrays differ in length."""

import numpy as np

from tinyrt.data import read_inputs


def test_arrays_of_one_length_come_in_pieces_without_labels(tmp_path):
    x, z = np.arange(10).reshape(5, 2), np.arange(5.0)
    np.savez(tmp_path / "data.npz", x=x, z=z, y=np.arange(7))
    pieces = list(read_inputs(tmp_path / "data.npz", 2))
    assert [len(piece["x"]) for piece in pieces] == [2, 2, 1]
    np.testing.assert_array_equal(np.concatenate([piece["x"] for piece in pieces]), x)
    np.testing.assert_array_equal(np.concatenate([piece["z"] for piece in pieces]), z)
    assert all(set(piece) == {"x", "z"} for piece in pieces)


def test_arrays_of_different_lengths_come_whole(tmp_path):
    arrays = {"x": np.arange(12).reshape(6, 2), "states": np.arange(3.0)}
    np.savez(tmp_path / "data.npz", **arrays)
    (piece,) = read_inputs(tmp_path / "data.npz", 2)
    assert piece.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(piece[name], array, strict=True)
