"""Models of transformers, two layers each, exported by both of PyTorch's exporters."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import transformers as hf

from tests.convert.onnx_build import expected
from tests.frameworks.compared import compare

LENGTH, WORDS, SAMPLES = 16, 100, 64
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
TEXT = {"vocab_size": WORDS, "max_position_embeddings": LENGTH, "intermediate_size": 64} | SIZES
IMAGE = {"image_size": 32, "patch_size": 8, "intermediate_size": 64} | SIZES
NARROW = {"vocab_size": WORDS, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}

MODELS: dict[str, tuple[Callable[[], torch.nn.Module], tuple[str, ...], float]] = {
    "bert": (
        lambda: hf.BertForSequenceClassification(hf.BertConfig(**TEXT, num_labels=3)),
        ("input_ids", "attention_mask"),
        20,
    ),
    "distilbert": (
        lambda: hf.DistilBertForSequenceClassification(
            hf.DistilBertConfig(**NARROW, max_position_embeddings=LENGTH, num_labels=3)
        ),
        ("input_ids", "attention_mask"),
        20,
    ),
    "vit": (
        lambda: hf.ViTForImageClassification(hf.ViTConfig(**IMAGE, num_labels=5)),
        ("pixel_values",),
        10,
    ),
}
"""Name -> the model, its inputs, and the least signal to noise in int8 (random weights; dB)."""


class Logits(torch.nn.Module):
    """One tensor of what a model returns."""

    def __init__(self, model: torch.nn.Module, names: tuple[str, ...]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.model(**dict(zip(self.names, inputs, strict=True))).logits


def samples(names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Random words, masks of random lengths, random-normal images."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(4, LENGTH + 1, (SAMPLES, 1))
    every = {
        "input_ids": rng.integers(1, WORDS, (SAMPLES, LENGTH)),
        "attention_mask": np.int64(np.arange(LENGTH) < lengths),
        "pixel_values": rng.standard_normal((SAMPLES, 3, 32, 32)).astype(np.float32),
    }
    return {name: every[name] for name in names}


def spread(model: torch.nn.Module) -> torch.nn.Module:
    """Weights that keep activations at one size, so that every layer counts."""
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            std = 1.0 if "embed" in name else parameter[0].numel() ** -0.5
            torch.nn.init.normal_(parameter, std=std)
    return model.eval()


def check(folder: Path) -> None:
    """Print a line about each model and exporter."""
    for name, (make, names, least) in MODELS.items():
        torch.manual_seed(0)
        model, x = Logits(spread(make()), names).eval(), samples(names)
        example = tuple(torch.from_numpy(x[n][:1]) for n in names)
        for dynamo in (False, True):
            path = folder / f"{name}-{'dynamo' if dynamo else 'script'}.onnx"
            with warnings.catch_warnings(), torch.no_grad():
                warnings.simplefilter("ignore")
                torch.onnx.export(model, example, str(path), dynamo=dynamo, input_names=list(names))
            rows = [{n: array[i : i + 1] for n, array in x.items()} for i in range(SAMPLES)]
            wanted = np.concatenate([expected(path, row)[0] for row in rows])
            given = {n: a.astype(np.int32) if a.dtype == np.int64 else a for n, a in x.items()}
            print(compare(path, given, wanted, least), flush=True)
