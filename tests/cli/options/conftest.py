"""What tests of options are called with."""

import pytest

from tests.cli.options.made import make


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    return make(tmp_path_factory.mktemp("options"))
