"""The C project of a layer that goes on learning: its first weights, and five functions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tinyrt.dsp.learner import MAX_BIAS, MAX_WEIGHT, Learner
from tinyrt.dsp.nearest_mean import LOWEST, NearestMean
from tinyrt.dsp.saved import HEADER
from tinyrt.entry import entry
from tinyrt.export import text as c_text
from tinyrt.export.rendering import Source, as_source
from tinyrt.export.standalone import Alone, ExportedAlone

ALIGNMENT = 4
"""The state is words."""


@dataclass(frozen=True, slots=True)
class ExportedLearner(ExportedAlone):
    """The exported project of a layer that learns.

    Attributes:
        learner: where it begins, and how it learns.
        state_bytes: memory for its weights or sums, and for errors while it learns.
        saved_bytes: what one save takes.

    """

    learner: Learner | NearestMean
    state_bytes: int
    saved_bytes: int


@entry
def export_learner(
    learner: Learner | NearestMean,
    out_dir: str | Path,
    *,
    core: str = "cortex-m4",
    optimize: str = "balanced",
    name: str = "learner",
    prefix: str | None = None,
    layout: str = "cmake",
) -> ExportedLearner:
    """Write the C project of a layer that learns: it does what its state does on the host.

    Args:
        learner: where it begins, and how it learns: see ``LearnerState``, ``NearestMeanState``.
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
    saved = learner.classes * (learner.features + 1)
    errors = learner.classes if isinstance(learner, Learner) else 0
    sizes = {"state_bytes": 4 * (saved + errors), "saved_bytes": 4 * (HEADER + saved)}
    kernels, calls, fields = (
        (["tinyrt_learner_s8"], SOFTMAX, _fields(learner))
        if isinstance(learner, Learner)
        else (["tinyrt_learner_s8", "tinyrt_nearest_mean_s8"], _means(learner), MEANS)
    )
    title = f"{learner.classes} classes, learnt by {learner.features} features"
    alone = Alone("learner", title, _context(learner, fields) | calls | sizes, kernels)
    choices = {"core": core, "optimize": optimize, "name": name, "layout": layout}
    written = alone.written(out_dir, prefix=prefix, **choices)
    return ExportedLearner(*written, learner, sizes["state_bytes"], sizes["saved_bytes"])


def _context(learner: Learner | NearestMean, fields: dict[str, object]) -> dict[str, object]:
    """What the templates are filled in with."""
    weights, biases = learner.start
    params = {
        "classes": learner.classes,
        "features": learner.features,
        **fields,
        "weights": "first_weights",
        "biases": "first_biases",
        "identity": f"0x{learner.identity:08X}U",
    }
    definitions = [
        c_text.array("static const", "int32_t", "first_weights", weights.ravel()),
        c_text.array("static const", "int32_t", "first_biases", biases),
        c_text.struct("tinyrt_learner_params", "params", params),
    ]
    return {
        "learner": learner,
        "alignment": ALIGNMENT,
        "definitions": as_source(definitions),
    }


SOFTMAX: dict[str, object] = {
    "header": "tinyrt_learner.h",
    "score": "tinyrt_learner_s8",
    "learn": Source("tinyrt_learner_learn(&params, "),
    "kept": "weights",
    "scores": Source("The share of each class, from 0 to 32768"),
    "step": Source("all weights move a little"),
}
"""What the templates say of softmax regression."""


def _fields(learner: Learner) -> dict[str, object]:
    """How softmax regression learns."""
    weight_step, weight_drift, bias_step, bias_drift = learner.limits
    return {
        "zero_point": learner.zero_point,
        "bits": learner.bits,
        "weight_rate": _rate(*learner.rate_step, weight_step, weight_drift, MAX_WEIGHT),
        "bias_rate": _rate(*learner.bias_step, bias_step, bias_drift, MAX_BIAS),
    }


def _means(learner: NearestMean) -> dict[str, object]:
    """What the templates say of class means."""
    return {
        "header": "tinyrt_nearest_mean.h",
        "score": "tinyrt_nearest_mean_s8",
        "learn": Source(f"tinyrt_nearest_mean_learn(&params, {learner.memory}U, "),
        "kept": "sums and counts",
        "scores": Source(
            "How near each mean is, the squared distance in eighths with a minus, and\n"
            " *  INT32_MIN for a class without samples"
        ),
        "step": Source("its features are added to the sums of the class"),
    }


def _rate(
    multiplier: int = 0, shift: int = 0, step: int = 0, drift: int = 0, most: int = 0
) -> dict[str, int]:
    return {"multiplier": multiplier, "shift": shift, "step": step, "drift": drift, "most": most}


MEANS: dict[str, object] = {
    "zero_point": LOWEST,
    "bits": 0,
    "weight_rate": _rate(),
    "bias_rate": _rate(),
}
"""The same struct for class means, which have no rate."""
