"""The data behind the report as plain values: what ``tinyrt report --json`` prints.

Text that comes from models' files is marked (``FROM_FILE``): it is data, and the page shows only
characters of it that mean nothing to a browser.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from html import escape
from typing import Any

FROM_FILE: Mapping[str, bool] = {"from_file": True}
"""Metadata of a field whose text a model's file says."""

FRAME_HEIGHT = 700
"""Pixels of the page in a notebook."""

MAX_SCALES = 4
"""Scales of a tensor that are listed; their number is said."""


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """A tensor of a model.

    Attributes:
        name: in the model.
        dtype: of its elements.
        shape: its dimensions.
        constant: whether it is known before the model runs.
        scales: the first few, none of a tensor that is not quantised.
        scale_count: how many there are.
        zero_point: the integer that stands for zero; None without scales.

    """

    name: str = field(metadata=FROM_FILE)
    dtype: str
    shape: tuple[int, ...]
    constant: bool
    scales: tuple[float, ...]
    scale_count: int
    zero_point: int | None


@dataclass(frozen=True, slots=True)
class OpFacts:
    """An op of a model, whatever it runs on.

    Attributes:
        index: its place in the order of execution.
        name: in the model.
        op: its kind.
        attributes: name -> value as text.
        inputs: its tensors; absent ones are left out.
        outputs: its tensors.
        sources: indices of the ops that compute its inputs, each once, in their order.
        macs: multiply-accumulates.

    """

    index: int
    name: str = field(metadata=FROM_FILE)
    op: str
    attributes: Mapping[str, str] = field(metadata=FROM_FILE)
    inputs: tuple[TensorFacts, ...]
    outputs: tuple[TensorFacts, ...]
    sources: tuple[int, ...]
    macs: int


