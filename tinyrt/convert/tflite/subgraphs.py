"""Ops of .tflite files that run other subgraphs: the nodes of these take the op's place.

A branch that is known is the only one that is read; of others, both are computed and one is chosen.
A loop is written out, round by round, for as long as its condition is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tinyrt.convert.tflite.parts import Parts
from tinyrt.errors import ModelFormatError, UnsupportedError
from tinyrt.ir import DType, Node, Shape, Value

DEEPEST = 16
"""Subgraphs that may run each other, one inside the other."""


@dataclass(frozen=True, slots=True)
class Body:
    """A subgraph that was read for certain inputs.

    Attributes:
        inputs: names of its inputs, in order.
        outputs: of its outputs.
        values: all its values by name; inputs that are known are constants.
        nodes: in execution order.
        stale: as ``Parts`` has it.

    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    values: Mapping[str, Value]
    nodes: Sequence[Node]
    stale: Mapping[str, tuple[Shape, Shape]]


Read = Callable[[int, Sequence[Value]], Body]
"""Reads the subgraph of that number for these inputs."""


class Caller:
    """An op that runs subgraphs.

    Attributes:
        parts: the graph that the op is in.
        read: reads a subgraph.
        inputs: the op's.
        outputs: the op's.

    """

    def __init__(
        self, parts: Parts, read: Read, inputs: Sequence[Value | None], outputs: Sequence[Value]
    ) -> None:
        self.parts = parts
        self.read = read
        self.inputs = [value for value in inputs if value is not None]
        self.outputs = outputs
        if len(self.inputs) != len(inputs):
            raise ModelFormatError("the op lacks an input", expected="a tensor for each")

    def call(self, index: int, inputs: Sequence[Value]) -> None:
        """The nodes of a subgraph, as the op's."""
        body = self.read(index, inputs)
        self.parts.stale.update(body.stale)
        self.state_shapes(body.values[name] for name in body.outputs)
        results = self.run(body, inputs, self.outputs)
        for result, output in zip(results, self.outputs, strict=True):
            self.bind(result, output)

    def state_shapes(self, results: Iterable[Value]) -> None:
        """Give the op's outputs the shapes of what they become, whatever the file declares."""
        for output, result in zip(self.outputs, results, strict=False):
            self.parts.state_shape(output, result.shape)
        self.outputs = [self.parts.values[output.name] for output in self.outputs]

    def run(
        self, body: Body, inputs: Sequence[Value], like: Sequence[Value], round_: str = ""
    ) -> list[Value]:
        """Append the nodes of a subgraph; its outputs.

        Args:
            body: the subgraph, read for these inputs.
            inputs: what its inputs are here.
            like: what its outputs must be like.
            round_: what tells its names from those of other rounds.

        Raises:
            ModelFormatError: it has another number of outputs.
            UnsupportedError: an output has another type.

        """
        if len(body.outputs) != len(like):
            raise ModelFormatError(
                f"the subgraph has {len(body.outputs)} outputs", expected=str(len(like))
            )
        here = dict(zip(body.inputs, inputs, strict=True))
        for node in body.nodes:
            for name in node.outputs:
                here[name] = self.parts.new(self._named(name, round_), body.values[name])
            for name in (n for n in node.inputs if n and n not in here):
                here[name] = self._constant(self._named(name), body.values[name])
            inside = tuple(here[name].name if name else "" for name in node.inputs)
            outside = tuple(here[name].name for name in node.outputs)
            self.parts.append(replace(node, name=outside[0], inputs=inside, outputs=outside))
        results = []
        for name, wanted in zip(body.outputs, like, strict=True):
            value = here.get(name) or self._constant(self._named(name, round_), body.values[name])
            check_alike(value, wanted)
            results.append(self.parts.values[value.name])
        return results

    def bind(self, result: Value, output: Value) -> None:
        """Make the op's output that value."""
        if result.data is None:
            self.parts.reshape(result, output)
        else:
            self.parts.set(output, result.data)

    def _named(self, name: str, round_: str = "") -> str:
        return f"{self.outputs[0].name}/{round_}{name}"

    def _constant(self, wish: str, value: Value) -> Value:
        if value.data is None:
            raise ModelFormatError(
                "no op of the subgraph computes this tensor",
                tensor=value.describe(),
                expected="an input, a constant, or the output of an op",
            )
        made = self.parts.new(wish, value)
        return self.parts.set(made, value.data)


