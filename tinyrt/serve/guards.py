"""Who may ask: this machine's user, from the server's own page or from a program.

A web page that the user has open could send requests to this machine, too. Browsers say which page
a request comes from; requests from other pages are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

LOCAL = ("127.0.0.1", "localhost")
"""Names that a browser on this machine calls it by. Another name leads here by a forged address."""


class OwnPageOnly:
    """Refuses requests from other pages, and to other names than this machine's."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request on."""
        if scope["type"] == "http" and foreign(Headers(scope=scope)):
            error = {"problem": "the request comes from another page or machine"}
            await JSONResponse({"error": error}, status_code=403)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def foreign(headers: Mapping[str, str]) -> bool:
    """Whether a request is from another page, or to a name that is not this machine's."""
    host = headers.get("host", "")
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return True
    return name not in LOCAL or headers.get("origin", f"http://{host}") != f"http://{host}"
