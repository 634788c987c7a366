"""What is trained once for several tests."""

import pytest

from tinyrt.train.recipes.digits import one_thread, train_digits


@pytest.fixture(scope="session", autouse=True)
def quiet_blas():
    """One thread: small products only wait for each other on more."""
    with one_thread():
        yield


@pytest.fixture(scope="session")
def digits():
    return train_digits(seed=0)
