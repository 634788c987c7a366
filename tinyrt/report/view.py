"""What the templates need of a model: all pages show it in the same way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tinyrt.decibels import shown_db
from tinyrt.report.arena import draw_arena
from tinyrt.report.bars import draw_bars
from tinyrt.report.errors_chart import draw_errors
from tinyrt.report.facts import LayerError, ModelFacts
from tinyrt.report.graph import draw_graph
from tinyrt.report.parts import fits
from tinyrt.report.rendering import shown_cycles

MAX_OPS = 2_000
"""Ops that a page lists; ``--json`` has all of them."""
MAX_BARS = 40
"""Ops whose costs are drawn as bars."""
DISTANCES = (
    "SQNR of the output if this layer alone is quantised",
    "SQNR of the tensor, its inputs exact",
    "SQNR of the tensor in the quantised model",
)
"""What the three figures of a layer's error are."""


@dataclass(frozen=True, slots=True)
class Shading:
    """What makes ops dark in the drawing of the graph.

    Attributes:
        costs: of each op.
        meaning: what there is more of in a darker op.

    """

    costs: tuple[float, ...]
    meaning: str


def by_instructions(model: ModelFacts) -> Shading:
    """Ops that take more instructions on the first core are darker."""
    core = model.cores[0]
    return Shading(tuple(op.instructions or 0 for op in core.ops), f"instructions on {core.core}")


def by_noise(model: ModelFacts) -> Shading:
    """Ops are the darker, the more noise they alone bring into the output."""
    errors = _errors(model)
    noise = (10 ** (-errors[i].impact_db / 10) if i in errors else 0.0 for i in _ops(model))
    return Shading(tuple(noise), "noise in the output if the layer alone is quantised")


def section_of(
    model: ModelFacts, shading: Shading, devices: tuple[str, ...] = ()
) -> dict[str, Any]:
    """What the templates need of a model, beside its facts.

    Args:
        model: as ``cleaned`` leaves it.
        shading: what makes ops dark in the drawing of the graph.
        devices: where each op runs; empty where that was not asked for.

    """
    order = sorted(_ops(model), key=lambda i: (-_cost(model, i), i))
    costs = [op.instructions or 0 for core in model.cores[:1] for op in core.ops]
    return {
        "model": model,
        "order": order[:MAX_OPS],
        "left_out": len(order[MAX_OPS:]),
        "bars": draw_bars(model, order[:MAX_BARS]),
        "more_bars": len(order[MAX_BARS:]),
        "rest": sum(costs[i] for i in order[MAX_BARS:] if costs),
        "kinds": sorted({op.op for op in model.ops}),
        "graph": draw_graph(model, shading.costs),
        "shading": shading.meaning,
        "devices": devices,
        "arenas": [draw_arena(core.arena, len(model.ops)) for core in model.cores],
        "errors": None if model.errors is None else draw_errors(model.errors),
        "fits": fits(model.cores),
    }


def _cost(model: ModelFacts, index: int) -> int:
    """What the table of ops is sorted by: instructions on the first core, else products."""
    known = [core.ops[index].instructions for core in model.cores[:1]]
    return known[0] if known and known[0] is not None else model.ops[index].macs


def _ops(model: ModelFacts) -> range:
    return range(len(model.ops))


def _errors(model: ModelFacts) -> dict[int, LayerError]:
    """Op -> its error; the last one of an op with several outputs."""
    layers = () if model.errors is None else model.errors.layers
    return {layer.node: layer for layer in layers if layer.node is not None}


def details(model: ModelFacts) -> list[dict[str, Any]]:
    """What the page's own dialogue says of each op."""
    errors = _errors(model)
    return [
        {
            "title": f"{op.index} {op.op}",
            "name": op.name,
            "attributes": dict(op.attributes),
            "inputs": [_tensor(tensor) for tensor in op.inputs],
            "outputs": [_tensor(tensor) for tensor in op.outputs],
            "macs": op.macs,
            "error": _error(errors.get(i)),
            "cores": [
                {
                    "core": core.core,
                    "instructions": core.ops[i].instructions,
                    "cycles": shown_cycles(core.ops[i].cycles),
                    "baseline": core.ops[i].baseline,
                    "arena": core.ops[i].arena,
                    "kernel": core.ops[i].kernel or "",
                    "why": core.ops[i].why,
                }
                for core in model.cores
            ],
        }
        for i, op in enumerate(model.ops[:MAX_OPS])
    ]


def _tensor(tensor: Any) -> list[str]:
    """Name, type and quantisation of a tensor, as text."""
    shape = ",".join(map(str, tensor.shape))
    kind = f"{tensor.dtype}[{shape}]{', constant' if tensor.constant else ''}"
    if not tensor.scale_count:
        return [tensor.name, kind, ""]
    scale = f"{tensor.scale_count} scales" if tensor.scale_count > 1 else "scale"
    first = f"{tensor.scales[0]:.6g}{' and on' if tensor.scale_count > 1 else ''}"
    return [tensor.name, kind, f"{scale} {first}, zero point {tensor.zero_point}"]


def _error(layer: LayerError | None) -> list[list[str]]:
    """What is known of a layer's quantisation error, as names and texts."""
    if layer is None:
        return []
    decibels = (layer.impact_db, layer.own_db, layer.accumulated_db)
    found = [
        *([what, shown_db(db, 1, " dB")] for what, db in zip(DISTANCES, decibels, strict=True)),
        ["values beyond the range", f"{100 * layer.saturation:.1f} %"],
        ["likely cause", layer.cause],
    ]
    return found if layer.cure is None else [*found, ["what helps", layer.cure]]
