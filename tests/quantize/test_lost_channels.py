"""Models that lost channels are compared with the float model as if they had them."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

from tests.convert.onnx_build import OnnxModel
from tests.graphs import Builder
from tests.quantize.hard import depthwise_net
from tinyrt.api import bisect_model, convert_model, debug_model, quantize_model, quantize_within
from tinyrt.api.quantize import save_plain
from tinyrt.api.reading import lost_channels
from tinyrt.convert.channels.lost import Lost, note_lost
from tinyrt.convert.tflite.lost import LOST
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite, write_tflite
from tinyrt.convert.values.interval import Bounds
from tinyrt.errors import DataError, ModelFormatError
from tinyrt.interpreter import load
from tinyrt.ir import DType, QParams
from tinyrt.ops.conv2d import Conv2dAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.mean import MeanAttrs
from tinyrt.ops.shared.evaluate import evaluate
from tinyrt.quantize import PRESETS, BiasCorrection, Preset, QuantConfig, Scheme
from tinyrt.quantize.explain.restored import restored, with_lost
from tinyrt.quantize.mixed.budget import Budget

X = np.random.default_rng(7).normal(size=(48, 8, 8, 3)).astype(np.float32)
FIGURES = ("impact_db", "own_db", "accumulated_db", "saturation", "range_use")


def dying(graph, count=4):
    """The graph, with channels of convolutions too small for the steps of their tensors."""
    values = dict(graph.values)
    for node in graph.nodes:
        if node.op == "conv2d":
            for name in node.inputs[1:3]:
                data = values[name].data.copy()
                data[:count] *= 1e-4
                values[name] = replace(values[name], data=data)
    return replace(graph, values=values)


def gated():
    """Channels are handed on by ops with constants, and one is in another layer's grid."""
    rng, b = np.random.default_rng(2), Builder((1, 8, 8, 3))

    def constant(*shape):
        return b.constant(rng.normal(size=shape).astype(np.float32))

    y = b.op("conv2d", ("x", constant(8, 3, 3, 3), constant(8)), Conv2dAttrs(activation="RELU"))
    y = b.op("maximum", (y, b.constant(np.abs(rng.normal(size=8)).astype(np.float32))))
    y = b.op("conv2d", (y, constant(8, 1, 1, 8)), Conv2dAttrs(activation="RELU"))
    y = b.op("mean", (y,), MeanAttrs((1, 2)))
    return b.graph(b.op("fully_connected", (y, constant(5, 8), constant(5)), FullyConnectedAttrs()))


@pytest.fixture
def files(tmp_path):
    """Write a float model, and quantise it with and without the channels that can go."""

    def written(graph, config):
        paths = [tmp_path / name for name in ("float.tflite", "cut.tflite", "whole.tflite")]
        save_tflite(graph, paths[0])
        for path, keep in zip(paths[1:], (False, True), strict=True):
            quantize_model(paths[0], X, path, keep_channels=keep, config=config)
        lost = lost_channels(paths[1], read_tflite(paths[1]))
        assert lost
        assert not lost_channels(paths[2], read_tflite(paths[2]))
        return paths

    return written


@pytest.mark.parametrize(
    "config",
    [
        QuantConfig(),
        QuantConfig(per_channel_dense=False),
        QuantConfig(scheme=Scheme.INT4),
        QuantConfig(bias_correction=BiasCorrection.EMPIRICAL),
        QuantConfig(keep_float=("*_1",)),
        QuantConfig(keep_float=("*_2",)),
    ],
    ids=["int8", "one scale for rows", "int4", "biases added", "op 1 in float", "op 2 in float"],
)
@pytest.mark.parametrize("build", [pytest.param(depthwise_net, marks=pytest.mark.whole), gated])
def test_reports_are_those_of_the_whole_model(build, config, files):
    graph, cut, whole = files(dying(build()), config)
    found, expected = debug_model(graph, cut, X), debug_model(graph, whole, X)
    assert found.sqnr_db == pytest.approx(expected.sqnr_db)
    assert found.equalized == expected.equalized
    reports = {layer.name: layer for layer in expected.layers}
    assert {layer.name for layer in found.layers} == reports.keys()
    for layer in found.layers:
        for figure in FIGURES:
            wanted = getattr(reports[layer.name], figure)
            assert getattr(layer, figure) == pytest.approx(wanted, abs=0.3), (layer.name, figure)
        assert layer.dead_channels == reports[layer.name].dead_channels


