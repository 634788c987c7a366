"""The kernels of cores with MVE on this machine, under sanitizers.

Their intrinsics are plain C here, see ``mve``; what they have in assembly takes its other form.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial

import numpy as np
import pytest

from tests.c.branches import Counted, place_of
from tests.c.conformance import graph_of
from tests.c.float_tiles import every_corner, few_channels
from tests.c.host import BESIDE, build_program, require_tool, run_program
from tests.c.packed_cases import VECTOR_SPARSE_CASES, int4_weights, vector_sparse_weights
from tests.c.programs import of_floats, one_graph
from tests.c.test_branches import assert_equal, needless, of_its_own
from tests.c.test_rows import rows_of
from tests.c.vector_cases import by_planes, of_mve, of_planes, weighted
from tests.c.wide_layers import chain, feeds, net
from tests.firmware.test_slices_ops import smallest
from tests.memory.nets import random_net
from tests.ops.build import build_s8
from tests.sampling import WHOLE, sampled
from tinyrt import kernels_c
from tinyrt.backends.c.weights import Stored, Weights
from tinyrt.export import ExportedProject, ExportOptions, export_graph, slices
from tinyrt.ir import Graph
from tinyrt.ops.depthwise_conv2d import DepthwiseConv2dAttrs
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

CORE = "cortex-m55"

Feeds = dict[str, np.ndarray]


@dataclass(frozen=True)
class Program:
    """What is computed, and how its code is made."""

    cases: Callable[[], tuple[Graph, Feeds]]
    planes: bool = False
    sliced: bool = False
    rows: bool = False
    zeros: bool = False

    def made(self, graph: Graph, folder) -> ExportedProject:
        """The project."""
        with pytest.MonkeyPatch.context() as patched:
            if self.planes:
                by_planes(patched)
            if self.zeros:
                patched.setattr(Stored, "cheapest", without_zeros)
            if self.rows:
                return rows_of(graph, folder, CORE, True)
            patched.setattr(slices, "divided", smallest)
            options = ExportOptions(memories=BESIDE, slices=1000 if self.sliced else None)
            return export_graph(graph, folder, core=CORE, options=options)


def ops():
    """A sample is of kernels that have files for these cores: the others are as elsewhere."""
    made = of_mve(*sampled((4, 36), (40, 1)))
    return one_graph(made if WHOLE else of_its_own(made, CORE))


def floats():
    return one_graph(of_floats())


def planes():
    return one_graph(of_planes(sampled(4, 40)))


def bands(side, *builds):
    """Layers of several bands of lines, some of which are shared, and a last one of a line."""
    shapes = (1, 25, 20, 11), (1, side, side, 11)
    case = weighted("depthwise_conv2d", DepthwiseConv2dAttrs(activation="RELU"), *shapes, 11)
    made = {f"bands {i}": build(case, np.random.default_rng(i)) for i, build in enumerate(builds)}
    return one_graph(made)


def wide():
    graph = net(0, sampled(6, 150))
    return graph, feeds(graph, 0)


def wide_in_parts():
    """Lines of which several copies are made."""
    graph = chain(3)
    return graph, feeds(graph, 0)


def rows():
    graph = random_net(9)
    x = graph.value(graph.inputs[0])
    return graph, {x.name: np.random.default_rng(9).integers(-128, 128, x.shape, np.int8)}


def without_zeros(forms, *_):
    """The form without blocks of zeros, where there is one."""
    return Stored(Weights.BLOCKS if Weights.BLOCKS in forms else Weights.DENSE, forms)


def zeros():
    """Layers with whole blocks of zeros."""
    return graph_of(VECTOR_SPARSE_CASES, range(sampled(3, 20)), vector_sparse_weights)


PROGRAMS = {
    "ops": Program(ops),
    **sampled(
        {"few floats": Program(few_channels)},
        {"floats": Program(floats), "float tiles": Program(every_corner)},
    ),
    "planes": Program(planes, planes=True),
    "bands": Program(partial(bands, 5, build_s8, int4_weights), sliced=True),
    "bands of planes": Program(partial(bands, 3, build_s8), planes=True, sliced=True),
    "wide": Program(wide),
    "wide in parts": Program(wide_in_parts),
    "rows": Program(rows, rows=True),
    "zeros": Program(zeros, zeros=True),
    "zeros in parts": Program(zeros, zeros=True, sliced=True),
}

ELSEWHERE = {
    "src_mve/tinyrt_anomaly_s8.c": "alarms behind a model: tests/dsp/test_anomaly_alone.py",
    "src_mve/tinyrt_kept_boxes.c": "boxes behind a model: tests/dsp/test_boxes.py",
    "isa/mve/tinyrt_best_scores.h": "the same",
    "src_mve/tinyrt_camera_*.c": "frames of a camera: tests/dsp/test_camera.py",
    "isa/mve/tinyrt_axis.h": "the same",
    "isa/mve/tinyrt_band_sums.h": "the same",
    "isa/mve/tinyrt_bilinear_lines.h": "the same",
    "isa/mve/tinyrt_camera_area_ahead.h": "the same",
    "isa/mve/tinyrt_eight_pixels.h": "the same",
    "isa/mve/tinyrt_frame.h": "front ends: tests/dsp/test_front_end_c.py",
    "isa/mve/tinyrt_group_sums.h": "windows of features: tests/dsp/test_standard.py",
}
"""Files that no program here has -> who has them, under sanitizers, too."""

ASSEMBLY = {
    "internal/tinyrt_depthwise_mve_loop.h": "copies of eight bytes",
    "internal/tinyrt_mve_add.h": "sums of whole vectors",
    "internal/tinyrt_mve_dot.h": "dot products of a patch",
    "internal/tinyrt_mve_dot16.h": "dot products of int16",
    "internal/tinyrt_mve_kept.h": "dot products without blocks of zeros",
    "internal/tinyrt_mve_pairs.h": "dot products of two patches",
    "internal/tinyrt_mve_planes.h": "taps of a channel",
    "internal/tinyrt_mve_taps.h": "taps of eight channels",
    "internal/tinyrt_mve_windows.h": "copies of vectors",
    "internal/tinyrt_svdf_mve_loop.h": "products of a state",
    "include/tinyrt_mve_memory.h": "copies and fills",
    "isa/mve/tinyrt_fft_s16.h": "an order of stores; no instruction",
    "internal/tinyrt_mve_sigmoid_loop.h": "logistic and tanh of eight int16",
    "isa/mve/tinyrt_float_tile.h": "tiles of floats",
    "isa/mve/tinyrt_sum_line.h": "sums of eight bytes",
    "src_mve/tinyrt_conv2d_raised_s16.c": "dot products of a column",
}
"""Files with loops in assembly, which run in QEMU alone -> what they do; other forms run here."""


@pytest.fixture(scope="module")
def files():
    """Program -> the files of kernels that it had, as paths from the kernels' folder."""
    return {}


