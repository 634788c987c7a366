"""Calls of kernels as they are written for a blob: what becomes a member of its body."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.export.models import dense
from tests.memory.targets import DSP
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Call, Data, Kernel, Number, Params, Place, Target, call
from tinyrt.backends.c.mve.zeros import most_words
from tinyrt.export import writer as export_writer
from tinyrt.export.blob.layout import Member
from tinyrt.export.blob.writer import BlobWriter, _is_word
from tinyrt.export.code import Nested
from tinyrt.export.states import lay_out
from tinyrt.export.writer import COPY
from tinyrt.memory import plan_memory


@pytest.fixture
def graph():
    return dense()


@pytest.fixture
def writer(graph):
    target = Target(InstructionSet.DSP, False)
    return BlobWriter("net", graph, plan_memory(graph, DSP), target, lay_out(graph))


def written(graph, writer, *calls):
    """The members that the calls of the first op have."""
    node = next(iter(graph.bound()))
    writer.begin(node)
    writer.write_part(node, calls)
    return writer.members


def test_parts_of_an_op_share_a_member_where_they_share_the_array(graph, writer):
    """Not where arrays are equal by chance, which training would change."""
    one, other = np.arange(4, dtype=np.int8), np.arange(4, dtype=np.int8)
    data = [Data("w", one), Data("w", other), Data("w", one, skip=2)]
    members = written(graph, writer, *(Call("tinyrt_f", (each,)) for each in data))
    assert [m.data is one for m in members.values()] == [True, False]


@pytest.mark.parametrize(("function", "step"), [("tinyrt_f", 4), ("tinyrt_four_four_s8", 1)])
def test_mantissas_that_are_alike_are_filled_once(function, step, graph, writer, monkeypatch):
    init, one = np.zeros(6, np.int32), np.array([7], np.int32)
    fields = {"requant_step": 0, "init": Data("init", init)}
    fields |= {"mult": Data("mult", one), "shift": Data("shift", one)}
    parts = [call(function, Params("f_t", fields)) for _ in range(2)]
    monkeypatch.setattr(export_writer, "choose", lambda *_: Kernel(lambda: tuple(parts)))
    calls = writer.kernel_of(next(iter(graph.bound()))).calls
    assert [one.args[0].fields["requant_step"] for one in calls] == [step] * 2
    members = written(graph, writer, *calls)
    filled = [m.data for name, m in members.items() if name.endswith("mult")]
    assert [array.tolist() for array in filled] == [[7] * 8]


@pytest.mark.parametrize(
    ("of_groups", "of_a_group", "filled", "step"),
    [
        ({}, {"c_out": 3}, 4, 4),
        ({"init_step": 8}, {"c_out": 3}, 12, 4),
        ({}, {"init_step": 5}, 1, 5),
    ],
    ids=["a block", "a block of a group", "groups"],
)
def test_a_group_has_a_mantissa_for_each_of_its_channels(
    of_groups, of_a_group, filled, step, writer
):
    """Ten sums begin in a group, of which a block says three."""
    own = {"requant_step": 0, "init": Data("init", np.zeros(10, np.int32))} | of_a_group
    own |= {name: Data(name, np.array([7], np.int32)) for name in ("mult", "shift")}
    found = writer._by_channel({"block": own} | of_groups, 4)["block"]
    assert found["requant_step"] == step
    assert [found[name].array.tolist() for name in ("mult", "shift")] == [[7] * filled] * 2


def test_sparse_weights_have_room_for_those_without_zeros(graph, writer):
    """Of a layer of 8 channels and 64 taps: two heads, and two times four blocks."""
    node = next(iter(dense(size=64).bound()))
    whole = replace(node.input(1), shape=(8, 64), data=np.zeros((8, 64), np.int8))
    writer._node = SimpleNamespace(input=lambda i: whole)
    words = most_words(whole.shape)
    given = np.arange(1, 6, dtype=np.uint32)
    found = writer._with_room(Data("w", given))
    assert found.array.tolist() == [*given.tolist(), *[0] * (words - 5)]
    assert words == 2 * (most_words((4, 64))) > most_words((4, 32)) * 2
    assert writer._with_room(Data("bias", given)).array is given


@pytest.mark.parametrize(
    ("numbers", "fits"),
    [
        ([-(2**31), 2**31 - 1], True),
        ([-(2**31) - 1, 0], False),
        ([0, 2**31], False),
        ([0.5, 1e30], True),
        ([True], True),
        (["a"], False),
    ],
)
def test_a_member_holds_floats_and_integers_of_32_bits(numbers, fits):
    assert _is_word(np.array(numbers)) is fits


def test_numbers_alone_become_members(graph, writer):
    (x,) = graph.input_values
    members = written(graph, writer, call("tinyrt_clamp_s8", 8, Place(x), Number(5), x, x))
    assert [int(member.data) for member in members.values()] == [5]


def test_a_copy_onto_the_same_bytes_is_left_out(graph, writer):
    (x,) = graph.input_values
    written(graph, writer, call(COPY, 4, x, x), call(COPY, 4, *graph.output_values, x))
    blocks = [statement for statement in writer.statements if isinstance(statement, Nested)]
    assert len(blocks) == 1


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32])
def test_numbers_lie_at_their_size_and_arrays_at_words_at_least(dtype):
    ctype = f"{np.dtype(dtype)}_t"
    single, array = Member(ctype, dtype(3), True), Member(ctype, np.zeros(3, dtype))
    assert (single.alignment, array.alignment) == (np.dtype(dtype).itemsize, 4)
