"""Output SQNR of int8 models, tinyrt beside other quantisers, on the same data.

    TINYRT_ZOO=../shared python benchmarks/quantize.py [--json] [MODEL ...]

Each model is calibrated on one half of its data and measured on the other: the SQNR of the output
before a final softmax against the float model, in dB, the mean over samples. Image models get
seeded 1/f noise, the autoencoder seeded noise of the shape of a spectrogram, the others recorded
features. A tool that is not installed, or fails, has no figure; why is said on stderr.
"""

import argparse
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tinyrt.api import open_model
from tinyrt.convert.tflite_reader import read_tflite
from tinyrt.metrics import evaluate_graph, sqnr_db
from tinyrt.quantize import PRESETS, Calibrator, Preset, QuantConfig, quantize_graph

ZOO = Path(os.environ.get("TINYRT_ZOO", "../shared"))
MODELS = ("resnet8", "dscnn_kws", "mobilenet_vww", "autoencoder_ad", "streaming_wakeword")
SAMPLES = 128
PYTHON_OF = {"ai-edge-quantizer": "AI_EDGE_PYTHON", "tensorflow": "TENSORFLOW_PYTHON"}
"""Tool -> the variable that names a Python which has it."""


def spectral_noise(shape, low, high, seed=0):
    """(SAMPLES, h, w, c) of 1/f amplitude in both directions, each sample over [low, high]."""
    rng = np.random.default_rng(seed)
    h, w, c = shape
    frequency = np.hypot(np.fft.fftfreq(h)[:, None], np.fft.fftfreq(w)[None, :])
    frequency[0, 0] = 1 / max(h, w)
    white = np.fft.fft2(rng.normal(size=(SAMPLES, h, w, c)), axes=(1, 2))
    # Half of what a pixel shows is common to its channels.
    noise = np.fft.ifft2(white / frequency[..., None], axes=(1, 2)).real
    noise = noise + noise.mean(axis=3, keepdims=True)
    least, most = noise.min(axis=(1, 2, 3)), noise.max(axis=(1, 2, 3))
    unit = (noise - least[:, None, None, None]) / (most - least)[:, None, None, None]
    return (low + unit * (high - low)).astype(np.float32)


def inputs_of(name):
    """Calibration and test inputs, float."""
    if name == "dscnn_kws":
        data = np.load(ZOO / "data" / "kws01.npz")
        x = ((data["x_int8"].astype(np.float32) - data["zero_point"]) * data["scale"]).astype("f4")
        return x[:100], x[100:]
    if name == "streaming_wakeword":
        x = np.load(ZOO / "data" / "streaming_wakeword.npz")["specs"].astype(np.float32)
        return x[::2], x[1::2]
    value = read_tflite(ZOO / "models" / f"{name}_int8.tflite").input_values[0]
    low, high = ((end - value.q.zero_point) * value.q.scale for end in (-128, 127))
    shape = value.shape[1:] if len(value.shape) == 4 else (5, 128, 1)
    x = spectral_noise(shape, low, high).reshape(SAMPLES, *value.shape[1:])
    return x[: SAMPLES // 2], x[SAMPLES // 2 :]


def tinyrt(config):
    """A function that quantises with these choices and measures."""

    def measure(name, calibration, test):
        graph = open_model(ZOO / "models" / f"{name}_float.tflite")
        quantised = quantize_graph(graph, calibration, config)
        return evaluate_graph(quantised, {"x": test}, against=graph).sqnr_db

    return measure


def onnxruntime(name, calibration, test):
    """quantize_static: QDQ, per channel, int8, min-max."""
    import onnx
    import onnxruntime as ort
    from onnxruntime import quantization as q

    source = onnx.load(ZOO / "models" / f"{name}.onnx")
    logits = next(n for n in source.graph.node if source.graph.output[0].name in n.output)
    output = logits.input[0] if logits.op_type == "Softmax" else source.graph.output[0].name
    model = onnx.utils.Extractor(onnx.shape_inference.infer_shapes(source)).extract_model(
        [source.graph.input[0].name], [output]
    )
    feed = source.graph.input[0].name

    class Reader(q.CalibrationDataReader):
        def __init__(self):
            self.samples = iter(calibration)

        def get_next(self):
            sample = next(self.samples, None)
            return None if sample is None else {feed: sample[None]}

    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder) / "float.onnx", Path(folder) / "int8.onnx"
        onnx.save(model, before)
        q.quantize_static(
            str(before),
            str(after),
            Reader(),
            quant_format=q.QuantFormat.QDQ,
            per_channel=True,
            activation_type=q.QuantType.QInt8,
            weight_type=q.QuantType.QInt8,
        )
        answers = []
        for path in (before, after):
            session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
            answers.append(np.concatenate([session.run(None, {feed: x[None]})[0] for x in test]))
    return float(sqnr_db(*answers).mean())


