"""A kernel that goes wrong is reported by the name of its op, and other ops keep their answers."""

from functools import partial

import numpy as np
import pytest

from tests.c.by_op import answers_by_op
from tests.c.conformance import all_ops
from tests.c.host import StoppedError
from tests.sampling import sampled

pytestmark = pytest.mark.slow

OPS = ("logistic", "mul", "transpose")
LOOP = "    const int8_t *const end = x + size;"
FAULTS = {
    "reads too far": (f"{LOOP[:-1]} + 1;", "AddressSanitizer"),
    "a number overflows": (f"{LOOP}\n    size += INT32_MAX;", "signed integer overflow"),
    "a requirement fails": (f"{LOOP}\n    TINYRT_ASSERT(size < 0);", "Assertion"),
}
"""What goes wrong in a kernel -> what stands in place of ``LOOP``, and a word of the report."""


@pytest.mark.parametrize("fault", sampled(["reads too far"], FAULTS))
def test_a_fault_is_that_of_its_op_alone(tmp_path, fault):
    changed, word = FAULTS[fault]

    def damage(project):
        source = project.directory / "tinyrt" / "tinyrt_lut_s8.c"
        if source.is_file():
            text = source.read_text()
            assert LOOP in text
            source.write_text(text.replace(LOOP, changed))

    answers = answers_by_op(partial(all_ops, range(2)), OPS, tmp_path, damage=damage)
    assert set(answers.stopped) == {"logistic"}
    with pytest.raises(StoppedError, match=word) as report:
        answers.of("logistic")
    assert report.value.op == "logistic/0"
    for op in ("mul", "transpose"):
        for name, found, expected in answers.of(op):
            np.testing.assert_array_equal(found, expected, err_msg=name)
