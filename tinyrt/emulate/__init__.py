"""Run exported models on emulated boards: build, boot, read back outputs and counters."""

from tinyrt.emulate.audio import emulate_samples
from tinyrt.emulate.boards import BOARDS, Board, find_board
from tinyrt.emulate.cycles import CycleReport, Cycles, Flash, Timing
from tinyrt.emulate.image import Image, build_image
from tinyrt.emulate.profile import OpCost
from tinyrt.emulate.qemu import Run, run_image
from tinyrt.emulate.report import EmulationReport, Ram
from tinyrt.emulate.run import run_emulated
from tinyrt.emulate.several import run_emulated_several
from tinyrt.emulate.sizes import Sizes

__all__ = [
    "BOARDS",
    "Board",
    "CycleReport",
    "Cycles",
    "EmulationReport",
    "Flash",
    "Image",
    "OpCost",
    "Ram",
    "Run",
    "Sizes",
    "Timing",
    "build_image",
    "emulate_samples",
    "find_board",
    "run_emulated",
    "run_emulated_several",
    "run_image",
]
