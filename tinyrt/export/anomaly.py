"""The C project of an autoencoder's alarm alone: its integers, two functions, and their kernel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tinyrt.attached import alarm_at
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.dsp.anomaly import Anomaly, AnomalyNumbers
from tinyrt.entry import entry
from tinyrt.errors import error_context
from tinyrt.export import text as c_text
from tinyrt.export.rendering import Source, as_source
from tinyrt.export.standalone import Alone, ExportedAlone

STATE_BYTES = ALIGNMENT = 4
"""The state is a count."""


@dataclass(frozen=True, slots=True)
class ExportedAnomaly(ExportedAlone):
    """The exported project of an alarm.

    Attributes:
        anomaly: when there is one.
        numbers: the same in integers, at its autoencoder.

    """

    anomaly: Anomaly
    numbers: AnomalyNumbers


@entry
def export_anomaly(
    anomaly: Anomaly,
    model: str | Path,
    out_dir: str | Path,
    *,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    name: str = "anomaly",
    prefix: str | None = None,
    layout: str = "cmake",
) -> ExportedAnomaly:
    """Write the C project of an autoencoder's alarm: it is that of ``AnomalyStream``.

    The folder has no network: what is pushed is the input and the first output of the model's own
    export, as these store them.

    Args:
        anomaly: when there is an alarm.
        model: the autoencoder, an int8 .tflite file, whose scales the alarm is made for.
        out_dir: the folder to write; as for ``export_c``.
        core: a name in ``tinyrt.export.target.CORES``.
        optimize: ``speed``, ``balanced`` or ``size``, of the code.
        name: its name in C, by which files and functions begin.
        prefix: what stands before that name.
        layout: as for ``export_c``.

    Raises:
        UnsupportedError: the model's first output is no reconstruction of its only input; there is
            no such core, optimisation or layout, or the name will not do.
        OutputError: the folder cannot be written.

    """
    with error_context(file=str(model)):
        numbers = alarm_at(anomaly, read_tflite(model))
    context: dict[str, object] = {
        "size": numbers.size,
        "state_bytes": STATE_BYTES,
        "alignment": ALIGNMENT,
        "error_scale": Source(f"{numbers.scale!r}"),
        "error_limit": Source(f"UINT64_C({numbers.limit})"),
        "definitions": as_source(definitions_of(numbers, "params")),
    }
    title = f"alarms by {numbers.size} numbers and their reconstruction"
    alone = Alone("anomaly", title, context, ["tinyrt_anomaly_s8"])
    choices = {"core": core, "optimize": optimize, "name": name, "layout": layout}
    return ExportedAnomaly(*alone.written(out_dir, prefix=prefix, **choices), anomaly, numbers)


def definitions_of(numbers: AnomalyNumbers, name: str) -> list[str]:
    """An alarm's integers in C, as a struct of that name."""
    names = ("size", "x_zp", "y_zp", "x_mult", "y_mult", "consecutive", "limit")
    fields = {field: getattr(numbers, field) for field in names}
    return [c_text.struct("tinyrt_anomaly_params", name, fields)]
