"""Which of the configured methods help, by what they do to samples that they were not fitted to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinyrt.interpreter.model import Model
from tinyrt.ir import Graph
from tinyrt.quantize.calibration.collect import observe
from tinyrt.quantize.calibration.observers import Every
from tinyrt.quantize.config import CHOOSING, BiasCorrection, Calibrator, QuantConfig
from tinyrt.quantize.methods.channels import free_spaces
from tinyrt.quantize.methods.equalize import equalize
from tinyrt.quantize.methods.layerwise import refine
from tinyrt.quantize.plan import make_plan
from tinyrt.quantize.schemes import lay_out
from tinyrt.quantize.simulate import Array, Simulator

Batch = Mapping[str, Array]

MIN_GAIN_DB = 0.1
"""Less is noise of the samples: the method earlier in the list stays."""
FEWEST = 24
"""Of fewer samples, a part says too little: all methods are applied, with min-max ranges. The same
holds for models so large that methods may look at no more."""
CORRECTIONS = (BiasCorrection.EMPIRICAL, BiasCorrection.ANALYTIC, BiasCorrection.NONE)


def choose_methods(
    graph: Graph, samples: Batch, count: int, config: QuantConfig
) -> tuple[QuantConfig, bool]:
    """The choices without those that do not help, and whether channels fill their full range.

    Methods are fitted to most of the samples and measured with the rest: the SQNR of the model's
    outputs. One choice after the other is varied, the others as they are. Where the samples are
    enough, what is measured is the plan that these choices lead to, not one like it: in models of
    few outputs, plans alike in all but their samples are several dB apart. Optimised rounding and
    tuned ranges are not tried: they cost more than all the rest.

    Args:
        graph: an optimised float graph.
        samples: input name -> samples; of fewer than ``FEWEST``, nothing is left out.
        count: most samples to fit to; at least a third is held back.
        config: the user's choices. Nothing that they leave out is added; calibrator ``MEASURED``
            becomes a definite one.

    Returns:
        The choices, and ``equalize``'s argument of that name.

    """
    current = config
    if config.calibrator in CHOOSING:
        current = replace(config, calibrator=Calibrator.MINMAX)
    is_auto = config.calibrator is Calibrator.AUTO
    parts = hold_back(graph, samples, count)
    if parts is None:
        return config if is_auto else current, False
    trials, full_range = _Trials(graph, *parts), False
    best = trials.sqnr_db(current, full_range)
    for options in _variations(graph, config):
        for option in options:
            other = replace(current, **option.choices)
            ratio = trials.sqnr_db(other, option.full_range or full_range)
            if ratio > best + MIN_GAIN_DB:
                best, current, full_range = ratio, other, option.full_range or full_range
    methods = replace(current, calibrator=Calibrator.AUTO) if is_auto else current
    return methods, full_range


def hold_back(
    graph: Graph, samples: Batch, count: int
) -> tuple[dict[str, Array], dict[str, Array]] | None:
    """The samples to fit to, ``count`` at most, and those to measure with; None of too few."""
    model = Model(graph)
    rows, total = model.rows, model.runs(samples)
    if total < FEWEST or count < FEWEST:
        return None
    # Where all are fitted to in the end, the order of the samples is not to matter.
    each = np.arange(total)
    is_held = each % 3 == 2 if 2 * total // 3 < count else each >= count
    return _part(samples, rows, ~is_held), _part(samples, rows, is_held)


def _part(samples: Batch, rows: Mapping[str, int], chosen: NDArray[np.bool_]) -> dict[str, Array]:
    """The chosen samples; one has several rows where the model mixes them."""
    return {name: x[np.repeat(chosen, rows[name])] for name, x in samples.items()}


class _Option(NamedTuple):
    """One of several ways that exclude each other.

    Attributes:
        choices: fields of ``QuantConfig`` that are other than they were.
        full_range: channels are rescaled as if no value lay beyond those of the samples.

    """

    choices: dict[str, Any]
    full_range: bool = False


def _variations(graph: Graph, config: QuantConfig) -> Iterator[list[_Option]]:
    """What to try, one choice after the other; nothing that has no effect on the graph."""
    if config.calibrator is Calibrator.MEASURED:
        yield [_Option({"calibrator": c}) for c in CHOOSING[Calibrator.MEASURED][1:]]
    spaces = [space for space in free_spaces(graph) if space.is_free]
    if config.equalize and any(not space.affine for space in spaces):
        without = [_Option({"equalize": False})] if "equalize" in config.measured else []
        yield [_Option({}, full_range=True), *without]
    if config.smooth and "smooth" in config.measured and any(space.affine for space in spaces):
        yield [_Option({"smooth": False})]
    if "bias_correction" in config.measured:
        weaker = CORRECTIONS[CORRECTIONS.index(config.bias_correction) + 1 :]
        yield [_Option({"bias_correction": c}) for c in weaker]


class _Form:
    """The graph with its channels rescaled one way, on both parts of the samples."""

    def __init__(self, graph: Graph, fit: Batch, held: Batch, config: QuantConfig) -> None:
        self.graph = graph
        layout = lay_out(graph, config)
        self.fitted = Simulator(layout.graph, fit, layout.dtypes)
        self.held = Simulator(layout.graph, held, layout.dtypes)
        tried = dict.fromkeys((config.calibrator, *CHOOSING[Calibrator.MEASURED]))
        # Ranges will be those of all samples, so they are here.
        observers = observe(graph, (fit, held), partial(Every, config, tried), quiet=True)
        proposals = {name: observer.candidates() for name, observer in observers.items()}
        self.ranges = {
            c: {name: found[i] for name, found in proposals.items()} for i, c in enumerate(tried)
        }


class _Trials:
    """Measures configurations, and remembers what they share."""

    def __init__(self, graph: Graph, fit: Batch, held: Batch) -> None:
        self._graph, self._fit, self._held = graph, fit, held
        self._forms: dict[tuple[bool, bool, bool], _Form] = {}

    def sqnr_db(self, config: QuantConfig, full_range: bool) -> float:
        """Of the outputs of the samples held back, with what the others decide."""
        form = self._form(config, full_range)
        plan = make_plan(form.graph, form.ranges[config.calibrator], config)
        plan = refine(form.fitted, plan, replace(config, optimize_rounding=False))
        return form.held.sqnr_db(form.held.run_plan(plan))

    def _form(self, config: QuantConfig, full_range: bool) -> _Form:
        full_range = full_range and (config.equalize or config.smooth)
        key = (config.equalize, config.smooth, full_range)
        if key not in self._forms:
            graph = self._graph
            if any(key):
                plain = self._form(replace(config, equalize=False, smooth=False), full_range)
                graph = equalize(graph, plain.fitted.reference, config, full_range=full_range)
            self._forms[key] = _Form(graph, self._fit, self._held, config)
        return self._forms[key]
