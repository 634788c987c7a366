"""An exported model on a real board: the host's side of its protocol on a serial port."""

from tinyrt.board.emulated import emulated_port
from tinyrt.board.identity import Identity
from tinyrt.board.line import Line, SerialLine
from tinyrt.board.session import Session
from tinyrt.board.validation import Difference, Subject, Ticks, ValidationReport, validate_on

__all__ = [
    "Difference",
    "Identity",
    "Line",
    "SerialLine",
    "Session",
    "Subject",
    "Ticks",
    "ValidationReport",
    "emulated_port",
    "validate_on",
]
