"""The commands as functions: from files to files, with errors that say how to fix them."""

from tinyrt.api.costs import Basis, ModelCost, cost
from tinyrt.api.emulating import emulate_audio, run_emulated_several
from tinyrt.api.inspection import Inspection, OpCost, inspect_model
from tinyrt.api.listening import Heard, attach_front_end, listen_model
from tinyrt.api.models import (
    Run,
    Stream,
    convert_model,
    evaluate,
    profile_model,
    run_emulated,
    run_model,
    run_with_backend,
)
from tinyrt.api.quantize import bisect_model, debug_model, quantize_model, quantize_within
from tinyrt.api.reading import open_model
from tinyrt.api.training import Trained, train_int8_model
from tinyrt.ops.shared.samples import random_inputs

__all__ = [
    "Basis",
    "Heard",
    "Inspection",
    "ModelCost",
    "OpCost",
    "Run",
    "Stream",
    "Trained",
    "attach_front_end",
    "bisect_model",
    "convert_model",
    "cost",
    "debug_model",
    "emulate_audio",
    "evaluate",
    "inspect_model",
    "listen_model",
    "open_model",
    "profile_model",
    "quantize_model",
    "quantize_within",
    "random_inputs",
    "run_emulated",
    "run_emulated_several",
    "run_model",
    "run_with_backend",
    "train_int8_model",
]
