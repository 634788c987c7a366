"""Quantising a model of which nobody knows what it computes, in any of the ways that there are."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from tests.fuzz.values import Rng
from tinyrt.ir import Graph
from tinyrt.quantize import QuantConfig, quantize_graph
from tinyrt.quantize.config import BiasCorrection, Calibrator, Scheme

RUNS = 3
"""Of the model, which its calibration data are enough for."""

METHODS = ("per_channel_dense", "equalize", "smooth", "optimize_rounding", "tune_ranges")


def quantized(graph: Graph, rng: Rng) -> Graph:
    """The float graph, quantised with random options on random data.

    Raises:
        TinyrtError: the graph has no such form, or computes infinity.

    """
    data = {
        v.name: np.concatenate([rng.standard_normal(v.shape) for _ in range(RUNS)]).astype(
            v.dtype.numpy
        )
        for v in map(graph.value, graph.fed)
        if v.shape
    }
    return quantize_graph(graph, data, _options(rng))


def _options(rng: Rng) -> QuantConfig:
    def one_of(choices: type[Enum]) -> Any:
        return list(choices)[rng.integers(len(choices))]

    if rng.random() < 0.4:
        return QuantConfig()
    scheme = one_of(Scheme)
    return QuantConfig(
        calibrator=one_of(Calibrator),
        bias_correction=one_of(BiasCorrection),
        scheme=Scheme.INT8 if scheme is Scheme.FLOAT else scheme,
        float_io=bool(rng.random() < 0.3),
        tables=bool(rng.random() < 0.7),
        **{name: bool(rng.random() < 0.3) for name in METHODS},
    )
