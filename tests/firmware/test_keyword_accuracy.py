"""Words of the example from raw sound: the device's scores, and how many are told right."""

import numpy as np
import pytest

from tests.c.host import require_tool
from tests.firmware import keyword_accuracy
from tests.firmware.device import require_core
from tests.firmware.keyword_accuracy import EXAMPLE, example
from tests.sampling import sampled

pytestmark = [pytest.mark.device, pytest.mark.slow]

MAX_LOSS = 0.005
"""Of the share that a float network behind a front end in float64 tells right."""


@pytest.fixture(autouse=True)
def _speaker():
    require_tool("espeak-ng")


@pytest.mark.whole
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
def test_every_sample_has_the_hosts_scores(core, tmp_path):
    """And with them the accuracy: answers of each clip, from its samples on."""
    require_core(core)
    train = example()
    clips, labels = train.clips(np.random.default_rng(3), sampled(1, 6), 1)
    clips, labels = clips[:: sampled(2, 1)], labels[:: sampled(2, 1)]
    host = keyword_accuracy.scores_by_host(clips)
    device = keyword_accuracy.scores_by_device(clips, core, tmp_path)
    np.testing.assert_array_equal(device, host)
    assert host.shape == (len(clips), (train.FRONT.frames(clips.shape[1]) - 49) // 5 + 1, 6)
    assert len(np.unique(host[:, -1].argmax(1))) > 2
    assert (device[:, -1].argmax(1) == labels).mean() > 0.75


@pytest.mark.whole
@pytest.mark.parametrize("seeds", [2])
def test_within_half_a_point_of_floats(seeds):
    """Fewer words and seeds than in the README, and the same sides."""
    shares, own = keyword_accuracy.compared(seeds, 24)
    exact, fixed = shares.mean(axis=0)
    assert min(exact, fixed) > 0.85
    assert fixed > exact - MAX_LOSS
    assert own.mean() > exact - MAX_LOSS


def test_what_the_readme_says():
    """Its figures are within what must hold."""
    text = (EXAMPLE / "README.md").read_text()
    line = next(n for n in text.splitlines() if n.startswith("| 2,160 clips |"))
    exact, fixed, own = (float(cell.split()[0]) for cell in line.strip(" |").split(" | ")[1:])
    assert fixed > exact - 100 * MAX_LOSS
    assert abs(own - exact) < 100 * MAX_LOSS
