"""What a model of the benchmark is asked, each in a process of its own."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.ort import exact_session
from benchmarks.public_answers import (
    NEAR,
    NEAR_BY_SERIES,
    SERIES,
    Answers,
    Array,
    ops_of,
    rules_of,
)
from benchmarks.public_onnx import OnnxTypes
from tinyrt.api import convert_model, random_inputs, run_emulated
from tinyrt.api.reading import open_model
from tinyrt.backends.c.planning import kernels_of
from tinyrt.export import find_core
from tinyrt.interpreter import Interpreter
from tinyrt.ir import Graph, Shape
from tinyrt.memory import plan_memory

SAMPLES = 3
ARENA, ARENA_PER_BYTE = 1 << 24, 16
"""Bytes that tflite-micro may use: the larger of a number, and so many for each of the file's."""
STORED = {"TFLM": "tflm", "LiteRT": "litert", "onnxruntime": "onnxruntime"}
"""Peer -> the first letters of its keys in an .npz file."""


@dataclass(frozen=True)
class Read:
    """A model that tinyrt read and ran.

    Attributes:
        inputs, outputs: for each sample.
        arena: bytes on the host.
        core_arena: bytes on the core.
        rules: which rules its ops give rise to.
        near: by which part of the largest element floats may be off.

    """

    inputs: Answers
    outputs: Answers
    arena: int
    core_arena: int
    rules: tuple[str, ...]
    near: float


def is_onnx(path: Path) -> bool:
    return path.suffix.lower() == ".onnx"


def stored(path: Path) -> tuple[Answers, dict[str, Answers]]:
    """Inputs and the peers' answers in the .npz file beside a model; empty where there are none."""
    file = path.with_suffix(".npz")
    if not file.is_file():
        return [], {}
    with np.load(file) as arrays:
        inputs = _grouped(arrays, "in")
        answers = {peer: _grouped(arrays, key) for peer, key in STORED.items()}
    return inputs, {peer: found for peer, found in answers.items() if len(found) == len(inputs) > 0}


def _grouped(arrays: Any, kind: str) -> list[list[Array]]:
    """Arrays of the keys ``kind<sample>_<number>``, by sample and number."""
    found: dict[int, dict[int, Array]] = {}
    for key in arrays.files:
        if named := re.fullmatch(rf"{kind}(\d+)_(\d+)", key):
            sample, number = map(int, named.groups())
            found.setdefault(sample, {})[number] = arrays[key]
    return [[part for _, part in sorted(found[k].items())] for k in sorted(found)]


def read(path: Path, inputs: Answers, core: str) -> Read:
    """Read a model, run it on each sample from a fresh state, and plan it for the core.

    Args:
        path: the model.
        inputs: for each sample; seeded random ones where there are none.
        core: a name in ``tinyrt.export.CORES``.

    Raises:
        TinyrtError: the model is refused.

    """
    graph = open_graph(path, inputs)
    file = OnnxTypes.of(path) if is_onnx(path) else None
    if not inputs:
        inputs = _random(graph)
        inputs = [file.in_file(graph, sample) for sample in inputs] if file else inputs
    outputs, arena = [], 0
    for sample in inputs:
        interpreter = Interpreter.from_graph(graph) if file else Interpreter(path)
        interpreter.allocate_tensors()
        arena = interpreter.plan.arena_bytes
        answers = _run(interpreter, file.in_graph(graph, sample) if file else sample)
        outputs.append(file.answered(graph, answers) if file else answers)
    if file:
        rules, series = file.rules, True
    else:
        ops = ops_of(path)
        rules, series = rules_of(ops), any(op.name in SERIES for op in ops)
    planned = plan_memory(graph, kernels_of(find_core(core).isa)).arena_bytes
    near = NEAR_BY_SERIES if series else NEAR
    return Read(inputs, outputs, arena, planned, rules, near)


def open_graph(path: Path, inputs: Answers) -> Graph:
    """The graph; of an ONNX model with its own layout, and with the shapes of the inputs."""
    if not is_onnx(path):
        return open_model(path, optimize=False)
    return open_model(path, shapes=_shapes(path, inputs), keep_layout=True)


