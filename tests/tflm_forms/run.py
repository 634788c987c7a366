"""What TFLM and tinyrt answer to a file of one op."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray
from tflite_micro import runtime

import tinyrt
from tests.tflm_forms import elementwise, layers, moving
from tests.tflm_forms.form import OneOp, fed
from tinyrt.errors import TinyrtError

ARENA_BYTES = 1 << 18
NEAR = 1e-4
"""Part of the largest element by which floats may be off: of sums and of series."""
RUNS = 2
_NAMES = {v: k for k, v in vars(tflite.TensorType).items() if isinstance(v, int)}

Answers = list[NDArray[Any]]


@dataclass(frozen=True)
class Outcome:
    """What became of a form that TFLM runs.

    Attributes:
        word: exact, float, refused or differs.
        told: the first line of a refusal, or how far the answers are apart.

    """

    word: str
    told: str = ""


@cache
def all_forms() -> tuple[OneOp, ...]:
    """All forms of all ops."""
    return tuple(form for module in (elementwise, layers, moving) for form in module.forms())


def feeds_of(form: OneOp) -> Answers:
    """What the form's inputs are fed with."""
    graph = tflite.Model.GetRootAs(form.data).Subgraphs(0)
    feeds = []
    for i in range(graph.InputsLength()):
        given = graph.Tensors(graph.Inputs(i))
        shape, name = given.ShapeAsNumpy() if given.ShapeLength() else (), given.Name().decode()
        feeds.append(fed(name, shape, _NAMES[given.Type()], form.name))
    return feeds


def outcome(form: OneOp) -> Outcome | None:
    """What tinyrt answers beside TFLM; None where TFLM does not run the form."""
    data, feeds = form.data, feeds_of(form)
    theirs = tflm_answers(data, feeds)
    if theirs is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = tinyrt_answers(data, feeds)
    except TinyrtError as error:
        return Outcome("refused", str(error).splitlines()[0])
    return _compared(ours, theirs)


def tflm_answers(data: bytes, feeds: Answers) -> Answers | None:
    """What TFLM answers, run after run; None where it does not run the file."""
    outputs = tflite.Model.GetRootAs(data).Subgraphs(0).OutputsLength()
    try:
        model = runtime.Interpreter.from_bytes(data, arena_size=ARENA_BYTES)
        answers: Answers = []
        for _ in range(RUNS):
            for i, x in enumerate(feeds):
                model.set_input(x, i)
            model.invoke()
            answers += [model.get_output(i).copy() for i in range(outputs)]
    except (RuntimeError, ValueError):
        return None
    return answers


def tinyrt_answers(data: bytes, feeds: Answers, backend: str = "numba") -> Answers:
    """What tinyrt answers, run after run."""
    model = tinyrt.Interpreter(model_content=data, backend=backend)
    model.allocate_tensors()
    answers: Answers = []
    for _ in range(RUNS):
        for details, x in zip(model.get_input_details(), feeds, strict=True):
            model.set_tensor(details["index"], x)
        model.invoke()
        answers += [np.array(model.get_tensor(d["index"])) for d in model.get_output_details()]
    return answers


def _compared(ours: Answers, theirs: Answers) -> Outcome:
    word, worst = "exact", 0.0
    for found, wanted in zip(ours, theirs, strict=True):
        if (found.dtype, found.size) != (wanted.dtype, wanted.size):
            return Outcome("differs", f"{found.dtype}{found.shape}, not {wanted.dtype}")
        wanted = wanted.reshape(found.shape)
        if np.array_equal(found, wanted, equal_nan=found.dtype == np.float32):
            continue
        apart = float(np.nanmax(np.abs(found.astype(float) - wanted.astype(float))))
        near = found.dtype == np.float32 and apart <= NEAR * float(np.nanmax(np.abs(wanted)))
        word = word if near and word == "differs" else "float" if near else "differs"
        worst = max(worst, 0.0 if near else apart)
    return Outcome(word, f"up to {worst:g}" if word == "differs" else "")
