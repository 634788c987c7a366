"""One script, two interpreters: what is written for LiteRT's runs on tinyrt's."""

from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest

import tinyrt
from tests.convert.raw_tflite import Op, Subgraph, Tensor, build, scaled
from tests.graphs import small_cnn
from tinyrt.convert.tflite.writer import write_tflite

litert = pytest.importorskip(
    "ai_edge_litert.interpreter", reason="package ai-edge-litert is not installed"
)

EXACT = partial(litert.Interpreter, experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF)
"""LiteRT with its reference kernels, which agree with TFLM on these models."""

MODELS = ("dscnn_kws", "mobilenet_vww", "resnet8", "streaming_wakeword")


def classify(make, path, samples):
    """The usual program: details, set, invoke, get; then a batch; then the signature."""
    interpreter = make(model_path=str(path), num_threads=2)
    (given,) = interpreter.get_input_details()
    (answer,) = interpreter.get_output_details()
    interpreter.allocate_tensors()
    outputs = []
    for sample in samples:
        interpreter.set_tensor(given["index"], sample)
        interpreter.invoke()
        interpreter.invoke()  # inputs stay what they were
        outputs.append(interpreter.get_tensor(answer["index"]))
    raw = interpreter.tensor(given["index"])
    raw()[...] = samples[0]
    interpreter.invoke()
    outputs.append(interpreter.tensor(answer["index"])().copy())
    batch = np.concatenate(samples)
    interpreter.resize_tensor_input(given["index"], batch.shape)
    interpreter.allocate_tensors()
    interpreter.reset_all_variables()
    interpreter.set_tensor(given["index"], batch)
    interpreter.invoke()
    outputs.append(interpreter.get_tensor(answer["index"]))
    shapes = [d[0]["shape"] for d in (interpreter.get_input_details(),)]
    return given, answer, outputs, shapes


def same(found, expected):
    """Equal in keys, types and values, however deep."""
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            same(found[key], value)
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for pair in zip(found, expected, strict=True):
            same(*pair)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected


@pytest.mark.parametrize("name", MODELS)
def test_the_same_script_gives_the_same_results(zoo, name):
    path = zoo / "models" / f"{name}_int8.tflite"
    samples = list(np.load(zoo / "golden" / f"{name}_int8.npz")["inputs"])
    same(classify(tinyrt.Interpreter, path, samples), classify(EXACT, path, samples))


@pytest.mark.parametrize("kind", ["int8", "float"])
@pytest.mark.parametrize("name", [*MODELS, "autoencoder_ad"])
def test_every_tensor_has_the_file_s_index_and_description(zoo, name, kind):
    path = str(zoo / "models" / f"{name}_{kind}.tflite")
    found, expected = tinyrt.Interpreter(path), EXACT(path)
    same(found.get_tensor_details(), expected.get_tensor_details())
    same(found.get_signature_list(), expected.get_signature_list())
    for detail in expected.get_tensor_details():
        try:
            constant = expected.get_tensor(detail["index"])
        except ValueError:
            with pytest.raises(ValueError, match="allocate_tensors"):
                found.get_tensor(detail["index"])
        else:
            np.testing.assert_array_equal(found.get_tensor(detail["index"]), constant)


def test_signatures(zoo):
    path = str(zoo / "models" / "streaming_wakeword_int8.tflite")
    samples = np.load(zoo / "golden" / "streaming_wakeword_int8.npz")["inputs"]
    for key in (None, "serving_default"):
        runners = [make(path).get_signature_runner(key) for make in (tinyrt.Interpreter, EXACT)]
        found, expected = runners
        same(found.get_input_details(), expected.get_input_details())
        same(found.get_output_details(), expected.get_output_details())
        for x in (samples[0], samples[:, 0], samples[1]):
            same(found(input_1=x), expected(input_1=x))
        for wrong in ({}, {"x": samples[0]}, {"input_1": samples[0].astype(np.float32)}):
            for runner in runners:
                with pytest.raises(ValueError, match=r".+"):
                    runner(**wrong)


