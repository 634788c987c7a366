"""ONNX files: read, checked, and imported node by node."""
