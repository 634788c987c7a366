"""Methods beyond calibration: equalised channels, optimised rounding, corrected biases."""
