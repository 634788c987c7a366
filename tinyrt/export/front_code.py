"""What C code has of a front end at a model: memory, constants, kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinyrt.dsp import LogMel, Motion
from tinyrt.dsp.tables import tables_of, window_of
from tinyrt.export import front_end as sound
from tinyrt.export import text as c_text
from tinyrt.ir import DType
from tinyrt.ops.shared.fft import Tables as FftTables
from tinyrt.ops.shared.fft import tables as fft_tables

NAME = "front"
"""Of its parameters in C."""


@dataclass(frozen=True, slots=True)
class FrontCode:
    """A front end in C.

    Attributes:
        kernel: the function that takes samples, and its header.
        state_bytes: memory that it keeps between calls.
        work_bytes: memory that it works in.
        feature_type: of a feature.
        definitions: its constants and parameters.
        table_bytes: flash for its constants.
        kernels: names of all functions that it calls.

    """

    kernel: str
    state_bytes: int
    work_bytes: int
    feature_type: str
    definitions: list[str]
    table_bytes: int
    kernels: tuple[str, ...]


def front_code(front: LogMel | Motion) -> FrontCode:
    """The code of a front end.

    Raises:
        DataError: its constants overflow, see ``tables_of``.

    """
    return _of_sound(front) if isinstance(front, LogMel) else _of_motion(front)


def _of_sound(front: LogMel) -> FrontCode:
    tables = tables_of(front)
    arrays = sound.arrays_of(tables)
    return FrontCode(
        "tinyrt_log_mel",
        sound.state_bytes_of(front),
        sound.work_bytes_of(front),
        sound.feature_type(front),
        sound.definitions_of(front, tables, arrays, NAME),
        _nbytes(arrays),
        sound.kernels_of(front),
    )


MOTION_KERNELS = (
    "tinyrt_motion",
    "tinyrt_signal_rfft_s16",
    "tinyrt_signal_filter_bank_square_root",
    "tinyrt_signal_filter_bank_log",
)


def _of_motion(front: Motion) -> FrontCode:
    fft = fft_tables(DType.INT16, front.fft_size, inverse=False)
    arrays = {
        "window": window_of(front.window),
        "roots": fft.twiddles,
        "split": fft.split,
        "edges": np.array(front.bins, np.int16),
    }
    definitions = [c_text.array("static const", "int16_t", n, a) for n, a in arrays.items()]
    half = _half_bytes_of(front)
    fields = _motion_fields(front, fft, half)
    definitions.append(c_text.struct("tinyrt_motion_params", NAME, fields))
    state = sound.aligned(4 + 2 * front.axes * front.window)
    return FrontCode(
        *("tinyrt_motion", state, 2 * half, "int16_t", definitions, _nbytes(arrays)),
        MOTION_KERNELS,
    )


def _half_bytes_of(front: Motion) -> int:
    """Half of the memory for work: a spectrum, or sums of bands and peaks."""
    wide = 8 * (front.bands + front.peaks)
    return sound.aligned(max(4 * (front.fft_size // 2 + 1), wide))


def _motion_fields(front: Motion, fft: FftTables, half: int) -> dict[str, object]:
    """The fields of ``tinyrt_motion_params``."""
    return {
        "axes": front.axes,
        "window": front.window,
        "step": front.step,
        "weights": "window",
        "fft": sound.fft_fields(front.window, fft),
        "roots": "roots",
        "split": "split",
        "bands": front.bands,
        "edges": "edges",
        "peaks": front.peaks,
        "log_scale": 1 << front.log_shift,
        "second": half,
    }


def _nbytes(arrays: dict[str, np.ndarray]) -> int:
    return sum(array.nbytes for array in arrays.values())
