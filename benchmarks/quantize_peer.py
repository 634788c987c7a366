"""Quantise one model with one other tool, in whatever environment has that tool.

    python benchmarks/quantize_peer.py (ai-edge-quantizer|tensorflow) FOLDER

Run by ``benchmarks/quantize.py``, which fills the folder: ``float.tflite``; ``calibration.npy``,
samples first; ``graph.json`` and ``constants.npz``, the same model op by op. Writes ``int8.tflite``
there. Needs NumPy and the tool alone.
"""

import json
import sys
from pathlib import Path

import numpy as np


def ai_edge_quantizer(folder):
    """Static int8 weights and activations, the tool's own recipe."""
    from ai_edge_litert.interpreter import Interpreter
    from ai_edge_quantizer import quantizer, recipe

    source = str(folder / "float.tflite")
    if not Interpreter(source).get_signature_list():
        _sign(folder / "float.tflite")
    key, signature = next(iter(Interpreter(source).get_signature_list().items()))
    feed = signature["inputs"][0]
    samples = [{feed: x[None]} for x in np.load(folder / "calibration.npy")]
    worker = quantizer.Quantizer(source)
    worker.load_quantization_recipe(recipe.static_wi8_ai8())
    result = worker.quantize(worker.calibrate({key: samples}))
    result.export_model(str(folder / "int8.tflite"))


def _sign(path):
    """Give the file the signature without which the tool refuses it."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(bytearray(path.read_bytes())))
    graph, signature = model.subgraphs[0], schema.SignatureDefT()
    signature.signatureKey, signature.subgraphIndex = b"serving_default", 0
    signature.inputs, signature.outputs = [], []
    for name, index, ends in (
        (b"x", graph.inputs[0], signature.inputs),
        (b"y", graph.outputs[0], signature.outputs),
    ):
        end = schema.TensorMapT()
        end.name, end.tensorIndex = name, index
        ends.append(end)
    model.signatureDefs = [signature]
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(builder.Output())


def tensorflow(folder):
    """Full-integer quantisation with a representative data set, the converter's defaults."""
    import tensorflow as tf

    graph = json.loads((folder / "graph.json").read_text())
    constants = dict(np.load(folder / "constants.npz"))

    @tf.function(input_signature=[tf.TensorSpec(graph["shape"], tf.float32)])
    def model(x):
        live = {graph["input"]: x}
        for node in graph["nodes"]:
            inputs = [live[n] if n in live else constants[n] for n in node["inputs"]]
            live[node["output"]] = _compute(tf, node["op"], node["attrs"], inputs)
        return live[graph["output"]]

    holder = tf.Module()
    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [model.get_concrete_function()], holder
    )
    samples = np.load(folder / "calibration.npy")
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([x[None]] for x in samples)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    (folder / "int8.tflite").write_bytes(converter.convert())


def _compute(tf, op, attrs, inputs):
    """One op on tensors, layouts and attributes as in TFLite."""
    x = inputs[0]
    if op in ("conv2d", "depthwise_conv2d"):
        w, stride, dilation = np.asarray(inputs[1]), attrs["stride"], attrs["dilation"]
        if op == "conv2d":
            y = tf.nn.conv2d(x, w.transpose(1, 2, 3, 0), stride, attrs["padding"], "NHWC", dilation)
        else:
            kernel = w[0].reshape(*w.shape[1:3], x.shape[-1], -1)
            strides = (1, *stride, 1)
            y = tf.nn.depthwise_conv2d(x, kernel, strides, attrs["padding"], "NHWC", dilation)
    elif op == "fully_connected":
        y = tf.matmul(tf.reshape(x, (-1, inputs[1].shape[1])), inputs[1].T)
    elif op == "average_pool2d":
        y = tf.nn.avg_pool2d(x, attrs["kernel"], attrs["stride"], attrs["padding"])
    elif op == "add":
        y = x + inputs[1]
    elif op == "reshape":
        return tf.reshape(x, attrs["new_shape"])
    elif op == "softmax":
        return tf.nn.softmax(x)
    else:
        raise NotImplementedError(op)
    if len(inputs) > 2:
        y = tf.nn.bias_add(y, inputs[2])
    return tf.nn.relu(y) if attrs.get("activation") == "RELU" else y


TOOLS = {"ai-edge-quantizer": ai_edge_quantizer, "tensorflow": tensorflow}

if __name__ == "__main__":
    TOOLS[sys.argv[1]](Path(sys.argv[2]))
