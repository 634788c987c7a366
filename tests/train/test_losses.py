"""Losses against formulas of NumPy: the value, what it is the mean of, and each factor."""

import numpy as np
import pytest

from tinyrt.errors import ShapeError
from tinyrt.train import Tensor, cross_entropy
from tinyrt.train.distill import Distillation, Features, similarity_loss, softened
from tinyrt.train.losses import (
    bce_loss,
    huber_loss,
    kl_loss,
    log_softmax,
    mae_loss,
    mse_loss,
)
from tinyrt.train.nn import Dropout, Linear, ReLU, Sequential

RNG = np.random.default_rng(11)
X = RNG.normal(size=(3, 4)) * 2
TARGET = RNG.dirichlet(np.ones(4), size=3)
LABELS = np.array([3, 0, 2])
WEIGHTS = np.array([0.5, 3.0, 2.0, 1.5])


def log_shares(x):
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def of_labels(smoothing=0.0, weights=None):
    wanted = (1 - smoothing) * np.eye(4)[LABELS] + smoothing / 4
    each = -(wanted * log_shares(X)).sum(axis=1)
    return np.average(each, weights=None if weights is None else weights[LABELS])


def huber(delta):
    d = np.abs(X - TARGET)
    return np.where(d <= delta, d**2 / 2, delta * (d - delta / 2)).mean()


def binary():
    p = 1 / (1 + np.exp(-X))
    return -(TARGET * np.log(p) + (1 - TARGET) * np.log(1 - p)).mean()


def divergence():
    return (TARGET * (np.log(TARGET) - log_shares(X))).sum(axis=1).mean()


CASES = {
    "mse": (lambda x: mse_loss(x, TARGET), ((X - TARGET) ** 2).mean()),
    "mae": (lambda x: mae_loss(x, TARGET), np.abs(X - TARGET).mean()),
    "huber": (lambda x: huber_loss(x, TARGET), huber(1.0)),
    "huber, narrow": (lambda x: huber_loss(x, TARGET, delta=0.3), huber(0.3)),
    "huber, wide": (lambda x: huber_loss(x, TARGET, delta=2.5), huber(2.5)),
    "bce": (lambda x: bce_loss(x, TARGET), binary()),
    "kl": (lambda x: kl_loss(x, TARGET), divergence()),
    "cross entropy": (lambda x: cross_entropy(x, LABELS), of_labels()),
    "smoothed": (lambda x: cross_entropy(x, LABELS, smoothing=0.2), of_labels(0.2)),
    "smoothed wholly": (lambda x: cross_entropy(x, LABELS, smoothing=1.0), of_labels(1.0)),
    "weighted": (lambda x: cross_entropy(x, LABELS, weights=WEIGHTS), of_labels(0, WEIGHTS)),
    "smoothed and weighted": (
        lambda x: cross_entropy(x, LABELS, smoothing=0.3, weights=WEIGHTS),
        of_labels(0.3, WEIGHTS),
    ),
}


@pytest.mark.parametrize(("loss", "expected"), CASES.values(), ids=CASES)
def test_a_loss_has_the_value_of_its_formula(loss, expected):
    found = loss(Tensor(X))
    assert found.shape == ()
    assert found.item() == pytest.approx(expected, rel=1e-9)


def test_logarithms_of_shares_keep_the_shape():
    np.testing.assert_allclose(log_softmax(Tensor(X)).data, log_shares(X), rtol=1e-9)


def test_a_class_that_is_surely_absent_adds_nothing_to_the_divergence():
    sure = np.eye(4)[LABELS]
    assert kl_loss(Tensor(X), sure).item() == pytest.approx(of_labels(), rel=1e-9)


@pytest.mark.parametrize("x", [-800.0, 800.0])
def test_large_logits_give_a_finite_binary_cross_entropy(x):
    right, wrong = float(x > 0), float(x < 0)
    assert bce_loss(Tensor(np.array([x])), [right]).item() == pytest.approx(0)
    assert bce_loss(Tensor(np.array([x])), [wrong]).item() == pytest.approx(800)


@pytest.mark.parametrize(
    ("shape", "labels", "weights"),
    [
        ((3, 4), [0, 1], None),
        ((4,), [0, 1, 2, 3], None),
        ((0, 4), np.zeros(0, int), None),
        ((3, 4), [0, 1, 4], None),
        ((3, 4), [0, 1, -1], None),
        ((3, 4), [0.0, 1.0, 2.0], None),
        ((3, 4), [0, 1, 2], [1, 2, 3]),
    ],
)
def test_labels_that_do_not_fit_are_refused(shape, labels, weights):
    with pytest.raises(ShapeError):
        cross_entropy(Tensor(np.zeros(shape)), labels, weights=weights)


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 3.0, 4.0]])
@pytest.mark.parametrize("ignored", [-100, 2])
def test_labels_that_are_ignored_do_not_count(ignored, weights):
    """Whether the ignored label is that of a class or not."""
    labels = np.array([0, ignored, 1, ignored, 3])
    x = np.random.default_rng(4).normal(size=(5, 4))
    logits, kept = Tensor(x, requires_grad=True), labels != ignored
    loss = cross_entropy(logits, labels, ignore_index=ignored, weights=weights, smoothing=0.1)
    alone = cross_entropy(Tensor(x[kept]), labels[kept], weights=weights, smoothing=0.1)
    assert loss.item() == pytest.approx(alone.item(), rel=1e-12)
    loss.backward()
    assert (logits.grad[~kept] == 0).all()
    assert (logits.grad[kept] != 0).all()


