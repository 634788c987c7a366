"""Widths of weights that are learned: int8 or int4 for each layer, within a number of bytes.

``sizes`` (what each layer's width costs in the file), ``gates`` (how likely each layer is int8,
within the budget), ``model`` (the model in training for both widths), ``choose`` (the widths of all
layers that fit).
"""
