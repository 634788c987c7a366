"""Every branch of every kernel is taken on this machine, but for those that are named here.

``make test`` has a few quick programs, which take every branch of most files that they have.
"""

import re
from fnmatch import fnmatch
from functools import partial

import numpy as np
import pytest

from tests.backends.lane_cases import layers_of_every_tile
from tests.c.branches import Counted, is_written_for
from tests.c.float_tiles import every_corner
from tests.c.floats import assert_close
from tests.c.host import BESIDE, host_compiler, require_tool
from tests.c.programs import (
    of_floats,
    of_fours,
    of_integers,
    of_nines,
    of_tiles,
    of_unsigned,
    of_vectors,
    of_zeros,
    one_graph,
)
from tests.c.strip_cases import of_strips
from tests.c.test_rows import narrow_net, rows_of
from tests.c.tiles import by_tiles
from tests.c.wide_layers import some_groups, some_layers
from tests.memory.nets import gated_net, random_net
from tests.sampling import sampled
from tinyrt import kernels_c
from tinyrt.backends.c.blocks import fours
from tinyrt.backends.c.choice import choose
from tinyrt.export import ExportOptions, export_graph
from tinyrt.export.target import Optimize, find_core, target_of
from tinyrt.interpreter.native import CORES, core_of
from tinyrt.ops.shared.evaluate import evaluate

pytestmark = pytest.mark.slow

SOURCES = sorted(kernels_c.ROOT.glob("src*/*.c"))

VECTORS = [core for core in CORES if core.startswith("host-")]

PROGRAMS = {
    "integers": (of_integers, ("cortex-m3", "cortex-m4"), "balanced"),
    "vectors": (of_vectors, VECTORS, "balanced"),
    "lanes": (layers_of_every_tile, VECTORS, "balanced"),
    "floats": (of_floats, ("cortex-m3",), "balanced"),
    "float tiles": (every_corner, ("cortex-m3", "cortex-m4"), "balanced"),
    "unsigned": (of_unsigned, ("cortex-m4",), "balanced"),
    "tiles": (of_tiles, ("cortex-m3", "cortex-m4"), "balanced"),
    "nines": (of_nines, ("cortex-m4",), "balanced"),
    "fours": (of_fours, ("cortex-m3", "cortex-m0"), "balanced"),
    "zeros": (of_zeros, ("cortex-m3", "cortex-m4"), "size"),
    "wide": (some_layers, ("cortex-m3", "cortex-m4", "cortex-m0"), "balanced"),
    "wide, small": (some_layers, ("cortex-m3",), "size"),
    "strips": (partial(of_strips, 12), ("rv32imcv",), "balanced"),
    "wide groups": (some_groups, ("cortex-m3", "cortex-m4"), "balanced"),
}
"""What a program computes -> its cases, the cores it is made for, and the aim of its code."""

FEW = sampled(("unsigned", "nines", "fours", "strips"), tuple(PROGRAMS))
"""Programs that run."""

IN_PART = (
    "include/tinyrt_fixedpoint.h",
    "include/tinyrt_index.h",
    "include/tinyrt_nibbles.h",
    "internal/tinyrt_depthwise*.h",
    "internal/tinyrt_group_loop.h",
    "internal/tinyrt_rows_of_pairs.h",
    "isa/*/tinyrt_columns.h",
    "isa/*/tinyrt_repeat_tap.h",
    "isa/*/tinyrt_row.h",
    "isa/*/tinyrt_tap_list.h",
    "src/tinyrt_block_sparse_s8.c",
    "src/tinyrt_window_column.c",
)
"""Files of a few programs that others take the rest of."""

WHOLE = (every_corner, layers_of_every_tile, some_groups, some_layers)
"""Cases that are one graph already, with data for it."""

ROWS = [
    (random_net, 23, "cortex-m4", False),
    (random_net, 8, "cortex-m3", True),
    (random_net, 9, "cortex-m3", True),
    (gated_net, 8, "cortex-m3", True),
    (gated_net, 8, "cortex-m4", False),
    (narrow_net, 23, "cortex-m3", True),
]
"""Network, its seed, core, and whether its input is pushed: as few as take every branch."""