def test_a_batch_without_labels_that_count_is_refused():
    with pytest.raises(ShapeError, match="all 2 labels are 7, which is ignored"):
        cross_entropy(Tensor(np.zeros((2, 4))), [7, 7], ignore_index=7)


def test_the_first_and_the_last_class_are_classes():
    x = Tensor(np.zeros((2, 4)))
    assert cross_entropy(x, [0, 3]).item() == pytest.approx(np.log(4))


# Distillation


def student():
    rng = np.random.default_rng(5)
    return Sequential(hidden=Linear(4, 5, rng=rng), relu=ReLU(), out=Linear(5, 4, rng=rng))


def outputs_of(net, x):
    hidden = net.layers["hidden"](Tensor(x))
    return hidden.data.astype(float), net(Tensor(x)).data.astype(float)


def similarity(ours, theirs):
    def rows(features):
        gram = features.reshape(len(features), -1) @ features.reshape(len(features), -1).T
        return gram / np.linalg.norm(gram, axis=1, keepdims=True)

    return ((rows(ours) - rows(theirs)) ** 2).sum() / len(ours)


SAMPLES = X.astype(np.float32)
THEIRS = np.random.default_rng(6).normal(size=(3, 4)).astype(np.float32) * 3
FEATURES = np.random.default_rng(8).normal(size=(3, 2, 3)).astype(np.float32)


def taught(temperature=1.0):
    _, logits = outputs_of(student(), SAMPLES)
    p = np.exp(log_shares(THEIRS.astype(float) / temperature))
    return (p * (np.log(p) - log_shares(logits / temperature))).sum(axis=1).mean()


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_teacher_and_labels_share_the_loss_by_the_weight(temperature, weight):
    net = student()
    _, logits = outputs_of(net, SAMPLES)
    hard = -log_shares(logits)[np.arange(3), LABELS].mean()
    objective = Distillation(lambda _: THEIRS, temperature=temperature, weight=weight)
    expected = weight * temperature**2 * taught(temperature) + (1 - weight) * hard
    assert objective(net, SAMPLES, LABELS).item() == pytest.approx(expected, rel=1e-4)


def test_a_distillation_of_no_arguments_has_the_documented_temperature_and_weight():
    plain = Distillation(lambda _: THEIRS)
    named = Distillation(lambda _: THEIRS, temperature=4.0, weight=0.7, loss=cross_entropy)
    losses = [d(student(), SAMPLES, LABELS).item() for d in (plain, named)]
    assert losses[0] == losses[1]


def test_the_loss_of_labels_is_the_one_that_is_asked_for():
    def seven(logits, labels):
        assert labels is LABELS
        return logits.sum() * 0 + 7.0

    objective = Distillation(lambda _: THEIRS, temperature=1.0, weight=0.25, loss=seven)
    expected = 0.25 * taught() + 0.75 * 7
    assert objective(student(), SAMPLES, LABELS).item() == pytest.approx(expected, rel=1e-4)


def test_features_add_their_differences_each_by_its_weight():
    net = student()
    hidden, logits = outputs_of(net, SAMPLES)
    features = (Features("hidden", lambda _: FEATURES, 0.5), Features("out", lambda _: THEIRS, 2.0))
    with_features = Distillation(lambda _: THEIRS, features=features)(net, SAMPLES, LABELS).item()
    without = Distillation(lambda _: THEIRS)(net, SAMPLES, LABELS).item()
    expected = 0.5 * similarity(hidden, FEATURES) + 2.0 * similarity(logits, THEIRS)
    assert with_features - without == pytest.approx(expected, rel=1e-3)
    assert Features("hidden", "hidden").weight == 1


def test_similarity_is_that_of_normalised_rows():
    ours = np.random.default_rng(9).normal(size=(3, 2, 2))
    expected = similarity(ours, FEATURES)
    assert similarity_loss(Tensor(ours), FEATURES).item() == pytest.approx(expected, rel=1e-5)


def test_softened_shares_are_those_of_divided_logits():
    expected = np.exp(log_shares(X / 3))
    np.testing.assert_allclose(softened(X, 3.0), expected, rtol=1e-9)
    assert np.isfinite(softened(X * 1e4, 1.0)).all()


def test_a_teacher_answers_as_in_use_and_is_left_as_it_was():
    rng = np.random.default_rng(7)
    inner = Linear(4, 4, rng=rng)
    teacher = Sequential(inner=inner, dropout=Dropout(0.9, rng=rng))
    objective = Distillation(teacher, features=(Features("hidden", "inner"),))
    by_function = Distillation(
        lambda x: inner(Tensor(x)).data,
        features=(Features("hidden", lambda x: inner(Tensor(x)).data),),
    )
    net = student()
    loss = objective(net, SAMPLES, LABELS)
    assert loss.item() == pytest.approx(by_function(net, SAMPLES, LABELS).item(), rel=1e-6)
    assert teacher.training
    assert not inner.observers
    assert not net.layers["hidden"].observers
    loss.backward()
    assert all(p.grad is None for p in teacher.parameters())
    assert all(p.grad is not None for p in net.parameters())