def test_written_files_have_the_usual_signature():
    graph, x = small_cnn(), np.ones((1, 8, 8, 3), np.float32)
    interpreters = [make(model_content=write_tflite(graph)) for make in (tinyrt.Interpreter, EXACT)]
    for interpreter in interpreters:
        ports = {"inputs": list(graph.inputs), "outputs": list(graph.outputs)}
        assert interpreter.get_signature_list() == {"serving_default": ports}
    found, expected = (interpreter.get_signature_runner()(x=x) for interpreter in interpreters)
    assert found.keys() == expected.keys()
    for name, y in found.items():
        np.testing.assert_allclose(y, expected[name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("make", [tinyrt.Interpreter, EXACT])
def test_a_file_without_signatures_has_no_runner(make):
    with pytest.raises(ValueError, match="signature"):
        make(model_content=build(scaled(2))).get_signature_runner()


MISTAKES = {
    "invoke first": lambda it, i, x: it.invoke(),
    "get first": lambda it, i, x: it.get_tensor(i),
    "set first": lambda it, i, x: it.set_tensor(i, x),
    "view first": lambda it, i, x: it.tensor(i)(),
    "dtype": lambda it, i, x: allocated(it).set_tensor(i, x.astype(np.float64)),
    "list": lambda it, i, x: allocated(it).set_tensor(i, x.astype(np.int64).tolist()),
    "rank": lambda it, i, x: allocated(it).set_tensor(i, x[0]),
    "shape": lambda it, i, x: allocated(it).set_tensor(i, x[:, :4]),
    "index": lambda it, i, x: allocated(it).set_tensor(10**6, x),
    "negative index": lambda it, i, x: allocated(it).get_tensor(-1),
    "invoke after resizing": lambda it, i, x: resized(it, i, x).invoke(),
    "get after resizing": lambda it, i, x: resized(it, i, x).get_tensor(i),
    "set after resizing": lambda it, i, x: resized(it, i, x).set_tensor(i, x),
    "unknown signature": lambda it, i, x: it.get_signature_runner("train"),
}


def test_strict_resizing_keeps_closed_dimensions():
    for make in (tinyrt.Interpreter, EXACT):
        interpreter = make(model_content=write_tflite(small_cnn()))
        with pytest.raises((ValueError, RuntimeError)):
            interpreter.resize_tensor_input(0, (2, 8, 8, 3), strict=True)


@pytest.mark.parametrize(("signature", "resizes"), [((-1, 3), True), ((1, -1), False)])
def test_strict_resizing_changes_the_dimension_that_is_open(signature, resizes):
    ports = [Tensor(name, (1, 3), signature=signature) for name in "xy"]
    content = build(Subgraph(ports, [Op("RELU", ["x"], ["y"])], ["x"], ["y"]))
    for make in (tinyrt.Interpreter, EXACT):
        interpreter = make(model_content=content)
        expected = nullcontext() if resizes else pytest.raises((ValueError, RuntimeError))
        with expected:
            interpreter.resize_tensor_input(0, (2, 3), strict=True)
        interpreter.allocate_tensors()
        batch = interpreter.get_output_details()[0]["shape"][0]
        assert batch == (2 if resizes else 1)


def allocated(interpreter):
    interpreter.allocate_tensors()
    return interpreter


def resized(interpreter, index, x):
    allocated(interpreter).resize_tensor_input(index, (2, *x.shape[1:]))
    return interpreter


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_met_at_the_same_moment(mistake):
    content = write_tflite(small_cnn())
    x = np.zeros((1, 8, 8, 3), np.float32)
    types = []
    for make in (tinyrt.Interpreter, EXACT):
        interpreter = make(model_content=content)
        index = interpreter.get_input_details()[0]["index"]
        with pytest.raises((ValueError, RuntimeError)) as caught:
            MISTAKES[mistake](interpreter, index, x)
        types.append(caught.type)
    assert issubclass(types[0], types[1])


@pytest.mark.parametrize(
    "arguments",
    [{}, {"model_path": "a", "model_content": b"b"}, {"num_threads": 0}, {"num_threads": "2"}],
)
def test_wrong_arguments_are_refused(arguments):
    if "num_threads" in arguments:
        arguments = {"model_content": write_tflite(small_cnn()), **arguments}
    for make in (tinyrt.Interpreter, EXACT):
        with pytest.raises(ValueError, match=r".+"):
            make(**arguments)


def test_mistakes_that_only_tinyrt_survives(zoo):
    """LiteRT writes into the read-only file and crashes; it also takes any delegate on trust."""
    interpreter = tinyrt.Interpreter(zoo / "models" / "resnet8_int8.tflite")
    interpreter.allocate_tensors()
    with pytest.raises(ValueError, match="may change"):
        interpreter.set_tensor(1, interpreter.get_tensor(1))
    with pytest.raises(tinyrt.TinyrtError, match="delegates"):
        tinyrt.Interpreter(zoo / "models" / "resnet8_int8.tflite", None, [object()])


def test_all_tensors_can_be_preserved(zoo):
    path = str(zoo / "models" / "dscnn_kws_int8.tflite")
    golden = np.load(zoo / "golden" / "dscnn_kws_int8.npz")
    interpreter = tinyrt.Interpreter(path, experimental_preserve_all_tensors=True)
    interpreter.allocate_tensors()
    sample = golden["inputs"][int(golden["intermediate_input_index"])]
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], sample)
    interpreter.invoke()
    for key in golden.files:
        if key.startswith("op") and "_t" in key and key[2:4].isdigit():
            found = interpreter.get_tensor(int(key.split("_t")[1]))
            np.testing.assert_array_equal(found, golden[key], key)
