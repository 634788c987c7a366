"""A float graph in training for int8 weights and for int4 ones at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from tinyrt.ir import BoundNode, Graph, QParams
from tinyrt.ops import OPS
from tinyrt.train.core.function import Array
from tinyrt.train.core.module import Module
from tinyrt.train.core.tensor import Tensor, apply
from tinyrt.train.graph_model import each_once
from tinyrt.train.qat import Activation, QatConfig, QatModel, Scales
from tinyrt.train.qat_weights import WeightedLayer
from tinyrt.train.widths.gates import Gates


class TwoWidthModel(QatModel):
    """A model whose layers have weights of both widths, until ``settle`` fixes one of each.

    In between, with ``open``, a layer's weights are a mix of both, and its outputs are rounded to
    what integers of their tensor hold. Settled, the model answers as deployed, bit for bit, as any
    ``QatModel`` does. Scales are learned (LSQ).

    Args:
        graph: an optimised float graph, batch 1.
        data: calibration inputs, as for ``QatModel``.
        source: the graph before optimisation, likewise.

    Attributes:
        nodes_of: name of each layer that may have int4 weights, by its first node -> outputs of
            the nodes that it computes.
        gates: those of the open layers; None where all are settled.

    """

    def __init__(
        self, graph: Graph, data: Array | Mapping[str, Array], *, source: Graph | None = None
    ) -> None:
        self._narrow: dict[str, WeightedLayer] = {}
        self._chances: dict[str, Tensor] = {}
        self._open: tuple[str, ...] = ()
        self.gates: Gates | None = None
        config = QatConfig(weight_scales=Scales.LSQ)
        super().__init__(graph, data, source=source, config=config)
        self._wide = dict(each_once(self.layers))
        firsts = {id(layer): name for name, layer in self._wide.items()}
        self._first = {name: firsts[id(layer)] for name, layer in self.layers.items()}
        self.nodes_of: dict[str, list[str]] = {name: [] for name in self._narrow}
        for node in self.graph.nodes:
            first = self._first.get(node.name)
            if first in self._narrow:
                self.nodes_of[first].append(node.output)

    def _layer(
        self,
        node: BoundNode,
        q: QParams,
        by_tensor: QParams,
        norms: Graph | None,
        config: QatConfig,
    ) -> WeightedLayer:
        layer = super()._layer(node, q, by_tensor, norms, config)
        if OPS[node.op].int4_weights:
            narrow = WeightedLayer(node, by_tensor, norms, bits=4, learned=True)
            narrow.share(layer)
            self._narrow[node.name] = narrow
        return layer

    def open(self, layers: Sequence[str], gates: Gates) -> None:
        """Mix the widths of these layers by the chances that the gates give, in this order."""
        self.gates, self._open = gates, tuple(layers)

    def settle(self, narrow: Collection[str]) -> None:
        """Give these layers int4 weights, and all others int8 ones."""
        self.gates, self._open = None, ()
        for name, first in self._first.items():
            of = self._narrow if first in narrow else self._wide
            self.layers[name] = of[first]

    def children(self) -> Iterator[tuple[str, Module]]:
        """The model's own parts, and what is there besides as long as widths are open."""
        yield from super().children()
        if self.gates is not None:
            yield from ((f"{name}.narrow", self._narrow[name]) for name in self._open)
            yield "gates", self.gates

    def answers(self, samples: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
        """What ``ends`` names, from inputs by name, each (n, ...) with the same n."""
        if self.gates is not None:
            chances = self.gates()
            self._chances = {name: chances[i : i + 1] for i, name in enumerate(self._open)}
        return super().answers(samples)

    def _weighted(
        self, node: BoundNode, x: Activation, w: Tensor, bias: Tensor | None
    ) -> tuple[Tensor, Array]:
        first = self._first[node.name]
        if first not in self._open:
            return super()._weighted(node, x, w, bias)
        wide, narrow = (
            layer.rounded(w, layer.weights_q(w, bias, self._scale(node)))[0]
            for layer in (self._wide[first], self._narrow[first])
        )
        mixed = narrow + (wide - narrow) * self._chances[first]
        y = apply(node.op, node.attrs, x.tensor, mixed, bias)
        return y, self._quantizer(node.output.name).round(y)
