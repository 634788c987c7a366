"""``python -m benchmarks.convert``: time and memory of converting MobileNetV2 to a float .tflite.

The network is the standard one of 3.5 million parameters (Sandler et al., 2018), with random
weights and batch norms, written as ONNX. Time is the processor's in a process of its own; memory
is that process's peak above what it needs after a tiny network of the same kind, which has imported
all that a conversion needs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

SETTINGS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
            (6, 160, 3, 2), (6, 320, 1, 1))  # fmt: skip
"""Expansion, output channels, repetitions, stride of the first."""

MEASURE = """
import json, sys, time
from pathlib import Path
from tinyrt import api
def peak():
    # Not ru_maxrss, which begins with what the process had that started this one.
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024
tiny, model, written = sys.argv[1:]
api.convert_model(tiny, written)
before, started = peak(), time.process_time()
graph = api.convert_model(model, written)
print(json.dumps({"seconds": time.process_time() - started, "bytes": peak() - before,
                  "ops": len(graph.nodes),
                  "transposes": sum(n.op == "transpose" for n in graph.nodes)}))
"""


class _Net:
    """ONNX nodes and weights, layer by layer."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, *shape: int, positive: bool = False) -> str:
        data = self.rng.standard_normal(shape).astype(np.float32) * np.float32(0.1)
        name = f"w{len(self.weights)}"
        array = np.abs(data) + np.float32(0.5) if positive else data
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def op(self, op: str, *inputs: str, **attrs: object) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attrs))
        return name

    def conv(self, x: str, c_in: int, c_out: int, size: int = 1, stride: int = 1,
             groups: int = 1, clip: bool = True) -> str:  # fmt: skip
        """Convolution, batch norm, ReLU6."""
        w = self.weight(c_out, c_in // groups, size, size)
        attrs = {"strides": [stride] * 2, "pads": [size // 2] * 4, "group": groups}
        x = self.op("Conv", x, w, **attrs)
        norms = [self.weight(c_out, positive=i in (0, 3)) for i in range(4)]
        x = self.op("BatchNormalization", x, *norms)
        return self.op("Clip", x, "zero", "six") if clip else x


def mobilenet_v2(
    stages: Sequence[tuple[int, int, int, int]] = SETTINGS, widest: int = 1280, classes: int = 1000
) -> onnx.ModelProto:
    """The network for images of 224 x 224."""
    net, channels = _Net(), 32
    x = net.conv("x", 3, channels, 3, 2)
    for factor, c_out, count, first_stride in stages:
        for i in range(count):
            stride, wide, start = first_stride if i == 0 else 1, channels * factor, x
            x = net.conv(x, channels, wide) if factor > 1 else x
            x = net.conv(x, wide, wide, 3, stride, groups=wide)
            x = net.conv(x, wide, c_out, clip=False)
            if stride == 1 and channels == c_out:
                x = net.op("Add", start, x)
            channels = c_out
    x = net.op("Flatten", net.op("GlobalAveragePool", net.conv(x, channels, widest)))
    y = net.op("Gemm", x, net.weight(widest, classes), net.weight(classes))
    for name, value in (("zero", 0.0), ("six", 6.0)):
        net.weights.append(numpy_helper.from_array(np.float32(value), name))
    info = helper.make_tensor_value_info
    inputs = [info("x", onnx.TensorProto.FLOAT, [1, 3, 224, 224])]
    outputs = [info(y, onnx.TensorProto.FLOAT, [1, classes])]
    graph = helper.make_graph(net.nodes, "mobilenet_v2", inputs, outputs, net.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def measure(folder: Path) -> dict[str, float]:
    """Seconds, peak bytes, ops and transposes of the conversion, and the file's size."""
    path = folder / "mobilenet_v2.onnx"
    path.write_bytes(mobilenet_v2().SerializeToString())
    tiny = folder / "tiny.onnx"
    tiny.write_bytes(mobilenet_v2(SETTINGS[:1], 16, 10).SerializeToString())
    files = (tiny, path, folder / "out.tflite")
    command = [sys.executable, "-c", MEASURE, *map(str, files)]
    # What counts the lines that tests run takes memory, too.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    found: dict[str, float] = json.loads(done.stdout)
    return found | {"model_bytes": path.stat().st_size}


def main() -> int:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder))
    ratio = found["bytes"] / found["model_bytes"]
    print(f"{found['seconds']:.2f} s of processor time, peak memory {ratio:.1f} times the model")
    print(f"{found['ops']:.0f} ops, {found['transposes']:.0f} transposes left")
    return 0


if __name__ == "__main__":
    sys.exit(main())