@pytest.mark.parametrize(
    "config",
    [QuantConfig(equalize=True), pytest.param(PRESETS[Preset.BALANCED], marks=pytest.mark.whole)],
)
def test_rescaled_channels_are_found_beside_lost_ones(config, files):
    graph, cut, whole = files(dying(depthwise_net()), config)
    found, expected = debug_model(graph, cut, X), debug_model(graph, whole, X)
    assert found.equalized == expected.equalized
    np.testing.assert_array_equal(load(cut)(X), load(whole)(X))
    for layer in found.layers:
        assert layer.own_db > 25, layer


def test_bisecting_gives_the_same_layers(files):
    graph, cut, whole = files(dying(depthwise_net()), QuantConfig())
    found, expected = (bisect_model(graph, path, X) for path in (cut, whole))
    assert expected.kept
    assert (found.kept, found.reached) == (expected.kept, expected.reached)
    assert found.result.sqnr_db == pytest.approx(expected.result.sqnr_db, abs=0.1)


def test_weights_and_biases_come_back(files):
    graph, cut, whole = map(read_tflite, paths := files(dying(depthwise_net()), QuantConfig()))
    lost = lost_channels(paths[1], cut)
    found = restored(cut, graph, lost)
    wanted = {node.output.name: node for node in whole.bound()}
    for node in found.bound():
        other = wanted[node.output.name]
        assert node.output.shape == other.output.shape
        for ours, theirs in zip(node.inputs[1:], other.inputs[1:], strict=True):
            assert ours.q.axis == theirs.q.axis
            scales = ours.q.scales, theirs.q.scales
            np.testing.assert_allclose(*scales, rtol=1e-6)
            difference = ours.data.astype(np.int64) - theirs.data
            assert np.abs(difference).max() <= 1 + np.abs(theirs.data).max() // 100
    assert restored(whole, graph, {}) is whole


@pytest.mark.parametrize("which", ["more channels", "larger filters"])
def test_another_float_model_is_refused(which, files, tmp_path):
    _, cut, _ = files(dying(gated()), QuantConfig())
    b, rng = Builder((1, 8, 8, 3)), np.random.default_rng(0)
    shape = (12, 3, 3, 3) if which == "more channels" else (8, 5, 5, 3)
    w, bias = (b.constant(rng.normal(size=s).astype(np.float32)) for s in (shape, shape[:1]))
    other = tmp_path / "other.tflite"
    attrs = Conv2dAttrs(activation="RELU")
    save_tflite(b.graph(b.op("conv2d", ("x", w, bias), attrs)), other)
    with pytest.raises(DataError, match="another shape") as caught:
        debug_model(other, cut, X)
    assert "pass the float model" in caught.value.hint
    assert ("[1,8,8,12]" if which == "more channels" else "[8,5,5,3]") in caught.value.tensor


# What is written


def test_channels_that_go_later_are_added_to_those_that_went():
    bounds = Bounds(*np.float64([[3, 5, 7, 8], [3, 6, 7, 9]]))
    lost = {}
    note_lost(lost, {"t": np.array([True, True, False, True])}, {"t": bounds})
    assert lost["t"].constants[2] == 7
    rest = Bounds(*np.float64([[3, 5, 8], [3, 6, 9]]))
    note_lost(lost, {"t": np.array([False, False, True]), "u": np.ones(2, bool)}, {"t": rest})
    np.testing.assert_array_equal(lost["t"].kept, [False, False, False, True])
    np.testing.assert_array_equal(lost["t"].constants, [3, np.nan, 7, np.nan])
    assert list(lost) == ["t"]


def test_what_a_tensor_held_comes_back():
    lost = Lost(np.array([True, False, False]), np.array([np.nan, 12.0, np.nan]))
    exact = np.arange(6, dtype=np.float32).reshape(2, 3)
    array = np.float32([[9], [8]])
    found = with_lost(array, exact, QParams((0.5,), 10), lost)
    np.testing.assert_array_equal(found, [[9, 1, 2], [8, 1, 5]])
    np.testing.assert_array_equal(with_lost(array, exact, None, lost), [[9, 12, 2], [8, 12, 5]])


