"""Commands of tinyrt in processes of their own, on the files of one request."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
import tempfile
from asyncio import FIRST_COMPLETED
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MADE = "made"
"""The folder of results, below that of a request's files: no uploaded file has their names."""
LOOK = 0.2
"""Seconds from one look to the next whether the client is still there."""
GRACE = 5.0
"""Seconds that a command has to end what it has started."""
SHOWN = 100
"""Characters of an uploaded file's name that are kept."""


class RefusedError(Exception):
    """What is answered instead of a result.

    Attributes:
        status: the HTTP status.
        error: the error's fields, as ``TinyrtError.as_dict`` names them.

    """

    def __init__(self, status: int, error: dict[str, str]) -> None:
        super().__init__(error["problem"])
        self.status = status
        self.error = error


@dataclass(frozen=True, slots=True)
class Limits:
    """What requests may take.

    Attributes:
        upload: bytes of a request's body.
        seconds: of a command, until it is killed.
        at_once: commands that run side by side; further ones wait.

    """

    upload: int = 64 << 20
    seconds: float = 300.0
    at_once: int = 2


class Job:
    """One request's folder, and the commands that run in it.

    Args:
        folder: of the request's files alone.
        gone: whether the client has left.
        places: what commands of all requests wait for.
        seconds: of a command, until it is killed.

    """

    def __init__(
        self,
        folder: Path,
        gone: Callable[[], Awaitable[bool]],
        places: asyncio.Semaphore,
        seconds: float,
    ) -> None:
        self._folder = folder
        self._gone = gone
        self._places = places
        self._seconds = seconds
        self.made = folder / MADE
        self.made.mkdir()

    def place(self, name: str | None, suffixes: Sequence[str], prefix: str = "") -> Path:
        """Where an uploaded file goes.

        Its name keeps what no shell and no path gives a meaning.

        Raises:
            RefusedError: it ends with none of the suffixes (415).

        """
        own = Path(re.sub(r"[^A-Za-z0-9_.-]", "_", Path(name or "").name).lstrip(".-"))
        if own.suffix.lower() not in suffixes:
            wanted = " or ".join(suffixes)
            problem = f"the file's name ends with none of {wanted}"
            raise RefusedError(415, {"problem": problem, "expected": f"a {wanted} file"})
        return self._folder / f"{prefix}{own.stem[:SHOWN]}{own.suffix.lower()}"

    async def run(self, command: str, *arguments: str | Path) -> dict[str, Any]:
        """The object that ``tinyrt COMMAND ... --json`` prints, run in the folder.

        A request that is given up takes its command with it.

        Raises:
            RefusedError: the command refuses (422), takes too long (504), ends otherwise (500), or
                nobody waits for it any more (499).

        """
        async with self._places:
            with tempfile.TemporaryFile() as out:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "tinyrt", command, *arguments, "--json"),
                    cwd=self._folder,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=out,
                    stderr=asyncio.subprocess.DEVNULL,
                    start_new_session=True,
                )
                ended = asyncio.ensure_future(process.wait())
                leaving = asyncio.ensure_future(self._left())
                try:
                    both = {ended, leaving}
                    await asyncio.wait(both, timeout=self._seconds, return_when=FIRST_COMPLETED)
                    if not ended.done():
                        raise self._given_up(command, left=leaving.done())
                finally:
                    leaving.cancel()
                    await _end(process.pid, ended)
                out.seek(0)
                return _answer(command, ended.result(), out.read())

    async def _left(self) -> None:
        """Ends when the client has left."""
        while not await self._gone():
            await asyncio.sleep(LOOK)

    def _given_up(self, command: str, *, left: bool) -> RefusedError:
        if left:
            return RefusedError(499, {"problem": "nobody waits for the answer"})
        problem = f"tinyrt {command} takes longer than {self._seconds:g} seconds"
        hint = f"run tinyrt {command} in a terminal, or serve with more --seconds"
        return RefusedError(504, {"problem": problem, "hint": hint})


async def _end(session: int, ended: asyncio.Future[int]) -> None:
    """End what still runs: the command, which ends the compilers and emulators that it waits for.

    They have sessions of their own, so it has to be asked. What does not heed that is killed.
    """
    try:
        _tell(session, signal.SIGTERM)
        await asyncio.wait({ended}, timeout=GRACE)
    finally:
        _tell(session, signal.SIGKILL)
    await ended


def _tell(session: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(session, number)


def _answer(command: str, code: int | None, out: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(out)
    except ValueError as error:
        problem = f"tinyrt {command} ended with {code} and without an answer"
        hint = "report this, with the file"
        raise RefusedError(500, {"problem": problem, "hint": hint}) from error
    if "error" in answer:
        raise RefusedError(422, answer["error"])
    return dict(answer)
