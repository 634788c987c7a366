"""What is trained once for several tests."""

import pytest

from tinyrt.train.recipes.digits import train_digits


@pytest.fixture(scope="session")
def digits():
    return train_digits(seed=0)
