"""Calls of kernels in parts, each of a bounded number of instructions, between which others run.

A part is a call of the same kernel on fewer rows, pixels, channels or elements: other counts in its
parameters, other pointers. All parts together compute what the whole call computes, in its order,
so that outputs may lie on inputs wherever they may for the whole call.
"""
