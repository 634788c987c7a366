"""A model over a window that slides in time -> one that takes new frames and keeps the rest.

Each op computes only the rows that are new; what it needs of older ones is kept in states, which
are inputs and outputs of the graph in pairs. From the first full window on, the answers are those
of the whole model on that window, bit for bit in int8. Where an op needs the whole window (it joins
all rows, or pads in time, so that a row's value depends on where the window begins), the rows
before it are kept and it runs as it did.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace

from tinyrt.convert.over_time.rules import Streamed, Track, rule_of, with_rows
from tinyrt.errors import ShapeError, UnsupportedError
from tinyrt.ir import BoundNode, Graph, Node, Value
from tinyrt.ops import OPS, verify
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.slice import SliceAttrs


@dataclass(frozen=True, slots=True)
class StreamedModel:
    """A streamed model.

    Attributes:
        graph: the graph, with its states.
        hops: inferences until the first full window.
        macs: multiply-accumulates of one inference.
        full_macs: those of the whole model.
        whole: ops that run on all rows every time, each as ``describe`` names it.

    """

    graph: Graph
    hops: int
    macs: int
    full_macs: int
    whole: tuple[str, ...]


def stream(graph: Graph, axis: int, hop: int = 1, name: str | None = None) -> StreamedModel:
    """Make a model take the newest rows of its window only.

    Args:
        graph: a verified graph.
        axis: the input's dimension that is time; from the end where negative.
        hop: new rows per inference.
        name: which input, where the model has several; the others must not change over time.

    Raises:
        ShapeError: there is no such input or axis, or the hop does not fit the window.
        UnsupportedError: strides do not fit the hop, or nothing would be saved.

    """
    if graph.states:
        raise UnsupportedError("the model keeps state already", hint="stream the model it was")
    source, track = _source(graph, axis, hop, name)
    most_rows: dict[str, int] = {}
    _Streamer(graph, source, track, most_rows).run()
    streamer = _Streamer(graph, source, track, most_rows)
    streamed = streamer.run()
    macs, full = (sum(OPS[n.op].macs(n) for n in g.bound()) for g in (streamed, graph))
    if macs >= full and streamer.whole:
        raise UnsupportedError(
            f"streaming saves nothing: {streamer.whole[0]} needs the whole window every time",
            expected="ops that treat every row alike, without padding in time",
            hint="pad in time before the model, or train it with padding VALID along that axis",
        )
    return StreamedModel(streamed, track.rows // track.new, macs, full, tuple(streamer.whole))


def _source(graph: Graph, axis: int, hop: int, name: str | None) -> tuple[Value, Track]:
    if name is None and len(graph.inputs) > 1:
        raise ShapeError(
            f"the model has {len(graph.inputs)} inputs",
            expected="the name of the one that moves in time",
            hint=f"--stream {graph.inputs[0]}={axis}",
        )
    if name is not None and name not in graph.inputs:
        raise ShapeError(f"there is no input '{name}'", expected=", ".join(graph.inputs))
    source = graph.value(name or graph.inputs[0])
    rank = len(source.shape)
    if not -rank <= axis < rank:
        raise ShapeError(
            f"there is no dimension {axis}", tensor=source.describe(), expected=f"0 to {rank - 1}"
        )
    rows = source.shape[axis]
    if not 1 <= hop < rows or rows % hop:
        raise ShapeError(
            f"a hop of {hop} rows",
            tensor=source.describe(),
            expected=f"a divisor of the window's {rows} rows, and fewer than all",
        )
    return source, Track(axis % rank, rows, hop)


class _Streamer:
    """One walk over the graph.

    The first walk counts the old rows that each tensor's consumers read. The second one keeps, for
    each tensor, as many as the consumer that reads the most.
    """

    def __init__(
        self, graph: Graph, source: Value, track: Track, most_rows: dict[str, int]
    ) -> None:
        self.whole: list[str] = []
        self._graph = graph
        self._most_rows = most_rows
        self._values = dict(graph.values) | {source.name: with_rows(source, track)}
        self._tracks = {source.name: track}
        self._nodes: list[Node] = []
        self._states: list[tuple[str, str]] = []
        self._state_inputs: dict[str, str] = {}
        self._windows: dict[tuple[str, int], str] = {}

    def run(self) -> Graph:
        """The streamed graph."""
        for node in self._graph.bound():
            candidates = [self._tracks.get(name) for name in node.node.inputs]
            tracks = [track for track in candidates if track is not None]
            if not tracks:
                self._nodes.append(node.node)
                continue
            streamed = self._streamed(node, tracks)
            if streamed is None:
                self._run_whole(node)
            else:
                self._run_new(node, streamed)
        states = [name for pair in self._states for name in pair]
        graph = replace(
            self._graph,
            inputs=(*self._graph.inputs, *states[::2]),
            outputs=(*self._graph.outputs, *states[1::2]),
            values=self._values,
            nodes=tuple(self._nodes),
            states=tuple(self._states),
        )
        return verify(graph)

    def _streamed(self, node: BoundNode, tracks: list[Track]) -> Streamed | None:
        rule = rule_of(node)
        activations = [v.name for v in node.inputs if v is not None and not v.is_constant]
        alike = all(track == tracks[0] for track in tracks)
        if rule is None or not alike or any(name not in self._tracks for name in activations):
            return None
        return rule(node, tracks[0])

    def _run_new(self, node: BoundNode, streamed: Streamed) -> None:
        attrs = node.attrs if streamed.attrs is None else streamed.attrs
        inputs = self._inputs(node, streamed.reads)
        self._nodes.append(replace(node.node, inputs=inputs, attrs=attrs))
        if streamed.output.new < streamed.output.rows:
            self._tracks[node.output.name] = streamed.output
        self._values[node.output.name] = with_rows(node.output, streamed.output)

    def _run_whole(self, node: BoundNode) -> None:
        """The op as it was, on all rows; its output is new in every row."""
        if OPS[node.op].macs(node):
            self.whole.append(node.describe())
        self._nodes.append(replace(node.node, inputs=self._inputs(node, None)))

    def _inputs(self, node: BoundNode, reads: int | None) -> tuple[str, ...]:
        names = []
        for name in node.node.inputs:
            track = self._tracks.get(name)
            names.append(name if track is None else self._newest(name, reads or track.rows))
        return tuple(names)

    def _newest(self, name: str, rows: int) -> str:
        """The name of the tensor's newest ``rows`` rows."""
        track = self._tracks[name]
        self._most_rows[name] = most = max(rows, self._most_rows.get(name, 0), track.new)
        if (name, rows) in self._windows:
            return self._windows[name, rows]
        if rows == track.new:
            newest = name
        elif rows == most:
            newest = self._with_old(name, rows)
        else:
            longest = name if most == track.new else self._newest(name, most)
            newest = self._last(longest, track.axis, rows, f"{name}/newest")
        self._windows[name, rows] = newest
        return newest

    def _with_old(self, name: str, rows: int) -> str:
        """The new rows behind the old ones from the state."""
        track, value = self._tracks[name], self._values[name]
        old = self._add(with_rows(value, replace(track, new=rows - track.new)), f"{name}/state")
        window = self._add(with_rows(value, replace(track, new=rows)), f"{name}/window")
        attrs = ConcatenationAttrs(track.axis)
        self._nodes.append(Node("concatenation", window, (old, name), (window,), attrs))
        new = self._last(window, track.axis, rows - track.new, f"{name}/next_state")
        self._states.append((old, new))
        return window

    def _last(self, name: str, axis: int, rows: int, wish: str) -> str:
        value = self._values[name]
        first = value.shape[axis] - rows
        begin = tuple(first if i == axis else 0 for i in range(len(value.shape)))
        size = tuple(rows if i == axis else n for i, n in enumerate(value.shape))
        new = self._add(replace(value, shape=size), wish)
        attrs = SliceAttrs(begin, size, (1,) * len(size))
        self._nodes.append(Node("slice", new, (name,), (new,), attrs))
        return new

    def _add(self, value: Value, wish: str) -> str:
        name = _unused(wish, self._values)
        self._values[name] = replace(value, name=name)
        return name


def _unused(wish: str, names: Container[str]) -> str:
    name, i = wish, 0
    while name in names:
        i += 1
        name = f"{wish}_{i}"
    return name
