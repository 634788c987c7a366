"""Output SQNR of int8 models, tinyrt beside other quantisers, on the same data.

    TINYRT_ZOO=../shared python -m benchmarks.quantize [--json] [ROW ...]

Each model is calibrated on one half of its data and measured on the other: the SQNR of the output
before a final softmax against the float model, in dB, the mean over samples. Image models get
seeded 1/f noise, the autoencoder seeded noise of the shape of a spectrogram, the others recorded
features. Row ``autoencoder_ad/golden`` is measured on the zoo's golden inputs and calibrated on
seeded ones of the same kinds.

onnxruntime must be installed here. ai-edge-quantizer and TensorFlow pin other packages than tinyrt
does; each runs in an environment of its own, whose Python a variable names:

    python -m venv .aeq && .aeq/bin/pip install ai-edge-quantizer
    python -m venv .tf && .tf/bin/pip install tensorflow-cpu
    AI_EDGE_PYTHON=.aeq/bin/python TENSORFLOW_PYTHON=.tf/bin/python \\
        python -m benchmarks.quantize

With ``--torch`` the models are PyTorch's, made on the spot; see ``benchmarks/quantize_torch.py``.

A tool that is not installed, or fails, has no figure; why is said on stderr.
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

from benchmarks.ort import exact_session
from tinyrt.api import open_model
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.metrics import evaluate_graph, sqnr_db
from tinyrt.quantize import PRESETS, Preset, quantize_graph

ZOO = Path(os.environ.get("TINYRT_ZOO", "../shared"))
GOLDEN = "/golden"
ROWS = (
    "resnet8",
    "mobilenet_vww",
    "streaming_wakeword",
    "autoencoder_ad",
    "autoencoder_ad/golden",
    "dscnn_kws",
)
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


def golden_inputs(name):
    """Seeded inputs of the golden ones' kinds, and the golden ones."""
    value = read_tflite(ZOO / "models" / f"{name}_int8.tflite").input_values[0]
    low, high = ((end - value.q.zero_point) * value.q.scale for end in (-128, 127))
    stored = np.load(ZOO / "golden" / f"{name}_int8.npz")["inputs"]
    test = ((stored.astype(np.float32) - value.q.zero_point) * value.q.scale).astype(np.float32)
    rng = np.random.default_rng(1)
    shape = (SAMPLES // 2, *value.shape[1:])
    even = rng.uniform(low, high, shape)
    ends = np.where(rng.random(shape) < 0.5, low, high)
    real, _ = inputs_of(name)
    mixed = np.concatenate([even, real[: len(even) // 2], ends[: len(even) // 2]])
    return mixed.astype(np.float32), test.reshape(-1, *value.shape[1:])


def inputs_of(name):
    """Calibration and test inputs, float."""
    if name.endswith(GOLDEN):
        return golden_inputs(name.removesuffix(GOLDEN))
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
        quantized = quantize_graph(graph, calibration, config)
        return evaluate_graph(quantized, {"x": test}, against=graph).sqnr_db

    return measure


def onnxruntime(name, calibration, test):
    """quantize_static: QDQ, per channel, int8, min-max."""
    import onnx
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
            session = exact_session(path)
            answers.append(np.concatenate([session.run(None, {feed: x[None]})[0] for x in test]))
    return float(sqnr_db(*answers).mean())


def peer(tool):
    """A tool that runs in an environment of its own, if one is named."""

    def measure(name, calibration, test):
        python = os.environ.get(PYTHON_OF[tool], sys.executable)
        graph = open_model(ZOO / "models" / f"{name}_float.tflite")
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            source = ZOO / "models" / f"{name}_float.tflite"
            if name in REWRITTEN:
                save_tflite(graph, folder / "float.tflite")
            else:
                shutil.copy(source, folder / "float.tflite")
            np.save(folder / "calibration.npy", calibration)
            _dump(graph, folder)
            command = [python, Path(__file__).with_name("quantize_peer.py"), tool, folder]
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=BARE)
            if done.returncode:
                raise RuntimeError(done.stderr.strip().rsplit("\n", 1)[-1])
            quantized = read_tflite(folder / "int8.tflite")
        return evaluate_graph(quantized, {"x": test}, against=graph).sqnr_db

    return measure


BARE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
"""What a peer's interpreter sees: not this package."""


REWRITTEN = ("autoencoder_ad",)
"""ai-edge-quantizer gives the original's biases int8, which LiteRT refuses; not so a copy's."""


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
    "tinyrt balanced": tinyrt(PRESETS[Preset.BALANCED]),
    "tinyrt best": tinyrt(PRESETS[Preset.BEST]),
    "onnxruntime": onnxruntime,
    **{tool: peer(tool) for tool in PYTHON_OF},
}


def measured(row, measure, tool):
    """The tool's figure and the CPU seconds that it took; None where it failed."""
    model, data = row.removesuffix(GOLDEN), inputs_of(row)
    start = time.process_time()
    try:
        found = measure(model, *data)
    except Exception as error:  # another tool's failure is a result
        print(f"{tool} on {row}: {type(error).__name__}: {error}", file=sys.stderr)
        found = None
    return {"sqnr_db": found, "cpu_seconds": time.process_time() - start}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.torch:
        # torch is an optional extra.
        from benchmarks.quantize_torch import report

        sys.exit(report(options.rows, as_json=options.json))
    results = {}
    if not options.json:
        print("| model | " + " | ".join(TOOLS) + " |")
        print("|---|" + "---|" * len(TOOLS), flush=True)
    for row in options.rows or ROWS:
        results[row] = {tool: measured(row, measure, tool) for tool, measure in TOOLS.items()}
        if not options.json:
            figures = (found["sqnr_db"] for found in results[row].values())
            cells = ("-" if db is None else f"{db:.1f}" for db in figures)
            print(f"| {row} | " + " | ".join(cells) + " |", flush=True)
    if options.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
