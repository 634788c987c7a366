"""Ops of equal weights share one array of them, as the steps of an unrolled layer do."""

import re
from dataclasses import fields, replace

import numpy as np
import pytest

from tinyrt.backends.c.kernel import Data
from tinyrt.export import ExportOptions, export_graph
from tinyrt.ir import DType, Graph, Node, QParams, Value
from tinyrt.ops import verify
from tinyrt.ops.fully_connected import FullyConnectedAttrs

SIZE = 8


def steps(changed: int = 0) -> Graph:
    """Three dense layers one behind the other; the last one has another weight, if any is."""
    rng = np.random.default_rng(0)
    w = rng.integers(-100, 100, (SIZE, SIZE)).astype(np.int8)
    other = w.copy()
    other[0, 0] += changed
    q, w_q = QParams((0.1,), 3), QParams((0.01,), 0)
    values = [Value(f"h{i}", DType.INT8, (1, SIZE), q) for i in range(4)]
    values += [Value.constant("w", w, w_q), Value.constant("last", other, w_q)]
    weights = ("w", "w", "last")
    nodes = tuple(
        Node("fully_connected", f"h{i + 1}", (f"h{i}", name), (f"h{i + 1}",), FullyConnectedAttrs())
        for i, name in enumerate(weights)
    )
    return verify(Graph("steps", ("h0",), ("h3",), {v.name: v for v in values}, nodes))


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m4", "cortex-m55"])
@pytest.mark.parametrize(("changed", "arrays"), [(0, 1), (1, 2)])
def test_equal_weights_are_written_once(tmp_path, core, changed, arrays):
    project = export_graph(steps(changed), tmp_path, core=core)
    text = (project.directory / "steps_weights.c").read_text()
    assert len(re.findall(r"steps_n\d+_w\[", text)) == arrays
    calls = (project.directory / "steps.c").read_text()
    assert calls.count("steps_n0_w") == (3 if arrays == 1 else 2)


def test_a_blob_has_members_for_each(tmp_path):
    """What training makes different keeps its place."""
    options = ExportOptions(blob=True)
    project = export_graph(steps(), tmp_path, core="cortex-m4", options=options)
    found = set()
    for path in project.directory.glob("*.[ch]"):
        found |= set(re.findall(r"\bn\d+_w\b", path.read_text()))
    assert len(found) == 3


DATA = Data("w", np.zeros(8, np.int8))
OTHERS = {
    "role": Data("bias", DATA.array),
    "table": Data("w", DATA.array, "int8_t"),
    "array": Data("w", np.ones(8, np.int8)),
    "bytes alike, of other elements": Data("w", np.zeros(4, np.int16)),
    "another sign": Data("w", np.zeros(8, np.uint8)),
}


def test_an_array_stands_for_those_of_its_role_type_and_elements_alone():
    """Pointers into it may differ: these are said where it is read."""
    places = {"skip": replace(DATA, skip=3), "each": replace(DATA, each=(1, 0))}
    assert {field.name for field in fields(Data)} <= OTHERS.keys() | places.keys()
    assert DATA.contents not in {other.contents for other in OTHERS.values()}
    assert {place.contents for place in places.values()} == {DATA.contents}
