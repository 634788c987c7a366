"""Every op with a C kernel on every core: the references' answers, from one boot to a core."""

import pytest

from tests.c.conformance import all_ops
from tests.firmware.device import check_on_device
from tinyrt.export import CORES

SEEDS = range(5)


@pytest.mark.parametrize("core", [core for core in CORES if not core.startswith("host-")])
def test_ops_on_the_device(tmp_path, core):
    graph, feeds = all_ops(SEEDS)
    check_on_device(graph, feeds, tmp_path, core)
