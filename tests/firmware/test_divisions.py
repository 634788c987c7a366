"""No division in hot code: none but those of averages, once for each, as the disassembly has it."""

import re

import pytest

from tests.firmware.device import require_core
from tests.firmware.test_zoo import MODELS
from tests.sampling import sampled
from tinyrt.emulate import build_image, toolchain
from tinyrt.export import export_c, find_core

DIVISION = re.compile(r"\t[su]div\b|<__aeabi_u?[il]div(mod)?>")
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
ALLOWED = re.compile(r"average|divide")
"""Functions of average pooling: a division for each output, where windows differ in size."""


@pytest.mark.parametrize("core", sampled(["cortex-m4"], ["cortex-m0", "cortex-m4"]))
def test_loops_do_not_divide(zoo, tmp_path, core):
    require_core(core)
    for name in sampled(MODELS[1:2], MODELS):
        folder = tmp_path / name
        project = export_c(zoo / "models" / f"{name}_int8.tflite", folder / "project", core=core)
        image = build_image(project, folder)
        listing = [f"{find_core(core).prefix}objdump", "-d", "--no-show-raw-insn", image.path]
        dividing, function = set(), ""
        for line in toolchain.run(listing, doing="disassembling").splitlines():
            named = FUNCTION.match(line)
            function = named[1] if named else function
            if DIVISION.search(line) and not function.startswith("__"):
                dividing.add(function)
        assert not {f for f in dividing if not ALLOWED.search(f)}, name
