"""Models as they are opened for another call: what is noted of rewrites, and handed on."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.convert.onnx_build import OnnxModel
from tests.graphs import small_cnn
from tests.listening import int8_net
from tinyrt import api, emulate
from tinyrt.api import models, reading, validating
from tinyrt.api.cascades import Cascade
from tinyrt.api.quantize import float_model, plainer, save_plain
from tinyrt.convert.passes.known import CUT_CHANNELS
from tinyrt.convert.tflite.writer import write_tflite
from tinyrt.emulate.cycles import Timing
from tinyrt.errors import UnsupportedError
from tinyrt.ir import DType, RewriteLog
from tinyrt.quantize import QuantConfig, Scheme, quantize_graph
from tinyrt.quantize.imported import prequantized


def activated(tmp_path):
    """A convolution and an activation, which become one."""
    m = OnnxModel()
    return m.save(tmp_path, m.op("Relu", m.op("Conv", m.input(1, 4, 5, 6), m.weights(3, 4, 3, 3))))


def test_what_passes_do_is_noted(tmp_path):
    logs = [RewriteLog() for _ in range(3)]
    path = activated(tmp_path)
    assert api.open_model(path, log=logs[0]).nodes
    float_model(path, None, None, False, logs[1])
    assert logs[0].applied
    assert logs[1] == logs[0]
    x = np.random.default_rng(0).normal(size=(9, 8, 8, 3)).astype(np.float32)
    stored = quantize_graph(small_cnn(), x, QuantConfig(scheme=Scheme.WEIGHTS_INT8))
    reading.with_float_weights(stored, logs[2])
    assert logs[2].applied


def test_models_with_grids_of_their_own_are_quantised_on_them(tmp_path, monkeypatch):
    path, log = activated(tmp_path), RewriteLog()
    monkeypatch.setattr(prequantized, "quantize_on_own_grids", lambda *args: args)
    plain = api.open_model(path)
    assert [node.op for node in plain.nodes] == ["conv2d"]
    monkeypatch.setattr(prequantized, "has_own_grids", lambda graph: True)
    graph, noted = api.open_model(path, log=log)
    assert [node.op for node in graph.nodes] == ["conv2d"]
    assert noted is log


def test_channels_are_kept_where_that_is_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr("tinyrt.api.quantize.apply_known", lambda *a: asked.append(a) or a[0])
    graph, log = int8_net(), RewriteLog()
    for keep in (True, False):
        made, lost = plainer(graph, keep, log)
        assert asked[-1][2:] == (log, lost)
        assert [node.op for node in made.nodes] == [node.op for node in graph.nodes]
    (kept, cut) = (set(args[1]) for args in asked)
    assert cut - kept == {CUT_CHANNELS}
    plainer(graph)
    assert (set(asked[-1][1]), asked[-1][2]) == (cut, None)


def test_what_was_lost_goes_where_a_file_has_no_room_for_it(tmp_path, monkeypatch):
    """What is carried stays, in a file of just as many bytes as are allowed."""
    graph, carried, entry = int8_net(), {"own": b"abc"}, {"lost": bytes(100)}
    monkeypatch.setattr("tinyrt.api.quantize.lost_entry", lambda *_: entry)
    whole, small = (write_tflite(graph, e) for e in ({**entry, **carried}, carried))
    for most, want in ((None, whole), (len(whole), whole), (len(whole) - 1, small)):
        save_plain(graph, {}, tmp_path / "a", carried, most)
        assert (tmp_path / "a").read_bytes() == want
    save_plain(graph, {}, tmp_path / "a", carried, len(small))
    assert (tmp_path / "a").read_bytes() == small


@pytest.mark.parametrize(
    ("dtype", "hint"),
    [(DType.FLOAT32, "then stream the result"), (DType.INT32, "behind the audio front end")],
)
def test_states_that_are_not_quantised(dtype, hint, monkeypatch):
    graph = SimpleNamespace(is_quantized=False, value=lambda name: SimpleNamespace(dtype=dtype))
    began = SimpleNamespace(states=(("a", "b"),))
    monkeypatch.setattr("tinyrt.api.quantize.open_model", lambda *_, **__: graph)
    monkeypatch.setattr("tinyrt.api.quantize.with_float_weights", lambda graph, log: graph)
    monkeypatch.setattr("tinyrt.api.quantize.begun_anew", lambda graph: began)
    with pytest.raises(UnsupportedError, match="keeps state from sample to sample") as caught:
        float_model("m.tflite", None, None, False, None)
    assert hint in caught.value.hint


def test_shapes_and_values_are_for_onnx_models(monkeypatch):
    """Of two, for those alone that are; where none is, whoever opens it refuses them."""
    opened = []
    monkeypatch.setattr(models, "open_model", lambda p, **k: opened.append((p.name, k)) or p.name)
    given = {"shapes": {"x": (1, 2)}, "values": {"y": 3}}
    for pair, with_options in (
        (("a.onnx", "b.tflite"), (True, False)),
        (("a.tflite", "b.onnx"), (False, True)),
        (("a.onnx", "b.onnx"), (True, True)),
        (("a.tflite", "b.tflite"), (True, True)),
    ):
        assert models._both(*pair, *given.values()) == pair
        assert opened == [
            (name, given if has else {}) for name, has in zip(pair, with_options, strict=True)
        ]
        opened.clear()
    assert models._both("a.onnx", None, *given.values()) == ("a.onnx", None)


def test_cycles_of_a_board_are_those_of_the_first_sample(monkeypatch):
    asked = []
    monkeypatch.setattr(
        *(emulate, "run_emulated"),
        lambda model, **k: asked.append((model, k)) or SimpleNamespace(cycles="told"),
    )
    x, y, timing = np.arange(6).reshape(3, 2), np.arange(3), Timing(clock_hz=1e6)
    assert validating._told("m", ({"x": x}, {"y": y}), "m4", "size", timing) == "told"
    ((model, options),) = asked
    assert (model, options["inputs"]["x"].tolist()) == ("m", [[0, 1]])
    assert options["expected"]["y"].tolist() == [0]
    folder = options.pop("build_dir")
    assert not folder.exists()
    assert {name: options[name] for name in options if name not in ("inputs", "expected")} == {
        **{"core": "m4", "optimize": "size", "cycles": timing}
    }


def test_no_sample_needs_no_label():
    cascade = SimpleNamespace(joint=SimpleNamespace(classes=3))
    labels = Cascade._labels(cascade, None, np.zeros(0, np.int8), 0)
    assert (labels.dtype, labels.shape) == (np.int64, (0,))
