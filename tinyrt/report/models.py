"""What a report says of a model, whatever core it runs on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from tinyrt.api import debug_model, evaluate
from tinyrt.api.inputs import Data
from tinyrt.export.identity import sha256_of
from tinyrt.ir import BoundNode, Graph, Value
from tinyrt.ops import OPS
from tinyrt.quantize.explain.debug import DebugReport
from tinyrt.report import facts
from tinyrt.report.histograms import activation_histograms, weight_histograms
from tinyrt.text import shown_name


def model_facts(
    model: str | Path, graph: Graph, name: str, data: Data | None, against: str | Path | None
) -> facts.ModelFacts:
    """A model without its costs.

    Args:
        model: a .tflite file.
        graph: what the file holds.
        name: what the report calls it.
        data: samples, and labels where there are any; None without.
        against: the float model that it was made from; None without.

    Raises:
        DataError: the data do not fit, or the models have nothing in common.

    """
    path = Path(model)
    quality = errors = None
    if data is not None:
        quality = _quality(model, data, against)
        if against is not None and graph.is_quantized:
            errors = error_facts(debug_model(against, model, data), makers_of(graph))
    return replace(
        graph_facts(graph, name),
        sha256=sha256_of(path),
        file_bytes=path.stat().st_size,
        activations=() if data is None else activation_histograms(graph, data),
        quality=quality,
        errors=errors,
    )


def graph_facts(graph: Graph, name: str) -> facts.ModelFacts:
    """What a graph itself says: without a file, costs and data."""
    nodes, makers = list(graph.bound()), makers_of(graph)
    return facts.ModelFacts(
        name=name,
        sha256="",
        file_bytes=0,
        quantized=graph.is_quantized,
        macs=sum(OPS[node.op].macs(node) for node in nodes),
        weight_bytes=sum(v.nbytes for v in graph.values.values() if v.is_constant),
        inputs=tuple(map(tensor_facts, graph.input_values)),
        outputs=tuple(map(tensor_facts, graph.output_values)),
        ops=tuple(_op(node, makers) for node in nodes),
        cores=(),
        weights=weight_histograms(graph),
        activations=(),
        quality=None,
        errors=None,
    )


def makers_of(graph: Graph) -> dict[str, int]:
    """Tensor -> index of the op that computes it."""
    return {value.name: node.index for node in graph.bound() for value in node.outputs}


def _quality(model: str | Path, data: Data, against: str | Path | None) -> facts.Quality:
    found = evaluate(model, data, against=against)
    return facts.Quality(found.samples, found.correct, found.top1, found.agreement, found.sqnr_db)


def error_facts(report: DebugReport, makers: Mapping[str, int]) -> facts.Errors:
    """What ``tinyrt debug`` found, layer by layer in the order of execution.

    Args:
        report: what it found.
        makers: tensor -> the op that computes it, as ``makers_of`` gives it.

    """
    layers = tuple(
        facts.LayerError(
            node=makers.get(layer.name),
            name=layer.name,
            op=layer.op,
            impact_db=layer.impact_db,
            own_db=layer.own_db,
            accumulated_db=layer.accumulated_db,
            saturation=layer.saturation,
            cause=layer.cause,
            cure=layer.cure,
        )
        for layer in sorted(report.layers, key=lambda layer: layer.index)
    )
    return facts.Errors(report.samples, report.sqnr_db, layers)


def tensor_facts(value: Value) -> facts.TensorFacts:
    """A tensor, without its elements."""
    scales = () if value.q is None else value.q.scales
    return facts.TensorFacts(
        name=shown_name(value.name),
        dtype=value.dtype.value,
        shape=value.shape,
        constant=value.is_constant,
        scales=scales[: facts.MAX_SCALES],
        scale_count=len(scales),
        zero_point=None if value.q is None else value.q.zero_point,
    )


def _op(node: BoundNode, makers: dict[str, int]) -> facts.OpFacts:
    inputs = [value for value in node.inputs if value is not None]
    sources = dict.fromkeys(makers[value.name] for value in inputs if value.name in makers)
    return facts.OpFacts(
        index=node.index,
        name=shown_name(node.name),
        op=node.op,
        attributes=_attributes(node.attrs),
        inputs=tuple(map(tensor_facts, inputs)),
        outputs=tuple(map(tensor_facts, node.outputs)),
        sources=tuple(sources),
        macs=OPS[node.op].macs(node),
    )


def _attributes(attrs: Any) -> dict[str, str]:
    """Name -> value as text, of an op's record of attributes."""
    return {one.name: str(getattr(attrs, one.name)) for one in fields(attrs) if one.repr}
