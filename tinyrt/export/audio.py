"""The functions of a model that takes samples: its front end, its network and its detector.

They lie in files of their own beside the model's, which stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tinyrt.attached import RAISED_BITS, Fitted
from tinyrt.dsp import LogMel, Motion, Pipeline
from tinyrt.errors import UnsupportedError
from tinyrt.export import anomaly as alarms
from tinyrt.export import detector as decisions
from tinyrt.export import text as c_text
from tinyrt.export.front_code import FrontCode, front_code
from tinyrt.export.front_end import ALIGNMENT, aligned, half_bytes_of
from tinyrt.export.rendering import TEMPLATES, CFile, Source, as_source, render_c
from tinyrt.export.request import Request
from tinyrt.export.states import StateLayout
from tinyrt.ir import DType
from tinyrt.memory import ArenaPlan
from tinyrt.ops.quantize import Rescale
from tinyrt.ops.shared.spec import limits_of

RESCALE = {DType.INT8: "tinyrt_rescale_s32_s8", DType.INT16: "tinyrt_rescale_s32_s16"}
"""Type of the input -> the kernel that stores features."""


@dataclass(frozen=True, slots=True)
class AudioCode:
    """What a project has for samples.

    Attributes:
        pipeline: what it computes.
        rows: rows of features that the input holds.
        stride: rows from one answer to the next.
        state_bytes: memory that it keeps between calls, the model's states included.
        work_in_arena: whether the front end works in the arena; else it has memory of its own in
            the state.
        table_bytes: flash for the front end's constants.
        kernels: names of the C functions it calls beside the model's.

    """

    pipeline: Pipeline
    rows: int
    stride: int
    state_bytes: int
    work_in_arena: bool
    table_bytes: int
    kernels: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The code as plain data, for ``--json``."""
        return {
            "rows": self.rows,
            "stride": self.stride,
            "state_bytes": self.state_bytes,
            "work_in_arena": self.work_in_arena,
            "table_bytes": self.table_bytes,
            "front_end": self.pipeline.as_dict(),
        }


STANDARD_KERNELS = ("tinyrt_standard", "tinyrt_signal_filter_bank_square_root")

SIGN = 0x8000
"""Added to int16, modulo 2**16, it makes numbers from 0 on."""


@dataclass(frozen=True, slots=True)
class _Places:
    """Offsets of the parts of the state; ``work`` is None where it lies in the arena.

    ``raw`` holds features that are normalized as a window; None without.
    """

    ears: int
    raw: int | None
    rows: int
    model: int
    detector: int
    work: int | None
    nbytes: int


def with_audio(request: Request) -> Request:
    """The request for a model that takes samples: its input lies in the state, as a window.

    Raises:
        UnsupportedError: something is asked for that excludes it.

    """
    off = "take the front end off: tinyrt front-end MODEL --remove"
    options = request.options
    if options.input_rows:
        raise UnsupportedError(
            "the input is a window of features, which is there as a whole",
            expected="--input-rows for a model without a front end",
            hint=f"leave --input-rows out, or {off}",
        )
    if options.input_type is not None:
        raise UnsupportedError(
            "the input is a window of features, which the front end writes",
            expected="--input-type for a model without a front end",
            hint=f"leave --input-type out, or {off}",
        )
    if options.blob:
        raise UnsupportedError(
            "a blob brings another scale of the input, and features are written for this one",
            expected="--blob for a model without a front end",
            hint=f"leave --blob out, or {off}",
        )
    memories = replace(options.memories, inputs_in_arena=False)
    return replace(request, options=replace(options, memories=memories))


def write_audio(
    prefix: str, fit: Fitted, plan: ArenaPlan, states: StateLayout, context: Mapping[str, Any]
) -> tuple[AudioCode, dict[str, CFile]]:
    """The header and the source of ``<prefix>_push_audio``, or of ``<prefix>_push_samples``.

    Args:
        prefix: the model's name in C.
        fit: the front end at the model.
        plan: where the model's tensors lie.
        states: the model's states.
        context: what the templates of the model's own files are filled in with.

    Raises:
        DataError: the constants of the front end overflow, see ``tables_of``.

    """
    pipeline, detector = fit.pipeline, fit.pipeline.detector
    front, made = pipeline.front, front_code(pipeline.front)
    places = _places(fit, made, plan, states)
    kernels = list(made.kernels)
    kernels += [RESCALE[fit.input.dtype]] if fit.rescales else []
    kernels += ["tinyrt_detector_s8"] if detector is not None else []
    kernels += STANDARD_KERNELS if pipeline.normalize is not None else ()
    definitions = made.definitions + _to_input(fit)
    if pipeline.normalize is not None:
        fields = _standard_fields(fit)
        definitions.append(c_text.struct("tinyrt_standard_params", "standard", fields))
    if detector is not None:
        definitions += decisions.definitions_of(detector, "decider")
    if fit.anomaly is not None:
        definitions += alarms.definitions_of(fit.anomaly, "decider")
        kernels.append("tinyrt_anomaly_s8")
    own = {
        "fit": fit,
        "front": front,
        "detector": detector,
        "anomaly": fit.anomaly,
        "error_scale": Source(f"{fit.anomaly.scale!r}" if fit.anomaly else "0"),
        "error_limit": Source(f"UINT64_C({fit.anomaly.limit})" if fit.anomaly else "0"),
        "places": places,
        "made": made,
        "cepstra_from": _logarithms(front),
        "raised_bits": RAISED_BITS,
        "c_scale": _one_or_each(_real(fit.pipeline.scale), "scales"),
        "c_offset": _one_or_each(fit.pipeline.offset, "offsets"),
        "sample_rate": Source(f"{front.sample_rate:.9g}"),
        "takes": pipeline.takes,
        "TAKES": pipeline.takes.upper(),
        "axes": pipeline.axes,
        "samples_alignment": ALIGNMENT,
        "samples_functions": tuple(f"{verb}_{pipeline.takes}" for verb in ("reset", "push")),
        "samples_definitions": as_source(definitions),
    }
    files = {
        f"{prefix}_{pipeline.takes}{end}": render_c(
            TEMPLATES, f"samples{end}.j2", {**context, **own}
        )
        for end in (".h", ".c")
    }
    nbytes = made.table_bytes
    in_arena = places.work is None
    code = AudioCode(
        *(fit.pipeline, fit.rows, fit.stride, places.nbytes, in_arena, nbytes, tuple(kernels))
    )
    return code, files


