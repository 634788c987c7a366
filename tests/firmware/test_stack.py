"""The stack's bound: the compiler's frames and the image's calls, never below what was used."""

import pytest

from tests.firmware.projects import fake_project
from tinyrt.emulate import build_image, run_image

INPUT = bytes([1, 2, 3, 4])
BLOCK = "volatile uint8_t block[{0}]; for (int i = 0; i < {0}; ++i) block[i] = 1;"

RECURSION = """
static int recurse(volatile uint8_t *a) {
    return a[0] ? recurse(a + 1) + a[1] : 0;
}
"""


def built(tmp_path, body, **more):
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    folder.mkdir()
    return build_image(fake_project(folder / "project", body, **more), folder), folder


def test_bound_is_what_is_used(tmp_path):
    """In a function without branches, to the alignment of a frame."""
    image, folder = built(tmp_path, BLOCK.format(100))
    used = run_image(image, INPUT, folder).stack_bytes
    assert used <= image.stack_bound <= used + 8


def test_bound_counts_the_branch_that_is_not_taken(tmp_path):
    declarations = f"static int deep(int n) {{ {BLOCK.format(500)} return block[n]; }}"
    body = "if (arena[0] == 77) { return deep(arena[1]); }"
    image, folder = built(tmp_path, body, declarations=declarations)
    assert run_image(image, INPUT, folder).stack_bytes < 100
    assert image.stack_bound > 500


def test_bound_counts_the_c_library(tmp_path):
    """Functions whose frames the compiler does not tell: their code does."""
    image, folder = built(
        tmp_path,
        "arena[4] = (uint8_t)strtol((const char *)arena, 0, 10);",
        declarations="#include <stdlib.h>",
    )
    used = run_image(image, INPUT, folder).stack_bytes
    assert 50 < used <= image.stack_bound


@pytest.mark.parametrize(
    ("body", "declarations"),
    [
        (
            "recurse(arena);",
            "static int recurse(volatile uint8_t *a) { return a[0] ? recurse(a + 1) + a[1] : 0; }",
        ),
        ("volatile uint8_t block[arena[0]]; block[0] = 1;", ""),
        ("((void (*)(void))(uintptr_t)arena[0])();", ""),
    ],
    ids=["recursion", "variable frame", "pointer"],
)
def test_no_bound(tmp_path, body, declarations):
    assert built(tmp_path, body, declarations=declarations)[0].stack_bound is None