@dataclass(frozen=True, slots=True)
class CycleFacts:
    """Fewest and most cycles, of flash without wait states, as ``tinyrt emulate`` has them."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class OpOnCore:
    """An op of a model on a core.

    Attributes:
        instructions: of an inference; None where they are neither counted nor estimated.
        baseline: of TFLM with CMSIS-NN, where they are known.
        arena: bytes of the arena in use while it runs.
        kernel: the C function that computes it; None where only the host can.
        why: why it is that one; empty without a kernel.
        cycles: of an inference; None unless they were asked for.

    """

    instructions: int | None
    baseline: int | None
    arena: int
    kernel: str | None
    why: str
    cycles: CycleFacts | None = None


@dataclass(frozen=True, slots=True)
class BufferFacts:
    """Bytes of the arena over a span of ops.

    Attributes:
        names: the tensors that lie in it.
        offset: where it begins.
        bytes: its size.
        first: the first op that it is kept at.
        last: the last one.

    """

    names: tuple[str, ...] = field(metadata=FROM_FILE)
    offset: int
    bytes: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Way:
    """A way to a smaller arena, and about how many bytes it then has."""

    what: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Kept:
    """A tensor that is kept at the peak, and its bytes."""

    name: str = field(metadata=FROM_FILE)
    bytes: int


@dataclass(frozen=True, slots=True)
class ArenaFacts:
    """The plan of the arena, as ``tinyrt inspect`` has it.

    Attributes:
        bytes: its size.
        lower_bound: bytes that no plan of these buffers can do without.
        optimal: whether no plan is smaller.
        peak: the op at which most of it is in use.
        kept: the tensors that are kept there, the largest first.
        buffers: all that lies in it.
        ways: to a smaller one, the smallest first.

    """

    bytes: int
    lower_bound: int
    optimal: bool
    peak: int
    kept: tuple[Kept, ...]
    buffers: tuple[BufferFacts, ...]
    ways: tuple[Way, ...]


@dataclass(frozen=True, slots=True)
class FlashFacts:
    """Bytes of flash; code is None where nothing was built."""

    code: int | None
    weights: int

    @property
    def total(self) -> int | None:
        """Code and weights."""
        return None if self.code is None else self.code + self.weights


@dataclass(frozen=True, slots=True)
class RamFacts:
    """Bytes of RAM; None for what is known only of a built image.

    Attributes:
        arena: the model's working memory.
        stack: the most that an inference used.
        stack_bound: what no inference exceeds.
        static: other variables.
        state: what is kept from one inference to the next.

    """

    arena: int
    stack: int | None
    stack_bound: int | None
    static: int | None
    state: int | None

    @property
    def total(self) -> int:
        """All of it that is known."""
        parts = (self.arena, self.stack_bound or self.stack, self.static, self.state)
        return sum(part or 0 for part in parts)


@dataclass(frozen=True, slots=True)
class CoreFacts:
    """A model on a core, as ``tinyrt emulate`` or ``tinyrt.cost`` has it.

    Attributes:
        core: its name.
        basis: ``counted`` in the emulator, or by ``formula``.
        board: the emulated board; None by formula.
        bit_exact: whether the device answered what the host did; None where that was not tried.
        instructions: of an inference; None where they are neither counted nor estimated.
        instructions_per_mac: None for a model without multiplications, too.
        baseline: instructions of TFLM with CMSIS-NN, where they are known.
        flash: bytes.
        ram: bytes.
        arena: its plan.
        ops: one entry for each op of the model.
        cycles: of an inference; None unless they were asked for.

    """

    core: str
    basis: str
    board: str | None
    bit_exact: bool | None
    instructions: int | None
    instructions_per_mac: float | None
    baseline: int | None
    flash: FlashFacts
    ram: RamFacts
    arena: ArenaFacts
    ops: tuple[OpOnCore, ...]
    cycles: CycleFacts | None = None


@dataclass(frozen=True, slots=True)
class Histogram:
    """How often values occur in a tensor.

    Attributes:
        name: the tensor's.
        op: the index of its op.
        low: the lower edge of the first bin.
        high: the upper edge of the last bin.
        counts: of each bin, from the lowest.
        at_low: values at the least integer of their type, of weights at the negative of the
            greatest one; 0 of real values.
        at_high: values at the greatest integer of their type; 0 of real values.

    """

    name: str = field(metadata=FROM_FILE)
    op: int
    low: float
    high: float
    counts: tuple[int, ...]
    at_low: int
    at_high: int

    @property
    def clipped(self) -> float:
        """Share of the values at either end."""
        return (self.at_low + self.at_high) / max(sum(self.counts), 1)


@dataclass(frozen=True, slots=True)
class LayerError:
    """A layer's quantisation error, as ``tinyrt debug`` has it; SQNR in dB.

    Attributes:
        node: index of the op that computes it; None of a model input.

    """

    node: int | None
    name: str = field(metadata=FROM_FILE)
    op: str
    impact_db: float
    own_db: float
    accumulated_db: float
    saturation: float
    cause: str
    cure: str | None


@dataclass(frozen=True, slots=True)
class Errors:
    """All layers' errors, in the order of execution.

    Attributes:
        samples: how many were looked at.
        sqnr_db: of the output before a final softmax.
        layers: one entry for each.

    """

    samples: int
    sqnr_db: float
    layers: tuple[LayerError, ...]


@dataclass(frozen=True, slots=True)
class Quality:
    """How good a model is on data, as ``tinyrt eval`` has it."""

    samples: int
    correct: int | None
    top1: float | None
    agreement: float | None
    sqnr_db: float | None


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model, and what it costs on each core.

    Attributes:
        name: of its file, with as much of the folder as tells models apart.
        sha256: of its file; empty where only the graph was looked at.
        file_bytes: of its file; 0 likewise.
        quantized: whether it computes in integers.
        macs: multiply-accumulates of an inference.
        weight_bytes: of all constants.
        inputs: the model's.
        outputs: the model's.
        ops: in the order of execution.
        cores: in the order in which they were asked for.
        weights: a histogram of each layer's weights.
        activations: a histogram of each tensor on the data; empty without data.
        quality: on the data; None without.
        errors: against the float model; None without one.

    """

    name: str = field(metadata=FROM_FILE)
    sha256: str
    file_bytes: int
    quantized: bool
    macs: int
    weight_bytes: int
    inputs: tuple[TensorFacts, ...]
    outputs: tuple[TensorFacts, ...]
    ops: tuple[OpFacts, ...]
    cores: tuple[CoreFacts, ...]
    weights: tuple[Histogram, ...]
    activations: tuple[Histogram, ...]
    quality: Quality | None
    errors: Errors | None


@dataclass(frozen=True, slots=True)
class Report:
    """What a report says.

    Attributes:
        tinyrt: the version that made it.
        optimize: what the code is made for.
        models: in the order in which they were given; the others are compared with the first.
        page: the page that was written, as HTML.

    """

    tinyrt: str
    optimize: str
    models: tuple[ModelFacts, ...]
    page: str = field(default="", repr=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data, which ``report.schema.json`` describes."""
        plain: dict[str, Any] = _plain(asdict(replace(self, page="")))
        del plain["page"]
        return plain

    def _repr_html_(self) -> str:
        """The page in a frame, as notebooks show what a cell answers."""
        return (
            f'<iframe srcdoc="{escape(self.page)}" title="tinyrt report" '
            f'style="width: 100%; height: {FRAME_HEIGHT}px; border: 0"></iframe>'
        )


def _plain(value: Any) -> Any:
    """Lists for tuples, as JSON has them."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value
