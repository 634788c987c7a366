"""Keras models, by TensorFlow's converter or as ONNX."""

from __future__ import annotations

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from tests.frameworks.compared import compare

SAMPLES = 64

CNN = (
    *(layers.Conv2D(8, 3, padding="same"), layers.BatchNormalization(), layers.ReLU()),
    *(layers.MaxPooling2D(), layers.DepthwiseConv2D(3, strides=2, padding="same")),
    *(layers.Conv2D(16, 1, activation="relu6"), layers.GlobalAveragePooling2D(), layers.Dense(10)),
)
WAVES = (
    *(layers.Conv1D(8, 5, padding="causal", activation="relu"), layers.GlobalMaxPooling1D()),
    layers.Dense(4, activation="softmax"),
)
MODELS = {
    "cnn": ((28, 24, 1), CNN, ("tflite", "onnx"), 30),
    "waves": ((40, 6), WAVES, ("tflite", "onnx"), 25),
    "lstm": ((16, 8), (layers.LSTM(12), layers.Dense(4)), ("tflite", "onnx"), 20),
    "gru": ((16, 8), (layers.GRU(12), layers.Dense(4)), ("tflite", "onnx"), 20),
    "sequences": (
        (16, 8),
        (layers.Bidirectional(layers.LSTM(6, return_sequences=True)), layers.SimpleRNN(5)),
        ("tflite",),
        20,
    ),
}
"""Name -> the input's shape, the layers, the formats to go by, the least signal to noise (dB)."""


def check(folder: Path) -> None:
    """Print a line about each model and format."""
    for name, (shape, parts, formats, least) in MODELS.items():
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input(batch_shape=(1, *shape)), *parts])
        x = np.random.default_rng(0).normal(size=(SAMPLES, *shape)).astype(np.float32)
        wanted = model.predict(x, batch_size=1, verbose=0)
        for kind in formats:
            path = folder / f"{name}-{kind}.{kind}"
            if kind == "onnx":
                model.export(str(path), format="onnx", verbose=False)
            else:
                path.write_bytes(tf.lite.TFLiteConverter.from_keras_model(model).convert())
            print(compare(path, {"x": x}, wanted, least), flush=True)
