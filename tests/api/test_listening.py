"""Models that carry a front end: attached, kept by what writes files anew, at work on sound."""

import json
import re
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from tests.dsp.sounds import mixed
from tests.graphs import Builder
from tests.listening import (
    BANDS,
    CLASSES,
    DETECTOR,
    FRONT,
    PIPELINE,
    ROWS,
    SCALE,
    float_net,
    int8_net,
    saved,
    wav,
)
from tinyrt import api
from tinyrt.api.quantize import save_plain
from tinyrt.attached import MAX_RATIO, fitted, front_end_entry, front_end_of
from tinyrt.convert.tflite.writer import save_tflite, write_tflite
from tinyrt.dsp import DetectorStream, LogMelStream, Pipeline
from tinyrt.dsp.pipeline import ENTRY
from tinyrt.errors import BudgetError, DataError, ModelFormatError, UnsupportedError
from tinyrt.interpreter import load
from tinyrt.ir import DType, Graph, Node, Value
from tinyrt.ops.cast import CastAttrs
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.quantize import QuantConfig
from tinyrt.quantize.config import Scheme
from tinyrt.train.pipeline.setting import QatSetting

SAMPLES = np.concatenate([mixed(6, 4_000), mixed(0, 3_000)])


@pytest.fixture(scope="module")
def int8(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("ears") / "ears.tflite", int8_net())


def by_definition(path, pipeline, samples, rows=ROWS):
    """Scores of each window, one after the other: features to the nearest step of the input."""
    features = LogMelStream(pipeline.log_mel).push(samples).astype(float)
    real = (features - pipeline.offset) * pipeline.scale
    model = load(path)
    value = model.graph.input_values[0]
    stride = pipeline.stride or rows
    starts = range(0, len(real) - rows + 1, stride)
    windows = np.stack([real[at : at + rows] for at in starts]).reshape(-1, *value.shape[1:])
    if value.q is not None:
        info = np.iinfo(value.dtype.numpy)
        steps = np.floor(windows / value.q.scale + 0.5) + value.q.zero_point
        windows = steps.clip(info.min, info.max).astype(value.dtype.numpy)
    ends = [pipeline.log_mel.window + pipeline.log_mel.step * (at + rows - 1) for at in starts]
    (raw,) = model.run_raw({value.name: windows.astype(value.dtype.numpy)}).values()
    return raw, ends


@pytest.mark.parametrize("stride", [1, 3, 4, None])
def test_answers_are_those_of_each_window(stride, tmp_path):
    pipeline = replace(PIPELINE, stride=stride)
    path = saved(tmp_path / "ears.tflite", int8_net(), pipeline)
    heard = api.listen_model(path, SAMPLES)
    raw, ends = by_definition(path, pipeline, SAMPLES)
    (name,) = heard.raw
    np.testing.assert_array_equal(heard.raw[name], raw)
    assert heard.samples.tolist() == ends
    value = load(path).graph.output_values[0]
    real = (heard.raw[name].astype(float) - value.q.zero_point) * value.q.scale
    np.testing.assert_allclose(heard.outputs[name], real, rtol=1e-6)
    np.testing.assert_array_equal(heard.detected, DetectorStream(DETECTOR).push(heard.raw[name]))
    assert len(set(heard.detected.tolist())) > 1
    assert heard.rate == 16_000


@pytest.mark.parametrize("kind", ["float", "int16x8"])
def test_other_types_of_input(kind, tmp_path):
    pipeline = replace(PIPELINE, detector=None)
    config = QuantConfig(scheme=Scheme.INT16X8)
    graph = float_net() if kind == "float" else int8_net(config=config)
    path = saved(tmp_path / "ears.tflite", graph, pipeline)
    heard = api.listen_model(path, SAMPLES, backend="reference")
    raw, _ = by_definition(path, pipeline, SAMPLES)
    (found,) = heard.raw.values()
    assert found.dtype == raw.dtype
    assert heard.detected is None
    np.testing.assert_allclose(found.astype(float), raw, atol=8 if kind != "float" else 1e-4)


def test_many_windows_are_run_piece_by_piece(int8, monkeypatch):
    whole, told = api.listen_model(int8, SAMPLES), []
    monkeypatch.setattr(api.listening, "WINDOWS_AT_ONCE", 7)
    found = api.listen_model(int8, SAMPLES, progress=lambda *at: told.append(at))
    (name,) = whole.raw
    np.testing.assert_array_equal(found.raw[name], whole.raw[name])
    count = len(whole.samples)
    assert told == [(min(at, count), count) for at in range(7, count + 7, 7)]


