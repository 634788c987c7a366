"""The harness catches what a wrong model would do, and its counts are what they say."""

import pytest

from tests.firmware.projects import ARENA_BYTES, fake_project
from tests.sampling import sampled
from tinyrt.emulate import build_image, run_image
from tinyrt.errors import ToolError

INPUT = bytes([1, 2, 3, 4])


def run(tmp_path, body, *, samples=1, timeout_s=30.0, **more):
    project = fake_project(tmp_path / "project", body, **more)
    image = build_image(project, tmp_path)
    return image, run_image(image, INPUT * samples, tmp_path, timeout_s=timeout_s)


def test_outputs_of_all_samples(tmp_path):
    image, found = run(
        tmp_path, "for (int i = 0; i < 4; ++i) arena[4 + i] = arena[i] + 1;", samples=3
    )
    assert found.outputs == bytes([2, 3, 4, 5] * 3)
    assert found.arena_bytes == ARENA_BYTES
    assert image.sizes.weights == 100
    assert image.sizes.static == 0
    assert 0 < image.sizes.code < 200


def test_arena_is_filled_before_the_first_run(tmp_path):
    _, found = run(tmp_path, "for (int i = 0; i < 4; ++i) arena[4 + i] = arena[60 + i];")
    assert found.outputs == bytes([0xA5] * 4)


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (ARENA_BYTES, "behind the end"),
        *sampled([], [(ARENA_BYTES + 17, "behind the end")]),
        (-1, "before the start"),
    ],
)
def test_writing_outside_the_arena_is_caught(tmp_path, index, words):
    with pytest.raises(ToolError, match=words):
        run(tmp_path, f"arena[{index}] = 7;")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("*(volatile int *)0xF0000000 = 1;", "the processor faulted(.|\n)*fault_pc"),
        ("return 3;", "returned an error"),
        ("deeper(arena);", "the stack is full"),
    ],
)
def test_failures_end_the_emulation(tmp_path, body, words):
    endless = "static int deeper(volatile uint8_t *a) { return a[0] + deeper(a) + a[1]; }"
    with pytest.raises(ToolError, match=words):
        run(tmp_path, body, declarations=endless)


def test_a_model_that_hangs_is_stopped(tmp_path):
    with pytest.raises(ToolError, match="did not finish within 1 seconds"):
        run(tmp_path, 'for (;;) { __asm volatile(""); }', timeout_s=1.0)


def test_instruction_count_is_exact(tmp_path):
    """One more turn of a loop of two instructions is two instructions more."""
    counts = []
    for turns in (1000, 1001, 51_001):
        folder = tmp_path / str(turns)
        folder.mkdir()
        loop = (
            f'unsigned n = {turns}; __asm volatile("1: subs %0, #1\\n bne 1b" : "+l"(n) :: "cc");'
        )
        counts.append(run(folder, loop)[1].instructions)
    assert counts[1] - counts[0] == 2
    assert counts[2] - counts[1] == 100_000


def test_stack_counts_what_the_model_uses(tmp_path):
    block = "volatile uint8_t block[{0}]; for (int i = 0; i < {0}; ++i) block[i] = 1;"
    used = []
    for size in (64, 1064):
        folder = tmp_path / str(size)
        folder.mkdir()
        used.append(run(folder, block.format(size))[1].stack_bytes)
    assert used[1] - used[0] == 1000
    assert used[0] >= 64


def test_model_data_is_counted_as_static(tmp_path):
    image, _ = run(
        tmp_path,
        "calls++; table[calls & 3] = 1;",
        declarations="static volatile int calls = 5, table[4];",
    )
    assert image.sizes.static == 20
