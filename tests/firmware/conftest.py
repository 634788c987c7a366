"""What every firmware test needs: the cross-compiler and the emulator."""

import os

import pytest

from tinyrt.emulate import toolchain
from tinyrt.errors import ToolError

NEEDED = ("arm-none-eabi-gcc", "arm-none-eabi-ar", "make", "qemu-system-arm")


@pytest.fixture(scope="session", autouse=True)
def _tools():
    try:
        toolchain.require(*NEEDED)
    except ToolError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))  # a green run must have run the firmware
        pytest.skip(str(error))
