"""Which states lie as windows that move on in place, and which are copied as the model says."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

from tinyrt.export import export_graph
from tinyrt.export.states import lay_out, settle
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.slice import SliceAttrs

Q = QParams((0.1,), -3)


@dataclass
class Window:
    """Rows joined to a state of four rows, and the last four of them as its next value."""

    new: int = 4
    channels: int = 4
    batch: int = 1
    state_first: bool = True
    begin: int | None = None
    is_output: bool = False
    other_reader: bool = False
    axis: int = 1
    rows: str = "r"
    cut_of: str = "w"

    def graph(self) -> Graph:
        state, rows, window = (
            (self.batch, count, self.channels)
            for count in (4, self.new, 4 + self.new * len(self.rows))
        )
        shapes = {"s": state, "x": rows, "r": rows, "w": window, "n": state, "y": rows, "z": state}
        shapes |= {"v": window, "c": rows}
        values = {name: Value(name, DType.INT8, shape, Q) for name, shape in shapes.items()}
        values["c"] = replace(values["c"], data=np.zeros(rows, np.int8))
        begin = self.new if self.begin is None else self.begin
        cut = SliceAttrs((0, begin, 0), state, (1, 1, 1))
        joined = ("s", *self.rows) if self.state_first else (*self.rows, "s")
        nodes = [
            Node("relu", "r", ("x",), ("r",), NoAttrs()),
            Node("concatenation", "w", joined, ("w",), ConcatenationAttrs(self.axis)),
            *([Node("relu", "v", ("w",), ("v",), NoAttrs())] if self.cut_of == "v" else []),
            Node("slice", "n", (self.cut_of,), ("n",), cut),
            Node("relu", "y", ("x",), ("y",), NoAttrs()),
        ]
        outputs = ["y", "n", *(["w"] if self.is_output else [])]
        if self.other_reader:
            nodes.append(Node("relu", "z", ("s",), ("z",), NoAttrs()))
            outputs.append("z")
        used = {name for node in nodes for name in (*node.inputs, *node.outputs)}
        kept = {name: value for name, value in values.items() if name in used}
        graph = Graph("net", ("x", "s"), tuple(outputs), kept, tuple(nodes), states=(("s", "n"),))
        return verify(graph)


MOVES = {
    **{"rows of 16 bytes": Window(), "one row": Window(1), "two of eight": Window(2, 8)},
    "an axis from the end": Window(2, 8, axis=-2),
}
STAYS = {
    "rows in front": Window(state_first=False),
    "several images": Window(batch=2),
    "rows of no whole words": Window(1, 3),
    "older rows": Window(begin=2),
    "a window that is an output": Window(is_output=True),
    "a state that others read": Window(other_reader=True),
    "the same rows once more": Window(rows="s"),
    "rows that are constant": Window(rows="c"),
    "rows of several": Window(rows="rx"),
    "the end of what is made of the window": Window(cut_of="v"),
}


@pytest.mark.parametrize("name", MOVES)
def test_new_rows_push_out_the_oldest(name):
    case = MOVES[name]
    layout = lay_out(settle(case.graph()))
    ((joined, shift),) = layout.shifts.items()
    # The concatenation moves the window on, and then its newest rows lie where the state is.
    assert (joined, layout.idle) == (1, {2})
    new = case.new * case.channels
    assert (shift.tail, shift.new) == (4 * case.channels, new)
    assert layout.offsets == {"w": 0, "s": new, "n": new}
    assert layout.nbytes == 4 * case.channels + new
    assert [(fill.nbytes, fill.byte) for fill in layout.fills] == [(layout.nbytes, 0xFD)]


def test_the_code_moves_the_window_on_by_the_new_rows(tmp_path):
    project = export_graph(Window(2, 8).graph(), tmp_path)
    code = (tmp_path / "net.c").read_text()
    ((tail, new, rows, window),) = re.findall(r"tinyrt_shift\((\d+), (\d+), (.*), (.*)\)", code)
    assert (tail, new, window) == ("32", "16", "state")
    assert re.search(r"tinyrt_lut_s8\(.*, (.*)\);", code)[1] == rows
    assert project.state_bytes == 48


def test_windows_of_several_states_lie_one_behind_the_other():
    """Each state is the end of its window, behind the rows that leave it."""
    windows, nodes, values = {"a": 1, "b": 2}, [], {}
    for name, new in windows.items():
        shapes = {"x": new, "r": new, "s": 4, "w": 4 + new, "n": 4}
        values |= {
            name + part: Value(name + part, DType.INT8, (1, rows, 4), Q)
            for part, rows in shapes.items()
        }
        x, r, s, w, n = (name + part for part in shapes)
        nodes += [
            Node("relu", r, (x,), (r,), NoAttrs()),
            Node("concatenation", w, (s, r), (w,), ConcatenationAttrs(1)),
            Node("slice", n, (w,), (n,), SliceAttrs((0, new, 0), (1, 4, 4), (1, 1, 1))),
        ]
    states = tuple((f"{name}s", f"{name}n") for name in windows)
    inputs = [name + part for part in "xs" for name in windows]
    graph = Graph("net", tuple(inputs), ("an", "bn"), values, tuple(nodes), states=states)
    layout = lay_out(settle(verify(graph)))
    assert layout.offsets == {"aw": 0, "as": 4, "an": 4, "bw": 20, "bs": 28, "bn": 28}
    assert layout.nbytes == 20 + 24


@pytest.mark.parametrize("name", STAYS)
def test_others_are_copied_whole(name):
    case = STAYS[name]
    layout = lay_out(settle(case.graph()))
    assert not layout.shifts
    assert not layout.idle
    assert "w" not in layout.offsets
    assert layout.offsets["s"] == layout.offsets["n"] == 0