@pytest.fixture(scope="module")
def counted():
    return Counted()


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_equal_the_references(name, files, counted, tmp_path):
    program = PROGRAMS[name]
    graph, data = program.cases()
    with np.errstate(all="ignore"):
        expected = evaluate(graph, data)
    project = program.made(graph, tmp_path / "project")
    found = [run_program(build_program(project, tmp_path), project, data, "beside")]
    if WHOLE:
        found.append(counted.run(project, tmp_path, data, "beside"))
    for outputs in found:
        for output, answer in expected.items():
            assert_equal(output, outputs[output], answer)
    files[name] = files_of(project)


def files_of(project):
    """The files of kernels that a project has."""
    return {place_of(path.name, "mve") for path in (project.directory / "tinyrt").iterdir()}


def all_files():
    """Every file of kernels that is of cores with MVE alone."""
    paths = (path.relative_to(kernels_c.ROOT).as_posix() for path in kernels_c.ROOT.rglob("*.[ch]"))
    return {path for path in paths if "mve" in path}


def test_every_file_is_run(files, tmp_path):
    """In other programs, too, as the test behind its reason holds."""
    for name in PROGRAMS.keys() - files.keys():  # another process ran these
        graph, _ = PROGRAMS[name].cases()
        files[name] = files_of(PROGRAMS[name].made(graph, tmp_path / name))
    ran = set().union(*files.values())
    elsewhere = {file for file in all_files() if any(fnmatch(file, p) for p in ELSEWHERE)}
    assert all_files() - ran == elsewhere


EXEMPT = {
    "internal/tinyrt_conv2d_mve_loop.h": (r"scratch|->scales, y", "tests/c/test_overlap.py"),
    "internal/tinyrt_extreme_mve_loop.h": (r"step|\*y\+\+|return", "inputs have steps of 0 and 1"),
    "isa/mve/tinyrt_sum_line.h": (r"step|apart|const int32_t sum|\*y\+\+|^}", "the same"),
    "isa/mve/tinyrt_copy.h": (r"_steps\(|return tinyrt_copy\(", "only words have steps"),
    "isa/mve/tinyrt_rfft_s16.h": (r"y\[[89]\]", "a radix of five: tests/dsp/test_front_end_c.py"),
}
"""File -> lines whose branches no program here takes, and why."""


def test_assembly_is_named():
    """And has another form, for where there is none."""
    texts = {file: (kernels_c.ROOT / file).read_text() for file in all_files()}
    assert {file for file, text in texts.items() if re.search(r"__asm\b", text)} == {*ASSEMBLY}
    for file in ASSEMBLY:
        assert "TINYRT_ASM" in texts[file] or "TINYRT_ALL_STORED" in texts[file], file


def exempt(file, line):
    """Whether a line's branches need not all be taken here."""
    text = (kernels_c.ROOT / file).read_text().splitlines()[line - 1]
    pattern, _ = EXEMPT.get(file, ("$^", ""))
    return needless(file, line) or re.search(pattern, text) is not None


@pytest.mark.whole
def test_every_branch_is_taken(files, counted, tmp_path):
    """Of files that programs here have."""
    require_tool("gcov")
    for name in PROGRAMS.keys() - files.keys():
        graph, data = PROGRAMS[name].cases()
        files[name] = files_of(project := PROGRAMS[name].made(graph, tmp_path / name))
        counted.run(project, project.directory, data, "beside")
    ours = all_files()
    missed = {file: lines for file, lines in counted.taken().missed().items() if file in ours}
    left = {file: [n for n in lines if not exempt(file, n)] for file, lines in missed.items()}
    assert {file: lines for file, lines in left.items() if lines} == {}
