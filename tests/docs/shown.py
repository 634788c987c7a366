"""What a page's Python examples print, against what the page shows.

A block ``output`` is all that the Python block before it prints. A comment behind a ``print`` at
the beginning of a line is what that one prints: ``print(x.shape)  # (24, 32)``, up to a colon.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

END_OF_BLOCK, END_OF_PRINT = "\x1e", "\x1d"

_SHOWN = re.compile(r"^(print\(.*\))  # (.+)$", re.MULTILINE)
_VALUE = re.compile(r"[-\[(\d]|(True|False|None|u?int\d+|float\d+)\b")


@dataclass
class Shown:
    """The Python code of a page, and what the page says that it prints.

    Attributes:
        blocks: the code, block by block.
        values: what prints with comments print, in their order.
        outputs: number of a block -> what it prints.

    """

    blocks: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    outputs: dict[int, str] = field(default_factory=dict)

    def add(self, language: str, text: str) -> None:
        """The page's next block, whatever it is."""
        if language == "python":
            self.blocks.append(_SHOWN.sub(self._marked, text))
        elif language == "output":
            self.outputs[len(self.blocks) - 1] = text

    def _marked(self, line: re.Match[str]) -> str:
        call, said = line.groups()
        if not _VALUE.match(said):
            return line[0]
        self.values.append(said.partition(": ")[0])
        return f"{call}; print({END_OF_PRINT!r})"

    @property
    def code(self) -> str:
        """All blocks as one program: those of a page build on each other."""
        return f"\nprint({END_OF_BLOCK!r})\n".join(self.blocks)

    def differences(self, printed: str) -> Sequence[str]:
        """What the program printed that the page has otherwise."""
        blocks = printed.split(f"{END_OF_BLOCK}\n")
        *marked, _ = printed.replace(f"{END_OF_BLOCK}\n", "").split(f"{END_OF_PRINT}\n")
        values = [text.splitlines()[-1] for text in marked]
        pairs = [*zip(values, self.values, strict=True)]
        pairs += [
            (blocks[i].replace(f"{END_OF_PRINT}\n", ""), text) for i, text in self.outputs.items()
        ]
        return [f"prints {is_!r}, shown is {said!r}" for is_, said in pairs if is_ != said]
