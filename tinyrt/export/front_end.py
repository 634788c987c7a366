"""The C project of a front end alone: its constants, two functions, and the kernels they call."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tinyrt.dsp.log_mel import LogMel
from tinyrt.dsp.tables import LogMelTables, tables_of
from tinyrt.entry import entry
from tinyrt.export import text as c_text
from tinyrt.export.rendering import as_source
from tinyrt.export.standalone import Alone, ExportedAlone
from tinyrt.ops.shared.fft import Tables as FftTables

ALIGNMENT = 8
"""Sums of bands have 64 bits."""

KERNELS = (
    "tinyrt_log_mel",
    "tinyrt_signal_rfft_s16",
    "tinyrt_signal_filter_bank_square_root",
    "tinyrt_signal_filter_bank_spectral_subtraction",
    "tinyrt_signal_pcan",
    "tinyrt_signal_filter_bank_log",
)


@dataclass(frozen=True, slots=True)
class ExportedFrontEnd(ExportedAlone):
    """The exported project of a front end.

    Attributes:
        front: what it computes.
        state_bytes: memory that it keeps between calls.
        work_bytes: memory that it works in.
        table_bytes: flash for its constants.

    """

    front: LogMel
    state_bytes: int
    work_bytes: int
    table_bytes: int


@entry
def export_front_end(
    front: LogMel,
    out_dir: str | Path,
    *,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    name: str = "front_end",
    prefix: str | None = None,
    layout: str = "cmake",
) -> ExportedFrontEnd:
    """Write the C project of a front end: its features are those of ``LogMelStream``.

    Args:
        front: what it computes.
        out_dir: the folder to write; as for ``export_c``.
        core: a name in ``tinyrt.export.target.CORES``.
        optimize: ``speed``, ``balanced`` or ``size``, of the code.
        name: its name in C, by which files and functions begin.
        prefix: what stands before that name.
        layout: as for ``export_c``.

    Raises:
        DataError: its constants overflow, see ``tables_of``.
        UnsupportedError: there is no such core, optimisation or layout, or the name will not do.
        OutputError: the folder cannot be written.

    """
    tables = tables_of(front)
    arrays = arrays_of(tables)
    memory = (state_bytes_of(front), work_bytes_of(front))
    title = f"{front.features} {kind_of(front)} of {front.window} samples"
    context = _context(front, tables, arrays, memory)
    alone = Alone("front_end", title, context, kernels_of(front))
    choices = {"core": core, "optimize": optimize, "name": name, "layout": layout}
    written = alone.written(out_dir, prefix=prefix, **choices)
    nbytes = sum(array.nbytes for array in arrays.values())
    return ExportedFrontEnd(*written, front, *memory, nbytes)


def state_bytes_of(front: LogMel) -> int:
    """Bytes of a front end's state: a count, noise of each band, samples."""
    return aligned(4 + 4 * front.bands + 2 * front.window)


def half_bytes_of(front: LogMel) -> int:
    """Half of a front end's memory for work.

    It holds the largest of any step's results: a spectrum, or three rows of bands.
    """
    return aligned(max(4 * (front.fft_size // 2 + 1), 12 * front.bands))


def work_bytes_of(front: LogMel) -> int:
    """Memory for work: both halves, and the logarithms where others are the features."""
    logarithms = 2 * front.bands if front.coefficients is not None else 0
    return 2 * half_bytes_of(front) + aligned(logarithms)


def aligned(nbytes: int) -> int:
    """Bytes up to the next address that every part of the memory may have."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def kernels_of(front: LogMel) -> tuple[str, ...]:
    """The C functions that a front end calls."""
    return KERNELS if front.coefficients is None else (*KERNELS, "tinyrt_cepstra")


def feature_type(front: LogMel) -> str:
    """The C type of a feature."""
    return "int16_t" if front.is_signed else "uint16_t"


def arrays_of(tables: LogMelTables) -> dict[str, np.ndarray]:
    """A front end's constants, name -> int16."""
    bank = tables.bank
    arrays = {
        "window": tables.window,
        "roots": tables.fft.twiddles,
        "split": tables.fft.split,
        "frequency_start": np.array(bank.frequency_starts, np.int16),
        "weight_start": np.array(bank.weight_starts, np.int16),
        "width": np.array(bank.widths, np.int16),
        "up": tables.weights,
        "down": tables.unweights,
    }
    more = {} if tables.gains is None else {"gains": tables.gains}
    more |= {} if tables.cepstra is None else {"cosines": tables.cepstra.weights}
    return arrays | more


def _context(
    front: LogMel,
    tables: LogMelTables,
    arrays: dict[str, np.ndarray],
    memory: tuple[int, int],
) -> dict[str, object]:
    """What the templates are filled in with."""
    definitions = definitions_of(front, tables, arrays, "params")
    return {
        "front": front,
        "feature_type": feature_type(front),
        "logarithms": 2 * half_bytes_of(front),
        "state_bytes": memory[0],
        "work_bytes": memory[1],
        "alignment": ALIGNMENT,
        "definitions": as_source(definitions),
    }


def kind_of(front: LogMel) -> str:
    """What the features of a front end are, in words."""
    return "log-mel features" if front.coefficients is None else "cepstral coefficients"


def definitions_of(
    front: LogMel, tables: LogMelTables, arrays: dict[str, np.ndarray], name: str
) -> list[str]:
    """A front end's constants and parameters in C; those of the first steps have the name."""
    made = [c_text.array("static const", "int16_t", n, a) for n, a in arrays.items()]
    made.append(c_text.struct("tinyrt_log_mel_params", name, fields_of(front, tables)))
    if tables.cepstra is not None:
        fields = {
            "bands": front.bands,
            "coefficients": front.features,
            "bits": tables.cepstra.bits,
            "weights": "cosines",
        }
        made.append(c_text.struct("tinyrt_cepstra_params", "cepstra", fields))
    return made


def fields_of(front: LogMel, tables: LogMelTables) -> dict[str, object]:
    """The fields of ``tinyrt_log_mel_params``."""
    fft, noise = tables.fft, tables.subtraction
    fields: dict[str, object] = {
        "window": front.window,
        "step": front.step,
        "weights": "window",
        "fft": fft_fields(front.window, fft),
        "roots": "roots",
        "split": "split",
        "start": tables.energy.start_index,
        "end": tables.energy.end_index,
        "bank": {
            "channels": front.bands,
            **{n: n for n in ("frequency_start", "weight_start", "width")},
        },
        "up": "up",
        "down": "down",
        "gains": "NULL" if tables.gains is None else "gains",
        "snr_shift": tables.snr_shift,
        "log_bits": front.correction_bits,
        "log_scale": 0 if front.log_shift is None else 1 << front.log_shift,
        "second": half_bytes_of(front),
    }
    if noise is not None:
        fields["noise"] = {
            "size": front.bands,
            "smoothing": (noise.smoothing, noise.alternate_smoothing),
            "one_minus_smoothing": (noise.one_minus_smoothing, noise.alternate_one_minus_smoothing),
            "least": noise.min_signal_remaining,
            "smoothing_bits": noise.smoothing_bits,
            "bits": noise.spectral_subtraction_bits,
            "clamping": noise.clamping,
        }
    return fields


def fft_fields(window: int, fft: FftTables) -> dict[str, object]:
    """Of ``tinyrt_signal_fft_params``, for a window of samples."""
    return {
        "rows": 1,
        "x_size": window,
        "count": len(fft.twiddles),
        "stages": len(fft.factors),
        "radix": fft.factors,
        "step": tuple(math.prod(fft.factors[:i]) for i in range(len(fft.factors))),
    }