def _logarithms(front: LogMel | Motion) -> int | None:
    """Where in the memory for work logarithms lie of which cepstra are made; None without."""
    if isinstance(front, LogMel) and front.coefficients is not None:
        return 2 * half_bytes_of(front)
    return None


def _places(fit: Fitted, made: FrontCode, plan: ArenaPlan, states: StateLayout) -> _Places:
    """The parts of the state, one behind the other; its first word counts the rows there are."""
    ears = ALIGNMENT
    is_raw = fit.pipeline.normalize is not None
    raw = ears + made.state_bytes
    rows = raw + (aligned(2 * fit.rows * fit.row) if is_raw else 0)
    model = rows + aligned(fit.input.nbytes)
    decider = model + aligned(states.nbytes)
    end = decider + aligned(_decider_bytes(fit))
    # A frame needs the front end's, a row as words, and its features, or groups of a window.
    work = aligned(made.work_bytes + (12 if is_raw else 6) * fit.row)
    is_in_arena = len(plan.regions) == 1 and plan.arena_bytes >= work
    kept = (ears, raw if is_raw else None, rows, model, decider)
    return _Places(*kept, None, end) if is_in_arena else _Places(*kept, end, end + work)


def _decider_bytes(fit: Fitted) -> int:
    """What decides keeps so many bytes: a detector's state, or a count."""
    detector = fit.pipeline.detector
    if detector is not None:
        return decisions.state_bytes_of(detector)
    return 0 if fit.anomaly is None else 4


def _standard_fields(fit: Fitted) -> dict[str, object]:
    """Of ``tinyrt_standard_params``."""
    groups = 1 if fit.pipeline.normalize == "window" else fit.row
    flip = SIGN if fit.pipeline.front.is_signed else 0
    return {"rows": fit.rows, "size": fit.row, "groups": groups, "flip": flip}


def _one_or_each(value: object, name: str) -> Source:
    """A constant in C, or an element of one for each feature ``i``."""
    return Source(f"{name}[i]" if isinstance(value, tuple) else c_text.literal(value))


def _real(scale: float | tuple[float, ...]) -> float | tuple[float, ...]:
    """A scale as a float, where the file has a whole number."""
    return scale if isinstance(scale, tuple) else float(scale)


def _to_input(fit: Fitted) -> list[str]:
    """How features become the input's: offsets and scales of each, where they have their own."""
    pipeline, made = fit.pipeline, []
    if isinstance(pipeline.offset, tuple):
        offsets = np.array(pipeline.offset, np.int32)
        made.append(c_text.array("static const", "int32_t", "offsets", offsets))
    if not fit.rescales and isinstance(pipeline.scale, tuple):
        scales = np.array(pipeline.scale, np.float32)
        made.append(c_text.array("static const", "float", "scales", scales))
    size = fit.row if len(fit.rescales) == 1 else 1
    rescales = [_rescale(rescale, size) for rescale in fit.rescales]
    if len(rescales) == 1:
        made.append(c_text.struct("tinyrt_rescale_params", "to_input", rescales[0]))
    elif rescales:
        rows = ",\n".join(f"{c_text.INDENT}{c_text.literal(fields)}" for fields in rescales)
        kind = f"static const tinyrt_rescale_params to_input[{len(rescales)}]"
        made.append(f"{kind} = {{\n{rows},\n}};")
    return made


def _rescale(rescale: Rescale, size: int) -> dict[str, object]:
    """Of ``tinyrt_rescale_params``."""
    low, high = limits_of(rescale.dtype)
    return {
        "size": size,
        "x_zp": 0,
        "mult": rescale.mult,
        "shift": rescale.shift,
        "neg_mult": rescale.mult,
        "neg_shift": rescale.shift,
        "y_zp": rescale.y_zp,
        "act_min": low,
        "act_max": high,
    }
