"""The memory that scales of a .tflite file take is counted, one by one."""

from tests.convert.test_tflite_rare import hybrid
from tinyrt.budget import current, limited
from tinyrt.convert.tflite.reader import parse_tflite
from tinyrt.convert.tflite.tensors import SCALE


def test_every_scale_counts():
    used = []
    for scale in (0.01, (0.01, 0.02, 0.03, 0.04)):
        with limited():
            parse_tflite(hybrid(scale))
            used.append(current().memory_used)
    assert used[1] - used[0] >= 3 * SCALE