def test_converting_again_keeps_the_entry(files, tmp_path):
    _, cut, _ = files(dying(depthwise_net()), QuantConfig())
    again = tmp_path / "again.tflite"
    convert_model(cut, again)
    before, after = (lost_channels(path, read_tflite(path)) for path in (cut, again))
    assert before.keys() == after.keys()
    for name, entry in before.items():
        np.testing.assert_array_equal(entry.kept, after[name].kept)
        np.testing.assert_array_equal(entry.constants, after[name].constants)


@pytest.mark.parametrize(("size", "is_told"), [(100, True), (90_000, False)])
def test_a_budget_leaves_the_entry_out_where_it_has_no_room(size, is_told, tmp_path, monkeypatch):
    path, out = tmp_path / "float.tflite", tmp_path / "out.tflite"
    save_tflite(dying(depthwise_net()), path)
    entry = {LOST: entry_of(name="x" * size).encode().ljust(size)}
    monkeypatch.setattr("tinyrt.api.quantize.lost_entry", lambda lost, graph: entry)
    quantize_within(path, X, out, Budget(max_bytes=90_000), config=QuantConfig())
    assert out.stat().st_size <= 90_000
    assert read_tflite(out).value("conv2d_0").shape[-1] == 12
    assert (entry[LOST] in out.read_bytes()) is is_told


@pytest.mark.parametrize(("room", "is_told"), [(0, True), (-1, False), (None, True)])
def test_the_entry_may_take_the_last_byte(room, is_told, tmp_path, monkeypatch):
    graph, out, entry = depthwise_net(), tmp_path / "out.tflite", {LOST: b"which are gone"}
    monkeypatch.setattr("tinyrt.api.quantize.lost_entry", lambda lost, graph: entry)
    most = None if room is None else len(write_tflite(graph, entry)) + room
    save_plain(graph, {}, out, {}, most)
    assert (entry[LOST] in out.read_bytes()) is is_told


def with_entry(path, text):
    path.write_bytes(write_tflite(depthwise_net(), {LOST: text.encode()}))
    return path


def tag_of(name):
    return hashlib.sha256(name.encode()).hexdigest()[:8]


def entry_of(bits="8000", most=0, others=None, name="conv2d_0"):
    return json.dumps([[[tag_of(name)], bits, most, others or {}]])


DAMAGED = {
    "no JSON": "{",
    "too deep": "[" * 100_000,
    "a number": "3",
    "no list of tensors": "[3]",
    "too few parts": json.dumps([[[tag_of("conv2d_0")], "8000"]]),
    "no bits": entry_of(bits="8g"),
    "too few bits": entry_of(bits="80"),
    "too many bits": entry_of(bits="80000000"),
    "bits of channels beyond": entry_of(bits="800001"),
    "no channel": entry_of(others={"17": 0}),
    "text": entry_of(most="a"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_entries_are_refused(name, tmp_path):
    path = with_entry(tmp_path / "model.tflite", DAMAGED[name])
    with pytest.raises(ModelFormatError) as caught:
        lost_channels(path, read_tflite(path))
    assert f"metadata '{LOST}' cannot be read" in caught.value.problem
    assert '[[["TAG", ...], "BITS", CONSTANT' in caught.value.expected
    assert "quantise the model again" in caught.value.hint
    assert caught.value.file == str(path)


def test_tensors_that_the_model_does_not_have_are_passed_over(tmp_path):
    path = with_entry(tmp_path / "model.tflite", entry_of(name="gone"))
    assert lost_channels(path, read_tflite(path)) == {}


def test_no_model_of_onnx_has_lost_any(tmp_path):
    m, out = OnnxModel(), tmp_path / "out.tflite"
    grid = m.const(0.5), m.const(0, np.int8)

    def rounded(x):
        return m.op("DequantizeLinear", m.op("QuantizeLinear", x, *grid), *grid)

    path = m.save(tmp_path, rounded(m.op("Abs", rounded(m.input(1, 3)))))
    graph = convert_model(path, out)
    assert [value.dtype for value in graph.output_values] == [DType.INT8]
    assert lost_channels(path, graph) == {}
    assert LOST.encode() not in out.read_bytes()
    (found,) = evaluate(read_tflite(out), {"x": np.int8([[-4, 1, 6]])}).values()
    assert found.tolist() == [[4, 1, 6]]
