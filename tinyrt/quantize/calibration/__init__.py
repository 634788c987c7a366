"""What tensors take: calibration data are run, watched, and turned into ranges."""
