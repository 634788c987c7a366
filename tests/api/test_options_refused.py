"""Options that say nothing about a model are refused: none is ignored without a word."""

import pytest

from tests.graphs import small_cnn
from tests.quantize.test_mixed import samples
from tinyrt import api
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.errors import DataError
from tinyrt.quantize import QuantConfig, quantize_graph

SHAPES = {"shapes": {"x": (1, 8, 8, 3)}}
VALUES = {"values": {"x": 1}}
LSTM = {"sequence_lstm": True}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_tflite(small_cnn(), folder / "float.tflite")
    save_tflite(quantize_graph(small_cnn(), samples(100), QuantConfig()), folder / "int8.tflite")
    return folder


def convert(model, to, **options):
    api.convert_model(model, to, **options)


def quantize(model, to, **options):
    api.quantize_model(model, samples(2), to, **options)


def quantize_within(model, to, **options):
    api.quantize_within(model, samples(2), to, None, **options)


def inspect(model, to, **options):
    api.inspect_model(model, **options)


@pytest.mark.parametrize(
    ("does", "model", "options", "problem"),
    [
        *((does, "float", SHAPES, "'x'.*tflite") for does in (convert, quantize, quantize_within)),
        *((does, "float", VALUES, "'x'.*tflite") for does in (convert, quantize, quantize_within)),
        (inspect, "float", VALUES, "'x'.*tflite"),
        *((does, "float", LSTM, "LSTMs") for does in (convert, quantize, quantize_within)),
        (inspect, "float", SHAPES, "'x'.*tflite"),
        (convert, "int8", SHAPES, "'x'.*tflite"),
        (convert, "int8", LSTM, "LSTMs"),
        (convert, "int8", {"passes": ["fuse_activation"]}, "'fuse_activation' does not run"),
        (convert, "int8", {"skip_passes": ["fuse_activation"]}, "'fuse_activation' does not run"),
        (convert, "int8", {"target": "arduino"}, "no target 'arduino'"),
        (convert, "float", {"target": "arduino"}, "no target 'arduino'"),
        (convert, "float", {"passes": ["fuse_all"]}, "no pass 'fuse_all'"),
        (convert, "float", {"skip_passes": ["fuse_all"]}, "no pass 'fuse_all'"),
    ],
)
def test_an_option_without_effect_is_refused_and_nothing_is_written(
    models, tmp_path, does, model, options, problem
):
    path = models / f"{model}.tflite"
    with pytest.raises(DataError, match=problem) as refused:
        does(path, tmp_path / "out.tflite", **options)
    assert str(path) in str(refused.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "expected", "hint"),
    [
        (
            SHAPES,
            "shapes of inputs with open dimensions: there are none",
            "leave out --shape",
        ),
        (
            VALUES,
            "values for .onnx models only",
            "leave out --value, or fix the input where the model is made",
        ),
        (LSTM, "--sequence-lstm for .onnx models only", "leave out --sequence-lstm"),
    ],
)
def test_options_of_onnx_models_say_so(models, tmp_path, options, expected, hint):
    with pytest.raises(DataError) as refused:
        convert(models / "float.tflite", tmp_path / "out.tflite", **options)
    assert (refused.value.expected, refused.value.hint) == (expected, hint)


@pytest.mark.parametrize("model", ["float", "int8"])
@pytest.mark.parametrize("options", [{"shapes": {}}, {"target": "tflm"}, {"keep_layout": True}])
def test_options_that_ask_for_what_is_there_are_taken(models, tmp_path, model, options):
    written = []
    for name, given in (("plain", {}), ("given", options)):
        convert(models / f"{model}.tflite", tmp_path / name, **given)
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]
