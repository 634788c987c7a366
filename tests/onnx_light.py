"""``python -m tests.onnx_light``: the model architectures that the onnx package ships.

Their weights are constants of one value: seeded random ones take their place, so that every layer
counts. Results, by tinyrt and by LiteRT from the written .tflite file, are compared with
onnxruntime's, relative to the greatest output.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from tests.convert.onnx_build import channels_last, expected, feeds_for
from tests.ops.peers import answers_of_litert
from tinyrt.budget import limited
from tinyrt.convert.onnx.reader import read_onnx
from tinyrt.convert.passes import optimize
from tinyrt.ops.shared.evaluate import evaluate

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


@dataclass(frozen=True)
class Outcome:
    """What became of a model: ops before and after, transposes left, errors, seconds."""

    name: str
    imported: int
    left: int
    transposes: int
    error: float
    litert: float
    seconds: float


def names() -> list[str]:
    """The models."""
    return sorted(path.stem.removeprefix("light_") for path in FOLDER.glob("light_*.onnx"))


def with_weights(name: str) -> onnx.ModelProto:
    """The model with random weights that keep activations at about one size."""
    model = onnx.load(str(FOLDER / f"light_{name}.onnx"))
    shapes = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    rng = np.random.default_rng(0)
    nodes = []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape":
            nodes.append(node)
            continue
        shape = tuple(int(d) for d in shapes[node.input[0]])
        if len(shape) > 1:
            fan_in = np.prod(shape[1:])
            data = rng.standard_normal(shape, np.float32) * np.float32(np.sqrt(2 / fan_in))
        else:
            data = rng.uniform(0.5, 1.5, shape).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(data, node.output[0]))
    if nodes[-1].op_type == "Softmax":
        # Saturated, it would hide what is in front of it.
        model.graph.output[0].name = nodes.pop().input[0]
        del model.graph.output[0].type.tensor_type.shape.dim[:]
        model.graph.output[0].type.tensor_type.ClearField("shape")
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def run(name: str, folder: Path) -> Outcome:
    """Convert the model and compare it."""
    path = folder / f"{name}.onnx"
    path.write_bytes(with_weights(name).SerializeToString())
    started = time.process_time()
    with limited(file_bytes=path.stat().st_size):
        raw = read_onnx(path)
        graph = optimize(raw)
    seconds = time.process_time() - started
    feeds = feeds_for(raw)
    turned = {
        value.name: x if value.shape == x.shape else channels_last(x)
        for value, x in zip(graph.input_values, feeds.values(), strict=True)
    }
    found, error, litert = evaluate(graph, turned).values(), 0.0, 0.0
    theirs = answers_of_litert(graph, turned)
    for ours, other, want in zip(found, theirs, expected(path, feeds), strict=True):
        want = want if want.shape == ours.shape else channels_last(want)
        error = max(error, float(np.abs(ours - want).max() / np.abs(want).max()))
        litert = max(litert, float(np.abs(other - want).max() / np.abs(want).max()))
    transposes = sum(node.op == "transpose" for node in graph.nodes)
    left = len(graph.nodes)
    return Outcome(name, len(raw.nodes), left, transposes, error, litert, seconds)


def main() -> int:
    """Print one line per model."""
    print("| model | ops imported | ops left | transposes | error | LiteRT's error | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or names():
            o = run(name, Path(folder))
            print(
                f"| {o.name} | {o.imported} | {o.left} | {o.transposes} | {o.error:.1e} "
                f"| {o.litert:.1e} | {o.seconds:.1f} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
