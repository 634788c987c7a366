"""Options of ``tinyrt serve``."""

import socket
import sys

import pytest
import uvicorn

from tests.cli.calls import call
from tests.cli.shown import shows
from tinyrt.serve.jobs import Limits


@pytest.fixture
def served(monkeypatch):
    """What the server is started with, instead of starting it."""
    seen = {}

    def run(server, sockets):
        (made,) = sockets
        seen["at"] = made.getsockname()
        seen["limits"] = server.config.app.state.limits

    monkeypatch.setattr(uvicorn.Server, "run", run)
    return seen


@shows("serve", "port")
def test_the_port_is_the_one_asked_for(served):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    said = call("serve", "--port", port)
    assert served["at"] == ("127.0.0.1", port)
    assert f"http://127.0.0.1:{port}  (Ctrl-C ends it)" in said.stderr


@shows("serve", "max_upload", "seconds")
def test_requests_are_limited_as_said(served):
    call("serve", "--port", 0, "--max-upload", "3k", "--seconds", 7)
    assert served["limits"] == Limits(upload=3 * 1024, seconds=7.0)


def test_without_options_the_limits_are_those_of_the_server(served):
    call("serve", "--port", 0)
    assert served["limits"] == Limits()


def test_without_its_packages_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    said = call("serve", code=1)
    assert "tinyrt serve needs the package uvicorn" in said.stderr
    assert "pip install 'tinyrt[serve]'" in said.stderr


def test_a_port_in_use_is_an_error_of_the_command(served):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        said = call("serve", "--port", taken.getsockname()[1], code=1)
    assert "cannot be listened on: Address already in use" in said.stderr
