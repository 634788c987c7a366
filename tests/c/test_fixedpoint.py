"""The C arithmetic of requantisation against the Python one, on random and extreme operands."""

import subprocess

import numpy as np
import pytest

from tests.c.host import SANITIZE, host_compiler
from tinyrt import fixedpoint, kernels_c

COUNT = 50_000

PROGRAM = """
#include <stdio.h>
#include "tinyrt_fixedpoint.h"

int main(void) {
    int32_t t[3];
    while (fread(t, sizeof t, 1, stdin) == 1) {
        const int32_t y[] = {tinyrt_requant(t[0], t[1], t[2]),
                             tinyrt_rounding_divide_by_pot(t[0], t[2] < 0 ? -t[2] : t[2]),
                             tinyrt_saturating_shift_left(t[0], 1 + (t[2] & 15)),
                             tinyrt_to_s8(t[0], t[2], -100, 90)};
        fwrite(y, sizeof y, 1, stdout);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fixedpoint")
    (folder / "main.c").write_text(PROGRAM)
    options = ["-std=c99", "-O2", *SANITIZE.split(), f"-I{kernels_c.INCLUDE}"]
    command = [host_compiler(), *options, folder / "main.c", "-o", folder / "main"]
    subprocess.run(command, check=True)
    return folder / "main"


def test_c_equals_python(program):
    rng = np.random.default_rng(1)
    edges = np.array([-(2**31), -(2**31) + 1, -1, 0, 1, 2**30, 2**31 - 1], np.int64)
    x = np.where(
        rng.random(COUNT) < 0.2,
        rng.choice(edges, COUNT),
        rng.integers(-(2**31), 2**31, COUNT) >> rng.integers(0, 31, COUNT),
    )
    mult = rng.integers(2**30, 2**31, COUNT)
    shift = rng.integers(-31, 32, COUNT)
    operands = np.stack([x, mult, shift], axis=1).astype(np.int32)
    done = subprocess.run([program], input=operands.tobytes(), capture_output=True, check=True)
    found = np.frombuffer(done.stdout, np.int32).reshape(COUNT, 4).T

    requantized = fixedpoint.multiply_by_quantized_multiplier(x, mult, shift)
    np.testing.assert_array_equal(found[0], requantized)
    np.testing.assert_array_equal(found[1], fixedpoint.rounding_divide_by_pot(x, np.abs(shift)))
    shifted = np.clip(x << (1 + (shift & 15)), -(2**31), 2**31 - 1)
    np.testing.assert_array_equal(found[2], shifted)
    np.testing.assert_array_equal(found[3], np.clip(x + shift, -100, 90))
