"""A layer that goes on learning, split from a model."""

import numpy as np
import pytest

from tests.convert.raw_tflite import Op, Subgraph, Tensor, build
from tests.export.models import dense, views
from tests.graphs import small_cnn
from tests.quantize.test_mixed import samples
from tinyrt import api, load
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.dsp import LearnerState
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.quantize import QuantConfig, quantize_graph


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("split") / "net.tflite"
    save_tflite(quantize_graph(small_cnn(), samples(50), QuantConfig()), path)
    return path


def test_features_and_layer_answer_what_the_model_answers(whole, tmp_path):
    learner = api.split_last_layer(whole, tmp_path / "features.tflite", rate=0.2)
    assert learner.rate == 0.2
    model, before = load(whole), load(tmp_path / "features.tflite")
    (x,) = model.check_inputs(samples(30)).values()
    (expected,) = model.run_raw({model.graph.inputs[0]: x}).values()
    (rows,) = before.run_raw({before.graph.inputs[0]: x}).values()
    state = LearnerState(learner)
    found = np.stack([state.scores(row) for row in rows]) / 2**15
    # The model's softmax has steps of 1 / 256, behind logits that were rounded to int8.
    np.testing.assert_allclose(found, (expected.astype(int) + 128) / 256, atol=0.02)
    assert (found.argmax(1) == expected.argmax(1)).mean() > 0.9


def test_the_options_of_a_layer_that_was_split(whole, tmp_path):
    options = {"rate": 0.3, "max_step": 0.5, "max_drift": 2.0, "bits": 12}
    learner = api.split_last_layer(whole, tmp_path / "f.tflite", **options)
    assert {name: getattr(learner, name) for name in options} == options
    plain = api.split_last_layer(whole, tmp_path / "g.tflite")
    assert (plain.rate, plain.max_step, plain.max_drift) == (0.05, 0.25, 4.0)
    assert (tmp_path / "f.tflite").read_bytes() == (tmp_path / "g.tflite").read_bytes()


@pytest.mark.parametrize("option", ["rate", "max_step", "max_drift", "bits"])
def test_a_file_stays_as_it_was_where_an_option_is_out_of_range(option, whole, tmp_path):
    with pytest.raises(DataError):
        api.split_last_layer(whole, tmp_path / "new.tflite", **{option: -1})
    assert not list(tmp_path.iterdir())


def ending(rows=1, dtype="INT8", computed=False, outputs=("y",)):
    """A file whose last layer has no bias; tinyrt's own have one at every layer."""
    real = {} if dtype == "FLOAT32" else {"scale": 0.5}
    w = np.arange(8).reshape(2, 4).astype(np.float32 if dtype == "FLOAT32" else np.int8)
    weights = Tensor("w", (2, 4), dtype, *([] if computed else [w]), **(real and {"scale": 0.25}))
    tensors = [*(Tensor(n, (rows, 4), dtype, **real) for n in "xh"), weights]
    tensors += [Tensor(n, (rows, 2), dtype, **real) for n in "yz"]
    ops = [
        Op("RELU", ["x"], ["h"]),
        Op("FULLY_CONNECTED", ["h", "w", ""], ["y"], "FullyConnectedOptions"),
        Op("RELU", ["y"], ["z"]),
    ]
    inputs = ["x", *(["w"] if computed else [])]
    used = ops if "z" in outputs else ops[:2]
    return build(Subgraph(tensors if "z" in outputs else tensors[:4], used, inputs, [*outputs]))


def test_a_layer_without_biases_begins_with_zeros(tmp_path):
    (tmp_path / "net.tflite").write_bytes(ending())
    learner = api.split_last_layer(tmp_path / "net.tflite", tmp_path / "f.tflite", bits=12)
    weights, biases = learner.start
    np.testing.assert_array_equal(biases, [0, 0])
    # A weight is 0.25 of an integer, and a step of the layer's input 0.5 of a feature.
    np.testing.assert_array_equal(weights, np.arange(8).reshape(2, 4) * 0.25 * 0.5 * 2**12)