def _shapes(path: Path, inputs: Answers) -> dict[str, Shape]:
    """Input name of an ONNX model -> its shape; empty where no inputs are given."""
    if not inputs:
        return {}
    import onnx

    proto = onnx.load(path, load_external_data=False).graph
    constants = {tensor.name for tensor in proto.initializer}
    names = [value.name for value in proto.input if value.name not in constants]
    return {name: x.shape for name, x in zip(names, inputs[0], strict=True)}


def _random(graph: Graph) -> list[list[Array]]:
    """Seeded random inputs for each sample."""
    drawn = random_inputs(graph, SAMPLES)
    fed = [(name, graph.value(name).shape) for name in graph.fed]
    whole = [drawn[name].reshape(SAMPLES, *shape) for name, shape in fed]
    return [[x[i] for x in whole] for i in range(SAMPLES)]


def _run(interpreter: Any, inputs: Any) -> list[Array]:
    """The outputs of an interpreter with LiteRT's methods."""
    for detail, x in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], x)
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


def tflm(path: Path, inputs: Answers) -> tuple[Answers, int | None]:
    """The answers of tflite-micro's reference kernels, and the bytes of its arena."""
    from tflite_micro import runtime

    room = max(ARENA, ARENA_PER_BYTE * path.stat().st_size)
    answers: list[list[Array]] = []
    count, arena = _count_outputs(path), None
    for sample in inputs:
        model = runtime.Interpreter.from_file(str(path), arena_size=room)
        for i, x in enumerate(sample):
            model.set_input(x, i)
        model.invoke()
        answers.append([model.get_output(o).copy() for o in range(count)])
        arena = arena or _arena_of(model.print_allocations)
    return answers, arena


def _count_outputs(path: Path) -> int:
    from tflite.Model import Model

    return Model.GetRootAs(path.read_bytes()).Subgraphs(0).OutputsLength()


def _arena_of(print_allocations: Callable[[], None]) -> int | None:
    """The size of the arena, which tflite-micro tells the standard error output alone."""
    with tempfile.TemporaryFile() as heard:
        before = os.dup(2)
        os.dup2(heard.fileno(), 2)
        try:
            print_allocations()
        finally:
            os.dup2(before, 2)
            os.close(before)
        heard.seek(0)
        said = re.search(rb"Arena allocation total (\d+) bytes", heard.read())
    return int(said[1]) if said else None


def litert(path: Path, inputs: Answers) -> Answers:
    """The answers of LiteRT's reference kernels."""
    from ai_edge_litert.interpreter import Interpreter as LiteRT
    from ai_edge_litert.interpreter import OpResolverType

    answers = []
    for sample in inputs:
        model = LiteRT(str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
        model.allocate_tensors()
        answers.append([x.copy() for x in _run(model, sample)])
    return answers


def onnxruntime(path: Path, inputs: Answers) -> Answers:
    """The answers of onnxruntime on the CPU."""
    session = exact_session(path, rewriting=False)
    kinds = {"float": "float32", "double": "float64"}
    dtypes = [value.type[len("tensor(") : -1] for value in session.get_inputs()]
    names = [value.name for value in session.get_inputs()]
    answers = []
    for sample in inputs:
        cast = [x.astype(kinds.get(d, d)) for x, d in zip(sample, dtypes, strict=True)]
        answers.append(session.run(None, dict(zip(names, cast, strict=True))))
    return answers


def on_core(path: Path, inputs: Answers, core: str, seconds: float) -> dict[str, Any]:
    """What a model costs on an emulated core, and whether this answers what the host does.

    Raises:
        TinyrtError: the model cannot be built for the core, or its answers do not come in time.

    """
    with tempfile.TemporaryDirectory() as folder:
        model = path
        if is_onnx(path):
            model = Path(folder) / "model.tflite"
            convert_model(path, model, shapes=_shapes(path, inputs), keep_layout=True)
        report = run_emulated(model, core=core, samples=1, timeout_s=seconds)
    return {
        "agrees": report.agrees,
        "code": report.flash.code,
        "weights": report.flash.weights,
        "instructions": report.instructions,
    }
