"""Figures of ``train``, ``qat``, ``demo`` and ``convert``."""

import numpy as np
import pytest

from tests.cli.calls import call, call_json
from tests.cli.figures.compare import assert_fields
from tests.cli.tiny import STAGES, two_classes
from tests.convert.onnx_build import OnnxModel
from tests.memory.nets import random_net, widened
from tests.train.pipeline.made import learned
from tinyrt.api import inspect_model
from tinyrt.cli import demo
from tinyrt.cli.demo import Demo
from tinyrt.convert.passes import optimize
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.emulate.report import EmulationReport, Ram
from tinyrt.emulate.sizes import Sizes
from tinyrt.interpreter import Model
from tinyrt.ir import DType
from tinyrt.metrics import Evaluation
from tinyrt.train.pipeline.lessons import Kind, Lesson
from tinyrt.train.pipeline.samples import split

pytestmark = pytest.mark.slow


def test_train(emulated, tmp_path):
    found = call_json("train", "tiny", "-o", tmp_path)
    data, rows = two_classes(0), []
    for stage in STAGES:
        path = tmp_path / f"tiny_{stage}.tflite"
        answers = Model(read_tflite(path))(data.x_test).reshape(16, -1)
        rows.append(
            {
                "name": stage,
                "top1": float((answers.argmax(axis=1) == data.y_test).mean()),
                "bytes": path.stat().st_size,
                "macs": 16,
                "arena": inspect_model(path).arena_bytes,
                "instructions": None,
                "bit_exact": None,
                "float_error": None,
                "agrees": None,
                "note": "nothing is run here",
                "file": str(path),
            }
        )
    expected = {"recipe": "tiny", "core": "cortex-m4", "validation": False, "variants": rows}
    assert_fields(found, expected)
    shown = call("train", "tiny", "-o", tmp_path).stdout
    for row in rows:
        assert f"1/{rows[0]['bytes'] / row['bytes']:.1f}" in shown
        assert f"{100 * row['top1']:.2f} %" in shown


def test_demo(tmp_path):
    """Of ten images, eight are right in float, seven in int8, and six on the device."""
    labels = np.arange(10)
    answers = np.eye(10, dtype=np.int8)
    answers[:4] = np.roll(answers[:4], 1, axis=1)
    host = answers.copy()
    host[0] = np.eye(10)[0]
    device = EmulationReport(
        *("cortex-m4", "mps2-an386", 10, 1234, 1.5),
        Sizes(100, 20, 30, 4, 5000, 600, 7),
        Ram(800, 90, 96, 0),
        False,
        {"y": answers},
    )
    evaluations = [Evaluation(10, n, n / 10, None, None, 1.0, "numba") for n in (8, 7)]
    shown = Demo(
        *evaluations,
        device,
        device_correct=demo._correct(device.outputs, labels),
        agreement=demo._agreement(device.outputs, {"y": host}),
        model_bytes=4321,
        artifacts={tmp_path: "a folder"},
    )
    expected = {
        "samples": 10,
        "top1": {"float": 0.8, "int8_host": 0.7, "int8_device": 0.6},
        "agreement": 0.98,
        "bit_exact": False,
        "model_bytes": 4321,
        "core": "cortex-m4",
        "board": "mps2-an386",
        "flash": {"code": 154, "weights": 5000},
        "ram": {"arena": 800, "stack": 90},
        "instructions": 1234,
        "artifacts": {str(tmp_path): "a folder"},
    }
    assert_fields(shown.as_dict(), expected)
    texts = list(shown.rows().values())
    assert texts == [
        *("10", "80.00 %", "70.00 %", "60.00 %", "98.00 %"),
        *("4,321", "154", "800", "90", "1,234"),
    ]