@pytest.mark.parametrize("zero_point", [0, 3])
def test_a_layer_begins_with_its_weights_and_biases(zero_point, tmp_path):
    w = np.arange(8, dtype=np.int8).reshape(2, 4)
    tensors = [
        *(Tensor(n, (1, 4), "INT8", scale=0.5, zero_point=-7) for n in "xh"),
        Tensor("w", (2, 4), "INT8", w, scale=0.25, zero_point=zero_point),
        Tensor("b", (2,), "INT32", np.array([40, -24], np.int32), scale=0.125),
        Tensor("y", (1, 2), "INT8", scale=0.5),
    ]
    ops = [
        Op("RELU", ["x"], ["h"]),
        Op("FULLY_CONNECTED", ["h", "w", "b"], ["y"], "FullyConnectedOptions"),
    ]
    (tmp_path / "net.tflite").write_bytes(build(Subgraph(tensors, ops, ["x"], ["y"])))
    learner = api.split_last_layer(tmp_path / "net.tflite", tmp_path / "f.tflite", bits=12)
    weights, biases = learner.start
    np.testing.assert_array_equal(weights, (w - zero_point) * 0.25 * 0.5 * 2**12)
    np.testing.assert_array_equal(biases, np.array([5, -3]) * 2**12)
    assert learner.zero_point == -7
    features = load(tmp_path / "f.tflite").graph
    assert ([*features.fed], features.outputs, len(features.nodes)) == (["x"], ("h",), 1)
    assert features.values.keys() == {"x", "h"}


def test_a_layer_stands_before_what_only_shows_it_and_no_input_is_lost(tmp_path):
    w = np.arange(8, dtype=np.int8).reshape(2, 4)
    tensors = [
        *(Tensor(n, (1, 4), "INT8", scale=0.5) for n in ("x", "unread", "h")),
        Tensor("w", (2, 4), "INT8", w, scale=0.25),
        Tensor("y", (1, 2), "INT8", scale=0.5),
        Tensor("p", (1, 2), "INT8", scale=1 / 256, zero_point=-128),
        Tensor("r", (1, 2), "FLOAT32"),
    ]
    ops = [
        Op("RELU", ["x"], ["h"]),
        Op("FULLY_CONNECTED", ["h", "w", ""], ["y"], "FullyConnectedOptions"),
        Op("SOFTMAX", ["y"], ["p"], "SoftmaxOptions", {"Beta": 1.0}),
        Op("DEQUANTIZE", ["p"], ["r"]),
    ]
    file = build(Subgraph(tensors, ops, ["x", "unread"], ["r"]))
    (tmp_path / "net.tflite").write_bytes(file)
    learner = api.split_last_layer(tmp_path / "net.tflite", tmp_path / "f.tflite", bits=12)
    np.testing.assert_array_equal(learner.start[0], w * 0.25 * 0.5 * 2**12)
    features = load(tmp_path / "f.tflite").graph
    assert ([*features.fed], features.outputs) == (["x", "unread"], ("h",))


OTHER_ENDS = {
    "two samples": {"rows": 2},
    "floats": {"dtype": "FLOAT32"},
    "computed weights": {"computed": True},
    "two outputs": {"outputs": ("y", "z")},
    "another op": {"outputs": ("z",)},
}


@pytest.mark.parametrize("end", OTHER_ENDS)
def test_every_part_of_what_a_last_layer_must_be_is_asked(end, tmp_path):
    (tmp_path / "net.tflite").write_bytes(ending(**OTHER_ENDS[end]))
    with pytest.raises(UnsupportedError, match="the model's first output of"):
        api.split_last_layer(tmp_path / "net.tflite", tmp_path / "f.tflite")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (small_cnn, "comes from fully_connected"),
        (views, "comes from"),
        (dense, "nothing comes before the model's only layer"),
    ],
)
def test_models_that_end_otherwise_are_refused(make, says, tmp_path):
    save_tflite(make(), tmp_path / "net.tflite")
    with pytest.raises(UnsupportedError) as caught:
        api.split_last_layer(tmp_path / "net.tflite", tmp_path / "f.tflite")
    assert says in str(caught.value)
    assert not (tmp_path / "f.tflite").exists()
