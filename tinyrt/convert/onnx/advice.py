"""What to do about ONNX ops that have no importer."""

from __future__ import annotations

from collections.abc import Sequence

from tinyrt.convert.advice import (
    BITS,
    BOXES,
    IMAGES,
    NOISE,
    OPEN,
    SPECTRUM,
    TEXT,
    advice_by_name,
)
from tinyrt.convert.onnx.features import DOMAIN

LEARNED = {
    "Tree": "train a small network on what the trees answer and export that; emlearn and m2cgen "
    "write trees as C",
    "SVM": "train LinearSVC, LogisticRegression or a small network instead: a kernel machine "
    "compares each input with all its support vectors",
    "Imputer": "fill in missing values before the model: integers have no NaN",
    "LabelEncoder": "encode categories before the model, and let it take numbers",
    "OneHotEncoder": "encode categories before the model, and let it take numbers",
}
"""How the name of an op of ``ai.onnx.ml`` begins -> what to do about it; no op of .tflite files
computes these."""

OTHERS = {
    **dict.fromkeys(("NonMaxSuppression", "RoiAlign", "MaxRoiPool"), BOXES),
    **dict.fromkeys(("NonZero", "Compress", "Unique"), OPEN),
    "MelWeightMatrix": SPECTRUM,
    **dict.fromkeys(("StringNormalizer", "StringConcat", "StringSplit", "RegexFullMatch"), TEXT),
    "TfIdfVectorizer": TEXT,
    **dict.fromkeys(("RandomNormal", "RandomUniform", "RandomNormalLike"), NOISE),
    **dict.fromkeys(("RandomUniformLike", "Multinomial", "Bernoulli"), NOISE),
    **dict.fromkeys(("GridSample", "AffineGrid"), IMAGES),
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitShift"), BITS),
}
"""ONNX op -> what to do about it."""


def advice_on(ops: Sequence[str]) -> str:
    """What to do about ops that have no importer, by their names with domains."""
    names = [op.removeprefix(f"{DOMAIN}.") for op in ops if op.startswith(f"{DOMAIN}.")]
    for start, hint in LEARNED.items():
        if any(name.startswith(start) for name in names):
            return hint
    known = advice_by_name(ops, OTHERS)
    if known:
        return known
    if any(op.rpartition(".")[2].startswith("Q") or "Quantize" in op for op in ops):
        return "quantise the model in QDQ form, or quantise the float model with 'tinyrt quantize'"
    return "replace these ops in the model, or export the part before them"
