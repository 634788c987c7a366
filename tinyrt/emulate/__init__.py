"""Run exported models on emulated boards: build, boot, read back outputs and counters."""

from tinyrt.emulate.boards import BOARDS, Board
from tinyrt.emulate.image import Image, build_image
from tinyrt.emulate.qemu import Run, run_image
from tinyrt.emulate.report import EmulationReport, Flash, Ram
from tinyrt.emulate.run import run_emulated

__all__ = [
    "BOARDS",
    "Board",
    "EmulationReport",
    "Flash",
    "Image",
    "Ram",
    "Run",
    "build_image",
    "run_emulated",
    "run_image",
]
