"""What a teacher is worth: small students of the digits, each trained with and without one.

    python benchmarks/distil.py [--seeds 5] [--json]

The student has a quarter of its teacher's parameters. Both students of a seed start from the same
weights and see the same samples in the same order; what differs is the loss alone. The teacher is
trained without label smoothing, which would wipe out what it knows of classes that are alike
(Mueller et al. 2019, "When Does Label Smoothing Help?").
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

import numpy as np

from tinyrt.train.distill import Distillation
from tinyrt.train.fit import FitConfig, fit
from tinyrt.train.losses import cross_entropy
from tinyrt.train.nn import (
    BatchNorm,
    Conv2d,
    DepthwiseConv2d,
    Flatten,
    Linear,
    MaxPool2d,
    Module,
    ReLU,
    Sequential,
)
from tinyrt.train.optim import Adam
from tinyrt.train.recipes.digits import SMALL_DIGITS
from tinyrt.train.recipes.recipe import Training, one_thread, top1
from tinyrt.train.recipes.stages import answers_of, train_float

TRAINING = Training(epochs=20, peak_lr=1e-2, warmup=2)
TEACHER = replace(SMALL_DIGITS, loss=cross_entropy)


def student(rng: np.random.Generator) -> Sequential:
    return Sequential(
        Conv2d(1, 8, 3, rng=rng, stride=2, bias=False),
        BatchNorm(8),
        ReLU(),
        DepthwiseConv2d(8, 3, rng=rng, bias=False),
        BatchNorm(8),
        ReLU(),
        Conv2d(8, 16, 1, rng=rng, bias=False),
        BatchNorm(16),
        ReLU(),
        MaxPool2d(2),
        Flatten(),
        Linear(2 * 2 * 16, 10, rng=rng),
    )


def size(module: Module) -> int:
    return sum(p.data.size for p in module.parameters())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    args = parser.parse_args()
    trained = train_float(TEACHER)
    data, teacher = trained.data, trained.module
    found: dict[str, list[float]] = {"labels": [], "teacher": []}
    for seed in range(args.seeds):
        for name, objective in (("labels", None), ("teacher", Distillation(teacher, weight=0.9))):
            net = student(np.random.default_rng(seed))
            with one_thread():
                fit(
                    net,
                    Adam(net.parameters(), TRAINING.peak_lr),
                    data.x_train,
                    data.y_train,
                    FitConfig(TRAINING.epochs, TRAINING.batch),
                    rng=np.random.default_rng(seed),
                    objective=objective,
                    lr=TRAINING.lr,
                    augment=SMALL_DIGITS.augment,
                )
            found[name].append(top1(answers_of(net), data)["top1"])
    sizes = {"teacher": size(teacher), "student": size(net)}
    means = {name: float(np.mean(scores)) for name, scores in found.items()}
    if args.json:
        print(json.dumps({"parameters": sizes, "top1": found, "mean": means}))
        return
    print(f"teacher {sizes['teacher']} parameters, top-1 {trained.score()['top1']:.4f}")
    for name, scores in found.items():
        each = " ".join(f"{s:.4f}" for s in scores)
        print(f"student {sizes['student']} parameters, from {name:<8} {means[name]:.4f}   {each}")


if __name__ == "__main__":
    main()
