"""A network with an early exit, cut in two: up to the exit, and the rest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tinyrt.api.reading import open_model
from tinyrt.convert.tflite.writer import save_tflite
from tinyrt.entry import entry
from tinyrt.errors import UnsupportedError, error_context
from tinyrt.ir import Graph, Node


@entry
def split_early_exit(
    model: str | Path, first: str | Path, second: str | Path, *, exit_output: str | None = None
) -> str:
    """Write a model with two outputs as two that ``Cascade`` runs one after the other.

    The first gives the exit's scores, and the tensor from which the second goes on. What leads to
    the exit is computed once, and no number changes.

    Args:
        model: an int8 .tflite with two outputs: an exit's scores and the final ones.
        first: the .tflite to write up to the exit.
        second: the .tflite to write for the rest.
        exit_output: the name of the exit's output; the first one by default.

    Returns:
        The name of the tensor at the cut.

    Raises:
        UnsupportedError: there are not two outputs, or more than one tensor leads from the part
            before the exit to the rest.
        OutputError: a file cannot be written.

    """
    with error_context(file=str(model)):
        graph = open_model(model, optimize=False)
        leaves, stays = _outputs(graph, exit_output)
        front = _needed(graph, leaves)
        rest = [node for node in _needed(graph, stays) if node not in front]
        cut = _cut(graph, leaves, front, rest)
    save_tflite(_part(graph, "exit", graph.fed, (leaves, cut), front), first)
    save_tflite(_part(graph, "rest", (cut,), (stays,), rest), second)
    return cut


def _outputs(graph: Graph, exit_output: str | None) -> tuple[str, str]:
    """The exit's output and the final one."""
    names = graph.answers
    chosen = names[0] if exit_output is None else exit_output
    if len(names) != 2 or chosen not in names or graph.states:
        raise UnsupportedError(
            f"the model has {len(graph.states)} states and the outputs {', '.join(names)}",
            expected="no state and two outputs, an exit's scores and the final ones"
            + ("" if exit_output is None else f"; one of them '{exit_output}'"),
            hint="trace the network with both heads as outputs",
        )
    (other,) = (name for name in names if name != chosen)
    return chosen, other


def _needed(graph: Graph, output: str) -> list[Node]:
    """The nodes that lead to an output, in their order."""
    wanted, nodes = {output}, []
    for node in reversed(graph.nodes):
        if not wanted.isdisjoint(node.outputs):
            wanted.update(node.inputs)
            nodes.append(node)
    return nodes[::-1]


def _cut(graph: Graph, leaves: str, front: list[Node], rest: list[Node]) -> str:
    """The only tensor that leads from the front to the rest."""
    made = {name for node in front for name in node.outputs} | set(graph.fed)
    read = {name for node in rest for name in node.inputs}
    crossing = [name for name in graph.values if name in made & read]
    if len(crossing) != 1 or crossing[0] in graph.fed or crossing[0] == leaves:
        raise UnsupportedError(
            f"what leads from the part before the exit '{leaves}' to the rest: "
            f"{', '.join(crossing) or 'nothing'}",
            expected="one tensor that both the exit's head and the rest read",
            hint="let the exit branch off where the network is a single chain; where the outputs "
            "are in the other order, name the exit's with exit_output",
        )
    return crossing[0]


def _part(
    graph: Graph, what: str, inputs: tuple[str, ...], outputs: tuple[str, ...], nodes: list[Node]
) -> Graph:
    """The graph of these nodes."""
    used = {*inputs, *outputs, *(n for node in nodes for n in (*node.inputs, *node.outputs))}
    values = {name: value for name, value in graph.values.items() if name in used}
    return replace(
        graph,
        name=f"{graph.name}_{what}",
        inputs=inputs,
        outputs=outputs,
        values=values,
        nodes=tuple(nodes),
    )
