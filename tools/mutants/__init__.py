"""Mutation testing: small faults are put in on purpose, and the tests must notice them.

    python -m tools.mutants PATHS... [--number 20] [--seed 0] [--jobs 2]

A fault is one change of one place: an operator of cosmic-ray's or of ``rewrites`` in Python,
of ``c_faults`` in C. Each is put into a copy of the tree, where those tests run that reach the
changed line (``reach``), the quickest first. ``build/mutants`` keeps a record of each run.
"""
