"""What a teacher is worth: small students of the digits, each trained with and without one.

    python -m benchmarks.distil [--labels 10] [--seeds 5] [--validate] [--json]

The student has less than a quarter of its teacher's parameters. Both students of a seed start from
the same weights and take the same number of steps; what differs is where the targets come from. The
teacher is trained without label smoothing, which would wipe out what it knows of classes that are
alike (Mueller et al. 2019, "When Does Label Smoothing Help?").

With all labels there is hardly room: the student's own size is its limit. ``--labels`` says how
many images of each class have one, as where labelling is what costs: the teacher and the student
without a teacher learn from these alone, the other student from its answers to all images.
Which have labels is drawn by the seed. Settings were chosen with ``--validate``, which holds out
training images and never looks at the test part.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

import numpy as np

from tinyrt.floatmath.parallel import one_thread
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
from tinyrt.train.recipes.recipe import Dataset, Training, held_out, top1
from tinyrt.train.recipes.stages import answers_of, train_float

EPOCHS, PEAK_LR, WARMUP = 20, 1e-2, 2
TEACHER_EPOCHS, MAX_TEACHER_EPOCHS = 30, 200
HELD_OUT = 0.25


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


def some_labels(data: Dataset, per_class: int, seed: int) -> Dataset:
    """The data with so many training samples of each class."""
    rng = np.random.default_rng(seed)
    classes = np.unique(data.y_train)
    some = [rng.permutation(np.flatnonzero(data.y_train == c))[:per_class] for c in classes]
    chosen = np.concatenate(some)
    return replace(data, x_train=data.x_train[chosen], y_train=data.y_train[chosen])


def trained_teacher(data: Dataset, epochs: int, seed: int) -> Sequential:
    """The small digits' network, trained on labels."""
    training = Training(min(epochs, MAX_TEACHER_EPOCHS), PEAK_LR, WARMUP)
    recipe = replace(SMALL_DIGITS, loss=cross_entropy, training=training)
    return train_float(recipe, seed=seed, data=data).module


def trained_student(
    data: Dataset, epochs: int, seed: int, objective: Distillation | None
) -> Sequential:
    """The student, by labels or by an objective."""
    net = student(np.random.default_rng(seed))
    training = Training(epochs, PEAK_LR, max(WARMUP, epochs // 10))
    with one_thread():
        fit(
            net,
            Adam(net.parameters(), training.peak_lr),
            data.x_train,
            data.y_train,
            FitConfig(training.epochs, training.batch),
            rng=np.random.default_rng(seed),
            objective=objective,
            lr=training.lr,
            augment=SMALL_DIGITS.augment,
        )
    return net


def run_seed(whole: Dataset, per_class: int | None, seed: int) -> dict[str, float]:
    """Top-1 of the teacher and of both students."""
    few = whole if per_class is None else some_labels(whole, per_class, seed)
    more = len(whole.x_train) / len(few.x_train)
    teacher = trained_teacher(few, round(TEACHER_EPOCHS * more), seed)
    weight = 0.9 if per_class is None else 1.0  # labels that are not there do not count
    nets = {
        "teacher": teacher,
        "student from labels": trained_student(few, round(EPOCHS * more), seed, None),
        "student from teacher": trained_student(
            whole, EPOCHS, seed, Distillation(teacher, weight=weight)
        ),
    }
    return {name: top1(answers_of(net), whole)["top1"] for name, net in nets.items()}


def scores(per_class: int | None, seeds: int, *, validate: bool = False) -> dict[str, list[float]]:
    """Top-1 of each network, by seeds."""
    found: dict[str, list[float]] = {}
    for seed in range(seeds):
        data = SMALL_DIGITS.load(0)
        if validate:
            data = held_out(data, HELD_OUT, seed)
        for name, score in run_seed(data, per_class, seed).items():
            found.setdefault(name, []).append(score)
    return found


def parameters() -> dict[str, int]:
    """How many both have."""
    rng = np.random.default_rng(0)
    return {"teacher": size(SMALL_DIGITS.network(rng)), "student": size(student(rng))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=int, help="of each class; all by default")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--validate", action="store_true", help="score on held-out training images")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    args = parser.parse_args()
    found = scores(args.labels, args.seeds, validate=args.validate)
    sizes = parameters()
    means = {name: float(np.mean(each)) for name, each in found.items()}
    if args.json:
        print(json.dumps({"parameters": sizes, "top1": found, "mean": means}))
        return
    print(f"parameters: teacher {sizes['teacher']}, student {sizes['student']}")
    for name, each in found.items():
        print(f"{name:<22} {means[name]:.4f}   {' '.join(f'{s:.4f}' for s in each)}")


if __name__ == "__main__":
    main()