def peer(tool):
    """A tool that runs in an environment of its own, if one is named."""

    def measure(name, calibration, test):
        python = os.environ.get(PYTHON_OF[tool], sys.executable)
        graph = open_model(ZOO / "models" / f"{name}_float.tflite")
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            shutil.copy(ZOO / "models" / f"{name}_float.tflite", folder / "float.tflite")
            np.save(folder / "calibration.npy", calibration)
            _dump(graph, folder)
            command = [python, Path(__file__).with_name("quantize_peer.py"), tool, folder]
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=BARE)
            if done.returncode:
                raise RuntimeError(done.stderr.strip().rsplit("\n", 1)[-1])
            quantised = read_tflite(folder / "int8.tflite")
        return evaluate_graph(quantised, {"x": test}, against=graph).sqnr_db

    return measure


BARE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
"""What a peer's interpreter sees: not this package."""


def _dump(graph, folder):
    """The model op by op, for tools that cannot read its file."""
    nodes = [
        {
            "op": node.op,
            "attrs": dataclasses.asdict(node.attrs),
            "inputs": [name for name in node.inputs if name],
            "output": node.outputs[0],
        }
        for node in graph.nodes
    ]
    value = graph.input_values[0]
    whole = {"input": value.name, "shape": value.shape, "output": graph.outputs[0], "nodes": nodes}
    (folder / "graph.json").write_text(json.dumps(whole))
    constants = {n: v.data for n, v in graph.values.items() if v.data is not None}
    np.savez(folder / "constants.npz", **constants)


TOOLS: dict[str, Callable] = {
    "tinyrt fast": tinyrt(PRESETS[Preset.FAST]),
    "tinyrt auto": tinyrt(QuantConfig(Calibrator.AUTO)),
    "tinyrt balanced": tinyrt(PRESETS[Preset.BALANCED]),
    "tinyrt best": tinyrt(PRESETS[Preset.BEST]),
    "onnxruntime": onnxruntime,
    **{tool: peer(tool) for tool in PYTHON_OF},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = {}
    for name in options.models:
        data = inputs_of(name)
        results[name] = {}
        for tool, measure in TOOLS.items():
            start = time.perf_counter()
            try:
                found = measure(name, *data)
            except Exception as error:  # another tool's failure is a result
                print(f"{tool} on {name}: {type(error).__name__}: {error}", file=sys.stderr)
                found = None
            results[name][tool] = {"sqnr_db": found, "seconds": time.perf_counter() - start}
    if options.json:
        print(json.dumps(results, indent=1))
        return
    print(f"{'SQNR, dB (seconds)':20}" + "".join(f"{tool:>20}" for tool in TOOLS))
    for name, row in results.items():
        cells = (
            "-" if r["sqnr_db"] is None else f"{r['sqnr_db']:.1f} ({r['seconds']:.0f})"
            for r in row.values()
        )
        print(f"{name:20}" + "".join(f"{cell:>20}" for cell in cells))


if __name__ == "__main__":
    main()