@pytest.mark.parametrize("hop", [1, 2])
def test_convert(hop, made, tmp_path):
    out = tmp_path / "o.tflite"
    expected = {
        "output": str(out),
        "bytes": lambda n: n == out.stat().st_size,
        "ops": 8,
        "integer_ops": 8,
        "inputs": {"x": [1, 8, 8, 3]},
        "outputs": {"softmax_7": [1, 5]},
        "warnings": [],
    }
    assert_fields(call_json("convert", made.int8, "-o", out), expected)
    m = OnnxModel()
    first = m.op("Conv", m.input(1, 2, 12), m.weights(3, 2, 5))
    model = m.save(tmp_path, m.op("Conv", first, m.weights(2, 3, 3)))
    whole = call_json("convert", model, "-o", out)["inputs"]["x"]
    stream = ("--stream", str(whole.index(12)), "--hop", str(hop))
    found = call_json("convert", model, "-o", out, *stream)
    assert found["inputs"]["x"] == [hop if n == 12 else n for n in whole]
    # Of the five rows that each output needs, four are not new: two channels of four bytes. Then
    # two of three rows of three channels.
    assert found["state_bytes"] == 4 * 2 * 4 + 2 * 3 * 4
    save_tflite(widened(random_net(3)), tmp_path / "wide.tflite")
    wide = call_json("convert", tmp_path / "wide.tflite", "-o", out)
    assert wide["integer_ops"] == wide["ops"] > 1


def test_qat(tmp_path):
    graph, x, y = learned()
    model, out, data = tmp_path / "net.tflite", tmp_path / "o.tflite", tmp_path / "d.npz"
    save_tflite(optimize(graph), model)
    np.savez(data, x=x, y=y)
    found = call_json(
        *("qat", model, "-d", data, "-o", out, "--epochs", "2", "--finetune", "1"),
        *("--validation", "0.25", "--max-bytes", "3k"),
    )
    lessons = [Lesson("", Kind.CLASSES, False, y, None)]
    training, held = split(lessons, len(x), 0.25, 0)
    right = [
        float((Model(read_tflite(path))(x[held]).argmax(axis=1) == y[held]).mean())
        for path in (model, out)
    ]
    weights = {n.inputs[1] for n in read_tflite(out).nodes if "conv" in n.op or "fully" in n.op}
    arrays = [read_tflite(out).value(name) for name in weights]
    zeros = sum((v.data == 0).sum() for v in arrays) / sum(v.data.size for v in arrays)

    def epochs(count):
        fields = {"number": int, "epochs": int, "loss": float, "lr": float, "score": float}
        return lambda rows: (
            [{k: type(v) for k, v in row.items()} for row in rows] == [fields] * count
        )

    graph = read_tflite(out)
    narrow = {
        node.output: graph.value(node.inputs[1]).dtype is DType.INT4
        for node in graph.nodes
        if node.inputs[1:] and node.inputs[1] in weights
    }

    def widths(rows):
        found = {row["name"]: row["bits"] == 4 for row in rows}
        chances = [row["chance"] for row in rows]
        return (
            [row["op"] for row in rows] == ["conv2d", "conv2d", "fully_connected"]
            and list(found.values()) == list(narrow.values())
            and [row["saved"] for row in rows] == [48, 256, 64]
            and all(0 < chance < 1 for chance in chances)
            and all(0 <= row["noise"] < 0.02 for row in rows)
        )

    expected = {
        "output": str(out),
        "bytes": out.stat().st_size,
        "samples": len(training),
        "held_out": len(held),
        "best_epoch": lambda n: n in (0, 1, 2),
        "outputs": [
            {
                "name": read_tflite(out).outputs[0],
                "kind": "classes",
                "learns_from": "labels",
                "measure": "top1",
                "in_float": right[0],
                "before": lambda share: 0.5 < share <= 1,
                "trained": right[1],
                "deployed": right[1],
            }
        ],
        "int4_layers": lambda names: len(names) == sum(v.dtype is DType.INT4 for v in arrays) > 0,
        "widths": widths,
        "float_macs": 16 * 8 * 18 + 16 * 8 * 72 + 24,
        "macs": 16 * 8 * 18 + 16 * 8 * 72 + 24,
        "zero_weights": float(zeros),
        "costs": None,
        "float_history": epochs(1),
        "width_history": epochs(1),
        "history": epochs(2),
        "warnings": [],
    }
    assert_fields(found, expected)
