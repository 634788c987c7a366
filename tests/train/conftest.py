"""What is trained once for several tests."""

from dataclasses import replace

import pytest

from tests.sampling import sampled
from tinyrt.floatmath.parallel import one_thread
from tinyrt.train.recipes.digits import SMALL_DIGITS
from tinyrt.train.recipes.stages import train_float


@pytest.fixture(scope="session", autouse=True)
def quiet_blas():
    """One thread: small products only wait for each other on more."""
    with one_thread():
        yield


@pytest.fixture(scope="session")
def digits():
    training = replace(SMALL_DIGITS.training, epochs=sampled(12, SMALL_DIGITS.training.epochs))
    return train_float(replace(SMALL_DIGITS, training=training))
