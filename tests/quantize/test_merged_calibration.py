"""What several observers saw of parts of the samples, merged: to the bit what one sees of all."""

from functools import partial

import numpy as np
import pytest

from tests.sampling import sampled
from tinyrt.quantize import QuantConfig
from tinyrt.quantize.calibration.histogram import BINS, Histogram
from tinyrt.quantize.calibration.observers import Every, MovingAverage, make_observer
from tinyrt.quantize.config import CHOOSING, Calibrator

ALL = CHOOSING[Calibrator.AUTO]


def batches(seed):
    """Batches of very different sizes and ranges; some of zeros only."""
    rng = np.random.default_rng(seed)
    for _ in range(rng.integers(2, 9)):
        x = rng.normal(size=(rng.integers(1, 40), 5)) * 10.0 ** rng.uniform(-12, 6)
        shift = rng.choice([0, 0, 1e3])
        yield (np.where(rng.random(x.shape) < rng.choice([0.2, 1]), 0, x + shift)).astype(
            np.float32
        )


@pytest.mark.parametrize("seed", range(sampled(20, 60)))
def test_histograms_of_parts_are_that_of_all(seed):
    whole, merged = Histogram(), Histogram()
    for x in batches(seed):
        whole.add(x)
        part = Histogram()
        part.add(x)
        merged.merge(part)
    assert (merged.low, merged.high, merged.zeros) == (whole.low, whole.high, whole.zeros)
    assert (merged.first, merged.exponent) == (whole.first, whole.exponent)
    np.testing.assert_array_equal(merged.counts, whole.counts)
    assert merged.counts.shape == (BINS,)


@pytest.mark.parametrize("seed", range(sampled(3, 12)))
@pytest.mark.parametrize("calibrator", [*ALL, None], ids=str)
def test_every_calibrator_proposes_the_same(calibrator, seed):
    config = QuantConfig()
    make = partial(make_observer, calibrator, config) if calibrator else partial(Every, config, ALL)
    whole, merged = make(), make()
    for x in [np.ones((2, 5), np.float32), *batches(seed)]:
        whole.add(x)
        part = make(is_part=True)
        for piece in np.array_split(x, 2) if len(x) > 1 else [x]:
            part.add(piece)
        merged.merge(part)
    if calibrator:
        assert merged.range() == whole.range()
    else:
        assert merged.candidates() == whole.candidates()


def test_averages_that_were_made_for_no_part_are_not_merged():
    x = np.ones((3, 2), np.float32)
    one, other = MovingAverage(), MovingAverage()
    one.add(x)
    other.add(x)
    with pytest.raises(AssertionError, match="made for a part"):
        one.merge(other)
