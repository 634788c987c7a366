"""The most stack that a function can use: frames and calls, from the compiler and from the image.

GCC writes every function's frame (what ``-fstack-usage`` prints) into its call graph files. These
lack calls of the compiler's own library, the frames of the C library, and what Arm functions push
of arguments that came in registers. So calls are those of the disassembled image, and a function's
frame is the larger one of GCC's figure and of all that its code ever takes off the stack pointer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from tinyrt.emulate import toolchain
from tinyrt.export import Core

CALL_GRAPH_FLAG = "-fcallgraph-info=su"
"""Has the compiler write an object's frames into a .ci file beside it."""

WORD = 4

_NODE = re.compile(r'^node: \{ title: "([^"]+)" label: ".*?(\d+) bytes \(([a-z,]+)\)"')
_FUNCTION = re.compile(r"^([0-9a-f]+) <(.+)>:$")
_INSTRUCTION = re.compile(r"^ *[0-9a-f]+:\t(\S+)\t?(.*)$")
_TARGET = re.compile(r"([0-9a-f]+) <[^+>]+>")
_LIST = re.compile(r"\{(.*)\}")
_BRANCHES = ("b", "cb", "j")
_CALLS = ("bl", "jal", "jalr")
_INDIRECT = re.compile(r"^(blx r|jalr [a-z]\d+$)")
_MOVED = (
    re.compile(r"^subw? sp, (?:sp, )?#(\d+)"),
    re.compile(r"^str\S* .*\[sp, #-(\d+)\]!"),
    re.compile(r"^addi? sp,sp,-(\d+)"),
)
_DYNAMIC = re.compile(r"^(sub\S* sp, (sp, )?r|sub sp,sp,)")


@dataclass(slots=True)
class _Function:
    """One function of the image: its frame in bytes (None if unknown), and whom it calls."""

    name: str
    frame: int | None = 0
    calls: set[int] = field(default_factory=set)


def stack_bound(build_dir: Path, image: Path, root: str, core: Core) -> int | None:
    """Bytes of stack that ``root`` and all that it calls can use.

    Args:
        build_dir: folder of the .ci files of the image's objects, subfolders included.
        image: the linked image.
        root: the function to start from.
        core: the core it was built for.

    Returns:
        None where there is no bound: recursion, a frame whose size is not fixed, or a call
        through a pointer.

    Raises:
        ToolError: the image cannot be read.

    """
    text = toolchain.run(
        [f"{core.prefix}objdump", "-d", "--no-show-raw-insn", image], doing="reading the image"
    )
    functions = _functions(text)
    frames = _frames(build_dir)
    for function in functions.values():
        own = frames.get(function.name, 0)
        is_bounded = function.frame is not None and own is not None
        function.frame = max(function.frame or 0, own or 0) if is_bounded else None
    start = next((a for a, f in functions.items() if f.name == root), None)
    return None if start is None else _depth(start, functions, ())


def _frames(build_dir: Path) -> dict[str, int | None]:
    """Function name -> frame; the largest where static functions share a name."""
    frames: dict[str, int | None] = {}
    for path in sorted(build_dir.rglob("*.ci")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            match = _NODE.match(line)
            if match:
                name = match[1].rpartition(":")[2]
                fixed = match[3] in ("static", "dynamic,bounded")
                largest = frames.get(name, 0)
                frames[name] = (
                    max(largest, int(match[2])) if fixed and largest is not None else None
                )
    return frames


def _functions(text: str) -> dict[int, _Function]:
    """Address -> function, from a disassembly."""
    functions: dict[int, _Function] = {}
    address, current = 0, _Function("")
    for line in text.splitlines():
        if header := _FUNCTION.match(line):
            address, current = int(header[1], 16), _Function(header[2])
            functions[address] = current
        elif match := _INSTRUCTION.match(line):
            _read(current, address, match[1], match[2])
    return functions


def _read(function: _Function, address: int, mnemonic: str, operands: str) -> None:
    """Add what one instruction does to the function's frame and calls."""
    name = mnemonic.split(".")[0]
    operation = f"{name} {operands}"
    if _INDIRECT.match(operation) or _DYNAMIC.match(operation):
        function.frame = None
    if function.frame is not None:
        function.frame += _pushed_bytes(name, operation)
    if not name.startswith(_BRANCHES):
        return  # what follows is an address that the code loads
    if target := _TARGET.search(operands):
        callee = int(target[1], 16)
        # A branch to the function's own start is a loop; only a call is recursion.
        if callee != address or name in _CALLS:
            function.calls.add(callee)


def _pushed_bytes(name: str, operation: str) -> int:
    """Bytes that an instruction takes off the stack pointer."""
    if name in ("push", "vpush") or operation.startswith("stmdb sp!"):
        listed = _LIST.search(operation)
        width = 2 * WORD if name == "vpush" and "d" in operation else WORD
        return width * _registers(listed[1]) if listed else 0
    return next((int(m[1]) for p in _MOVED if (m := p.match(operation))), 0)


def _registers(listed: str) -> int:
    """How many registers a list such as ``r4-r7, lr`` names."""
    count = 0
    for part in listed.split(","):
        first, _, last = part.strip().partition("-")
        count += int(last[1:]) - int(first[1:]) + 1 if last else 1
    return count


def _depth(address: int, functions: dict[int, _Function], callers: tuple[int, ...]) -> int | None:
    function = functions.get(address)
    if function is None:
        return 0  # a reference to data
    if address in callers or function.frame is None:
        return None
    below = [_depth(callee, functions, (*callers, address)) for callee in function.calls]
    if any(depth is None for depth in below):
        return None
    return function.frame + max((d for d in below if d is not None), default=0)
