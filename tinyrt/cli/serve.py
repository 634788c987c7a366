"""The command ``serve``."""

from __future__ import annotations

from typing import Annotated

import typer

from tinyrt.amounts import parse_bytes
from tinyrt.cli.console import ERR, reporting
from tinyrt.errors import UnsupportedError


def serve(
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="PORT", min=0, max=65_535, help="The TCP port; 0 for any free one."
        ),
    ] = 8000,
    max_upload: Annotated[
        str, typer.Option("--max-upload", metavar="BYTES", help="Of the files of one request.")
    ] = "64M",
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.1, help="What one request may take.")
    ] = 300.0,
) -> None:
    """Serve a page for models, and its HTTP interface.

    Only this machine can reach it. Nothing of a request is kept.
    """
    with reporting(False):
        try:
            import uvicorn

            from tinyrt.serve.app import make_app
        except ModuleNotFoundError as error:
            raise UnsupportedError(
                f"tinyrt serve needs the package {error.name}", hint="pip install 'tinyrt[serve]'"
            ) from error
        from tinyrt.serve.jobs import Limits
        from tinyrt.serve.listening import listening

        limits = Limits(upload=parse_bytes(max_upload), seconds=seconds)
        with listening(port) as socket:
            ERR.print(f"http://127.0.0.1:{socket.getsockname()[1]}  (Ctrl-C ends it)")
            config = uvicorn.Config(make_app(limits), log_level="warning", server_header=False)
            uvicorn.Server(config).run(sockets=[socket])
