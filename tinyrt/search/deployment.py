"""How a trained network becomes integers and code: a part of what a candidate chooses."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tinyrt.dsp.windows import Array
from tinyrt.errors import DataError, UnsupportedError
from tinyrt.export import ExportOptions
from tinyrt.export.options import NO_OPTIONS
from tinyrt.ir import Graph
from tinyrt.quantize import QuantConfig, quantize_graph
from tinyrt.quantize.config import Calibrator, Preset, Scheme, configure
from tinyrt.quantize.mixed.budget import Budget
from tinyrt.quantize.mixed.choose import quantize_within
from tinyrt.quantize.schemes import ACTIVATIONS
from tinyrt.train.pipeline.setting import TRAINED
from tinyrt.train.qat import QatConfig, QatModel


@dataclass(frozen=True, slots=True)
class Deployment:
    """How a trained network is quantised, and what its code is asked for.

    Attributes:
        scheme: of the layers that no pattern names: int8, int4 or int16x8.
        preset: how much work quantisation may do after training; None to go on training for the
            scheme.
        calibrator: in place of the preset's.
        scheme_for: patterns of layers, each with its scheme, as ``QuantConfig`` has them; with a
            preset.
        max_bytes: of the file, without a front end: as many layers as that takes get int4 weights;
            without a preset.
        by_rows: whether ops may run row by row, where that makes the arena smaller.
        input_rows: whether a camera's rows go on to the network as they come, so that no image is
            held.

    Raises:
        DataError: two choices exclude each other.
        UnsupportedError: the scheme has floats.

    """

    scheme: Scheme = Scheme.INT8
    preset: Preset | None = None
    calibrator: Calibrator | None = None
    scheme_for: tuple[tuple[str, Scheme], ...] = ()
    max_bytes: int | None = None
    by_rows: bool = False
    input_rows: bool = False

    def __post_init__(self) -> None:
        for scheme in (self.scheme, *(scheme for _, scheme in self.scheme_for)):
            if scheme not in TRAINED:
                raise UnsupportedError(
                    f"a candidate of scheme {scheme.value}",
                    expected=", ".join(s.value for s in TRAINED),
                    hint="tinyrt quantize makes models with floats of one that is found",
                )
        trained = {"calibrator": self.calibrator, "scheme_for": self.scheme_for or None}
        after = {"max_bytes": self.max_bytes}
        for name, value in (trained if self.preset is None else after).items():
            if value is not None:
                raise DataError(
                    f"{name} {value} "
                    + ("without" if self.preset is None else "with")
                    + " a preset",
                    expected="calibrator and scheme_for with a preset, max_bytes without",
                    hint="without a preset, training goes on for the scheme",
                )
        if self.max_bytes is not None and self.scheme is not Scheme.INT8:
            raise DataError(
                f"max_bytes {self.max_bytes} of scheme {self.scheme.value}",
                expected="scheme int8, from which layers become int4 as the bytes ask for it",
            )

    @property
    def options(self) -> ExportOptions:
        """What the code is asked for."""
        if not (self.by_rows or self.input_rows):
            return NO_OPTIONS
        return ExportOptions(by_rows=self.by_rows, input_rows=self.input_rows)

    @property
    def config(self) -> QuantConfig:
        """Of a network that is quantised after training."""
        config = configure(self.preset, scheme=self.scheme, calibrator=self.calibrator)
        return replace(config, scheme_for=self.scheme_for)

    def untrained(self, graph: Graph, x: Array) -> Graph:
        """An untrained float graph in integers, for its costs: no method is fitted to weights.

        Args:
            graph: optimised, with all its channels.
            x: calibration samples.

        Raises:
            BudgetError: not even int4 in all layers holds ``max_bytes``.
            UnsupportedError: something in it cannot be computed in integers.

        """
        data = {graph.fed[0]: x}
        if self.preset is not None:
            fine = self.config.per_channel_dense
            plain = QuantConfig(
                per_channel_dense=fine, scheme=self.scheme, scheme_for=self.scheme_for
            )
            return quantize_graph(graph, data, plain)
        if self.max_bytes is not None:
            budget = Budget(max_bytes=self.max_bytes, allowed=(Scheme.INT4, Scheme.INT8))
            return quantize_within(graph, data, QuantConfig(per_channel_dense=True), budget)[0]
        bits = 4 if self.scheme is Scheme.INT4 else 8
        config = QatConfig(weight_bits=bits, activations=ACTIVATIONS[self.scheme])
        return QatModel(graph, data, config=config).deployed()


IN_INT8 = Deployment()
"""Training goes on for int8."""
