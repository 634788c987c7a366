"""What lies at a limit of the ONNX importers is read, and one more is refused."""

import numpy as np
import pytest
from onnx import helper

from tests.convert.onnx_build import OnnxModel
from tests.convert.onnx_small import GOES_ON, I64, at, loop, lstm, scan
from tinyrt.convert.onnx import (
    einsum,
    flow,
    lookup,
    nodes,
    proto,
    reader,
    recurrent,
    upsample,
    weights,
)
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.errors import TinyrtError


def _product(m, count):
    """By an equation of so many characters."""
    equation = "a,a->a" if count == 6 else "aa,a->a"
    return m.op("Einsum", m.input(2), m.weights(2), equation=equation)


def _chain(m, count):
    y = m.input(2)
    for _ in range(count):
        y = m.op("Tanh", y)
    return y


def _scan(m, count):
    return scan(m, m.input(count, 2))


def _one_hot(m, count):
    table = m.const(count, np.int64), m.const([0, 1])
    return m.op("OneHot", m.input(2, dtype=I64), *table)


def _steps(m, count):
    return lstm(m, m.input(count, 1, 4))


def _norm(m, count):
    return m.op("LpPool", m.input(1, 2, 4, 4), kernel_shape=[2, 2], p=count)


def _rank(m, count):
    return m.op("Add", m.input(1), m.weights(*(1,) * count))


def _long(m, count):
    return m.op("Add", m.input(1), m.weights(count))


@pytest.mark.parametrize(
    ("module", "name", "most", "build"),
    [
        (einsum, "LONGEST_EQUATION", 6, _product),
        (nodes, "MAX_NODES", 2, _chain),
        (flow, "MAX_ITERATIONS", 3, _scan),
        (lookup, "MAX_CLASSES", 3, _one_hot),
        (recurrent, "MAX_STEPS", 3, _steps),
        (upsample, "MAX_EXPONENT", 3, _norm),
        (weights, "MAX_DIMENSIONS", 4, _rank),
        (weights, "LONGEST_DIMENSION", 5, _long),
    ],
)
def test_as_many_as_allowed_and_one_more(module, name, most, build, monkeypatch, tmp_path):
    monkeypatch.setattr(module, name, most)
    m = OnnxModel()
    assert read_onnx(m.save(tmp_path, build(m, most))).nodes
    m = OnnxModel()
    with pytest.raises(TinyrtError) as caught:
        read_onnx(m.save(tmp_path, build(m, most + 1)))
    assert f"{most}" in caught.value.expected


@pytest.mark.parametrize(("more", "is_read"), [(0, True), (-1, False)])
def test_files_of_the_largest_size(more, is_read, monkeypatch, tmp_path):
    m = OnnxModel()
    path = m.save(tmp_path, m.op("Tanh", m.input(2)))
    monkeypatch.setattr(proto, "LARGEST", path.stat().st_size + more)
    if is_read:
        assert read_onnx(path).nodes
    else:
        with pytest.raises(TinyrtError, match="bytes, more than"):
            read_onnx(path)


@pytest.mark.parametrize(
    ("opset", "is_read"),
    [
        (reader.OLDEST_OPSET - 1, False),
        (reader.OLDEST_OPSET, True),
        (reader.NEWEST_OPSET, True),
        (reader.NEWEST_OPSET + 1, False),
    ],
)
def test_the_oldest_and_the_newest_operator_set(opset, is_read, tmp_path):
    m = at(OnnxModel(), opset)
    path = m.save(tmp_path, m.op("Tanh", m.input(2)))
    if is_read:
        assert read_onnx(path).nodes
    else:
        with pytest.raises(TinyrtError, match=f"operator set {opset}"):
            read_onnx(path)


@pytest.mark.parametrize(("depth", "is_read"), [(3, True), (4, False)])
def test_functions_that_call_functions(depth, is_read, monkeypatch, tmp_path):
    monkeypatch.setattr(nodes, "DEEPEST", 3)
    m = OnnxModel(18)
    model = m.model(m.op("F0", m.input(2), domain="mine"))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("mine", 1)]
    for i in range(depth):
        last = i == depth - 1
        call = helper.make_node(
            "Tanh" if last else f"F{i + 1}", ["a"], ["b"], domain="" if last else "mine"
        )
        model.functions.append(helper.make_function("mine", f"F{i}", ["a"], ["b"], [call], opsets))
    model.opset_import.append(opsets[1])
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    if is_read:
        assert [node.op for node in read_onnx(path).nodes] == ["tanh"]
    else:
        with pytest.raises(TinyrtError, match="lie 3 deep"):
            read_onnx(path)


@pytest.mark.parametrize("count", [1, 3])
def test_a_loop_of_as_many_turns_as_allowed(count, monkeypatch, tmp_path):
    monkeypatch.setattr(flow, "MAX_ITERATIONS", 3)
    m = OnnxModel()
    y = loop(m, count, [GOES_ON, ("Tanh", ["s0"], ["t"])], ["t"], [m.input(2)])
    assert [node.op for node in read_onnx(m.save(tmp_path, y)).nodes] == ["tanh"] * count
