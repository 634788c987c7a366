"""What reading data, planning, running and exporting models ask for."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

from tests import seeing
from tests.graphs import Builder, small_cnn
from tests.ledger.case import Run, add, asks
from tests.ledger.watch import Entry
from tests.listening import CLASSES, FRONT, int8_net, saved, wav
from tests.memory.targets import SCALAR
from tinyrt import api, npz
from tinyrt.api.inputs import source_of
from tinyrt.api.reading import lost_channels, open_model
from tinyrt.backends.c.kernel import Choices
from tinyrt.budget import current
from tinyrt.cli.console import reporting
from tinyrt.convert.tflite.writer import save_tflite, write_tflite
from tinyrt.data import FromFile, InMemory
from tinyrt.entry import entry
from tinyrt.export.blob.code import BlobCode
from tinyrt.export.blob.layout import fields_of
from tinyrt.export.text import ELEMENT, LITERAL, array
from tinyrt.interpreter import Interpreter, load, native
from tinyrt.interpreter.model import Model
from tinyrt.interpreter.tensors import place_tensors
from tinyrt.ir import DType, Graph, Node, Patch, QParams, Rule, Value, rewrite
from tinyrt.ir.rewriter import ASK, PASS
from tinyrt.memory import plan_memory, sweep
from tinyrt.memory.arena import PLACE, PLAN
from tinyrt.memory.check.plan import STEP
from tinyrt.metrics import evaluate_graph
from tinyrt.npz import ArrayFile
from tinyrt.ops.shared.evaluate import folded
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.shared.stored_weights import widen_weights
from tinyrt.quantize import QuantConfig, quantize_graph
from tinyrt.series import read_series

N = 200
SIZE = N * N
SMALL = np.random.default_rng(0).normal(size=(40, 8, 8, 3)).astype(np.float32)


# Data


@asks("npz.py", "data.py")
def files_of_arrays(folder: Path) -> tuple[Run, list[Entry]]:
    np.savez(folder / "data.npz", x=np.zeros((N, N), np.float32), z=np.zeros((N, 3, N), np.int16))
    size = (folder / "data.npz").stat().st_size

    def run() -> object:
        with patch.object(npz, "CHUNK", 4096):
            return FromFile(folder / "data.npz").whole()

    return run, [
        ("allow_for", size),
        ("reserve", 2 * (4 * SIZE + 2 * 3 * SIZE), "all samples at once"),
        ("allow_for", size),
        ("zeros", 4 * SIZE, "the array"),
        ("zeros", 2 * 3 * SIZE, "the array"),
    ]


@asks("wav.py", "api/listening.py", measured=False)
def a_recording(folder: Path) -> tuple[Run, list[Entry]]:
    path = saved(folder / "ears.tflite", int8_net())
    samples = np.zeros(FRONT.window + FRONT.step * 12, np.int16)
    (folder / "a.wav").write_bytes(wav(samples))
    size = (folder / "a.wav").stat().st_size
    # Frames 0 to 12, windows of 4 of them, 3 of which are new.
    answers = 4
    return lambda: api.listen_model(path, folder / "a.wav"), [
        ("allow_for", size),
        ("reserve", 2 * size, "the recording"),
        ("reserve", 2 * answers * CLASSES, "all answers"),
    ]


@asks("api/looking.py", measured=False)
def frames_of_a_camera(folder: Path) -> tuple[Run, list[Entry]]:
    path = saved(folder / "eyes.tflite", seeing.int8_net(), seeing.GREY)
    frames = seeing.frames_of(seeing.GREY, 5)
    return lambda: api.look_model(path, frames), [
        ("reserve", frames.nbytes, "all frames"),
        ("reserve", 2 * len(frames) * 3 * 4 * seeing.CLASSES, "all answers"),
    ]


@asks("series.py")
def a_recording_of_three_axes(folder: Path) -> tuple[Run, list[Entry]]:
    text = "-20000,20000,7\n" * 2_000
    (folder / "a.csv").write_text(text)
    return lambda: read_series(folder / "a.csv", 3), [
        ("allow_for", len(text)),
        ("reserve", 60 * len(text), "the recording"),
    ]


@asks("npz.py")
def rows_of_an_array(folder: Path) -> tuple[Run, list[Entry]]:
    np.save(folder / "data.npy", np.zeros((N, N), np.float64))
    size = (folder / "data.npy").stat().st_size

    def run() -> None:
        with patch.object(npz, "CHUNK", 4096), ArrayFile(folder / "data.npy") as file:
            for _ in file.rows("x", 150):
                pass

    rows = [("zeros", 8 * N * count, "the array") for count in (150, N - 150)]
    return run, [("allow_for", size), *rows]


add(
    "arrays_of_the_caller", ("api/inputs.py",),
    lambda: source_of(small_cnn(), {"x": SMALL, "z": np.zeros(7, np.float64)}),
    ("allow_for", SMALL.nbytes + 7 * 8),
)  # fmt: skip


# Files of models


@asks("api/reading.py", measured=False)
def a_model_and_its_lost_channels(folder: Path) -> tuple[Run, list[Entry]]:
    path = folder / "net.tflite"
    save_tflite(small_cnn(), path)
    size = path.stat().st_size
    return lambda: lost_channels(path, open_model(path)), [("allow_for", size)] * 2


@asks("interpreter/model.py", "interpreter/interpreter.py")
def models_for_calling(folder: Path) -> tuple[Run, list[Entry]]:
    """Reading and widening have one budget; the file's bytes are added where it is read."""
    path = folder / "net.tflite"
    save_tflite(small_cnn(), path)
    content = write_tflite(small_cnn())
    return lambda: (load(path), Interpreter(model_content=content)), [("allow_for", 0)] * 2