def test_answers_of_one_dimension_stay_together(tmp_path):
    b = Builder((1, ROWS, BANDS), name="ears")
    flat = b.graph(b.op("reshape", ("x",), ReshapeAttrs((ROWS * BANDS,))))
    path = saved(tmp_path / "flat.tflite", flat, replace(PIPELINE, detector=None))
    heard = api.listen_model(path, SAMPLES)
    (found,) = heard.raw.values()
    assert found.shape == (len(heard.samples), ROWS * BANDS)


def test_a_recording_that_is_too_short_has_no_answers(int8):
    enough = FRONT.window + FRONT.step * (ROWS - 1)
    for count in (enough - 1, 9):
        heard = api.listen_model(int8, SAMPLES[:count])
        assert [x.shape for x in (*heard.raw.values(), heard.samples, heard.detected)] == [
            (0, CLASSES), (0,), (0,)
        ]  # fmt: skip
    assert len(api.listen_model(int8, SAMPLES[:enough]).samples) == 1


def test_recordings_are_of_the_rate_of_the_front_end(int8, tmp_path):
    path = tmp_path / "a.wav"
    path.write_bytes(wav(SAMPLES))
    (name,) = (heard := api.listen_model(int8, path)).raw
    np.testing.assert_array_equal(heard.raw[name], api.listen_model(int8, SAMPLES).raw[name])
    path.write_bytes(wav(SAMPLES, rate=8_000))
    with pytest.raises(DataError, match="the recording has 8,000 samples a second"):
        api.listen_model(int8, path)
    with pytest.raises(DataError, match="samples are float64"):
        api.listen_model(int8, SAMPLES.astype(float))
    with pytest.raises(BudgetError, match="memory"):
        api.listen_model(int8, path, max_memory=1_000)


def test_models_without_a_front_end_do_not_listen(tmp_path):
    path = saved(tmp_path / "deaf.tflite", int8_net(), None)
    assert front_end_of(path) is None
    with pytest.raises(DataError, match="carries no front end"):
        api.listen_model(path, SAMPLES)
    (tmp_path / "a.onnx").write_bytes(b"\x08\x07 no flatbuffer")
    assert front_end_of(tmp_path / "a.onnx") is None
    with pytest.raises(ModelFormatError, match="an ONNX model carries no front end"):
        api.attach_front_end(tmp_path / "a.onnx", PIPELINE, tmp_path / "o.tflite")


def test_attaching_and_taking_off(tmp_path):
    bare = saved(tmp_path / "bare.tflite", int8_net(), None)
    fit = api.attach_front_end(bare, PIPELINE, tmp_path / "a.tflite")
    assert (fit.rows, fit.stride, fit.row) == (ROWS, 3, BANDS)
    assert front_end_of(tmp_path / "a.tflite") == PIPELINE
    x = np.zeros((1, ROWS, BANDS), np.int8)
    np.testing.assert_array_equal(load(tmp_path / "a.tflite")(x), load(bare)(x))
    assert api.attach_front_end(tmp_path / "a.tflite", None, tmp_path / "b.tflite") is None
    assert front_end_of(tmp_path / "b.tflite") is None
    np.testing.assert_array_equal(load(tmp_path / "b.tflite")(x), load(bare)(x))


TOML = """
scale = 0.02
stride = 2
[log_mel]
window = 120
step = 50
bands = 9
pcan = false
log_shift = 5
[log_mel.noise_reduction]
even_smoothing = 0.1
[detector]
classes = 3
ignored = [0]
"""


def test_options_from_a_file(tmp_path):
    bare = saved(tmp_path / "bare.tflite", int8_net(), None)
    (tmp_path / "o.toml").write_text(TOML)
    fit = api.attach_front_end(bare, tmp_path / "o.toml", tmp_path / "a.tflite")
    p = fit.pipeline
    front = p.log_mel
    assert (p.scale, p.stride, p.offset, p.detector.ignored) == (0.02, 2, 0, (0,))
    assert (front.pcan, front.log_shift, front.fft_size) == (None, 5, 128)
    assert front.noise_reduction.even_smoothing == 0.1
    (tmp_path / "o.json").write_text(json.dumps(p.as_dict()))
    assert api.attach_front_end(bare, tmp_path / "o.json", tmp_path / "b.tflite").pipeline == p


@pytest.mark.parametrize(
    ("name", "zero"),
    [
        ("noise_reduction", "by name"),
        ("pcan", "by name"),
        ("log_shift", ""),
        ("fft", "the option fft is 0"),
        ("coefficients", "the option coefficients is 0"),
    ],
)
def test_false_is_none_of_it_and_zero_is_a_number(name, zero, int8, tmp_path):
    """A file of TOML has no null."""
    assert name in api.listening.NULLABLE
    assert len(api.listening.NULLABLE) == 5
    more = "\npcan = false" if name == "noise_reduction" else ""
    (tmp_path / "none.toml").write_text(f"[log_mel]\n{name} = false{more}")
    (tmp_path / "zero.toml").write_text(f"[log_mel]\n{name} = 0")
    assert getattr(api.listening.read_options(tmp_path / "none.toml").log_mel, name) is None
    with pytest.raises(DataError, match=zero) if zero else nullcontext():
        assert getattr(api.listening.read_options(tmp_path / "zero.toml").log_mel, name) == 0


