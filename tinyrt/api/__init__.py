"""The commands as functions: from files to files, with errors that say how to fix them.

The names below are imported when they are first used: a command pays for what it does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tinyrt.api.cascades import Cascade, CascadeAnswers, CascadeEvaluation
    from tinyrt.api.converting import Stream, convert_model
    from tinyrt.api.costs import Basis, ModelCost, cost
    from tinyrt.api.doctor import Health, examine
    from tinyrt.api.emulating import emulate_recording, run_emulated_several
    from tinyrt.api.exits import split_early_exit
    from tinyrt.api.gate.checking import Checked, check
    from tinyrt.api.inspection import Inspection, OpCost, inspect_model
    from tinyrt.api.judging import Judged, judge_model
    from tinyrt.api.learning import split_last_layer
    from tinyrt.api.listening import Heard, attach_front_end, listen_model
    from tinyrt.api.looking import Seen, look_model
    from tinyrt.api.models import (
        Run,
        evaluate,
        profile_model,
        run_emulated,
        run_model,
        run_with_backend,
    )
    from tinyrt.api.quantize import bisect_model, debug_model, quantize_model, quantize_within
    from tinyrt.api.reading import open_model
    from tinyrt.api.training import Trained, train_int8_model
    from tinyrt.api.validating import run_firmware, validate
    from tinyrt.ops.shared.samples import random_inputs

_HOMES = {
    "Cascade": "tinyrt.api.cascades",
    "CascadeAnswers": "tinyrt.api.cascades",
    "CascadeEvaluation": "tinyrt.api.cascades",
    "Heard": "tinyrt.api.listening",
    "Seen": "tinyrt.api.looking",
    "Judged": "tinyrt.api.judging",
    "judge_model": "tinyrt.api.judging",
    "attach_front_end": "tinyrt.api.listening",
    "emulate_recording": "tinyrt.api.emulating",
    "listen_model": "tinyrt.api.listening",
    "look_model": "tinyrt.api.looking",
    "Checked": "tinyrt.api.gate.checking",
    "check": "tinyrt.api.gate.checking",
    "Health": "tinyrt.api.doctor",
    "examine": "tinyrt.api.doctor",
    "Basis": "tinyrt.api.costs",
    "Inspection": "tinyrt.api.inspection",
    "ModelCost": "tinyrt.api.costs",
    "OpCost": "tinyrt.api.inspection",
    "Run": "tinyrt.api.models",
    "Stream": "tinyrt.api.converting",
    "Trained": "tinyrt.api.training",
    "bisect_model": "tinyrt.api.quantize",
    "convert_model": "tinyrt.api.converting",
    "cost": "tinyrt.api.costs",
    "debug_model": "tinyrt.api.quantize",
    "evaluate": "tinyrt.api.models",
    "inspect_model": "tinyrt.api.inspection",
    "open_model": "tinyrt.api.reading",
    "profile_model": "tinyrt.api.models",
    "quantize_model": "tinyrt.api.quantize",
    "quantize_within": "tinyrt.api.quantize",
    "random_inputs": "tinyrt.ops.shared.samples",
    "run_emulated": "tinyrt.api.models",
    "run_emulated_several": "tinyrt.api.emulating",
    "run_model": "tinyrt.api.models",
    "run_with_backend": "tinyrt.api.models",
    "run_firmware": "tinyrt.api.validating",
    "split_early_exit": "tinyrt.api.exits",
    "split_last_layer": "tinyrt.api.learning",
    "train_int8_model": "tinyrt.api.training",
    "validate": "tinyrt.api.validating",
}

__all__ = [
    "Basis",
    "Cascade",
    "CascadeAnswers",
    "CascadeEvaluation",
    "Checked",
    "Health",
    "Heard",
    "Inspection",
    "Judged",
    "ModelCost",
    "OpCost",
    "Run",
    "Seen",
    "Stream",
    "Trained",
    "attach_front_end",
    "bisect_model",
    "check",
    "convert_model",
    "cost",
    "debug_model",
    "emulate_recording",
    "evaluate",
    "examine",
    "inspect_model",
    "judge_model",
    "listen_model",
    "look_model",
    "open_model",
    "profile_model",
    "quantize_model",
    "quantize_within",
    "random_inputs",
    "run_emulated",
    "run_emulated_several",
    "run_firmware",
    "run_model",
    "run_with_backend",
    "split_early_exit",
    "split_last_layer",
    "train_int8_model",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tinyrt.api' has no attribute '{name}'")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
