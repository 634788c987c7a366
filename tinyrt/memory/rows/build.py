"""Builds segments: which rows each stage reads, when it runs, and how many rows its ring keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tinyrt.ir import BoundNode, DType, Graph, Value
from tinyrt.memory.segments import Access, Ring, RowStage, RowStep, Segment
from tinyrt.ops import OPS
from tinyrt.ops.shared.rows import Fold, RowOp, RowWindow
from tinyrt.text import own_name

MAX_STAGES = 31
"""Stages of a segment: a step names its stage by five bits, and one of their values is the end."""

MAX_BLOCK = 14
"""Rows of a batch: a step gives the number of missing rows in four bits."""

MAX_BYTES = 65_535
"""Bytes of a ring buffer: the C code stores its sizes in 16 bits."""

ROW_TYPES = (DType.INT8, DType.INT16)
"""The dtypes of tensors that have rows."""


def row_ops(graph: Graph) -> list[RowOp | None]:
    """For each node, its row-by-row form; None where it has none."""
    return [_row_op(node) for node in graph.bound()]


def is_image(value: Value) -> bool:
    """Whether a tensor has rows: (1, h, w, c), int8 or int16."""
    return value.dtype in ROW_TYPES and len(value.shape) == 4 and value.shape[0] == 1


def _row_op(node: BoundNode) -> RowOp | None:
    activations = [v for v in (*node.inputs, node.output) if v is not None and not v.is_constant]
    if any(v.dtype not in ROW_TYPES or v.shape[:1] != (1,) for v in activations):
        return None
    op = OPS[node.op].row_op(node)
    images = activations if op is None or op.fold is None else activations[:-1]
    return op if all(map(is_image, images)) else None


def sums_name(index: int) -> str:
    """The name of the accumulators into which node ``index`` adds rows."""
    return own_name(f"sums#{index}")


def ring_name(value: str, first: int) -> str:
    """The name of the ring into which the segment that begins at node ``first`` copies rows."""
    return own_name(f"rows{first}#{value}")


@dataclass(slots=True)
class _Draft:
    """A stage in the making.

    Attributes:
        node: index of the node; None for a copy.
        output: the tensor whose rows the stage computes.
        key: name of the ring or tensor that the stage writes.
        rows: number of rows in all.
        reads: key and window of each input; None for constants.
        period: time from one row to the next.
        delay: time of the first row.
        block: rows of a whole batch.

    """

    node: int | None
    output: Value
    key: str
    rows: int
    reads: list[tuple[str, RowWindow] | None]
    period: int = 1
    delay: int = 0
    block: int = 1

    def time(self, row: int) -> int:
        return self.delay + row * self.period

    def newest(self, time: int) -> int:
        """The last row computed by that time, as if rows had neither beginning nor end."""
        return (time - self.delay) // self.period


def build(
    graph: Graph,
    ops: Sequence[RowOp | None],
    first: int,
    stop: int,
    pushed: str | None = None,
    times: int = 1,
    early: bool = False,
) -> Segment | None:
    """The segment of nodes [first, stop); None where they cannot form one.

    Args:
        graph: the model.
        ops: row-by-row forms of its nodes, see ``row_ops``.
        first: index of the first node.
        stop: index of the first node after the segment.
        pushed: a model input that is never held whole: the caller pushes its rows.
        times: number of times that make a batch.
        early: whether all rings shift when a batch begins, or each just before its stage writes.

    """
    if any(ops[i] is None for i in range(first, stop)):
        return None
    builder = _Builder(graph, ops, first, stop, pushed, times, early)
    if not (builder.draft() and builder.set_times() and builder.set_blocks()):
        return None
    segment = builder.segment()
    small = all(ring.nbytes <= MAX_BYTES for ring in segment.rings.values())
    return segment if small and len(segment.stages) <= MAX_STAGES else None


class _Builder:
    """Collects the stages, their times, and the readers of each tensor or ring."""

    def __init__(
        self,
        graph: Graph,
        ops: Sequence[RowOp | None],
        first: int,
        stop: int,
        pushed: str | None,
        times: int,
        early: bool,
    ) -> None:
        self.graph = graph
        self.ops = ops
        self.times, self.early = times, early
        self.first, self.stop, self.pushed = first, stop, pushed
        self.drafts: list[_Draft] = []
        self.maker: dict[str, int] = {}
        self.windows: dict[str, list[tuple[int, RowWindow]]] = {}
        """For each key, its readers: stage and window."""

    def draft(self) -> bool:
        """Find stages and readers; false where one ring cannot serve all readers."""
        inside = {n.output for n in self.graph.nodes[self.first : self.stop]}
        read = {name for n in self.graph.nodes[self.first : self.stop] for name in n.inputs}
        for i in range(self.first, self.stop):
            node, op = self.graph.bind(i), self.ops[i]
            assert op is not None
            reads: list[tuple[str, RowWindow] | None] = []
            for value, window in zip(node.inputs, op.windows, strict=True):
                if value is None or window is None:
                    reads.append(None)
                elif window.step == 0 and value.name in {*inside, self.pushed}:
                    return False  # its readers run before the whole tensor is there
                else:
                    reads.append((self._source(value, inside), window))
            y = node.output
            if op.fold is not None:
                if y.name in read:
                    return False
                self._add(_Draft(i, y, sums_name(i), node.input(0).shape[1], reads))
                continue
            self._add(_Draft(i, y, y.name, y.shape[1], reads))
        return all(self._agree(key) for key in self.windows)

    def _source(self, value: Value, inside: set[str]) -> str:
        """The key that a node reads: the tensor's, or that of the ring it is copied into."""
        if self._is_whole(value.name, inside) and (
            value.name == self.pushed or self._any_padding(value.name)
        ):
            key = ring_name(value.name, self.first)
            if key not in self.maker:
                reads = [None if value.name == self.pushed else (value.name, RowWindow())]
                self._add(_Draft(None, value, key, value.shape[1], list(reads)))
            return key
        return value.name

    def _is_whole(self, name: str, inside: set[str]) -> bool:
        """Whether the tensor is held whole."""
        return name not in inside or self.used_behind(name)

    def used_behind(self, name: str) -> bool:
        """Whether a tensor is a model output, or read by nodes outside of the segment."""
        last = max((i for i, n in enumerate(self.graph.nodes) if name in n.inputs), default=-1)
        return name in self.graph.outputs or last >= self.stop

    def _any_padding(self, name: str) -> bool:
        for i in range(self.first, self.stop):
            op = self.ops[i]
            assert op is not None
            for value, window in zip(self.graph.nodes[i].inputs, op.windows, strict=True):
                if value == name and window is not None and window.padded:
                    return True
        return False

    def _add(self, draft: _Draft) -> None:
        index = len(self.drafts)
        for read in draft.reads:
            if read is not None:
                self.windows.setdefault(read[0], []).append((index, read[1]))
        self.drafts.append(draft)
        self.maker[draft.key] = index

    def _agree(self, key: str) -> bool:
        """Whether one ring can serve all readers: their padding must have the same value."""
        return len({w.fill for _, w in self.windows[key] if w.padded}) <= 1

    def set_times(self) -> bool:
        """Set periods and delays; false where two inputs of a stage come at different rates."""
        reference = 0
        for draft in self.drafts:
            sources = self._sources(draft)
            if sources:
                periods = {source.period * window.step for source, window in sources}
                if len(periods) > 1:
                    return False
                (draft.period,) = periods
                draft.delay = max(s.time(w.rows - 1 - w.above) for s, w in sources)
                continue
            reference = reference or draft.rows
            draft.period, rest = divmod(reference, draft.rows)
            if rest:
                return False
        for _ in range(2):
            for i in reversed(range(len(self.drafts))):
                self._set_delay(i)
        return True

    def set_blocks(self) -> bool:
        """Set the rows of a batch; false where batches would not all have the same pattern."""
        for draft in self.drafts:
            short, long = sorted((draft.period, self.times))
            draft.block = max(self.times // draft.period, 1)
            if long % short or draft.block > MAX_BLOCK:
                return False
        return True

    def _set_delay(self, index: int) -> None:
        """Choose the start time that makes the rings smallest.

        Where branches meet, one branch has to wait. Its ring then holds more rows, either of the
        stage's input or of its output.
        """
        draft = self.drafts[index]
        sources = self._sources(draft)
        readers = [(self.drafts[s], w) for s, w in self.windows.get(draft.key, [])]
        if not sources or not readers:
            return
        earliest = max(s.time(w.rows - 1 - w.above) for s, w in sources)
        latest = min(r.delay - (w.rows - 1 - w.above) * draft.period for r, w in readers)
        keys = {draft.key, *(source.key for source, _ in sources)}
        sizes = {}
        for delay in range(earliest, latest + 1):
            draft.delay = delay
            sizes[delay] = sum(self._ring(self.drafts[self.maker[key]]).nbytes for key in keys)
        draft.delay = min(sizes, key=lambda delay: (sizes[delay], delay))

    def _sources(self, draft: _Draft) -> list[tuple[_Draft, RowWindow]]:
        """The stages whose rows this stage reads, each with the window it is read through."""
        reads = [r for r in draft.reads if r is not None and r[0] in self.maker]
        return [(self.drafts[self.maker[key]], window) for key, window in reads]

    def _batch(self, draft: _Draft, row: int) -> int:
        """The number of the batch that computes a row."""
        return -(-draft.time(row) // self.times)

    def _behind(self, key: str, reader: int, window: RowWindow) -> int:
        """Rows from the first row that a batch reads to the newest row at that time."""
        source, stage = self.drafts[self.maker[key]], self.drafts[reader]
        now = self._batch(stage, 0) * self.times
        first = (stage.newest(now) - stage.block + 1) * window.step - window.above
        return source.newest(now) - first + 1

    def segment(self) -> Segment:
        """The segment made of the drafted stages."""
        inside = {d.key for d in self.drafts if d.node is not None}
        rings: dict[str, Ring] = {}
        for d in self.drafts:
            fold = self._fold(d)
            if fold is not None:
                rings[d.key] = Ring(d.key, d.output.name, 1, 4 * fold.channels, 0)
            elif d.node is None or not self._is_whole(d.key, inside):
                rings[d.key] = self._ring(d)
        stages = tuple(self._stage(i, draft, rings) for i, draft in enumerate(self.drafts))
        steps = self._steps(rings)
        return Segment(self.first, self.stop, stages, rings, steps, self.pushed)

    def _ring(self, draft: _Draft) -> Ring:
        readers = self.windows.get(draft.key, [])
        padding = {w.fill for _, w in readers if w.padded}
        return Ring(
            name=draft.key,
            value=draft.output.name,
            rows=max(draft.block, *(self._behind(draft.key, s, w) for s, w in readers), 1),
            row_bytes=_row_bytes(draft.output),
            fill=padding.pop() if padding else None,
            block=draft.block,
        )

    def _fold(self, draft: _Draft) -> Fold | None:
        op = self.ops[draft.node] if draft.node is not None else None
        return op.fold if op is not None else None

    def _stage(self, index: int, draft: _Draft, rings: Mapping[str, Ring]) -> RowStage:
        op = self.ops[draft.node] if draft.node is not None else None
        fold = self._fold(draft)
        row = _row_bytes(draft.output)
        ring = rings.get(draft.key)
        if fold is not None:
            writes = Access(draft.key, 0, 4 * fold.channels)
        elif ring is not None:
            writes = Access(ring.name, ring.nbytes - ring.block_bytes, row, row)
        else:
            writes = Access(draft.key, 0, row, row, is_whole=True)
        reads = tuple(None if r is None else self._access(index, *r, rings) for r in draft.reads)
        node = op.node if op is not None else None
        batch = op.on_rows(draft.block) if op is not None else None
        return RowStage(node, draft.rows, batch, reads, writes, draft.block, fold)

    def _access(
        self, reader: int, key: str, window: RowWindow, rings: Mapping[str, Ring]
    ) -> Access:
        ring = rings.get(key)
        row = _row_bytes(self.graph.value(key)) if ring is None else ring.row_bytes
        start = 0 if ring is None else ring.rows - self._behind(key, reader, window)
        return Access(key, start * row, window.rows * row, window.step * row, is_whole=ring is None)

    def _steps(self, rings: Mapping[str, Ring]) -> tuple[RowStep, ...]:
        entries: list[tuple[int, bool, int, RowStep]] = []
        for i, draft in enumerate(self.drafts):
            readers = self.windows.get(draft.key, []) if draft.key in rings else []
            reading = [self.drafts[s] for s, _ in readers]
            begin = min(self._batch(d, 0) for d in (draft, *reading))
            end = max(self._batch(d, d.rows - 1) for d in (draft, *reading))
            last = draft.newest((begin - 1) * self.times)
            for now in range(begin, end + 1):
                before, last = last, draft.newest(now * self.times)
                if last > before:
                    step = self._step(i, rings, last, begun=now > begin)
                    if self.early and step.shift:
                        # Last ring first: each ring moves onto bytes that held only older rows.
                        entries.append((now, False, -i, RowStep(i, True, False, False, 0, 0)))
                        step = replace(step, shift=False)
                    entries.append((now, True, i, step))
        entries.sort(key=lambda entry: entry[:3])
        return tuple(step for *_, step in entries)

    def _step(self, index: int, rings: Mapping[str, Ring], last: int, begun: bool) -> RowStep:
        """A stage's step in one batch; ``last`` is the batch's last row if the batch is whole."""
        draft, ring = self.drafts[index], rings.get(self.drafts[index].key)
        first = last - draft.block + 1
        inside = range(max(first, 0), min(last + 1, draft.rows))
        if self._fold(draft) is not None:
            return RowStep(index, False, not begun, False, inside.start - first, len(inside))
        shift = ring is not None and begun and ring.rows > ring.block
        clear = ring is not None and not begun and ring.fill is not None
        fill = ring is not None and not clear and len(inside) < draft.block
        return RowStep(
            index, shift, clear, fill, inside.start - first if inside else 0, len(inside)
        )


def _row_bytes(value: Value) -> int:
    return value.nbytes // value.shape[1]
