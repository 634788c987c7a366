"""Fixtures that every test may ask for."""

import signal

from hypothesis import settings

# Shells start what runs in the background with Ctrl-C ignored, and commands that tests start would
# inherit that; those that ask whether Ctrl-C ends a command need it heeded.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["tests.zoo_plugin"]

# The same examples in every run, however slow the machine is.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")
