"""What makes a quantised model better than ranges alone: equal channels, rounded weights."""
