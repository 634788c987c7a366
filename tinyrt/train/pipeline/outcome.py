"""What training for int8 has come to."""

from __future__ import annotations

from dataclasses import dataclass

from tinyrt.ir import Graph
from tinyrt.ops import is_weighted
from tinyrt.train.history import Epoch
from tinyrt.train.pipeline.lessons import Kind
from tinyrt.train.widths.plan import LayerWidth


@dataclass(frozen=True, slots=True)
class OutputFigures:
    """How good an output is on the samples held out.

    Attributes:
        name: the output.
        kind: what its numbers are.
        learns_from: labels, teacher, or both.
        measure: ``top1`` (share that is right), ``agreement`` (with the teacher) or ``mse``.
        in_float: of the model as it came.
        before: of the int8 model before training: pruned and trained in float, if so asked, with
            the weights that learning its widths has left.
        trained: of the int8 model in training.
        deployed: of the int8 graph, run by the interpreter.

    """

    name: str
    kind: Kind
    learns_from: str
    measure: str
    in_float: float
    before: float
    trained: float
    deployed: float


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What training has come to.

    Attributes:
        graph: the int8 graph.
        figures: for each output.
        float_history: an entry per epoch in float.
        history: an entry per epoch in int8.
        best_epoch: whose weights these are; 0 where all were worse than those before training.
        int4_layers: outputs of the layers with int4 weights under a number of bytes.
        widths: of each layer that may have int4 weights, and why; empty without such a number.
        width_history: an entry per epoch in which widths were learned.
        float_macs: multiply-accumulates of the model as it came.
        macs: those of the int8 graph.
        zero_weights: share of the int8 model's weights that are 0.
        samples: trained on.
        held_out: measured on.

    """

    graph: Graph
    figures: tuple[OutputFigures, ...]
    float_history: tuple[Epoch, ...]
    history: tuple[Epoch, ...]
    best_epoch: int
    int4_layers: tuple[str, ...]
    widths: tuple[LayerWidth, ...]
    width_history: tuple[Epoch, ...]
    float_macs: int
    macs: int
    zero_weights: float
    samples: int
    held_out: int


def zero_weights(graph: Graph) -> float:
    """Share of the weights of convolutions and dense layers that are 0."""
    weights = {n.input(1).name: n.input(1).data for n in graph.bound() if is_weighted(n)}
    arrays = [array for array in weights.values() if array is not None]
    total = sum(array.size for array in arrays)
    return sum(int((array == 0).sum()) for array in arrays) / max(1, total)
