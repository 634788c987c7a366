"""One part of a condition alone is not met: windows of states, outputs and printed ports."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.export.models import dense
from tests.export.test_state_windows import Q
from tests.graphs import small_cnn
from tinyrt.backends.c.kernel import Choices
from tinyrt.backends.c.weights import Weights
from tinyrt.errors import UnsupportedError
from tinyrt.export import find_core
from tinyrt.export.audio import _to_input
from tinyrt.export.blob import choices
from tinyrt.export.blob.choices import choices_of
from tinyrt.export.board import _printed
from tinyrt.export.ports import Port
from tinyrt.export.selftest import _check
from tinyrt.export.states import lay_out, settle
from tinyrt.export.target import find_optimize, target_of
from tinyrt.export.writable import check_writable
from tinyrt.ir import DType, Graph, Node, Value
from tinyrt.ops import verify
from tinyrt.ops.concatenation import ConcatenationAttrs
from tinyrt.ops.shared.spec import NoAttrs
from tinyrt.ops.slice import SliceAttrs
from tinyrt.quantize import QuantConfig, quantize_graph


def windowed(*joined: str, sliced: str = "w", begin: int = 2) -> Graph:
    """A state of four rows joined to others, and four rows of a tensor as its next value."""
    rows = {"x": 2, "s": 4, "r": 2, "c": 2, "n": 4}
    rows |= {"w": sum(rows[name] for name in joined), "v": 6}
    values = {name: Value(name, DType.INT8, (1, n, 8), Q) for name, n in rows.items()}
    values["c"] = Value.constant("c", np.ones((1, 2, 8), np.int8), Q)
    nodes = (
        Node("relu", "r", ("x",), ("r",), NoAttrs()),
        Node("concatenation", "w", joined, ("w",), ConcatenationAttrs(1)),
        Node("concatenation", "v", ("r", "x", "r"), ("v",), ConcatenationAttrs(1)),
        Node("slice", "n", (sliced,), ("n",), SliceAttrs((0, begin, 0), (1, 4, 8), (1, 1, 1))),
    )
    return verify(Graph("net", ("x", "s"), ("n",), values, nodes, states=(("s", "n"),)))


WINDOWS = {
    "new rows": (windowed("s", "r"), True),
    "rows of the input": (windowed("s", "x"), True),
    "constant rows": (windowed("s", "c"), False),
    "its own rows": (windowed("s", "s", begin=4), False),
    "rows of another window": (windowed("s", "r", sliced="v"), False),
    "new rows of two tensors": (windowed("s", "r", "x"), False),
    "no new rows": (windowed("s", begin=0), False),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_a_window_moves_on_by_one_tensor_of_new_rows(name):
    graph, moves = WINDOWS[name]
    layout = lay_out(settle(graph))
    assert bool(layout.shifts) == bool(layout.idle) == ("w" in layout.offsets) == moves
    assert layout.nbytes == 8 * (6 if moves else 4)


@pytest.mark.parametrize("states", [(), (("x", "y"),)], ids=["an input", "a state"])
@pytest.mark.parametrize(("output", "refused"), [("y", False), ("x", True), ("w", True)])
def test_an_output_that_nobody_computes_is_refused(output, refused, states):
    graph = replace(dense(), outputs=(output, "y") if states else (output,), states=states)
    if not refused:
        check_writable(graph)
        return
    with pytest.raises(UnsupportedError, match="nothing to compute"):
        check_writable(graph)


PRINTED = [
    ("scaled", DType.INT8, 0.5),
    ("scaled", DType.UINT8, 0.5),
    ("scaled", DType.INT16, 0.5),
    ("integer", DType.INT8, None),
    ("integer", DType.INT32, 0.5),
    ("unsigned", DType.UINT8, None),
    ("float", DType.FLOAT32, None),
]


@pytest.mark.parametrize(("how", "dtype", "scale"), PRINTED)
def test_few_bits_with_a_scale_are_printed_as_what_they_stand_for(how, dtype, scale):
    zero_point = None if scale is None else 0
    assert _printed(Port("y", dtype, (1, 2), 0, 8, scale, zero_point)) == how


@pytest.mark.parametrize("constant", [True, False])
def test_a_self_test_takes_floats_that_never_change(constant):
    shown = Value("f", DType.FLOAT32, (2,))
    value = Value.constant("f", np.ones(2, np.float32)) if constant else shown
    graph = dense()
    graph = replace(graph, values={**graph.values, "f": value})
    plan = SimpleNamespace(offsets={"y": 0})
    if constant:
        _check(graph, plan, 1)
        return
    with pytest.raises(UnsupportedError, match="differ between compilers"):
        _check(graph, plan, 1)


@pytest.mark.parametrize(("is_int8", "core"), [(True, "m4"), (True, "m55"), (False, "m4")])
def test_a_blob_is_asked_for_no_more_than_other_weights_may_need(is_int8, core):
    """Sums of floats have one form, and weights of int8 need no room on vectors."""
    graph = small_cnn()
    if is_int8:
        x = np.random.default_rng(3).normal(size=(32, 8, 8, 3)).astype(np.float32)
        graph = quantize_graph(graph, x, QuantConfig())
    made = choices_of(graph, target_of(find_core(core), find_optimize("balanced")), sliced=False)
    assert (made.plain_sums, made.room) == (frozenset(), frozenset())


@pytest.mark.parametrize("sliced", [False, True])
def test_a_blob_leaves_out_blocks_and_has_tiles_where_they_pay(sliced, monkeypatch):
    layers = [
        SimpleNamespace(index=i, form=f) for i, f in ((3, Weights.BLOCKS), (5, Weights.DENSE))
    ]
    monkeypatch.setattr(choices, "sparse_layers", lambda *given: layers)
    forms = [None, SimpleNamespace(form=Weights.WINOGRAD), SimpleNamespace(form=Weights.DENSE)]
    convolutions = [n.index for n in small_cnn().bound() if n.op == "conv2d"]
    stored = dict(zip(convolutions, forms, strict=False))

    def choose(node, target):
        return SimpleNamespace(name="", stored=stored.get(node.index))

    monkeypatch.setattr(choices, "choose", choose)
    target = target_of(find_core("m4"), find_optimize("balanced"))
    made = choices_of(small_cnn(), target, sliced=sliced)
    assert made.blocks == (frozenset() if sliced else {3})
    assert made.tiles == {convolutions[1]}


KERNELS = [
    ("add", DType.INT8, "tinyrt_linear_sum_s8"),
    ("sub", DType.INT8, "tinyrt_linear_sum_rows_s8"),
    ("add", DType.INT8, "tinyrt_sum_s8"),
    ("sub", DType.INT8, "tinyrt_sum_s8"),
    ("add", DType.INT16, "tinyrt_sum_s16"),
    ("mul", DType.INT8, "tinyrt_times_s8"),
    ("fully_connected", DType.INT8, "tinyrt_dense_relu_s8"),
    ("conv2d", DType.INT8, "tinyrt_window_more_relu_s8"),
    ("conv2d", DType.INT8, "tinyrt_window_s8"),
    ("relu", DType.INT8, "tinyrt_clamp_relu_s8"),
]


def test_a_blob_keeps_sums_that_need_two_roundings_and_layers_without_a_sign(monkeypatch):
    def bound(i, op, dtype):
        value = Value(f"v{i}", dtype, (1, 4), Q)
        shown = SimpleNamespace(inputs=(value,), outputs=(value,), output=value)
        return SimpleNamespace(**vars(shown), index=i, op=op, optional=lambda at: value)

    nodes = [bound(i, op, dtype) for i, (op, dtype, _) in enumerate(KERNELS)]
    monkeypatch.setattr(choices, "sparse_layers", lambda *given: ())
    monkeypatch.setattr(
        choices, "choose", lambda n, _: SimpleNamespace(name=KERNELS[n.index][2], stored=None)
    )
    target = target_of(find_core("m4"), find_optimize("balanced"))
    made = choices_of(SimpleNamespace(bound=lambda: nodes), target, sliced=False)
    assert made == Choices(frozenset(), frozenset({2, 3}), relus=frozenset({6, 7}))


@pytest.mark.parametrize("scale", [0.5, (0.5, 0.25)])
@pytest.mark.parametrize("offset", [3, (3, 4)])
def test_features_have_tables_of_what_is_their_own(scale, offset):
    """One scale, or one offset, of all features is a literal."""
    pipeline = SimpleNamespace(scale=scale, offset=offset)
    made = _to_input(SimpleNamespace(pipeline=pipeline, rescales=()))
    tables = (("offsets[2]", offset), ("scales[2]", scale))
    wanted = [name for name, value in tables if isinstance(value, tuple)]
    assert len(made) == len(wanted)
    assert all(name in text for name, text in zip(wanted, made, strict=True))
