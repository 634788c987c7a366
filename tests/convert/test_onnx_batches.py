"""Every importer with a second sample in the batch, beside onnxruntime."""

import pytest

from tests.convert.every_importer import CASES
from tests.convert.onnx_build import OnnxModel, assert_matches
from tests.sampling import sampled

ALONE = {
    "squeeze_unsqueeze": "removes the dimension of the batch",
    "resize_to_sizes": "tells the size of the batch",
    **dict.fromkeys(
        (
            *("GRU_forward_state", "LSTM_forward_state"),
            *("LSTM_forward_state_peepholes", "RNN_forward_state"),
        ),
        "begins with the state of one sample, whose dimensions come in another order",
    ),
}
"""Cases that hold for one sample -> why."""


class InPairs(OnnxModel):
    """A model whose images and sequences come two at a time."""

    is_changed = False

    def input(self, *shape, **options):
        if len(shape) > 2 and shape[0] == 1:
            self.is_changed = True
            shape = (2, *shape[1:])
        return super().input(*shape, **options)


def has_batch(name):
    build, opset = CASES[name]
    model = InPairs(opset)
    build(model)
    return model.is_changed


IN_PAIRS = [n for n in CASES if n not in ALONE and has_batch(n)]


@pytest.mark.parametrize("name", IN_PAIRS[:: sampled(2, 1)])
def test_the_second_sample_has_its_own_answer(name, tmp_path):
    build, opset = CASES[name]
    model = InPairs(opset)
    assert_matches(model.save(tmp_path, build(model)), tolerance=1e-4)


def test_exceptions_are_cases():
    assert ALONE.keys() <= CASES.keys()
