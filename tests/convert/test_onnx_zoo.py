"""Every ONNX file of the zoo against onnxruntime, and what is left of it."""

from collections import Counter

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.convert.onnx_build import assert_close, channels_last, expected, feeds_for
from tests.sampling import sampled
from tinyrt.api import convert_model
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.ops.shared.evaluate import evaluate

DSCNN = {"conv2d": 5, "depthwise_conv2d": 4, "average_pool2d": 1}
RESNET = {"conv2d": 9, "add": 3}
HEAD = {"reshape": 1, "fully_connected": 1, "softmax": 1}

OPS = {
    "autoencoder_ad": {"fully_connected": 10},
    "dscnn_kws": DSCNN | HEAD,
    "dscnn_kws_torch": DSCNN | HEAD,
    "dscnn_kws_torch_bn": DSCNN | HEAD,
    "dscnn_kws_torch_legacy_bn": DSCNN | HEAD,
    "mobilenet_vww": {"conv2d": 14, "depthwise_conv2d": 13, "average_pool2d": 1} | HEAD,
    "resnet8": RESNET | {"average_pool2d": 1} | HEAD,
    "resnet8_torch": RESNET | {"mean": 1} | HEAD,
    "resnet8_torch_bn": RESNET | {"mean": 1} | HEAD,
    "streaming_wakeword": {"conv2d": 3, "depthwise_conv2d": 4, "fully_connected": 2, "softmax": 1},
}

INPUT = {
    "autoencoder_ad": (1, 640),
    "dscnn_kws": (1, 49, 10, 1),
    "mobilenet_vww": (1, 96, 96, 3),
    "resnet8": (1, 32, 32, 3),
    "streaming_wakeword": (1, 30, 1, 40),
}


@pytest.mark.parametrize("name", OPS)
def test_results_equal_onnxruntimes(zoo, name):
    path = zoo / "models" / f"{name}.onnx"
    raw = read_onnx(path)
    graph = optimize(raw)
    assert Counter(node.op for node in graph.nodes) == OPS[name]
    (shape,) = (v.shape for v in graph.input_values)
    assert shape == INPUT[name.split("_torch")[0]]
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for seed in range(sampled(1, 3)):
        feeds = feeds_for(raw, seed)
        (wanted,) = session.run(None, feeds)
        turned = {n: channels_last(x) if "torch" in name else x for n, x in feeds.items()}
        (found,) = evaluate(graph, turned).values()
        assert_close(found, wanted, 1e-4 if name == "autoencoder_ad" else 1e-5)


@pytest.mark.parametrize("name", sampled([*OPS][::2], [*OPS]))
def test_tensors_that_keep_their_names_keep_their_elements(zoo, name, tmp_path):
    path = zoo / "models" / f"{name}.onnx"
    raw = read_onnx(path)
    graph = optimize(raw)
    results = [node.outputs[0] for node in graph.nodes]
    model = onnx.load(path)
    known = {o for node in model.graph.node for o in node.output}
    assert len(known.intersection(results)) == len(results)
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=o) for o in results)
    onnx.save(model, tmp_path / "model.onnx")
    feeds = feeds_for(raw)
    wanted = dict(zip(results, expected(tmp_path / "model.onnx", feeds), strict=True))
    found = {}
    turned = {n: channels_last(x) if "torch" in name else x for n, x in feeds.items()}
    evaluate(graph, turned, lambda value, array: found.update({value.name: array}))
    for tensor, want in wanted.items():
        want = want if want.shape == found[tensor].shape else channels_last(want)
        assert_close(found[tensor], want, 1e-4 if name == "autoencoder_ad" else 1e-5)


@pytest.mark.parametrize("name", ["resnet8_torch_bn", "dscnn_kws_torch_bn"])
def test_the_layout_is_kept_on_request(zoo, name):
    raw = read_onnx(zoo / "models" / f"{name}.onnx")
    graph = optimize(raw, keep_layout=True)
    feeds = feeds_for(raw)
    assert graph.input_values == raw.input_values
    assert [n.op for n in graph.nodes[:2]] in (["transpose", "conv2d"], ["reshape", "conv2d"])
    for found, wanted in zip(
        evaluate(graph, feeds).values(), evaluate(raw, feeds).values(), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("name", INPUT)
def test_float_tflite_files_answer_what_their_onnx_twins_do(zoo, name):
    graph = optimize(read_tflite(zoo / "models" / f"{name}_float.tflite"))
    session = onnxruntime.InferenceSession(
        str(zoo / "models" / f"{name}.onnx"), providers=["CPUExecutionProvider"]
    )
    (given,) = session.get_inputs()
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=INPUT[name]).astype(np.float32)
        (wanted,) = session.run(None, {given.name: x})
        (found,) = evaluate(graph, {graph.inputs[0]: x}).values()
        assert_close(found, wanted, 1e-4 if name == "autoencoder_ad" else 1e-5)


@pytest.mark.slow
def test_every_file_converts_to_one_that_litert_runs_alike(zoo, tmp_path):
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="needs ai-edge-litert")
    paths = sorted((zoo / "models").glob("*.onnx")) + sorted((zoo / "models").glob("*.tflite"))
    assert len(paths) in (8, 20)  # what is published, and all
    for path in paths[:: sampled(3, 1)]:
        converted = tmp_path / f"{path.name}.tflite"
        graph = convert_model(path, converted)
        interpreter = litert.Interpreter(str(converted))
        interpreter.allocate_tensors()
        (detail,) = interpreter.get_input_details()
        if detail["dtype"] is not np.float32:
            continue  # LiteRT's optimised int8 kernels round differently
        x = np.random.default_rng(0).normal(size=detail["shape"]).astype(np.float32)
        interpreter.set_tensor(detail["index"], x)
        interpreter.invoke()
        (answer,) = interpreter.get_output_details()
        (found,) = evaluate(graph, {graph.inputs[0]: x}).values()
        assert_close(found, interpreter.get_tensor(answer["index"]), 1e-4)
