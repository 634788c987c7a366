"""Answers beside those of other runtimes: exact, near, apart by a rule, or wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyrt.convert.tflite.schema import builtin_name

Array = NDArray[Any]
Answers = Sequence[Sequence[Array]]
"""For each sample, each output."""

PEERS = ("TFLM", "LiteRT", "onnxruntime")
"""Whose answers count, the first that there is."""
NEAR, NEAR_BY_SERIES = 1e-5, 1e-4
"""Part of the largest element by which floats may be off; more in models with ``SERIES``."""
_TRIGONOMETRIC = ("COS", "SIN", "TANH")
_EXPONENTIAL = ("ELU", "EXP", "GELU", "LOGISTIC", "LOG_SOFTMAX", "SOFTMAX")
_OTHERS = ("LOG", "POW", "RSQRT", "UNIDIRECTIONAL_SEQUENCE_LSTM", "WHILE")
SERIES = frozenset((*_TRIGONOMETRIC, *_EXPONENTIAL, *_OTHERS))
"""Ops whose functions are computed as series, or that may hold such ops."""
HALVES = ("FLOAT16", "BFLOAT16")
INTEGERS = ("INT4", "INT8", "UINT8", "INT16")


@dataclass(frozen=True)
class Tensor:
    """What rules ask of a tensor in a file."""

    dtype: str
    constant: bool
    zero_points: tuple[int, ...]


@dataclass(frozen=True)
class Op:
    """An op of a file, and its inputs; None for one that is left out."""

    name: str
    inputs: tuple[Tensor | None, ...]

    @property
    def reads(self) -> str:
        """The dtype of its first input."""
        return self.inputs[0].dtype if self.inputs and self.inputs[0] else ""


@dataclass(frozen=True)
class Rule:
    """A documented reason for other answers than a peer's.

    Attributes:
        name: what tables and docs/compatibility.md call it.
        peers: from whose answers it explains a difference.
        steps: the largest difference of integers that it explains.
        part: the largest difference of floats, as a part of the largest element.
        applies: whether an op of a file gives rise to it.

    """

    name: str
    peers: tuple[str, ...]
    steps: int
    part: float
    applies: Callable[[Op], bool]


def _is_hybrid(op: Op) -> bool:
    stored = [t for t in op.inputs if t and t.constant and t.dtype in ("INT8", "INT4")]
    return op.reads == "FLOAT32" and bool(stored)


def _has_zero_points(op: Op) -> bool:
    return any(t is not None and t.constant and len(set(t.zero_points)) > 1 for t in op.inputs)


def _rounds_once(op: Op) -> bool:
    return op.name == "FULLY_CONNECTED" and op.reads in ("INT8", "INT16")


def _pads(op: Op) -> bool:
    """Whether it pads with a zero point that is not 0."""
    first = op.inputs[0] if op.inputs else None
    pads = op.name == "SPACE_TO_BATCH_ND" and first is not None and first.dtype == "INT8"
    return pads and first is not None and any(first.zero_points)


def _clamps_to_six(op: Op) -> bool:
    return op.name == "RELU6" and op.reads in ("INT8", "INT16")


def _adds_integers(op: Op) -> bool:
    return op.name == "ADD" and op.reads == "INT32"


def _is_any_integer(op: Op) -> bool:
    return any(t is not None and t.dtype in INTEGERS for t in op.inputs)


def _is_half(op: Op) -> bool:
    return op.reads in HALVES


HYBRID = "hybrid"
BY_LAYER = 1 / 1000
"""What a hybrid layer may be off LiteRT's by itself, for answers that are farther apart."""
RULES = (
    Rule("zero points", ("TFLM",), 255, 1.0, _has_zero_points),
    Rule("padding", ("TFLM",), 255, 1.0, _pads),
    Rule("RELU6", ("TFLM",), 1 << 16, 1.0, _clamps_to_six),
    Rule("ADD of int32", ("TFLM",), 1 << 32, 1.0, _adds_integers),
    Rule(HYBRID, ("TFLM", "LiteRT"), 16, 1 / 16, _is_hybrid),
    Rule("one rounding", ("LiteRT",), 16, 1 / 16, _rounds_once),
    Rule("ONNX integers", ("onnxruntime",), 16, 1 / 16, _is_any_integer),
    Rule("16-bit floats", ("onnxruntime",), 0, 1 / 64, _is_half),
)
CONFIRMED = ("zero points", "padding", "RELU6", "ADD of int32")
"""Rules that explain a difference from TFLM only where the answers are LiteRT's."""


def rules_of(ops: Sequence[Op]) -> tuple[str, ...]:
    """Names of the rules that a file's ops give rise to."""
    return tuple(rule.name for rule in RULES if any(map(rule.applies, ops)))


