"""Tables of measured figures in the documentation: each is made by a function of this package.

``python -m benchmarks.tables`` prints them, and with ``--write`` puts them into their pages.
"""
