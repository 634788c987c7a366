"""Which of the configured methods help, by what they do to samples that they were not fitted to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tinyrt.interpreter.model import Model
from tinyrt.ir import Graph
from tinyrt.quantize.calibration.collect import observe
from tinyrt.quantize.calibration.observers import Every
from tinyrt.quantize.config import CHOOSING, BiasCorrection, Calibrator, QuantConfig
from tinyrt.quantize.methods.equalize import equalize
from tinyrt.quantize.methods.layerwise import refine
from tinyrt.quantize.plan import make_plan
from tinyrt.quantize.schemes import lay_out
from tinyrt.quantize.simulate import Array, Simulator

Batch = Mapping[str, Array]

MIN_GAIN_DB = 0.1
"""Less is noise of the samples: the method earlier in the list stays."""
FEWEST = 24
"""Of fewer samples, half say too little: all methods are applied, with min-max ranges."""
CORRECTIONS = (BiasCorrection.EMPIRICAL, BiasCorrection.ANALYTIC, BiasCorrection.NONE)


def choose_methods(graph: Graph, head: Mapping[str, Array], config: QuantConfig) -> QuantConfig:
    """The choices, without those that do not help.

    Every other sample is what the methods are fitted to, the rest is what they are measured with:
    the SQNR of the model's outputs. One choice after the other is varied, the others as they are.
    Optimised rounding and tuned ranges are not tried: they cost more than all the rest.

    Args:
        graph: an optimised float graph.
        head: input name -> samples; of fewer than ``FEWEST``, nothing is left out.
        config: the user's choices. Nothing that they leave out is added; calibrator ``MEASURED``
            becomes a definite one.

    """
    current = config
    if config.calibrator in CHOOSING:
        current = replace(config, calibrator=Calibrator.MINMAX)
    rows = Model(graph).rows
    is_auto = config.calibrator is Calibrator.AUTO
    if any(len(x) < FEWEST * rows[name] for name, x in head.items()):
        return config if is_auto else current
    trials = _Trials(graph, head, rows)
    best = trials.sqnr_db(current)
    for options in _variations(config):
        for option in options:
            other = replace(current, **option)
            ratio = trials.sqnr_db(other)
            if ratio > best + MIN_GAIN_DB:
                best, current = ratio, other
    return replace(current, calibrator=Calibrator.AUTO) if is_auto else current


def _variations(config: QuantConfig) -> Iterator[list[dict[str, Any]]]:
    """What to try, one choice after the other."""
    if config.calibrator is Calibrator.MEASURED:
        yield [{"calibrator": c} for c in CHOOSING[Calibrator.MEASURED][1:]]
    for method in ("equalize", "smooth"):
        if method in config.measured and getattr(config, method):
            yield [{method: False}]
    if "bias_correction" in config.measured:
        weaker = CORRECTIONS[CORRECTIONS.index(config.bias_correction) + 1 :]
        yield [{"bias_correction": c} for c in weaker]


class _Form:
    """The graph with its channels rescaled one way, on both halves of the samples."""

    def __init__(self, graph: Graph, even: Batch, odd: Batch, config: QuantConfig) -> None:
        self.graph = graph
        layout = lay_out(graph, config)
        self.fitted = Simulator(layout.graph, even, layout.dtypes)
        self.held = Simulator(layout.graph, odd, layout.dtypes)
        tried = dict.fromkeys((config.calibrator, *CHOOSING[Calibrator.MEASURED]))
        observers = observe(graph, (even,), lambda: Every(config, tried), quiet=True)
        proposals = {name: observer.candidates() for name, observer in observers.items()}
        self.ranges = {
            c: {name: found[i] for name, found in proposals.items()} for i, c in enumerate(tried)
        }


class _Trials:
    """Measures configurations, and remembers what they share."""

    def __init__(self, graph: Graph, head: Batch, rows: Mapping[str, int]) -> None:
        self._graph = graph
        self._even, self._odd = (_every_other(head, rows, i) for i in (0, 1))
        self._forms: dict[tuple[bool, bool], _Form] = {}

    def sqnr_db(self, config: QuantConfig) -> float:
        """Of the outputs of the samples in between, with what the others decide."""
        form = self._form(config)
        plan = make_plan(form.graph, form.ranges[config.calibrator], config)
        plan = refine(form.fitted, plan, replace(config, optimize_rounding=False))
        return form.held.sqnr_db(form.held.run_plan(plan))

    def _form(self, config: QuantConfig) -> _Form:
        key = (config.equalize, config.smooth)
        if key not in self._forms:
            graph = self._graph
            if any(key):
                plain = self._form(replace(config, equalize=False, smooth=False))
                graph = equalize(graph, plain.fitted.reference, config)
            self._forms[key] = _Form(graph, self._even, self._odd, config)
        return self._forms[key]


def _every_other(head: Batch, rows: Mapping[str, int], first: int) -> dict[str, Array]:
    """Every other run's samples; a run has several rows where the model mixes them."""
    return {
        name: x.reshape(-1, rows[name], *x.shape[1:])[first::2].reshape(-1, *x.shape[1:])
        for name, x in head.items()
    }
