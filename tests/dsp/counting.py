"""What parts of a program cost on an emulated core, counted between hooks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tests.dsp.device import HEADER, MAKE
from tinyrt.dsp import TopK
from tinyrt.emulate import build_image
from tinyrt.emulate.profile import op_instructions
from tinyrt.emulate.qemu import boot
from tinyrt.export import ExportedProject, Port, find_core
from tinyrt.export.standalone import Alone
from tinyrt.ir import DType

APART = 32
"""Numbers of hooks of each thing that is measured."""


def with_kernels(kernels: Iterable[str], core: str, folder: Path) -> Path:
    """A folder of C, ``libtop_k.a``, with kernels of all kinds."""
    alone = Alone("top_k", "kernels", {"top_k": TopK(4)}, ["tinyrt_top_k_s8", *kernels])
    choices = {"core": core, "optimize": "balanced", "prefix": None, "layout": "cmake"}
    alone.written(folder / "project", name="top_k", **choices)
    return folder / "project"


def renamed(text: str, names: Iterable[str], k: int) -> str:
    """Definitions in C, whose names end in a number."""
    return re.sub(rf"(?<![.\w])({'|'.join(names)})\b", rf"\1_{k}", text)


def hooked(text: str, k: int) -> str:
    """Code between ``BEGIN(n)`` and ``END(n)``: hooks of thing k."""
    return re.sub(
        r"\b(BEGIN|END)\((\d+)\)", lambda m: f"TINYRT_PROFILE_{m[1]}({APART * k + int(m[2])})", text
    )


def invoking(body: str) -> str:
    """``clip_invoke`` of that body."""
    return (
        "int clip_invoke(const clip_io_t *io, void *arena) {\n"
        f"    (void)io; (void)arena;\n{body}\n    return 0;\n}}\n"
    )


def counted(there: Path, library: str, core: str, source: str, folder: Path) -> dict[int, int]:
    """Hook -> instructions between its beginning and its end, all of its calls together.

    Args:
        there: an exported folder.
        library: the name of its library.
        core: a core's name.
        source: what defines ``clip_invoke``.
        folder: where to build.

    """
    (there / "clip.h").write_text(HEADER.format(arena=16, state=8, inputs=4, output=8, outputs=4))
    (there / "clip.c").write_text(source)
    (there / "clip_weights.c").write_text("extern const signed char clip_none;\n")
    own = (there / "Makefile").read_text().replace("-Werror", "")
    make = MAKE.replace("LIBRARY", f"lib{library}")
    (there / "Makefile").write_text(f"all: $(BUILD)/libclip.a\n{own}{make}")
    port = {"dtype": DType.INT8, "scale": 1.0, "zero_point": 0, "shape": (1, 4), "nbytes": 4}
    clip = ExportedProject(
        name="clip",
        directory=there,
        core=find_core(core),
        arena_bytes=16,
        inputs=(Port(name="x", offset=0, **port),),
        outputs=(Port(name="y", offset=8, **port),),
        kernels=(),
        macs=0,
    )
    image = build_image(clip, folder, profile=True)
    return op_instructions(boot(image, bytes(4), folder))