def ops_of(path: Path) -> list[Op]:
    """All ops of all subgraphs of a .tflite file."""
    from tflite.Model import Model
    from tflite.TensorType import TensorType

    dtypes = {code: name for name, code in vars(TensorType).items() if name.isupper()}
    model = Model.GetRootAs(path.read_bytes())

    def tensor(graph: Any, index: int) -> Tensor | None:
        if index < 0:
            return None
        found = graph.Tensors(index)
        stored = model.Buffers(found.Buffer()).DataLength() > 0
        q = found.Quantization()
        points = q.ZeroPointAsNumpy() if q is not None and q.ZeroPointLength() else ()
        return Tensor(dtypes[found.Type()], stored, tuple(map(int, points)))

    ops = []
    for graph in map(model.Subgraphs, range(model.SubgraphsLength())):
        for op in map(graph.Operators, range(graph.OperatorsLength())):
            inputs = (tensor(graph, op.Inputs(i)) for i in range(op.InputsLength()))
            ops.append(Op(builtin_name(model, op.OpcodeIndex()), tuple(inputs)))
    return ops


@dataclass(frozen=True)
class Gap:
    """The largest difference of integers, and of floats as a part of their largest element."""

    steps: int = 0
    part: float = 0.0
    shapes: str = ""


def gap(found: Answers, expected: Answers) -> Gap:
    """How far answers are from others; NaNs and infinities must be in the same places."""
    steps, part = 0, 0.0
    for mine, theirs in zip(found, expected, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            if a.shape != b.shape:
                return Gap(shapes=f"{list(a.shape)}, not {list(b.shape)}")
            if b.dtype.kind == "f":
                part = max(part, _float_gap(a.astype(np.float64), b.astype(np.float64)))
            elif b.size:
                apart = np.abs(a.astype(np.int64) - b.astype(np.int64))
                steps = max(steps, int(apart.max()))
    return Gap(steps, part)


def _float_gap(a: Array, b: Array) -> float:
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return 0.0
    if not (np.isfinite(a) | same).all() or not (np.isfinite(b) | same).all():
        return float("inf")
    largest = np.abs(b[np.isfinite(b)]).max()
    return float(np.abs(np.where(same, 0, a - b)).max() / (largest or 1.0))


@dataclass(frozen=True)
class Verdict:
    """What came of a comparison.

    Attributes:
        word: ``exact``, ``float``, ``by rule``, ``differs`` or ``not compared``.
        peer: whose answers these are.
        gap: the largest difference.
        rule: the rule that it comes under.

    """

    word: str
    peer: str = ""
    gap: Gap = Gap()
    rule: str = ""

    @property
    def text(self) -> str:
        """The cell of the table."""
        if self.word in ("exact", "not compared"):
            return self.word
        apart = [f"{self.gap.steps} step{'s' * (self.gap.steps > 1)}"] if self.gap.steps else []
        apart += [f"{self.gap.part:.0e}"] if self.gap.part else []
        shown = self.gap.shapes or ", ".join(apart)
        if self.word == "float":
            return f"float, {shown}"
        by = f"by rule ({self.rule})" if self.rule else "differs"
        return f"{by}: {shown} from {self.peer}"


def judge(
    found: Answers,
    answers: Mapping[str, Answers],
    rules: Sequence[str],
    near: float,
    by_layer: float | None = None,
) -> Verdict:
    """Compare with the first peer that there is.

    Args:
        found: tinyrt's answers.
        answers: peer -> its answers.
        rules: names of the rules that the model gives rise to.
        near: the part of the largest element by which floats may be off.
        by_layer: the part of its largest element by which a layer alone is off LiteRT's, if known.

    """
    peer = next((name for name in PEERS if name in answers), None)
    if peer is None:
        return Verdict("not compared")
    apart = gap(found, answers[peer])
    if _is_within(apart, 0, near):
        return Verdict("float" if apart.part else "exact", peer, apart)
    for rule in RULES:
        explains = rule.name in rules and peer in rule.peers
        if explains and rule.name in CONFIRMED:
            explains = "LiteRT" in answers and _is_within(gap(found, answers["LiteRT"]), 0, near)
        most = rule.part
        if rule.name == HYBRID and by_layer is not None:
            most = 1.0 if by_layer <= BY_LAYER else 0.0
        if explains and _is_within(apart, rule.steps, most):
            return Verdict("by rule", peer, apart, rule.name)
    return Verdict("differs", peer, apart)


def _is_within(apart: Gap, steps: int, part: float) -> bool:
    return not apart.shapes and apart.steps <= steps and apart.part <= part
