"""What carries bytes to a board and back: a serial port, or whatever else behaves like one."""

from __future__ import annotations

from typing import Any, Protocol

from tinyrt.errors import ToolError

try:
    from termios import error as _terminal_error
except ImportError:  # where ports are no terminals
    _OF_TERMINALS: tuple[type[Exception], ...] = ()
else:
    _OF_TERMINALS = (_terminal_error,)

READ_S = 0.05
"""Longest that one read waits, in seconds."""

MAX_READ = 4096


class Line(Protocol):
    """Bytes to a board and back."""

    name: str
    """What messages call it."""

    def write(self, data: bytes) -> None:
        """Send all these bytes; ToolError where the line is gone."""

    def read(self) -> bytes:
        """What has arrived, after at most ``READ_S`` seconds; ToolError where the line is gone."""


def lost(name: str, reason: object) -> ToolError:
    """The error for a line that was there and is gone."""
    return ToolError(
        f"{name} is gone in the middle of the conversation: {reason}",
        expected="a port that stays open",
        hint="look at the cable and the board's power, and whether the firmware resets; then again",
    )


class SerialLine:
    """A serial port of this machine, or a URL of pyserial's such as ``socket://host:5000``.

    Args:
        port: the device, such as ``/dev/ttyACM0`` or ``COM3``.
        baud: bits per second, as the board's UART is set.

    Raises:
        ToolError: pyserial is not installed, or the port cannot be opened.

    """

    def __init__(self, port: str, baud: int) -> None:
        self.name = port
        serial = _pyserial()
        self._failures = (serial.SerialException, OSError, *_OF_TERMINALS)
        try:
            self._port = serial.serial_for_url(
                port, baudrate=baud, timeout=READ_S, write_timeout=2.0
            )
        except (*self._failures, ValueError) as error:
            there = ", ".join(sorted(p.device for p in _ports())) or "none"
            raise ToolError(
                f"cannot open {port} at {baud} baud: {error}",
                expected=f"a serial port that nobody else uses; there are: {there}",
                hint="close other programs that have it open (a terminal, a debugger's console); "
                "on Linux your user has to be in the group dialout",
            ) from error

    def __enter__(self) -> SerialLine:
        """The line itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the port."""
        self._port.close()

    def write(self, data: bytes) -> None:
        """Send all these bytes."""
        try:
            self._port.write(data)
        except self._failures as error:
            raise lost(self.name, error) from error

    def read(self) -> bytes:
        """What has arrived, after at most ``READ_S`` seconds."""
        try:
            first = bytes(self._port.read(1))
            waiting = min(self._port.in_waiting, MAX_READ) if first else 0
            return first + bytes(self._port.read(waiting)) if waiting else first
        except self._failures as error:
            raise lost(self.name, error) from error


def _pyserial() -> Any:
    try:
        import serial
    except ImportError as error:
        raise ToolError(
            "serial ports are opened by pyserial, which is not installed",
            hint="pip install 'tinyrt[serial]'",
        ) from error
    return serial


def _ports() -> list[Any]:
    from serial.tools import list_ports

    return list(list_ports.comports())
