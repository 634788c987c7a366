"""Quantisation-aware training: train on what the int8 model will compute.

The model is the optimised float graph itself, run op by op on tensors, so that any imported model
can be trained on. Weights are rounded to int8 and biases to int32 by the quantiser's functions.
Each op's value is what its integer reference kernel answers; its gradient is the float op's. So
the model in training answers what the deployed one will, bit for bit, and the quantiser's rules
hold here as well: which tensors share a scale, which scale is prescribed, how a weight's scale
follows from its values. ``deployed`` hands what was learned to ``apply_plan``; nothing is decided
a second time.

Constants of other layers (PReLU, layer norm, position embeddings) are trained as they are rounded
for their op, on a grid that covers their present values.

Batch norms that the graph passes have folded can stay trainable: given the graph from before, the
fold is computed anew at each step, from the batch's statistics (Jacob et al. 2018, section 3.2),
and from the running ones once the model is frozen, as it will be deployed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tinyrt.ir import BoundNode, DType, Graph, Node, QParams, Stage, Value
from tinyrt.ops import OPS, is_weighted, verify
from tinyrt.ops.quantize import QuantizeAttrs
from tinyrt.ops.shared.evaluate import reference_kernel
from tinyrt.ops.shared.spec import Quant, limits_of
from tinyrt.quantize import QuantPlan, apply_plan, calibrate, make_plan
from tinyrt.quantize.plan import shared_parameters
from tinyrt.quantize.ranges import Range
from tinyrt.quantize.schemes import lay_out
from tinyrt.train.constants import constant_places
from tinyrt.train.core.function import Array
from tinyrt.train.core.tensor import Tensor, apply, no_grad, preset_output
from tinyrt.train.fake_quant import (
    ConstantQuantizer,
    LearnedQuantizer,
    Quantizer,
    RangeQuantizer,
    fake_quantize_bias,
)
from tinyrt.train.graph_model import (
    GraphModule,
    constant_layers_of,
    each_once,
    layers_of,
)
from tinyrt.train.nn import Module
from tinyrt.train.qat_config import QatConfig as QatConfig
from tinyrt.train.qat_config import Scales as Scales
from tinyrt.train.qat_weights import WeightedLayer, warn_of_folded, warn_of_untrained, with_norms
from tinyrt.train.recurrent import QuantizedSequenceLayer, sequence_layers_of

ACCUMULATORS = {DType.INT8: DType.INT32, DType.INT16: DType.INT64}
"""Dtype of biases beside each dtype of activations."""


class QatModel(GraphModule):
    """A float graph in training for int8, or int16x8.

    Where the graph ends in a softmax, the model gives the logits before it, which a loss wants;
    ``deployed`` has the softmax.

    Args:
        graph: an optimised float graph, batch 1.
        data: calibration inputs, (n, ...), by name where there are several: where the activations'
            ranges start from.
        source: the graph before optimisation, whose batch norms then stay trainable; warnings
            name those that do not, and those that no batch was ever seen by.
        config: the user's choices.

    Raises:
        UnsupportedError: the graph is quantised, or has an op without gradient or integer form.
        DataError: the data do not fit the model.

    """

    def __init__(
        self,
        graph: Graph,
        data: Array | Mapping[str, Array],
        *,
        source: Graph | None = None,
        config: QatConfig | None = None,
    ) -> None:
        super().__init__(graph)
        graph = self.graph
        config = config or QatConfig()
        warn_of_untrained(graph if source is None else source)
        ranges = calibrate(graph, data)
        self.dtype = config.activations
        fine = config.quantised(graph)
        self._config, layout = fine, lay_out(graph, fine)
        plan = make_plan(graph, ranges, fine)
        by_tensor = make_plan(graph, ranges, replace(fine, per_channel_dense=False))
        self.frozen = False
        self._group = shared_parameters(graph, layout)
        prescribed = {
            self._group[node.output.name]
            for node in graph.bound()
            if layout.fixed_output(node) is not None
        }
        norms = None if source is None or self.one_by_one else with_norms(source)
        self.constants = constant_layers_of(graph)
        places = constant_places(graph)
        self._by_constant = {
            node.input(places[node.name]).name: self.constants[node.name]
            for node in graph.bound()
            if node.name in places
        }
        self.quantizers: dict[str, Quantizer] = {}
        for name, root in self._group.items():
            if root in self.quantizers:
                continue
            q = plan.activations[name]
            if root in prescribed:
                self.quantizers[root] = Quantizer(q, dtype=self.dtype)
            elif name in self._by_constant and config.activation_scales is Scales.RANGE:
                constant = self._by_constant[name].constant
                self.quantizers[root] = ConstantQuantizer(constant, dtype=self.dtype)
            else:
                self.quantizers[root] = _quantizer(q, config.activation_scales, self.dtype)

        def layer(node: BoundNode) -> WeightedLayer | None:
            if not is_weighted(node):
                return None
            name = node.output.name
            return self._layer(node, plan.weights[name], by_tensor.weights[name], norms, config)

        def recurrent(node: BoundNode) -> QuantizedSequenceLayer:
            cell = ranges[node.node.outputs[2]]
            return QuantizedSequenceLayer(node, cell, self.dtype, config.bits(node))

        self.recurrent = sequence_layers_of(graph, recurrent)
        self.layers = layers_of(graph, layer)
        if norms is not None:
            warn_of_folded(norms, graph, {layer.norm for layer in self.layers.values()})
        elif source is not None:
            warn_of_folded(source, graph, {}, "samples go through the model one by one")

    def children(self) -> Iterator[tuple[str, Module]]:
        """Layers by their first nodes' names, then quantisers by their groups'."""
        yield from each_once(self.layers)
        yield from each_once(self.recurrent)
        yield from each_once(self.constants)
        yield from ((f"{root}.quantizer", q) for root, q in self.quantizers.items())

    def _layer(
        self,
        node: BoundNode,
        q: QParams,
        by_tensor: QParams,
        norms: Graph | None,
        config: QatConfig,
    ) -> WeightedLayer:
        """A layer with weights of as many bits as was chosen; int4 dense ones have one scale."""
        bits = config.bits(node)
        return WeightedLayer(
            node,
            q if bits == 8 else by_tensor,
            norms,
            bits=bits,
            learned=config.weight_scales is not Scales.RANGE,
            learns_from_rounding=config.weight_scales is Scales.LSQ,
        )

    def know(self, origins: Mapping[str, str]) -> None:
        """Values that hold the elements of others are kept as these are."""
        known = {name: origin for name, origin in origins.items() if origin in self._group}
        self._group.update((name, self._group[origin]) for name, origin in known.items())

    def freeze(self) -> None:
        """Hold ranges and batch norms' statistics still for the last steps."""
        self.frozen = True

    def answers(self, samples: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
        """What ``ends`` names, from inputs by name, each (n, ...) with the same n."""
        answers = super().answers(samples)
        cells = (layer.cell for layer in self.recurrent.values())
        for quantizer in (*self.quantizers.values(), *cells):
            quantizer.settle()
        return answers

    def _answers(self, samples: Mapping[str, Tensor], n: int) -> tuple[Tensor, ...]:
        moving = self.training and not self.frozen
        live = {}
        for name in self.graph.inputs:
            x = self.samples(name, samples[name])
            rounded = name in self._group
            live[name] = self._round(name, x, moving) if rounded else _plain(x.data)
        for node in self.nodes(n):
            live[node.output.name] = self._way_of(node)(node, live, moving)
        return tuple(live[name].tensor for name in self.ends)

    def deployed(self) -> Graph:
        """The int8 graph with the weights and scales as trained."""
        weights, rounded, constants, narrow = {}, {}, [], []
        with no_grad():
            for node in self.graph.bound():
                if node.name not in self.layers:
                    continue
                layer = self.layers[node.name]
                w, bias = layer.folded(node, None)
                q = layer.weights_q(w, self._limiting(bias), self._scale(node))
                weights[node.output.name] = q
                rounded[node.output.name] = layer.rounded(w, q)[1]
                if layer.bits == 4:
                    narrow.append(node.output.name)
                for value, tensor in ((node.input(1), w), (node.optional(2), bias)):
                    if value is not None and tensor is not None:
                        constants.append(Value.constant(value.name, tensor.data))
        for name, parameter in self._by_constant.items():
            constants.append(Value.constant(name, parameter.constant.data))
        activations = {name: self.quantizers[root].q for name, root in self._group.items()}
        for node in self.graph.bound():
            if node.name in self.recurrent:
                lstm = self.recurrent[node.name]
                constants += lstm.constants(node)
                y, hidden, cell = node.node.outputs
                activations |= {hidden: activations[y], cell: lstm.cell.q}
        trained = self.graph.with_nodes(self.graph.nodes, constants)
        layout = lay_out(trained, self._config)
        plan = QuantPlan(activations, weights, rounded, layout=layout)
        return _with_int4(apply_plan(trained, plan), narrow)

    def _limiting(self, bias: Tensor | None) -> Tensor | None:
        """The bias where it must fit int32; int64 holds any."""
        return bias if self.dtype is DType.INT8 else None

    def _quantizer(self, name: str) -> Quantizer:
        return self.quantizers[self._group[name]]

    def _scale(self, node: BoundNode) -> float:
        return self._quantizer(node.input(0).name).q.scale

    def _round(self, name: str, x: Tensor, moving: bool) -> Activation:
        """An input or constant as int8 keeps it."""
        return self._replace(name, x, self._quantizer(name).round(x), moving)

    def _replace(self, name: str, x: Tensor, steps: Array, moving: bool) -> Activation:
        quantizer = self._quantizer(name)
        if moving:
            quantizer.observe(x)
        return Activation(quantizer.replace(x, steps), steps)

    def _way_of(self, node: BoundNode) -> Callable[..., Activation]:
        """How the node is run."""
        if node.name in self.recurrent:
            return self._run_recurrent
        return self._run_weighted if node.name in self.layers else self._run

    def _run_recurrent(
        self, node: BoundNode, live: dict[str, Activation], moving: bool
    ) -> Activation:
        x, layer = live[node.input(0).name], self.recurrent[node.name]
        x_q, y_q = (self._quantizer(v.name).q for v in (node.input(0), node.output))
        y, answer = layer.answer(node, x.tensor, x.steps, x_q, y_q)
        if moving:
            layer.observe(x.tensor, y)
        activation = self._replace(node.output.name, y, answer, moving)
        layer.announce(activation.tensor)
        return activation

    def _run_weighted(
        self, node: BoundNode, live: dict[str, Activation], moving: bool
    ) -> Activation:
        x, y = live[node.input(0).name], node.output.name
        w, bias = self.layers[node.name].folded(node, x.tensor if moving else None)
        activation = self._replace(y, *self._weighted(node, x, w, bias), moving)
        self.layers[node.name].announce(activation.tensor)
        return activation

    def _weighted(
        self, node: BoundNode, x: Activation, w: Tensor, bias: Tensor | None
    ) -> tuple[Tensor, Array]:
        """What float weights, once rounded, make of an input: in float, and the kernel's steps."""
        layer, x_q = self.layers[node.name], self._quantizer(node.input(0).name).q
        w_q = layer.weights_q(w, self._limiting(bias), x_q.scale)
        w, w_steps = layer.rounded(w, w_q)
        parameters: list[QParams] = [x_q, w_q]
        tensors, steps = [x.tensor, w], [x.steps, w_steps]
        if bias is not None:
            stored = ACCUMULATORS[self.dtype]
            bias, bias_steps, bias_q = fake_quantize_bias(bias, x_q.scale, w_q, stored)
            parameters.append(bias_q)
            tensors.append(bias)
            steps.append(bias_steps)
        y_q = self._quantizer(node.output.name).q
        answer = _integer_kernel(node, parameters, y_q, self.dtype)(*steps)
        return apply(node.op, node.attrs, *tensors), answer

    def _run(self, node: BoundNode, live: dict[str, Activation], moving: bool) -> Activation:
        y = node.output.name
        moves_only = OPS[node.op].quant is Quant.SAME_AS_INPUT
        operands: list[Activation] = []
        parameters: list[QParams | None] = []
        for value in (v for v in node.inputs if v is not None):
            if value.dtype is not DType.FLOAT32:
                operands.append(live[value.name] if value.data is None else _plain(value.data))
                parameters.append(None)
                continue
            name = y if moves_only else value.name
            q = self._quantizer(name).q
            if value.data is not None:
                parameter = self._by_constant.get(value.name)
                constant = Tensor(value.data) if parameter is None else parameter.constant
                widens = moving and parameter is not None  # rows of a table that has grown
                operand = self._round(name, constant, widens)
            else:
                operand = live[value.name]
                if self._group[value.name] != self._group[name]:
                    operand = self._rescale(value, name, operand)
            operands.append(operand)
            parameters.append(q)
        y_q = self._quantizer(y).q if y in self._group else None
        kernel = _integer_kernel(node, parameters, y_q, self.dtype)
        answer = kernel(*(o.steps for o in operands))
        if y_q is None:
            return _plain(answer)
        result = self._in_float(node, [o.tensor for o in operands], answer)
        activation = self._replace(y, result, answer, moving)
        if node.name in self.constants:
            self.constants[node.name].announce(activation.tensor)
        return activation

    def _in_float(self, node: BoundNode, operands: Sequence[Tensor], answer: Array) -> Tensor:
        """The float op; where its value is not finite (a root of 0), the integers' real value."""
        result = apply(node.op, node.attrs, *operands)
        is_finite = np.isfinite(result.data)
        if is_finite.all():
            return result
        q = self._quantizer(node.output.name).q
        deployed = (answer - np.float32(q.zero_point)) * np.float32(q.scale)
        with preset_output(np.where(is_finite, result.data, deployed)):
            return apply(node.op, node.attrs, *operands)

    def _rescale(self, value: Value, name: str, x: Activation) -> Activation:
        """The rescaling that the quantiser inserts where tensors cannot share a scale."""
        node = Node("quantize", name, (value.name,), (name,), QuantizeAttrs(self.dtype))
        bound = BoundNode(0, node, (value,), (replace(value, name=name),))
        q, y_q = self._quantizer(value.name).q, self._quantizer(name).q
        kernel = _integer_kernel(bound, [q], y_q, self.dtype)
        return self._replace(name, x.tensor, kernel(x.steps), moving=False)


@dataclass(frozen=True, slots=True, eq=False)
class Activation:
    """A tensor, and the steps that it stands for."""

    tensor: Tensor
    steps: Array


def _plain(values: Array) -> Activation:
    """Truth values and places, which have no scale and no gradient."""
    return Activation(Tensor(values, dtype=values.dtype), values)


def _integer_kernel(
    node: BoundNode, inputs: Sequence[QParams | None], output: QParams | None, dtype: DType
) -> Callable[..., Array]:
    """The node's integer reference kernel with these parameters of its inputs and output."""
    present = [v for v in node.inputs if v is not None]
    dtypes = [dtype] * len(present)
    if is_weighted(node):
        dtypes[1:] = [DType.INT8, ACCUMULATORS[dtype]][: len(present) - 1]
    values = tuple(
        replace(v, dtype=dtype, q=q, data=None)
        for v, dtype, q in zip(present, dtypes, inputs, strict=True)
    )
    result = replace(node.output, dtype=dtype, q=output)
    return reference_kernel(replace(node, inputs=values, outputs=(result,)))


def _with_int4(graph: Graph, narrow: Sequence[str]) -> Graph:
    """The graph where the weights of the nodes with these outputs are of type int4."""
    values = []
    for name in narrow:
        producer = graph.producer(name)
        assert producer is not None
        values.append(replace(graph.value(producer.inputs[1]), dtype=DType.INT4))
    return verify(graph.with_nodes(graph.nodes, values), Stage.INT8)


def _quantizer(q: QParams, scales: Scales, dtype: DType) -> Quantizer:
    if scales is Scales.RANGE:
        return RangeQuantizer(_range_of(q, dtype), dtype=dtype)
    return LearnedQuantizer(q, learns_from_rounding=scales is Scales.LSQ, dtype=dtype)


def _range_of(q: QParams, dtype: DType) -> Range:
    """The real range that parameters cover; that of int16 is as long on both sides of 0."""
    low, high = limits_of(dtype)
    if dtype is DType.INT16:
        low = -high
    return Range((low - q.zero_point) * q.scale, (high - q.zero_point) * q.scale)