ELSEWHERE = {
    "*mve*": "vector instructions of Arm: tests/c/test_mve.py",
    "src*/*_part_*.c": "layers in slices: tests/firmware/test_slices.py and test_slices_ops.py",
    "src/tinyrt_depthwise_rows3_wide_s8.c": "wide weights by rows: tests/c/test_wide_weights.py",
    "src/tinyrt_window_four_pixels_*.c": "layers in slices: tests/firmware/test_slices_ops.py",
    "src/tinyrt_block_four_kept_s8.c": "the same",
    "src*/tinyrt_window_pixels_*.c": "layers in slices: tests/firmware/test_slices_pairs.py",
    "src/tinyrt_blob_*.c": "constants apart from code: tests/c/test_blobs.py",
    "*_any_s8.c": "constants of later models: tests/c/test_blob_scales.py",
    "src/tinyrt_detector_s8.c": "decisions behind a model: tests/dsp/test_detector.py",
    "src/tinyrt_boxes_s8.c": "boxes behind a model: tests/dsp/test_boxes.py",
    "src/tinyrt_kept_boxes.c": "boxes behind a model: tests/dsp/test_boxes.py",
    "src/tinyrt_top_k_*.c": "the greatest scores behind a model: tests/dsp/test_boxes.py",
    "src/tinyrt_learner_s8.c": "a layer that learns: tests/dsp/test_learner_c.py",
    "src/tinyrt_nearest_mean_s8.c": "class means: tests/dsp/test_nearest_mean.py",
    "src/tinyrt_crc32.c": "checksums: tests/c/test_blobs.py, tests/dsp/test_learner_c.py",
    "src/tinyrt_cepstra.c": "front ends: tests/dsp/test_front_end_c.py",
    "src/tinyrt_log_mel.c": "front ends: tests/dsp and tests/firmware/test_front_end.py",
    "src*/tinyrt_anomaly_s8.c": "alarms behind a model: tests/dsp/test_anomaly.py",
    "src/tinyrt_camera_*.c": "frames of a camera: tests/dsp/test_camera.py",
    "src/tinyrt_motion.c": "features of motion: tests/export/test_samples.py",
    "src/tinyrt_standard.c": "windows of features by themselves: tests/dsp/test_standard.py",
    "src/tinyrt_shift.c": "windows that move on in state: tests/c/test_shift.py",
}
"""Files that no program here has -> why."""

EXEMPT = {
    r"TINYRT_ASSERT": "a requirement that no exporter breaks",
    r"^ *TINYRT_COMPARE(_BY)?\(": "integers are never unordered",
    r"return \(value < \(-limit - 1\)\)": "no kernel gets so low; tests/c/test_fixedpoint.py does",
    r"taps\.begin = taps\.end|taps\.begin > taps\.end": "no pads so wide",
    r"\(origin < size\) \?|\(begin < end\)": "likewise",
    r"\(a_step \| b_step\) <= 1|a_step == 1": "broadcast inputs have steps of 0 and 1",
    r"across->pad == 1|behind != \(across": "rows of a larger image: tests/firmware/test_rows.py",
    r"\(ox \+ 4\) <= p->y\.w": "layers in slices: tests/firmware/test_slices_ops.py",
    r"fills != 0": "tiles in slices: tests/firmware/test_slices_ops.py",
    r"\(bias != NULL\) \? .*bias\[unit\]": "no file is written without it",
}
"""Lines whose branches need not all be taken -> why."""


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    """What all programs took between them; each has the references' answers."""
    require_tool("gcov")
    folder, counted = tmp_path_factory.mktemp("branches"), Counted()
    runs_here = VECTORS[VECTORS.index(core_of(host_compiler())) :]
    for name in FEW:
        cases, cores, optimize = PROGRAMS[name]
        made = None if cases in WHOLE else cases()
        graph, feeds = cases() if made is None else one_graph(made)
        with np.errstate(all="ignore"):
            expected = evaluate(graph, feeds)
        for core in cores:
            if core in VECTORS and core not in runs_here:
                continue
            if made is not None and core != cores[0]:
                graph, feeds = one_graph(sampled(of_its_own(made, core), made))
                expected = {name: expected[name] for name in graph.outputs}
            here = folder / f"{name}-{core}"
            with pytest.MonkeyPatch.context() as patched:
                if cases is of_tiles:
                    by_tiles(patched)
                if cases not in (of_fours, some_layers):
                    patched.setattr(fours, "fits", lambda block, pixels, target: False)
                project = export_graph(
                    graph,
                    here / "project",
                    core=core,
                    optimize=optimize,
                    options=ExportOptions(memories=BESIDE),
                )
            found = counted.run(project, here, feeds, "beside")
            for output, answer in expected.items():
                assert_equal(output, found[output], answer)
    for net, seed, core, pushed in sampled([], ROWS):
        graph = net(seed)
        feeds = {"x": np.random.default_rng(seed).integers(-128, 128, graph.value("x").shape, "b")}
        here = folder / f"rows-{net.__name__}-{seed}-{core}-{pushed}"
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(fours, "fits", lambda block, pixels, target: False)
            project = rows_of(graph, here / "project", core, pushed)
        found = counted.run(project, here, feeds, "beside")
        for output, answer in evaluate(graph, feeds).items():
            assert_equal(output, found[output], answer)
    return counted.taken()


