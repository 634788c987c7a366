"""Samples as a model takes them: by which name, with which axis last, so many rows to a run."""

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt import api
from tinyrt.api.inputs import as_inputs, require_float, source_of
from tinyrt.api.models import _apart
from tinyrt.api.quantize import _head
from tinyrt.errors import DataError
from tinyrt.ops.add import AddAttrs
from tinyrt.ops.reshape import ReshapeAttrs


def relu(*shape):
    net = Builder(shape)
    return net.graph(net.op("relu", ("x",)))


def numbers(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("in_file", [False, True])
@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ((7, 3, 6, 5), (7, 6, 5, 3)),
        ((7, 6, 5, 3), (7, 6, 5, 3)),
        ((7, 9, 6, 5), (7, 9, 6, 5)),
    ],
)
def test_pieces_of_samples_have_the_types_that_were_told(given, taken, in_file, tmp_path):
    graph, x = relu(1, 6, 5, 3), numbers(*given)
    np.savez(tmp_path / "x.npz", x=x)
    source = source_of(graph, tmp_path / "x.npz" if in_file else x)
    ((name, told),) = source.types.items()
    assert (name, told.shape, told.dtype) == ("x", taken, np.float32)
    pieces = [piece["x"] for piece in source.pieces({"x": 3})]
    assert [len(piece) for piece in pieces] == [3, 3, 1]
    whole = x if given == taken else np.moveaxis(x, 1, -1)
    np.testing.assert_array_equal(np.concatenate(pieces), whole, strict=True)


def a_sum_of_two():
    net = Builder((1, 4), (1, 4))
    return net.graph(net.op("add", ("x", "x1"), AddAttrs()))


def test_of_several_inputs_each_has_its_name():
    source = source_of(a_sum_of_two(), {"x": numbers(6, 4), "x1": -numbers(6, 4)})
    pieces = list(source.pieces({"x": 4, "x1": 4}))
    assert [sorted(piece) for piece in pieces] == [["x", "x1"]] * 2
    np.testing.assert_array_equal(np.concatenate([p["x1"] for p in pieces]), -numbers(6, 4))


def test_names_of_arrays_are_texts_and_one_array_is_x():
    assert list(as_inputs(numbers(2, 2))) == ["x"]
    assert list(as_inputs({1: [1, 2]})) == ["1"]
    assert as_inputs({1: [1, 2]})["1"].tolist() == [1, 2]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
def test_calibration_takes_real_values_and_indices(dtype):
    inputs = {"x": np.zeros((2, 2), dtype)}
    assert require_float(relu(2, 2), inputs) is inputs


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint32", "bool", "complex64"])
def test_calibration_refuses_stored_values(dtype):
    with pytest.raises(DataError, match=f"'b' has dtype {dtype}"):
        require_float(relu(2, 2), {"x": np.zeros(2, "float32"), "b": np.zeros(2, dtype)})


@pytest.mark.parametrize(("rows", "shape"), [(1, (6, 4)), (2, (3, 2, 4)), (3, (2, 3, 4))])
def test_rows_of_a_run_stay_together(rows, shape):
    runs = _apart(relu(rows, 4), {"x": numbers(6, 4)})
    np.testing.assert_array_equal(runs["x"], numbers(6, 4).reshape(shape), strict=True)


def test_rows_of_each_input_and_numbers_without_rows():
    net = Builder((2, 4), (3,), ())
    runs = _apart(net.graph("x"), {n: numbers(6, *s) for n, s in shapes(net).items()})
    assert {name: array.shape for name, array in runs.items()} == {
        **{"x": (3, 2, 4), "x1": (2, 3), "x2": (6,)}
    }
    with pytest.raises(DataError, match="the data have 5 rows") as caught:
        _apart(net.graph("x"), {"x2": numbers(5), "x": numbers(5, 4)})
    assert caught.value.tensor == net.graph("x").value("x").describe()
    assert caught.value.expected.startswith("a multiple of 2: the device runs")


def shapes(net):
    return {value.name: value.shape[1:] for value in net.graph("x").input_values}


def test_types_of_each_input_have_their_channels_last():
    """What is no input of the model stays as it is."""
    net = Builder((1, 6, 5, 3), (1, 2, 2, 7))
    given = {"z": (9, 3, 6, 5), "x": (9, 6, 5, 3), "x1": (9, 7, 2, 2)}
    source = source_of(net.graph("x"), {name: numbers(*shape) for name, shape in given.items()})
    assert {name: told.shape for name, told in source.types.items()} == {
        **{"z": (9, 3, 6, 5), "x": (9, 6, 5, 3), "x1": (9, 2, 2, 7)}
    }


def test_an_analysis_takes_so_many_runs(monkeypatch):
    """Whose rows are mixed, so that they stay together."""
    monkeypatch.setattr("tinyrt.quantize.calibration.search.search_samples", lambda graph: 3)
    net = Builder((2, 2))
    graph = net.graph(net.op("reshape", ("x",), ReshapeAttrs((1, 4))))
    assert _head(graph, numbers(20, 2))["x"].tolist() == numbers(6, 2).tolist()


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_random_inputs_are_so_many_runs(rows):
    assert api.random_inputs(relu(rows, 4), 3)["x"].shape == (3 * rows, 4)
