"""What every option of every command does: one test to an option.

``shows`` names the options that a test would fail without; ``test_every_option`` counts them.
"""
