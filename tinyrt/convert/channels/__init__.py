"""Channels that no answer depends on, and the graph without them."""
