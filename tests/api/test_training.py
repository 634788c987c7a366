"""Training files for int8: which arrays are what, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from tests.convert.onnx_build import OnnxModel
from tests.graphs import Builder, renamed
from tests.train.pipeline.made import learned
from tests.train.pipeline.test_heads import two_heads
from tests.train.test_sequence_lstm import INPUTS, OP, STEPS
from tests.train.test_sequence_lstm import net as lstm_net
from tests.train.test_sequence_lstm import samples as lstm_samples
from tinyrt.api import train_int8_model
from tinyrt.convert.lstm_states import kept_on
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite, write_tflite
from tinyrt.errors import BudgetError, ConversionWarning, DataError, UnsupportedError
from tinyrt.interpreter import load
from tinyrt.ir import DType
from tinyrt.quantize import QuantConfig, Scheme, quantize_graph
from tinyrt.train import trace
from tinyrt.train.pipeline import run
from tinyrt.train.pipeline.setting import QatSetting
from tinyrt.train.pipeline.widths import WidthChoice

QUICK = QatSetting(epochs=1, validation=0.25)


@pytest.fixture
def blobs(tmp_path):
    """A float file of the model, its samples and classes."""
    graph, x, y = learned()
    return save_tflite(optimize(graph), tmp_path / "blobs.tflite"), x, y


def test_a_file_becomes_a_standard_file(blobs, tmp_path):
    model, x, y = blobs
    np.savez(tmp_path / "d.npz", x=x, y=y)
    trained = train_int8_model(model, tmp_path / "d.npz", tmp_path / "o.tflite", QUICK)
    size = (tmp_path / "o.tflite").stat().st_size
    assert trained.bytes == size == len(write_tflite(trained.outcome.graph))
    assert read_tflite(tmp_path / "o.tflite").input_values[0].dtype is DType.INT8
    answers = load(tmp_path / "o.tflite")(x)
    assert np.mean(answers.argmax(axis=1) == y) > 0.7


def test_arrays_have_the_names_of_inputs_and_outputs_or_x_and_y(blobs, tmp_path):
    model, x, y = blobs
    graph = learned()[0]
    files = []
    for data in ({"x": x, "y": y}, {graph.inputs[0]: x, graph.outputs[0]: y}):
        files.append(tmp_path / f"{len(files)}.tflite")
        trained = train_int8_model(model, data, files[-1], QUICK)
        assert trained.outcome.figures[0].learns_from == "labels"
    assert files[0].read_bytes() == files[1].read_bytes()
    for data in (x, {"x": x}):
        trained = train_int8_model(model, data, files[-1], QUICK)
        assert trained.outcome.figures[0].learns_from == "teacher"


def test_an_input_that_is_called_as_labels_are_is_an_input(blobs, tmp_path):
    _, x, y = blobs
    graph = optimize(learned()[0])
    other = renamed(graph, *graph.inputs, "y")
    given = save_tflite(other, tmp_path / "m.tflite"), {"y": x, graph.outputs[0]: y}
    trained = train_int8_model(*given, tmp_path / "o.tflite", QUICK)
    assert trained.outcome.figures[0].learns_from == "labels"


def test_a_teacher_is_read_from_its_file(blobs, tmp_path):
    model, x, y = blobs
    graph = learned()[0]
    quantized = save_tflite(quantize_graph(optimize(graph), x), tmp_path / "teacher.tflite")
    said = []
    trained = train_int8_model(
        *(model, {"x": x, "y": y}, tmp_path / "o.tflite", QUICK),
        teacher=quantized,
        on_stage=said.append,
    )
    assert trained.outcome.figures[0].learns_from == "labels and teacher"
    assert said == ["training for int8, at most 1 epochs"]


def test_several_outputs_are_named(tmp_path):
    graph, inputs, classes, values = two_heads()
    model = save_tflite(graph, tmp_path / "heads.tflite")
    first, second = graph.outputs
    out = tmp_path / "o.tflite"
    trained = train_int8_model(model, {**inputs, first: classes, second: values}, out, QUICK)
    assert [f.learns_from for f in trained.outcome.figures] == ["labels", "labels"]
    with pytest.raises(DataError, match="'y' says nothing of which output it is for"):
        train_int8_model(model, {**inputs, "y": classes}, out, QUICK)


def test_images_of_an_onnx_model_come_channels_first_or_last(tmp_path):
    """The labels of an image that is put out move with it."""
    m = OnnxModel()
    out = m.op("Conv", m.input(1, 2, 5, 4), m.weights(2, 2, 1, 1))
    model = m.save(tmp_path, out)
    x = np.random.default_rng(0).normal(size=(16, 2, 5, 4)).astype(np.float32)
    files = []
    for samples in (x, x.transpose(0, 2, 3, 1)):
        files.append(tmp_path / f"{len(files)}.tflite")
        data = {"x": samples, "y": samples.astype(np.float64)}
        trained = train_int8_model(model, data, files[-1], QUICK)
        assert trained.outcome.figures[0].measure == "mse"
    assert files[0].read_bytes() == files[1].read_bytes()


def squares(tmp_path, *, same=False):
    """A model whose inputs fit channels first and last, and which makes a difference of it."""
    m = OnnxModel()
    x = m.input(1, 4, 4)
    y = m.op("MatMul", x, m.weights(4, 3)) if same else m.op("Conv", x, m.weights(3, 4, 3))
    return m.save(tmp_path, y)


def test_samples_that_fit_both_ways_are_named(tmp_path, recwarn):
    x = np.random.default_rng(0).normal(size=(16, 4, 4)).astype(np.float32)
    with pytest.warns(ConversionWarning, match=r"fit with channels first and last: .*\[1, 4, 4\]"):
        train_int8_model(squares(tmp_path), {"x": x}, tmp_path / "o.tflite", QUICK)
    recwarn.clear()
    (tmp_path / "same").mkdir()
    model = squares(tmp_path / "same", same=True)
    train_int8_model(model, {"x": x}, tmp_path / "o.tflite", QUICK)
    assert not [w for w in recwarn if w.category is ConversionWarning]


def test_a_shape_and_a_value_fix_what_a_file_leaves_open(tmp_path):
    m = OnnxModel()
    gained = m.op("Mul", m.op("MatMul", m.input("n", 4), m.weights(4, 3)), m.input(1, name="gain"))
    model = m.save(tmp_path, gained)
    x = np.random.default_rng(0).normal(size=(16, 4)).astype(np.float32)
    trained = train_int8_model(
        *(model, {"x": x}, tmp_path / "o.tflite", QUICK),
        shapes={"x": (1, 4)},
        values={"gain": (2.0,)},
    )
    assert trained.outcome.graph.input_values[0].shape == (1, 4)


def refused(tmp_path, graph, data, setting=QUICK, **options):
    model = save_tflite(optimize(graph), tmp_path / "m.tflite")
    out = tmp_path / "o.tflite"
    try:
        train_int8_model(model, data, out, setting, **options)
    finally:
        assert not out.exists()


def test_models_that_cannot_be_trained_are_refused(blobs, tmp_path):
    graph, x, y = learned()
    data = {"x": x, "y": y}
    with pytest.raises(UnsupportedError, match="the model is quantised already"):
        refused(tmp_path, quantize_graph(optimize(graph), x), data)
    b = Builder((8, 4))
    with pytest.raises(UnsupportedError, match="the model takes 8 samples at a time"):
        refused(tmp_path, b.graph(b.op("abs", ("x",))), {"x": x[:, 0, 0]})
    b = Builder((1, 2))
    with pytest.raises(UnsupportedError, match="the model has no weights to train"):
        refused(tmp_path, b.graph(b.op("abs", ("x",))), {"x": x[:, 0, 0]})


def test_data_that_do_not_fit_are_refused(blobs, tmp_path):
    graph, x, y = learned()
    with pytest.raises(DataError, match="there are 96 samples, but labels"):
        refused(tmp_path, graph, {"x": x, "y": y[1:]})
    with pytest.raises(DataError, match="inputs are named"):
        refused(tmp_path, graph, {"x": x, "z": y})
    np.savez(tmp_path / "d.npz", x=x, y=y + 1)
    with pytest.raises(DataError, match="labels of output") as error:
        refused(tmp_path, graph, tmp_path / "d.npz")
    assert error.value.file == str(tmp_path / "d.npz")
    b = Builder((1, 5))
    other = save_tflite(b.graph(b.op("abs", ("x",))), tmp_path / "teacher.tflite")
    with pytest.raises(DataError, match="the teacher takes"):
        refused(tmp_path, graph, {"x": x}, teacher=other)
    for sizes in ((5, 4), (4, 6)):
        graph, teacher = (of_two(*each) for each in ((5, 6), sizes))
        save_tflite(teacher, tmp_path / "teacher.tflite")
        data = {"x": np.zeros((8, 5), np.float32), "x1": np.zeros((8, 6), np.float32)}
        with pytest.raises(DataError, match="the teacher takes"):
            refused(tmp_path, graph, data, teacher=other)


def of_two(*sizes):
    b = Builder(*((1, size) for size in sizes))
    return b.graph(*(b.op("abs", (name,)) for name in ("x", "x1")))


def test_a_file_that_is_larger_than_planned_is_not_written(blobs, tmp_path, monkeypatch):
    graph, x, y = learned()
    monkeypatch.setattr(run, "choose_widths", lambda *args: WidthChoice())
    with pytest.raises(BudgetError, match=r"the trained model has .* bytes") as error:
        refused(tmp_path, graph, {"x": x, "y": y}, replace(QUICK, max_bytes=1000))
    assert "--max-bytes" in error.value.hint


@pytest.mark.parametrize("scheme", [Scheme.WEIGHTS_FLOAT16, Scheme.WEIGHTS_INT8])
def test_weights_stored_in_fewer_bits_are_trained(scheme, tmp_path):
    graph, x, y = learned()
    halved = quantize_graph(optimize(graph), None, QuantConfig(scheme=scheme))
    model = save_tflite(halved, tmp_path / "half.tflite")
    trained = train_int8_model(model, {"x": x, "y": y}, tmp_path / "o.tflite", QUICK)
    assert trained.outcome.figures[0].deployed > 0.7


def test_states_that_a_file_keeps_are_kept(tmp_path):
    """Each sample begins with zeros in training; the file goes on from run to run, as it did."""
    graph = optimize(trace(lstm_net(), (STEPS, INPUTS)))
    (lstm,) = (node for node in graph.nodes if node.op == OP)
    cell = replace(graph.value(lstm.inputs[14]), name="cell")
    apart = replace(lstm, inputs=(*lstm.inputs[:14], "cell"))
    nodes = [apart if node is lstm else node for node in graph.nodes]
    graph, lstm = graph.with_nodes(nodes, [cell]), apart
    states = tuple(zip(lstm.inputs[13:15], lstm.outputs[1:3], strict=True))
    model = save_tflite(kept_on(graph, states), tmp_path / "lstm.tflite")
    trained = train_int8_model(model, {"x": lstm_samples(20)}, tmp_path / "o.tflite", QUICK)
    found = read_tflite(tmp_path / "o.tflite")
    assert len(found.states) == len(states) == 2
    assert trained.bytes == (tmp_path / "o.tflite").stat().st_size
    assert trained.outcome.graph.states == ()
