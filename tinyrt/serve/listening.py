"""The socket that the server listens on."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from tinyrt.errors import UnsupportedError


@contextmanager
def listening(port: int) -> Iterator[socket.socket]:
    """A socket that this machine alone can reach.

    Args:
        port: the TCP port; 0 for any free one.

    Raises:
        UnsupportedError: the port is taken, or may not be used.

    """
    with socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind(("127.0.0.1", port))
        except OSError as error:
            raise UnsupportedError(
                f"the port cannot be listened on: {error.strerror}",
                expected="one that is free, above 1023 for users who are not root",
                hint="--port 0 takes any that is free",
            ) from error
        yield made
