"""What a model costs on a core: by formula in milliseconds, or built, linked and counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tinyrt.api.emulating import emulate_recording
from tinyrt.api.inputs import Array
from tinyrt.api.models import run_emulated
from tinyrt.api.reading import open_model
from tinyrt.attached import fitted, front_end_entry
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.convert.passes import optimize as optimized
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.dsp import Pipeline, Vision
from tinyrt.entry import entry
from tinyrt.errors import DataError
from tinyrt.export.options import NO_OPTIONS, ExportOptions
from tinyrt.files import scratch_folder
from tinyrt.ir import DType, Graph, Shape, Value
from tinyrt.memory import schedule
from tinyrt.ops.shared.samples import random_inputs

if TYPE_CHECKING:
    from tinyrt.train.core.module import Module

SAMPLES = 10
"""Random samples that a float model is quantised with: its costs do not depend on them."""


BY_WEIGHTS = ("cut_channels", "drop_clamp", "drop_unchanged", "known_truth")
"""Passes that leave out what a model's weights leave without effect: training may change these."""

SMALL = 0.01
"""Standard deviation of biases that stand for trained ones."""

MARGINS = {InstructionSet.DSP: 1.1, InstructionSet.MVE: 1.3, InstructionSet.SCALAR: 1.4}
"""How many times the instructions counted an estimate may be, on the models of the zoo."""


class Basis(StrEnum):
    """What the figures of a cost come from."""

    FORMULA = "formula"
    """The arena's plan, the packed weights, and a formula for each kernel's instructions."""
    LINKED = "linked"
    """The code is compiled and linked, too."""
    COUNTED = "counted"
    """The image runs in the emulator, which counts instructions."""
    TIMED = "timed"
    """The same, and cycles are told, of flash without wait states."""


EMULATED = (Basis.COUNTED, Basis.TIMED)
"""What takes the emulator."""


@dataclass(frozen=True, slots=True)
class ModelCost:
    """What a model costs on a core.

    Attributes:
        core: the processor core.
        basis: what the figures come from.
        arena: bytes of activations, and of a front end's state; exact.
        weights: bytes of flash for weights and biases; exact.
        code: bytes of flash for code and tables; exact; None where nothing was linked.
        instructions: of an inference, and of the features that it takes; exact where they were
            counted, else estimated; None on this machine, and of a front end that was not counted.
        cycles: of an inference, at most; None where they were not told.
        by_op: instructions of each op of the network, where they are estimated; else None.

    """

    core: str
    basis: Basis
    arena: int
    weights: int
    code: int | None
    instructions: int | None
    cycles: int | None = None
    by_op: tuple[int, ...] | None = None

    @property
    def flash(self) -> int | None:
        """Bytes of code, tables and weights; None where nothing was linked."""
        return None if self.code is None else self.code + self.weights

    @property
    def estimated(self) -> tuple[str, ...]:
        """Names of the figures that are estimates."""
        return () if self.basis in EMULATED else ("instructions",)

    @property
    def least_instructions(self) -> int | None:
        """What the emulator counts at least, by the estimate: a model above this is above it."""
        from tinyrt.export import find_core

        estimate = sum(self.by_op) if self.by_op else self.instructions
        if self.basis in EMULATED or estimate is None:
            return self.instructions
        return round(estimate / MARGINS[find_core(self.core).isa])

    def as_dict(self) -> dict[str, Any]:
        """The figures as plain data."""
        names = ("core", "arena", "weights", "code", "flash", "instructions", "cycles")
        figures = {name: getattr(self, name) for name in names}
        return {**figures, "basis": self.basis.value, "estimated": list(self.estimated)}