def check_alike(value: Value, other: Value) -> None:
    """Raise ``UnsupportedError`` unless both have one dtype, shape and quantisation."""
    if (value.dtype, value.shape, value.q) != (other.dtype, other.shape, other.q):
        raise UnsupportedError(
            "a subgraph's tensor has another type than the one that it stands for",
            tensor=value.describe(),
            expected=other.describe(),
            hint="export the model with fixed shapes",
        )


def call(caller: Caller, options: Any) -> None:
    """CALL: a subgraph."""
    caller.call(options.Subgraph(), caller.inputs)


def composite(caller: Caller, options: Any) -> None:
    """STABLEHLO_COMPOSITE: an op by name, which a subgraph spells out."""
    caller.call(options.DecompositionSubgraphIndex(), caller.inputs)


def branch(caller: Caller, options: Any) -> None:
    """IF: one of two subgraphs; where the condition is computed, both, and a choice."""
    if not caller.inputs or caller.inputs[0].size != 1 or caller.inputs[0].dtype is not DType.BOOL:
        raise ModelFormatError(
            "IF without a condition",
            tensor=caller.inputs[0].describe() if caller.inputs else None,
            expected="one truth value first",
        )
    condition, *inputs = caller.inputs
    indices = options.ThenSubgraphIndex(), options.ElseSubgraphIndex()
    if condition.data is not None:
        caller.call(indices[0] if condition.data.item() else indices[1], inputs)
        return
    parts = caller.parts
    bodies = [caller.read(index, inputs) for index in indices]
    for body in bodies:
        parts.stale.update(body.stale)
    caller.state_shapes(bodies[0].values[name] for name in bodies[0].outputs)
    either = [
        caller.run(body, inputs, caller.outputs, name)
        for body, name in zip(bodies, ("then/", "else/"), strict=True)
    ]
    flat = parts.reshape(condition, parts.new(f"{condition.name}/flat", condition, ()))
    for output, first, second in zip(caller.outputs, *either, strict=True):
        parts.add("select_v2", [flat, first, second], output)


def loop(caller: Caller, options: Any) -> None:
    """WHILE: a subgraph again and again, written out for as long as another one answers true.

    Shapes inside may differ from round to round, so those that the file declares say nothing.

    Raises:
        UnsupportedError: the condition is computed at run time.

    """
    now, rounds = caller.inputs, 0
    while _goes_on(caller, options.CondSubgraphIndex(), now):
        body = caller.read(options.BodySubgraphIndex(), now)
        now = caller.run(body, now, now, f"round_{rounds}/")
        rounds += 1
    if len(now) != len(caller.outputs):
        raise ModelFormatError(
            f"the op has {len(caller.outputs)} outputs", expected=f"{len(now)}, as inputs"
        )
    caller.state_shapes(now)
    for value, output in zip(now, caller.outputs, strict=True):
        check_alike(value, output)
        caller.bind(value, output)


def _goes_on(caller: Caller, index: int, now: Sequence[Value]) -> bool:
    condition = caller.read(index, now)
    values = [condition.values[name] for name in condition.outputs]
    if len(values) != 1 or values[0].dtype is not DType.BOOL or values[0].size != 1:
        raise ModelFormatError(
            "WHILE without a condition", expected="a subgraph with a truth value"
        )
    if values[0].data is None:
        raise UnsupportedError(
            "WHILE for a number of rounds that is computed at run time",
            expected="a condition that depends on constants alone",
            hint="export the model without control flow, or with a fixed number of steps",
        )
    return bool(values[0].data.item())


FLOWS: Mapping[str, tuple[str, Callable[[Caller, Any], None]]] = {
    "CALL": ("CallOptions", call),
    "IF": ("IfOptions", branch),
    "STABLEHLO_COMPOSITE": ("StableHLOCompositeOptions", composite),
    "WHILE": ("WhileOptions", loop),
}
"""Op -> the schema table of its options, and what puts subgraphs in its place."""