FILES = {
    "cannot read the options: No such file": ("o.toml", None),
    "the options cannot be read: ": ("o.toml", "bands 9"),
    "the options cannot be read: Expecting": ("o.json", "{"),
    "the options are of type list": ("o.json", "[1]"),
    "the option log_mel is 3": ("o.toml", "log_mel = 3"),
    "the option bands is False": ("o.toml", "[log_mel]\nbands = false"),
}


@pytest.mark.parametrize("text", FILES)
def test_files_that_hold_no_options(text, int8, tmp_path):
    name, content = FILES[text]
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=re.escape(text)) as error:
        api.attach_front_end(int8, tmp_path / name, tmp_path / "a.tflite")
    assert error.value.file == str(tmp_path / name)
    assert not (tmp_path / "a.tflite").exists()


SHAPES = {
    (1, ROWS, BANDS): ROWS,
    (1, ROWS, BANDS, 1): ROWS,
    (1, ROWS, 1, BANDS): ROWS,
    (1, 1, ROWS, BANDS): ROWS,
    (1, ROWS * BANDS): ROWS,
    (1, BANDS): 1,
    (1, BANDS, BANDS): BANDS,
    (1, BANDS, ROWS): None,
    (1, ROWS, BANDS + 1): None,
    (1, ROWS * BANDS - 1): None,
    (1, 2, ROWS, BANDS): None,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_inputs_that_hold_rows_of_features(shape):
    pipeline = replace(PIPELINE, stride=None)
    if SHAPES[shape] is None:
        with pytest.raises(UnsupportedError, match="the input holds no rows of 9 features"):
            fitted(pipeline, int8_net(shape))
        return
    fit = fitted(pipeline, int8_net(shape))
    assert (fit.rows, fit.stride) == (SHAPES[shape], SHAPES[shape])


def two_inputs():
    b = Builder((1, BANDS), (1, BANDS))
    return b.graph(b.op("concatenation", ("x", "x1"), ConcatenationAttrs(1)))


MISFITS = {
    "a stride of 5 leaves rows out: a window has 4": (int8_net, {"stride": 5}),
    "the model has 2 inputs": (two_inputs, {}),
    "the first output has no scores of 4 classes": (
        int8_net, {"detector": replace(DETECTOR, classes=4)}
    ),
    "the first output has no scores of 3 classes": (float_net, {}),
}  # fmt: skip


@pytest.mark.parametrize("text", MISFITS)
def test_front_ends_that_do_not_fit(text):
    make, options = MISFITS[text]
    with pytest.raises(UnsupportedError, match=re.escape(text)):
        fitted(replace(PIPELINE, **options), make())


def test_the_finest_step_of_an_input():
    graph = int8_net()
    step = graph.input_values[0].q.scale
    most = float(np.nextafter(step * MAX_RATIO, 0))
    fit = fitted(replace(PIPELINE, scale=most), graph)
    zero_point = graph.input_values[0].q.zero_point
    features = np.array([[0, 299, 300, 301, 65_535]], np.uint16)
    assert fit.stored(features).tolist() == [[-128, -128, zero_point, 127, 127]]
    with pytest.raises(UnsupportedError, match="is 8192 steps of the input"):
        fitted(replace(PIPELINE, scale=step * MAX_RATIO), graph)


def test_integers_without_a_scale_take_no_features():
    values = {
        "x": Value("x", DType.INT32, (1, BANDS)),
        "y": Value("y", DType.FLOAT32, (1, BANDS)),
    }
    node = Node("cast", "cast", ("x",), ("y",), CastAttrs(DType.FLOAT32))
    graph = Graph("net", ("x",), ("y",), values, (node,))
    with pytest.raises(UnsupportedError, match="the input takes no features"):
        fitted(replace(PIPELINE, stride=None, detector=None), graph)


def test_what_writes_files_anew_keeps_the_front_end(tmp_path):
    pipeline = replace(PIPELINE, detector=None)
    path = saved(tmp_path / "float.tflite", float_net(), pipeline)
    x = np.random.default_rng(0).uniform(-6, 8, (20, ROWS, BANDS)).astype(np.float32)
    out = tmp_path / "out.tflite"
    api.convert_model(path, out)
    assert front_end_of(out) == pipeline
    api.quantize_model(path, x, out)
    assert front_end_of(out) == pipeline
    api.convert_model(out, tmp_path / "again.tflite")
    assert front_end_of(tmp_path / "again.tflite") == pipeline


def test_a_model_that_is_streamed_takes_each_row_once(tmp_path):
    """It keeps the rows itself, and answers from the first one on: then zeros stand before it."""
    pipeline = replace(PIPELINE, detector=None, stride=1)
    path = saved(tmp_path / "window.tflite", float_net(), pipeline)
    streamed = tmp_path / "streamed.tflite"
    api.convert_model(path, streamed, stream=api.Stream(1, 1))
    assert front_end_of(streamed) == replace(pipeline, stride=None)
    window, rows = api.listen_model(path, SAMPLES), api.listen_model(streamed, SAMPLES)
    assert rows.samples.tolist()[ROWS - 1 :] == window.samples.tolist()
    (want,), (found,) = window.raw.values(), rows.raw.values()
    np.testing.assert_allclose(found[ROWS - 1 :], want, atol=1e-4)
    with pytest.raises(UnsupportedError, match="a stride of 2 would show rows twice to a model"):
        api.attach_front_end(streamed, replace(pipeline, stride=2), tmp_path / "o.tflite")


def test_a_front_end_needs_room_in_a_file_of_at_most_so_many_bytes(tmp_path):
    graph = int8_net()
    size = len(write_tflite(graph, carried := front_end_entry(PIPELINE)))
    save_plain(graph, {}, tmp_path / "a.tflite", carried, size)
    assert (tmp_path / "a.tflite").stat().st_size == size
    with pytest.raises(BudgetError, match=f"the model has {size:,} bytes with the front end"):
        save_plain(graph, {}, tmp_path / "b.tflite", carried, size - 1)
    save_plain(graph, {}, tmp_path / "b.tflite", {}, 0)  # what was measured before counts


def test_training_keeps_the_front_end(tmp_path):
    pipeline = replace(PIPELINE, detector=None)
    path = saved(tmp_path / "float.tflite", float_net(), pipeline)
    x = np.random.default_rng(0).uniform(-6, 8, (24, ROWS, BANDS)).astype(np.float32)
    data = {"x": x, "y": np.arange(24) % CLASSES}
    setting = QatSetting(epochs=1, validation=0.4)
    api.train_int8_model(path, data, tmp_path / "o.tflite", setting=setting)
    assert front_end_of(tmp_path / "o.tflite") == pipeline


def test_training_counts_the_front_end_among_the_bytes(tmp_path):
    path = saved(tmp_path / "float.tflite", float_net(), replace(PIPELINE, detector=None))
    x = np.random.default_rng(0).uniform(-6, 8, (24, ROWS, BANDS)).astype(np.float32)
    data, out = {"x": x, "y": np.arange(24) % CLASSES}, tmp_path / "o.tflite"
    setting = QatSetting(epochs=1, validation=0.4)
    whole = api.train_int8_model(path, data, out, setting).bytes
    setting = replace(setting, max_bytes=whole - 1, width_epochs=0)
    trained = api.train_int8_model(path, data, out, setting)
    assert trained.outcome.int4_layers
    assert trained.bytes == out.stat().st_size < whole


def hostile(tmp_path, data):
    save_tflite(int8_net(), tmp_path / "m.tflite", {ENTRY: data})
    return tmp_path / "m.tflite"


@pytest.mark.parametrize("data", [b"", b"{", b'{"version": 1, "scale": -1}', b"\xff" * 9])
def test_a_hostile_entry_is_refused_by_all_who_read_it(data, tmp_path):
    path = hostile(tmp_path, data)
    for read in (
        front_end_of,
        api.inspect_model,
        lambda p: api.listen_model(p, SAMPLES),
        lambda p: api.convert_model(p, tmp_path / "o.tflite"),
    ):
        with pytest.raises(ModelFormatError, match=r"'tinyrt\.front_end' cannot be read") as error:
            read(path)
        assert error.value.file == str(path)
    assert not (tmp_path / "o.tflite").exists()


def test_a_front_end_that_does_not_fit_its_model_is_refused(tmp_path):
    path = saved(tmp_path / "m.tflite", int8_net((1, ROWS, BANDS + 1)))
    for read in (api.inspect_model, lambda p: api.listen_model(p, SAMPLES)):
        with pytest.raises(UnsupportedError, match="holds no rows of 9 features") as error:
            read(path)
        assert error.value.file == str(path)


def test_inspection_shows_it(int8, tmp_path):
    assert api.inspect_model(int8).front_end.pipeline == PIPELINE
    assert api.inspect_model(saved(tmp_path / "m.tflite", int8_net(), None)).front_end is None
    assert Pipeline().scale != SCALE
