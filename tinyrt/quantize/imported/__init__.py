"""Models that bring their own quantisation."""
