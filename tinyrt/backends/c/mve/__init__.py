"""Kernels of cores with MVE.

A vector instruction multiplies 16 weights with 16 activations and adds the products to one sum, so
a dense layer or convolution is packed in the order in which its windows lie in memory: 16 weights
of each of four output channels, then the next 16. The first block is filled up in front, with zero
weights, and the activations of its idle lanes are not read.

The input's zero point is folded into the bias: ``bias - x_zp * sum(w)``.
"""