@cache
def quantized() -> Graph:
    return quantize_graph(small_cnn(), {"x": SMALL}, QuantConfig())


@asks("api/models.py", measured=False)
def inputs_for_the_emulator(folder: Path) -> tuple[Run, list[Entry]]:
    """One byte for each element, as the quantised model takes them, and their packed copy."""
    path = folder / "net.tflite"
    save_tflite(quantized(), path)

    def run() -> None:
        with patch("tinyrt.emulate.run_emulated"):
            api.run_emulated(path, inputs=SMALL)

    return run, [("reserve", 2 * SMALL.size, "packed inputs")]


def command() -> None:
    with reporting(as_json=True):
        assert current() is current()


add("commands", ("cli/console.py",), command, ("allow_for", 0))
add("functions_of_the_interface", ("entry.py",), entry(lambda: None), ("allow_for", 0))


# Graphs


def chain(*ops: str) -> Graph:
    """Ops on a square, each on what the one before wrote."""
    b, name = Builder((1, N, N)), "x"
    for op in ops:
        name = b.op(op, (name,))
    return b.graph(name)


DATA = np.zeros(SIZE, np.float32)


def renamed(graph: Graph, node: Node) -> Patch:
    constant = Value.constant(f"{node.name}.new", DATA)
    return Patch(remove=(node,), add=(replace(node, op="exp"),), values=(constant,))


@asks("ir/rewriter.py")
def rewriting(folder: Path) -> tuple[Run, list[Entry]]:
    """A rule that changes the one node it is asked about, and one that is asked about both."""
    graph, text = chain("relu", "tanh"), "the pass 'change'"
    look = Rule("look", (), lambda graph, node: None)
    rules = [look, Rule("change", ("relu",), renamed)]
    return lambda: rewrite(graph, rules, lambda graph: graph), [
        ("spend", 2 * ASK, "the pass 'look'"),
        ("spend", ASK, text),
        ("keep", 4 * SIZE, "the constant 'relu_0.new'"),
        ("spend", 2 * PASS, text),
        ("spend", 2 * ASK, "the pass 'look'"),
        ("spend", 0, text),
    ]


@asks("ops/shared/evaluate.py")
def folding(folder: Path) -> tuple[Run, list[Entry]]:
    b = Builder((1, 1))
    b.op("neg", (b.constant(np.ones((N, N), np.float32)),))
    nodes = b.graph(next(reversed(b.values))).bind(0)
    nbytes = 6 * (2 * 4 * SIZE)
    return partial(folded, nodes), [
        ("computed", (nbytes, nbytes), "'neg_0', the constant result of neg,"),
    ]


