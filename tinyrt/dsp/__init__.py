"""What stands before a network: front ends from raw samples to features, in fixed point.

A front end is a value; its reference in NumPy is the specification of the C code.
"""

from tinyrt.dsp.log_mel import LogMel, NoiseReduction, Pcan
from tinyrt.dsp.stream import LogMelStream

__all__ = ["LogMel", "LogMelStream", "NoiseReduction", "Pcan"]
