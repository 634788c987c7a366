"""The .tflite format: read and written, by pairs that belong together."""