@asks("memory/arena.py", "memory/check/plan.py")
def planning(folder: Path) -> tuple[Run, list[Entry]]:
    graph = chain("tanh", "neg")
    # The last element is a step of its own.
    check = ("spend", STEP * (sweep.ELEMENT_STEPS + 1), "checking the plan")
    return lambda: plan_memory(graph, SCALAR), [
        ("spend", PLAN * 2 + PLACE * 3, "planning 2 ops"), check, check,
    ]  # fmt: skip


add(
    "steps_of_a_kernel", ("memory/sweep.py",),
    lambda: sweep.limited([sweep.SweepStep((), (i, i + 1)) for i in range(5)]),
    ("spend", sweep.STEP * 5, "finding out in which order kernels read and write"),
)  # fmt: skip

C_TEXT = "writing constants as C"
add(
    "constants_in_c", ("export/text.py",),
    lambda: array("const", "float", "k", np.float32([[1, 2, 2], [1, 1, 1]])),
    ("spend", ELEMENT * 6, C_TEXT), ("spend", LITERAL * 2, C_TEXT),
)  # fmt: skip
add(
    "bytes_in_c", ("export/text.py",),
    lambda: array("const", "int8_t", "k", np.int8([1, 2, 2])), ("spend", ELEMENT * 3, C_TEXT),
)  # fmt: skip
add(
    "a_blob_in_c", ("export/blob/code.py",),
    lambda: BlobCode(fields_of({}), (), None, Choices(frozenset(), frozenset())).c_words,
    ("spend", LITERAL * 17, "writing the blob as C"),
)  # fmt: skip


# Interpreters

COMPUTED = "what the model computes"
BYTES = 4 * SIZE
NAMES = ("x", "tanh_0", "neg_1")


def described(name: str) -> str:
    return f"'{name}' f32[1,{N},{N}]"


for apart, places in ((False, ("x",)), (True, NAMES)):
    add(
        "tensors_apart" if apart else "tensors",
        ("interpreter/tensors.py",),
        partial(place_tensors, chain("tanh", "neg"), apart=apart),
        *[("reserve", BYTES, COMPUTED)] * 3,
        ("allow_for", 0),
        ("reserve", 2 * BYTES + len(places) * BYTES, COMPUTED),
        ("zeros", 2 * BYTES, "the arena"),
        *(("zeros", BYTES, described(name)) for name in places),
    )


@asks("ops/shared/stored_weights.py")
def weights_that_are_widened(folder: Path) -> tuple[Run, list[Entry]]:
    w = Value.constant("w", np.zeros((N, N), np.int8), QParams((0.5,), 0))
    values = [w, *(Value(name, DType.FLOAT32, (N, N)) for name in ("wide", "y"))]
    nodes = (
        Node("dequantize", "wide", ("w",), ("wide",), NoAttrs()),
        Node("neg", "y", ("wide",), ("y",), NoAttrs()),
    )
    graph = Graph("net", (), ("y",), {v.name: v for v in values}, nodes)
    return lambda: widen_weights(graph, current()), [
        ("computed", (4 * SIZE + 8 * SIZE, SIZE), f"the widened weights 'wide' f32[{N},{N}]"),
    ]


@asks("interpreter/native.py")
def the_arena_of_the_compiled_model(folder: Path) -> tuple[Run, list[Entry]]:
    library: Any = SimpleNamespace(**{native.RUN: None})
    made = partial(native._Native, library, [np.zeros(4, np.int8)], 1, SIZE, 0)
    return made, [("zeros", SIZE + native.ALIGNMENT, "the arena of the compiled model")]


@asks("interpreter/model.py", "metrics.py", measured=False)
def answers(folder: Path) -> tuple[Run, list[Entry]]:
    """Those of all samples, one row of five each; a figure for each when models are compared."""
    graph = small_cnn()

    def run() -> object:
        found = Model(graph, backend="reference").run_source(InMemory({"x": SMALL}))
        return found, evaluate_graph(graph, {"x": SMALL}, against=graph, backend="reference")

    (output,) = graph.outputs
    return run, [
        ("zeros", 40 * 5 * 4, f"'{output}' of all samples"),
        ("zeros", 40 * 8, "figures of each sample"),
    ]
