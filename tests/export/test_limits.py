"""Where limits of the exporter lie, to the byte and the letter; what its ports and cores say."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.export.models import dense
from tests.graphs import Builder
from tinyrt.backends.c.isa import InstructionSet
from tinyrt.backends.c.kernel import Target
from tinyrt.errors import UnsupportedError
from tinyrt.export import CORES, find_core
from tinyrt.export.memories import Memories
from tinyrt.export.names import MAX_IDENTIFIER, identifier
from tinyrt.export.ports import Port, port_of
from tinyrt.export.project import ExportedProject
from tinyrt.export.several import ExportedModels
from tinyrt.export.sparsity import sparse_layers
from tinyrt.export.states import StateLayout
from tinyrt.export.target import Optimize, without_unaligned
from tinyrt.export.writable import check_writable
from tinyrt.ir import DType, Graph, QParams, Value
from tinyrt.memory import ArenaPlan, Region
from tinyrt.ops.fully_connected import FullyConnectedAttrs

GIB = 1 << 30


def with_value(value):
    return Graph("net", (value.name,), (), {value.name: value}, ())


@pytest.mark.parametrize("dtype", [DType.INT8, DType.FLOAT32])
def test_tensors_have_less_than_two_gibibytes(dtype):
    least = 2 * GIB // dtype.itemsize
    check_writable(with_value(Value("x", dtype, (least - 1,))))
    with pytest.raises(UnsupportedError, match=r"takes 2\.0 GiB(.|\n)*less than 2 GiB") as caught:
        check_writable(with_value(Value("x", dtype, (least,))))
    assert "'x'" in str(caught.value)


@pytest.mark.parametrize("length", [MAX_IDENTIFIER - 1, MAX_IDENTIFIER])
def test_names_up_to_the_limit_stay_whole(length):
    assert identifier("a" * length) == "a" * length


def test_longer_names_are_cut_and_stay_different():
    names = [identifier("a" * MAX_IDENTIFIER + end) for end in "bc"]
    assert len({*names}) == 2
    for name in names:
        assert len(name) == MAX_IDENTIFIER == 100
        assert name.startswith("a" * 91 + "_")


def pruned(zeros):
    """A dense layer of 8 weights, so many of which are zero."""
    graph = dense()
    w = np.where(np.arange(8) < zeros, 0, 5).astype(np.int8).reshape(2, 4)
    return replace(graph, values=graph.values | {"w": replace(graph.values["w"], data=w)})


@pytest.mark.parametrize(("zeros", "counts"), [(0, False), (1, False), (2, True), (8, True)])
def test_a_quarter_of_zeros_is_pruned(zeros, counts):
    found = sparse_layers(pruned(zeros), Target(InstructionSet.DSP, False))
    assert [(s.index, s.name, s.zeros) for s in found] == [(0, "dense", zeros / 8)] * counts


def test_floats_are_not_pruned_however_many_zeros_they_have():
    """Nothing could leave them out."""
    b = Builder((1, 4))
    w = b.constant(np.zeros((2, 4), np.float32))
    graph = b.graph(b.op("fully_connected", ("x", w), FullyConnectedAttrs()))
    assert sparse_layers(graph, Target(InstructionSet.DSP, False)) == ()


# Ports and projects

PLAN = ArenaPlan({"x": 12}, 40, 0, (), region_of={"x": 1})


@pytest.mark.parametrize(
    ("value", "port"),
    [
        (
            Value("x", DType.INT8, (1, 4), QParams((0.5,), 3)),
            Port("x", DType.INT8, (1, 4), 12, 4, 0.5, 3, 1),
        ),
        (
            Value("y", DType.INT16, (3,), QParams((0.25,), 0)),
            Port("y", DType.INT16, (3,), None, 6, 0.25, 0, 0),
        ),
        (Value("x", DType.FLOAT32, (2,)), Port("x", DType.FLOAT32, (2,), 12, 8, None, None, 1)),
        (
            Value("y", DType.INT8, (1, 2), QParams((0.5, 0.25), 0, 1)),
            Port("y", DType.INT8, (1, 2), None, 2, None, None, 0),
        ),
    ],
)
def test_a_port_says_where_a_tensor_lies_and_what_its_numbers_mean(value, port):
    assert port_of(value, PLAN) == port


def test_segments_are_told_by_their_first_and_last_op():
    segments = (SimpleNamespace(first=0, stop=4), SimpleNamespace(first=6, stop=7))
    project = ExportedProject("net", None, None, 0, (), (), (), 0, segments=segments)
    assert project.row_by_row == ("0-3", "6-6")


def test_the_arena_of_several_models_is_shared_or_the_sum():
    models = (SimpleNamespace(arena_bytes=30), SimpleNamespace(arena_bytes=12))
    assert ExportedModels("lib", None, models, ()).arena_bytes == 42
    regions = (Region("a", 20), Region("b", 3))
    assert ExportedModels("lib", None, models, regions).arena_bytes == 23


@pytest.mark.parametrize(
    ("inputs", "outputs", "outside"),
    [
        (True, True, {"s"}),
        (False, True, {"s", "x"}),
        (True, False, {"s", "y"}),
        (False, False, {"s", "x", "y"}),
    ],
)
def test_what_lies_outside_of_the_arena(inputs, outputs, outside):
    regions = (Region("a", 64), Region("b"))
    memories = Memories(regions, inputs, outputs, alignment=32)
    options = memories.options(dense(), StateLayout({"s": 0}, 4, {}, frozenset(), ()))
    assert options.outside == outside
    assert (options.regions, options.alignment) == (regions, 32)


# Cores

M4 = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
SETS = {
    InstructionSet.SCALAR: {
        "cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m23", "rv32imc", "rv32imcb",
        "host",
    },
    InstructionSet.DSP: {"cortex-m4", "cortex-m7", "cortex-m33"},
    InstructionSet.MVE: {"cortex-m55", "cortex-m85"},
    InstructionSet.RVV: {"rv32imcv"},
    InstructionSet.AVX2: {"host-avx2"},
    InstructionSet.AVX512: {"host-avx512"},
}  # fmt: skip


def test_cores_have_the_kernels_that_they_run():
    found = {isa: {name for name, c in CORES.items() if c.isa is isa} for isa in SETS}
    assert found == SETS


@pytest.mark.parametrize(
    ("name", "tools"),
    [
        ("m4", ("arm-none-eabi-gcc", "arm-none-eabi-ar")),
        ("rv32imc", ("riscv64-unknown-elf-gcc", "riscv64-unknown-elf-ar")),
        ("host", ("cc", "ar")),
    ],
)
def test_a_core_has_its_own_tools(name, tools):
    core = find_core(name)
    assert (core.compiler, core.archiver) == tools


def test_a_short_name_is_that_of_a_cortex():
    assert find_core("m4") is find_core("cortex-m4") is CORES["cortex-m4"]
    assert find_core("m4").flags == M4


def test_aims_are_options_of_the_compiler():
    assert {aim.value: aim.flags for aim in Optimize} == {
        "speed": "-O2 -DTINYRT_FAST",
        "balanced": "-O2",
        "size": "-Os",
    }


def test_only_compilers_for_arm_are_told_to_align_words():
    with pytest.raises(UnsupportedError, match="no option of cc for host against unaligned words"):
        without_unaligned(CORES["host"])
    core = without_unaligned(CORES["cortex-m4"])
    assert (core.flags, core.unaligned) == ((*M4, "-mno-unaligned-access"), False)
