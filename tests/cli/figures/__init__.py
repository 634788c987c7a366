"""What ``--json`` prints, field by field, against computations of the tests' own.

Each test writes down the whole object: a field that it does not expect, or a figure that is not
what the test computes, is a failure.
"""
