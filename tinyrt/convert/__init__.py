"""Readers (ONNX, .tflite), graph passes, the .tflite writer.

Nothing is imported here: reading a .tflite file must not cost the import of onnx.
"""
