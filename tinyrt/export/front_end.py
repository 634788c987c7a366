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
from tinyrt.export.names import Naming
from tinyrt.export.rendering import as_source
from tinyrt.export.standalone import rendered, write_standalone
from tinyrt.export.target import Core, find_core

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
class ExportedFrontEnd:
    """The exported project of a front end.

    Attributes:
        name: its name as a C identifier: the prefix of all its public names.
        directory: the folder.
        core: the target core.
        front: what it computes.
        state_bytes: memory that it keeps between calls.
        work_bytes: memory that it works in.
        table_bytes: flash for its constants.
        identity: eight hexadecimal digits that all its symbols hold, and no other export's.
        files: the names of all files in the folder that tinyrt wrote, sorted.

    """

    name: str
    directory: Path
    core: Core
    front: LogMel
    state_bytes: int
    work_bytes: int
    table_bytes: int
    identity: str
    files: tuple[str, ...]


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
    target = find_core(core)
    own, tables = Naming(name, prefix).model(name), tables_of(front)
    arrays = arrays_of(tables)
    memory = (state_bytes_of(front), 2 * half_bytes_of(front))
    texts = rendered(own, "front_end", _context(own, front, tables, arrays, memory))
    choices = {"core": core, "optimize": optimize, "layout": layout, "kind": "front_end"}
    identity, names = write_standalone(own, texts, KERNELS, out_dir, **choices)
    nbytes = sum(array.nbytes for array in arrays.values())
    return ExportedFrontEnd(own, Path(out_dir), target, front, *memory, nbytes, identity, names)


def state_bytes_of(front: LogMel) -> int:
    """Bytes of a front end's state: a count, noise of each band, samples."""
    nbytes = 4 + 4 * front.bands + 2 * front.window
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def half_bytes_of(front: LogMel) -> int:
    """Half of a front end's memory for work.

    It holds the largest of any step's results: a spectrum, or three rows of bands.
    """
    nbytes = max(4 * (front.fft_size // 2 + 1), 12 * front.bands)
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


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
    return arrays | ({} if tables.gains is None else {"gains": tables.gains})


def _context(
    name: str,
    front: LogMel,
    tables: LogMelTables,
    arrays: dict[str, np.ndarray],
    memory: tuple[int, int],
) -> dict[str, object]:
    """What the templates are filled in with."""
    definitions = [c_text.array("static const", "int16_t", n, a) for n, a in arrays.items()]
    fields = fields_of(front, tables)
    return {
        "title": f"{name}: {front.bands} log-mel features of {front.window} samples",
        "front": front,
        "state_bytes": memory[0],
        "work_bytes": memory[1],
        "alignment": ALIGNMENT,
        "definitions": as_source(
            [*definitions, c_text.struct("tinyrt_log_mel_params", "params", fields)]
        ),
    }


def fields_of(front: LogMel, tables: LogMelTables) -> dict[str, object]:
    """The fields of ``tinyrt_log_mel_params``."""
    fft, noise = tables.fft, tables.subtraction
    steps = tuple(math.prod(fft.factors[:i]) for i in range(len(fft.factors)))
    fields: dict[str, object] = {
        "window": front.window,
        "step": front.step,
        "weights": "window",
        "fft": {
            "rows": 1,
            "x_size": front.window,
            "count": len(fft.twiddles),
            "stages": len(fft.factors),
            "radix": fft.factors,
            "step": steps,
        },
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