def of_its_own(made, core):
    """Cases whose kernels have files that are written for a core's instructions."""
    isa = find_core(core).isa.value
    target = target_of(find_core(core), Optimize.BALANCED)
    found = {}
    for name, built in made.items():
        calls = choose(built.graph.bind(0), target).calls
        if any(is_written_for(call.function, isa) for call in calls):
            found[name] = built
    return found or made


def assert_equal(name, found, expected):
    """Bit for bit; floats nearly."""
    if found.dtype == np.float32:
        op = re.split(r"[:/]", re.sub("^(computed )?(float |clipped )?", "", name))[0]
        assert_close(op.split(" ")[0], found, expected)
    else:
        np.testing.assert_array_equal(found, expected, err_msg=name)


def needless(file, line):
    """Whether a line's branches need not all be taken."""
    text = (kernels_c.ROOT / file).read_text().splitlines()[line - 1]
    return any(re.search(pattern, text) for pattern in EXEMPT)


def is_others(file):
    """Whether programs that do not run take some of a file's branches."""
    return any(fnmatch(file, pattern) for pattern in sampled(IN_PART, ()))


def test_every_branch_is_taken(taken):
    missed = taken.missed().items()
    ours = {file: lines for file, lines in missed if not is_others(file)}
    left = {file: [n for n in lines if not needless(file, n)] for file, lines in ours.items()}
    assert {file: lines for file, lines in left.items() if lines} == {}
    counts = [count for (file, *_), count in taken.branches.items() if not is_others(file)]
    assert sum(count > 0 for count in counts) >= 0.97 * len(counts) > 300


def test_every_kernel_is_called(taken):
    """Also those whose source is one line, the body being a header that several share; of a few
    programs, the kernels that they have."""
    sources = {path.relative_to(kernels_c.ROOT).as_posix() for path in SOURCES}
    theirs = {file for file, _ in taken.lines if not is_others(file)}
    lacking = sampled(sources & theirs, sources) - set(+taken.functions)
    assert {file for file in lacking if not any(fnmatch(file, p) for p in ELSEWHERE)} == set()


def test_exceptions_are_needed(taken):
    """There are such lines; in all programs, some that are missed."""
    missed = [(kernels_c.ROOT / file, numbers) for file, numbers in taken.missed().items()]
    texts = {path: path.read_text().splitlines() for path in kernels_c.ROOT.rglob("*.[ch]")}
    lines = sampled(
        [line for text in texts.values() for line in text],
        [texts[path][n - 1] for path, numbers in missed for n in numbers],
    )
    for pattern in EXEMPT:
        assert any(re.search(pattern, line) for line in lines), pattern
