"""Export, build, boot, compare: one call."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.cluster.pieces import Crew
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.emulate.baseline import load_baseline
from tinyrt.emulate.boards import Board, board_for
from tinyrt.emulate.cycles import CycleReport, Timing, cores_with_cycles, meter_for
from tinyrt.emulate.cycles.meter import CALL, STOP, Meter
from tinyrt.emulate.image import Image, build_image
from tinyrt.emulate.profile import OpCost, profile_ops
from tinyrt.emulate.qemu import PHASES, Run, run_image
from tinyrt.emulate.report import EmulationReport, Ram, SlicesRun
from tinyrt.emulate.spread import run_spread
from tinyrt.errors import DataError, ToolError, UnsupportedError, error_context
from tinyrt.export import Core, ExportedProject, ExportOptions, Port, export_graph, find_core
from tinyrt.export.bundle import for_request
from tinyrt.export.identity import sha256_of
from tinyrt.export.options import NO_OPTIONS
from tinyrt.export.request import Request
from tinyrt.files import make_folder
from tinyrt.ir import DType, Shape
from tinyrt.tools import EMULATOR_S

AROUND = (CALL, STOP)

OPTIONS = ("max_arena", "by_rows", "input_rows", "memories", "slices", "blob")
"""Options of an export that change what an emulation runs."""

Arrays = Mapping[str, NDArray[Any]]


def run_emulated(
    model_path: str | Path,
    *,
    inputs: Arrays,
    build_dir: str | Path,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    options: ExportOptions = NO_OPTIONS,
    board: str | None = None,
    expected: Arrays | None = None,
    macs: int | None = None,
    profile: bool = False,
    cycles: Timing | None = None,
    gdb: int | None = None,
    timeout_s: float = EMULATOR_S,
    progress: Callable[[int, int], None] | None = None,
    crew: Crew | None = None,
) -> EmulationReport:
    """Run a model's C code in the emulator.

    Args:
        model_path: a .tflite file, int8 or float.
        inputs: input name -> array of the input's dtype, samples first.
        build_dir: folder for the exported project, the image and the files they exchange.
        core: a name in ``tinyrt.export.CORES``; ``host`` runs the C code on this machine.
        optimize: what the code is made for: ``speed``, ``balanced`` or ``size``.
        options: of the export, those in ``OPTIONS``; in slices, the report says how many
            instructions each takes.
        board: a name in ``BOARDS``; the core's own board by default.
        expected: output name -> what the host answers, samples first.
        macs: multiply-accumulates per inference; counted if not given.
        profile: whether to count every op's instructions, too.
        cycles: what cycles depend on besides the core; None to count instructions only. With
            cycles every op is counted, too.
        gdb: the port of this machine at which a debugger is waited for; None without one.
        timeout_s: when to give up on the emulator, in seconds.
        progress: called now and then with samples done and samples in all.
        crew: who boots the image beside this process, each with some samples; None for none. The
            report is the same.

    Raises:
        UnsupportedError: another option is given, the model cannot be exported, there is no such
            core or board, its cycles are not known, or this machine is to be profiled.
        BudgetError: the arena takes more than ``max_arena``.
        DataError: an input is missing or has the wrong shape or dtype.
        OutputError: the build folder cannot be written.
        ToolError: compiler or emulator are missing or failed.

    """
    options.require_only(OPTIONS, "an emulation")
    target = find_core(core)
    place = board_for(target, board)
    if profile and place is None:
        raise UnsupportedError(
            "instructions are counted by the emulator, not on this machine",
            hint="choose an emulated core with --core, or leave --profile out",
        )
    if gdb is not None and place is None:
        raise UnsupportedError(
            "a debugger is waited for by the emulator, not on this machine",
            hint="choose an emulated core with --core, or leave --gdb out",
        )
    if crew is not None and (place is None or gdb is not None):
        what = "code for this machine" if place is None else "a debugger"
        raise UnsupportedError(
            f"{what} is not spread over others",
            expected="an emulated core, and no debugger",
            hint="leave out --workers and --scheduler",
        )
    meter = meter_of(target, place, cycles)
    build = make_folder(build_dir)
    with error_context(file=str(model_path)):
        graph = read_tflite(model_path)
        project = export_graph(
            *(graph, build / "model"),
            core=target.name,
            optimize=optimize,
            options=options,
            model_sha256=sha256_of(Path(model_path)),
        )
    packed, samples = pack_inputs(project.inputs, inputs)
    image = build_image(project, build, board=place)
    listing = None if meter is None else meter.listing(image.path)
    counting = () if meter is None or listing is None else meter.options(listing, AROUND, build)
    output_bytes = sum(port.nbytes for port in project.outputs)

    def told(nbytes: int) -> None:
        if progress is not None:
            progress(nbytes // output_bytes, samples)

    more: dict[str, Any] = {"timeout_s": timeout_s, "options": counting, "progress": told}
    if crew is None:
        run = run_image(image, packed, build, gdb=gdb, **more)
    else:
        run = run_spread(image, packed, samples, build, crew, **more)
    peer = load_baseline()
    ops = None
    if (profile or meter is not None) and place is not None:
        first = packed[: len(packed) // samples]
        called = for_request(graph, Request.of(target.name, optimize, options))
        ops = profile_ops(
            *(project, called, first, build),
            board=place,
            baseline=peer,
            meter=meter,
            timeout_s=timeout_s,
        )
    of_inference = None
    if meter is not None and listing is not None and run.instructions is not None:
        of_inference = meter.of_inference(listing, build, run.instructions, PHASES)
    return report_of(
        *(project, image, run, samples, expected),
        baseline=peer.total(target.name, graph),
        macs=macs,
        ops=ops,
        cycles=of_inference,
    )


def meter_of(core: Core, board: Board | None, cycles: Timing | None) -> Meter | None:
    """What tells cycles on a board; None where nobody asks for them.

    Raises:
        UnsupportedError: they are not known of the core or board, or this machine is asked.

    """
    if cycles is None:
        return None
    if board is None:
        raise UnsupportedError(
            "cycles are told of emulated cores, not of this machine",
            expected=", ".join(cores_with_cycles()),
            hint="choose one with --core, or leave --cycles out",
        )
    return meter_for(core, board, cycles)


def report_of(
    project: ExportedProject,
    image: Image,
    run: Run,
    samples: int,
    expected: Arrays | None,
    *,
    baseline: int | None = None,
    macs: int | None = None,
    ops: tuple[OpCost, ...] | None = None,
    cycles: CycleReport | None = None,
) -> EmulationReport:
    """What a run says of a model, and whether the host answers the same.

    Args:
        project: the model.
        image: what ran it.
        run: its outputs and its counts.
        samples: how many there were.
        expected: what the host answers, as for ``run_emulated``.
        baseline: instructions of another engine, if they are known.
        macs: multiply-accumulates per inference; the project's if not given.
        ops: what every op costs, where it was counted.
        cycles: of an inference, where they were asked for.

    Raises:
        ToolError: there are not as many outputs as there should be.

    """
    outputs = unpack_outputs(project.outputs, run.outputs, samples)
    macs = project.macs if macs is None else macs
    return EmulationReport(
        core=project.core.name,
        board=image.board.name if image.board else None,
        samples=samples,
        instructions=run.instructions,
        instructions_per_mac=run.instructions / macs if macs and run.instructions else None,
        flash=image.sizes,
        ram=Ram(
            *(run.arena_bytes, run.stack_bytes, image.stack_bound, image.sizes.static),
            project.state_bytes,
        ),
        bit_exact=None if expected is None else _equal(project, outputs, expected),
        outputs=outputs,
        baseline=baseline,
        ops=ops,
        float_error=None if expected is None else _float_error(project, outputs, expected),
        filter_bytes=project.filter_bytes,
        row_by_row=project.row_by_row,
        slices=None if project.slices is None else SlicesRun(project.slices, run.slices),
        cycles=cycles,
    )


def pack_inputs(ports: Sequence[Port], inputs: Arrays) -> tuple[bytes, int]:
    """All samples one after the other, each with all inputs in order; and their number.

    Raises:
        DataError: an input is missing, has the wrong shape or dtype, or another number of samples.

    """
    columns: list[NDArray[np.uint8]] = []
    for port in ports:
        if port.name not in inputs:
            raise DataError(
                f"there is no data for input '{port.name}'", expected=f"'{port.name}' in the data"
            )
        array = np.ascontiguousarray(inputs[port.name])
        shape = sample_shape(port)
        if array.dtype != port.dtype.numpy or array.shape[1:] != shape or not len(array):
            raise DataError(
                f"input '{port.name}' is {array.dtype}{list(array.shape)}",
                expected=f"{port.dtype.value}[samples, {', '.join(map(str, shape))}]",
            )
        columns.append(array.reshape(len(array), -1).view(np.uint8))
    counts = {len(column) for column in columns}
    if len(counts) > 1:
        raise DataError(f"inputs have {sorted(counts)} samples", expected="the same number each")
    return np.hstack(columns).tobytes(), counts.pop()


def unpack_outputs(ports: Sequence[Port], data: bytes, samples: int) -> dict[str, NDArray[Any]]:
    """Output name -> (samples, ...), from the bytes that the harness wrote.

    Raises:
        ToolError: there are not as many as there should be.

    """
    expected = samples * sum(port.nbytes for port in ports)
    if len(data) != expected:
        raise ToolError(
            f"the image wrote {len(data):,} bytes of output", expected=f"{expected:,} bytes"
        )
    rows = np.frombuffer(data, np.uint8).reshape(samples, -1)
    ends = np.cumsum([port.nbytes for port in ports])
    columns = np.split(rows, ends[:-1], axis=1)
    return {
        port.name: np.frombuffer(column.tobytes(), port.dtype.numpy).reshape(
            samples, *sample_shape(port)
        )
        for port, column in zip(ports, columns, strict=True)
    }


def sample_shape(port: Port) -> Shape:
    """The shape of one sample: a leading batch dimension of 1 is left out."""
    return port.shape[1:] if port.shape[:1] == (1,) else port.shape


def _float_error(project: ExportedProject, outputs: Arrays, expected: Arrays) -> float | None:
    """Greatest difference relative to a float output's largest element.

    None where no output is float; infinite where an integer, a NaN or an infinity differs.
    """
    errors = []
    for port in project.outputs:
        actual, target = outputs[port.name], expected[port.name]
        if port.dtype is not DType.FLOAT32:
            if not np.array_equal(actual, target):
                return math.inf
            continue
        same = (actual == target) | (np.isnan(actual) & np.isnan(target))
        largest = max((float(np.abs(v)) for v in target[np.isfinite(target)]), default=1.0)
        with np.errstate(invalid="ignore"):  # the difference of two infinities, which are the same
            apart = np.abs(np.where(same, 0, actual.astype(np.float64) - target))
        errors.append(float(np.where(np.isnan(apart), math.inf, apart).max()) / (largest or 1.0))
    return max(errors, default=None)


def _equal(project: ExportedProject, outputs: Arrays, expected: Arrays) -> bool:
    return all(
        expected[port.name].dtype == outputs[port.name].dtype
        and np.array_equal(outputs[port.name], expected[port.name])
        for port in project.outputs
    )
