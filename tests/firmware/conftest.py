"""What every firmware test needs: the cross-compiler and the emulator."""

import os
from pathlib import Path

import pytest

from tests.c.bare_headers import bare_headers
from tinyrt.emulate import toolchain
from tinyrt.errors import ToolError

__all__ = ["bare_headers"]
"""Fixtures of elsewhere that all tests here have."""

NEEDED = ("arm-none-eabi-gcc", "arm-none-eabi-ar", "make", "qemu-system-arm")


@pytest.fixture(scope="session", autouse=True)
def _tools():
    try:
        toolchain.require(*NEEDED)
    except ToolError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))  # a green run must have run the firmware
        pytest.skip(str(error))


def pytest_collection_modifyitems(items):
    """All tests of this folder need the tools."""
    folder = f"{Path(__file__).parent}{os.sep}"  # comparing paths takes a second for all items
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.device)
