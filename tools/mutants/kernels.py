"""Which tests run a file of C kernels: no run of Python records it, so it stands in tables."""

from __future__ import annotations

import re

HOST = (
    *("tests/c/test_kernels.py", "tests/c/test_packed.py", "tests/c/test_corners.py"),
    *("tests/c/test_fixedpoint.py", "tests/c/test_linear_sum.py", "tests/c/test_requant4.py"),
    *("tests/c/test_x86.py", "tests/c/test_rows.py", "tests/c/test_overlap.py"),
    *("tests/interpreter/test_native.py", "tests/c/test_branches.py"),
)
DEVICE = (
    *("tests/firmware/test_corners.py", "tests/firmware/test_packed.py"),
    *("tests/firmware/test_all_ops.py", "tests/firmware/test_float.py"),
    *("tests/firmware/test_sparse.py", "tests/firmware/test_rows.py"),
    *("tests/firmware/test_budgets.py", "tests/firmware/test_costs.py"),
)
MVE = (
    "tests/c/test_mve.py",
    *("tests/firmware/test_corners.py", "tests/firmware/test_kernels_mve.py"),
    *("tests/firmware/test_all_ops.py", "tests/firmware/test_budgets_mve.py"),
    *("tests/c/test_headers.py", "tests/firmware/test_rows.py"),
)
RVV = ("tests/c/test_strips.py", "tests/firmware/test_strips.py", "tests/firmware/test_budgets.py")
TESTS_OF_CORES = {
    r"src_rvv/|isa/rvv/|_strip": RVV,
    r"src_mve/|isa/mve/|_mve": MVE,
    r"src_x86/|isa/avx|_x86": (
        "tests/c/test_x86.py",
        *HOST,
        "tests/interpreter/test_conformance.py",
    ),
    r"src_dsp/|isa/dsp/|isa/scalar/": (*HOST, *DEVICE),
    r"": (*HOST, *DEVICE, *MVE),
}
"""What a path of a kernel has in it -> the tests that run it, the quickest first."""

CAMERAS = (
    *("tests/dsp/test_camera.py", "tests/firmware/test_camera_kernels.py"),
    *("tests/firmware/test_front_vectors.py", "tests/firmware/test_camera.py"),
)
FRONT_ENDS = (
    *("tests/dsp/test_front_end_c.py", "tests/dsp/test_cepstra.py"),
    *("tests/dsp/test_microfrontend.py", "tests/firmware/test_front_vectors.py"),
    *("tests/firmware/test_front_end.py", "tests/firmware/test_signal.py"),
)
DECISIONS = (
    *("tests/dsp/test_anomaly_alone.py", "tests/dsp/test_anomaly.py"),
    *("tests/dsp/test_detector.py", "tests/dsp/test_nearest_mean.py"),
    *("tests/dsp/test_learner_c.py", "tests/dsp/test_boxes.py"),
    *("tests/firmware/test_decision_kernels.py", "tests/firmware/test_boxes_kernels.py"),
    "tests/c/test_corners.py",
)
TESTS_OF_FAMILIES = {
    r"_table\.h": ("tests/c/test_tables.py",),
    r"camera|area|bilinear_lines|pixels\.h|to_byte": CAMERAS,
    r"motion|standard|group_sums|axis|band_sums|inverse_root": (
        *("tests/dsp/test_motion.py", "tests/dsp/test_standard.py"),
        *("tests/firmware/test_standard_kernel.py", "tests/firmware/test_motion.py"),
        "tests/firmware/test_front_vectors.py",
    ),
    r"log_mel|cepstra|signal_|fft|frame|log_table|root_table|bits|past|samples|complex": FRONT_ENDS,
    r"anomaly|top_k|best_scores|detector|nearest_mean|boxes|is_apart|learner|alarm": DECISIONS,
    r"blob|crc32|flexible": (
        *("tests/c/test_blobs.py", "tests/c/test_blob_scales.py", "tests/export/test_blobs.py"),
        *("tests/export/test_blob_calls.py", "tests/firmware/test_blobs.py"),
    ),
    r"lstm|svdf|isa/\w+/tinyrt_row\.h|dense_row_long": (
        *("tests/c/test_recurrent.py", "tests/firmware/test_recurrent.py"),
        "tests/c/test_corners.py",
    ),
    r"row16|conv2d_(block|raised)_s16|sums_s16|(add|sub)_s16|sigmoid": (
        *("tests/c/test_packed_wide.py", "tests/firmware/test_wide.py"),
        *("tests/firmware/test_raised.py", "tests/firmware/test_wide_functions.py"),
        *("tests/c/test_recurrent.py", "tests/c/test_corners.py"),
    ),
    r"_more|_wide|_long|triples": (
        *("tests/c/test_packed.py", "tests/c/test_wide_weights.py", "tests/c/test_wide_groups.py"),
        "tests/firmware/test_wide_weights.py",
    ),
    r"sparse|kept": ("tests/firmware/test_sparse.py",),
    r"tinyrt_shift\.": ("tests/c/test_shift.py",),
    r"float_tile|_f32|few_taps": (
        "tests/c/test_float_tiles.py",
        "tests/firmware/test_float_tiles.py",
    ),
    r"_four|triple": ("tests/c/test_fours.py", "tests/firmware/test_fours.py"),
    r"winograd|tile": ("tests/c/test_winograd.py", "tests/firmware/test_winograd.py"),
    r"part_of|_part_|slice": ("tests/firmware/test_slices.py", "tests/firmware/test_slices_ops.py"),
}
"""What names of a family's files have in them -> its own tests: they are asked first."""


def tests_of_kernel(path: str) -> list[str]:
    """The tests that run the file: those of its family first, then those of the cores it is for."""
    own = [t for part, tests in TESTS_OF_FAMILIES.items() if re.search(part, path) for t in tests]
    of_cores = next(tests for part, tests in TESTS_OF_CORES.items() if re.search(part, path))
    return list(dict.fromkeys((*own, *of_cores)))
