"""The C project of a layer that goes on learning: its first weights, and five functions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tinyrt.dsp.learner import HEADER, MAX_BIAS, MAX_WEIGHT, Learner
from tinyrt.entry import entry
from tinyrt.export import text as c_text
from tinyrt.export.names import Naming
from tinyrt.export.rendering import as_source
from tinyrt.export.standalone import rendered, write_standalone
from tinyrt.export.target import Core, find_core

ALIGNMENT = 4
"""The state is words."""


@dataclass(frozen=True, slots=True)
class ExportedLearner:
    """The exported project of a layer that learns.

    Attributes:
        name: its name as a C identifier: the prefix of all its public names.
        directory: the folder.
        core: the target core.
        learner: where it begins, and how it learns.
        state_bytes: memory for its weights, and for errors while it learns.
        saved_bytes: what one save takes.
        identity: eight hexadecimal digits that all its symbols hold, and no other export's.
        files: the names of all files in the folder that tinyrt wrote, sorted.

    """

    name: str
    directory: Path
    core: Core
    learner: Learner
    state_bytes: int
    saved_bytes: int
    identity: str
    files: tuple[str, ...]


@entry
def export_learner(
    learner: Learner,
    out_dir: str | Path,
    *,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    name: str = "learner",
    prefix: str | None = None,
    layout: str = "cmake",
) -> ExportedLearner:
    """Write the C project of a layer that learns: its weights are those of ``LearnerState``.

    Args:
        learner: where it begins, and how it learns.
        out_dir: the folder to write; as for ``export_c``.
        core: a name in ``tinyrt.export.target.CORES``.
        optimize: ``speed``, ``balanced`` or ``size``, of the code.
        name: its name in C, by which files and functions begin.
        prefix: what stands before that name.
        layout: as for ``export_c``.

    Raises:
        UnsupportedError: there is no such core, optimisation or layout, or the name will not do.
        OutputError: the folder cannot be written.

    """
    own = Naming(name, prefix).model(name)
    saved = learner.classes * (learner.features + 1)
    sizes = {"state_bytes": 4 * (saved + learner.classes), "saved_bytes": 4 * (HEADER + saved)}
    context = _context(own, learner) | sizes
    texts = rendered(own, "learner", context)
    choices = {"core": core, "optimize": optimize, "layout": layout, "kind": "learner"}
    identity, files = write_standalone(own, texts, ["tinyrt_learner_s8"], out_dir, **choices)
    directory = Path(out_dir)
    return ExportedLearner(
        own, directory, find_core(core), learner, identity=identity, files=files, **sizes
    )


def _context(name: str, learner: Learner) -> dict[str, object]:
    """What the templates are filled in with."""
    weights, biases = learner.start
    weight_step, weight_drift, bias_step, bias_drift = learner.limits
    fields = {
        "classes": learner.classes,
        "features": learner.features,
        "zero_point": learner.zero_point,
        "bits": learner.bits,
        "weight_rate": _rate(*learner.rate_step, weight_step, weight_drift, MAX_WEIGHT),
        "bias_rate": _rate(*learner.bias_step, bias_step, bias_drift, MAX_BIAS),
        "weights": "first_weights",
        "biases": "first_biases",
        "identity": f"0x{learner.identity:08X}U",
    }
    definitions = [
        c_text.array("static const", "int32_t", "first_weights", weights.ravel()),
        c_text.array("static const", "int32_t", "first_biases", biases),
        c_text.struct("tinyrt_learner_params", "params", fields),
    ]
    return {
        "title": f"{name}: {learner.classes} classes, learnt by {learner.features} features",
        "learner": learner,
        "alignment": ALIGNMENT,
        "definitions": as_source(definitions),
    }


def _rate(multiplier: int, shift: int, step: int, drift: int, most: int) -> dict[str, int]:
    return {"multiplier": multiplier, "shift": shift, "step": step, "drift": drift, "most": most}