@entry
def cost(
    model: str | Path | Graph | Module,
    core: str = "cortex-m4",
    *,
    optimize: str = "balanced",
    basis: str = "formula",
    input_shape: Shape | None = None,
    options: ExportOptions | None = None,
    front_end: Pipeline | Vision | None = None,
    recording: ArrayLike | None = None,
) -> ModelCost:
    """What a model costs on a core, trained or not.

    Costs depend on shapes, and hardly on weights: a float model is quantised with random samples.
    A network keeps all its channels, whatever its weights; so it costs no more when it is trained.
    By formula nothing is compiled. Estimates of instructions are within 3 % of the emulator's count
    on cores with the DSP extension; docs/search.md has the others.

    Args:
        model: a .tflite or .onnx file, a graph, or a network of ``tinyrt.train``.
        core: a name in ``tinyrt.export.CORES``.
        optimize: what the code is made for: ``speed``, ``balanced`` or ``size``.
        basis: what the figures come from: ``formula``; ``linked``, for the code's size, which takes
            a cross-compiler; ``counted``, in the emulator; or ``timed``, which tells cycles, too.
        input_shape: of a sample of the network, without the batch; for others the file says it.
        options: of the export: ``max_arena``, ``by_rows`` and ``memories``; behind a camera
            ``input_rows``, too.
        front_end: what makes features of raw samples, or images of frames, before the model; a
            file's own front end does not count by itself. What it computes for an answer is
            counted along.
        recording: raw samples that a front end's instructions are counted on, long enough for an
            answer, as they depend a little on samples; frames for a camera; None for noise.

    Raises:
        DataError: there is no such basis, or an input shape where none belongs, or none; or a
            recording that is too short, or without a front end.
        ToolError: the compiler or the emulator that the basis takes is missing.
        UnsupportedError: an op has no C kernel, there is no such core, or its cycles are not known.

    """
    from tinyrt.emulate import audio, camera

    if basis not in set(Basis):
        raise DataError(f"costs cannot be {basis}", expected=", ".join(Basis))
    if recording is not None and front_end is None:
        raise DataError(
            "a recording says nothing of a model without a front end",
            expected="front_end beside it",
            hint="tinyrt.dsp.Pipeline(motion=...) is one",
        )
    graph = _int8_graph(model, input_shape)
    asked = _Asked(optimize, options or NO_OPTIONS, front_end, recording)
    allowed = camera.OPTIONS if isinstance(front_end, Vision) else audio.OPTIONS
    asked.options.require_only(allowed, "a cost")
    by_formula = _by_formula(graph, core, asked)
    if basis == Basis.FORMULA:
        return by_formula
    if basis == Basis.LINKED:
        return _linked(graph, by_formula, asked)
    if front_end is not None:
        return _heard(graph, by_formula, asked, front_end, Basis(basis))
    return _counted(graph, by_formula, asked, Basis(basis))


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """How code is made, and what stands before the model; as for ``cost``."""

    optimize: str
    options: ExportOptions = NO_OPTIONS
    front_end: Pipeline | Vision | None = None
    recording: ArrayLike | None = None


def _int8_graph(model: str | Path | Graph | Module, input_shape: Shape | None) -> Graph:
    """What is deployed: a quantised model as it is, a float one in int8."""
    if isinstance(model, str | Path | Graph):
        if input_shape is not None:
            raise DataError(
                f"the model has an input shape of its own, {list(input_shape)} is given",
                expected="an input shape for networks of tinyrt.train only",
            )
        graph = model if isinstance(model, Graph) else open_model(model)
    else:
        graph = _traced(model, input_shape)
    if not graph.is_quantized:
        from tinyrt.quantize import Preset, quantize_graph
        from tinyrt.quantize.config import configure

        untrained = not isinstance(model, str | Path | Graph)
        graph = optimized(graph, skip=BY_WEIGHTS if untrained else ())
        graph = told_apart(graph) if untrained else graph
        # What the usual preset does beyond that chooses values, which cost nothing.
        config = configure(Preset.FAST, per_channel_dense=configure(None).per_channel_dense)
        graph = quantize_graph(graph, random_inputs(graph, SAMPLES), config)
    return schedule(graph)


def told_apart(graph: Graph) -> Graph:
    """An untrained float graph whose biases differ, as they do behind training.

    They begin as zeros, and C code has equal arrays once: it would take less than it will.
    """
    rng = np.random.default_rng(0)

    def drawn(value: Value) -> Value:
        if value.data is None or value.dtype is not DType.FLOAT32 or len(value.shape) != 1:
            return value
        if value.data.any():
            return value
        return replace(value, data=rng.normal(0, SMALL, value.shape).astype(np.float32))

    return replace(graph, values={name: drawn(value) for name, value in graph.values.items()})


def _traced(module: Module, input_shape: Shape | None) -> Graph:
    from tinyrt.train.tracing import trace

    if input_shape is None:
        raise DataError(
            "a network has costs for samples of some shape",
            expected="input_shape, of one sample without the batch",
            hint="cost(network, input_shape=(8, 8, 1))",
        )
    return trace(module, input_shape)


