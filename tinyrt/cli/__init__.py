"""The command line: commands, tables, progress."""

from tinyrt.cli.app import main

__all__ = ["main"]