def cost_by_formula(graph: Graph, core: str, optimize: str = "balanced") -> ModelCost:
    """What a graph costs as it stands, its ops in their order; other arguments as for ``cost``.

    Raises:
        UnsupportedError: an op has no C kernel, or there is no such core.

    """
    return _by_formula(graph, core, _Asked(optimize))


def _by_formula(graph: Graph, core: str, asked: _Asked) -> ModelCost:
    from tinyrt.export.bundle import render_model
    from tinyrt.export.request import Request

    request = Request.of(core, asked.optimize, asked.options)
    project, _ = render_model(graph, Path(), request, front_end=asked.front_end)
    before = project.audio or project.camera
    return ModelCost(
        core=request.core.name,
        basis=Basis.FORMULA,
        arena=project.arena_bytes + (before.state_bytes if before else 0),
        weights=project.weight_bytes,
        code=None,
        instructions=None if before else project.instructions,
        by_op=None if project.estimates is None else tuple(map(round, project.estimates)),
    )


def _linked(graph: Graph, known: ModelCost, asked: _Asked) -> ModelCost:
    from tinyrt.emulate.image import build_image
    from tinyrt.export import export_graph

    with scratch_folder() as folder:
        project = export_graph(
            *(graph, folder / "model"),
            core=known.core,
            optimize=asked.optimize,
            options=asked.options,
            front_end=asked.front_end,
        )
        heard, samples = project.audio, None
        if heard is not None:
            step = heard.stride * heard.pipeline.front.step
            samples = step * heard.pipeline.axes
        if project.camera is not None:
            seen = project.camera.vision.camera
            samples = seen.height * seen.line_bytes
        sizes = build_image(project, folder, samples=samples).sizes
    return ModelCost(
        *(known.core, Basis.LINKED, known.arena, sizes.weights, sizes.code, known.instructions)
    )


def _heard(
    graph: Graph, known: ModelCost, asked: _Asked, pipeline: Pipeline | Vision, basis: Basis
) -> ModelCost:
    """Costs from one answer to the next: features or image, and network."""
    from tinyrt.emulate import Timing

    recording = asked.recording
    if recording is None:
        recording = _noise(pipeline, graph)
    with scratch_folder() as folder:
        path = Path(save_tflite(graph, folder / "candidate.tflite", front_end_entry(pipeline)))
        report = emulate_recording(
            *(path, recording),
            core=known.core,
            optimize=asked.optimize,
            options=asked.options,
            cycles=Timing() if basis is Basis.TIMED else None,
            build_dir=folder / "build",
        )
    arena = report.ram.arena + report.ram.state
    sizes, told = (report.flash.weights, report.flash.code), report.cycles
    cycles = None if told is None else told.cycles.high
    return ModelCost(known.core, basis, arena, *sizes, report.instructions, cycles)


def _noise(front_end: Pipeline | Vision, graph: Graph) -> Array:
    """Samples for an answer: int16 (samples,) or (samples, axes); uint8 of a frame."""
    rng = np.random.default_rng(0)
    if isinstance(front_end, Vision):
        camera = front_end.camera
        return rng.integers(0, 256, (camera.height, camera.line_bytes), np.uint8)
    front = front_end.front
    count = front.window + (fitted(front_end, graph).rows - 1) * front.step
    shape = (count,) if front_end.motion is None else (count, front_end.axes)
    return rng.integers(-(1 << 12), 1 << 12, shape, np.int16)


def _counted(graph: Graph, known: ModelCost, asked: _Asked, basis: Basis) -> ModelCost:
    from tinyrt.emulate import Timing

    with scratch_folder() as folder:
        path = Path(save_tflite(graph, folder / "candidate.tflite"))
        report = run_emulated(
            path,
            core=known.core,
            optimize=asked.optimize,
            options=asked.options,
            samples=1,
            cycles=Timing() if basis is Basis.TIMED else None,
            build_dir=folder / "build",
        )
    flash, told = report.flash, report.cycles
    return ModelCost(
        known.core,
        basis,
        arena=report.ram.arena,
        weights=flash.weights,
        code=flash.code,
        instructions=report.instructions,
        cycles=None if told is None else told.cycles.high,
    )
