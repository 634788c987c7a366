"""What an output learns follows from its labels; losses and figures are those of their formulas."""

import numpy as np
import pytest

from tests.graphs import Builder
from tinyrt.errors import DataError
from tinyrt.ops.arg import ArgAttrs
from tinyrt.ops.fully_connected import FullyConnectedAttrs
from tinyrt.ops.reshape import ReshapeAttrs
from tinyrt.ops.softmax import SoftmaxAttrs
from tinyrt.ops.transpose import TransposeAttrs
from tinyrt.train import Tensor
from tinyrt.train.pipeline.lessons import (
    Kind,
    Lesson,
    Teacher,
    Teaching,
    answers_at_ends,
    lessons_of,
)

N = 6
RNG = np.random.default_rng(3)
CLASSES = np.array([0, 2, 1, 2, 0, 1])
ROWS = np.array([4, 1, 3, 0])


def model(*shape, end=None, moves=()):
    """A dense layer that gives that shape, what it ends in, and what moves that."""
    b = Builder((1, 4))
    size = int(np.prod(shape))
    w = b.constant(np.random.default_rng(size).normal(size=(size, 4)).astype(np.float32))
    y = b.op("fully_connected", ("x", w), FullyConnectedAttrs())
    y = b.op("reshape", (y,), ReshapeAttrs((1, *shape)))
    attrs = {"softmax": SoftmaxAttrs(), "arg_max": ArgAttrs(-1)}
    y = y if end is None else b.op(end, (y,), attrs.get(end))
    for op in moves:
        turns = op == "transpose"
        y = b.op(op, (y,), TransposeAttrs((0, 2, 1)) if turns else ReshapeAttrs((1, *shape)))
    return b.graph(y)


def lesson(graph, labels=None, teacher=None, teaching=None):
    right = {} if labels is None else {graph.outputs[0]: labels}
    taught = None
    if teacher is not None:
        x = RNG.normal(size=(N, 4)).astype(np.float32)
        taught = Teacher(teacher, answers_at_ends(teacher, {"x": x}))
    (one,) = lessons_of(graph, right, taught, teaching or Teaching())
    return one


def one_hot(classes, count=3):
    return np.eye(count)[classes]


PLACES = RNG.integers(0, 3, (N, 2))
MARKS = np.array([[1, 1, 0]] * N)
MIXED = np.vstack([MARKS[:2], one_hot(CLASSES)[2:]]).astype(int)
KINDS = {
    "classes": ((3,), None, CLASSES, Kind.CLASSES, CLASSES),
    "classes before a softmax": ((3,), "softmax", CLASSES, Kind.CLASSES, CLASSES),
    "classes before a choice": ((3,), "arg_max", CLASSES, Kind.CLASSES, CLASSES),
    "classes in a column": ((3,), None, CLASSES[:, None], Kind.CLASSES, CLASSES[:, None]),
    "classes of places": ((2, 3), None, PLACES, Kind.CLASSES, PLACES),
    "one-hot": ((3,), None, one_hot(CLASSES).astype(int), Kind.CLASSES, CLASSES),
    "one-hot truth values": ((3,), "softmax", one_hot(CLASSES) > 0, Kind.CLASSES, CLASSES),
    "marks": ((3,), None, MARKS, Kind.BINARY, MARKS),
    "marks, some of them one-hot": ((3,), None, MIXED, Kind.BINARY, MIXED),
    "one mark": ((1,), None, CLASSES % 2, Kind.BINARY, (CLASSES % 2)[:, None]),
    "marks that are one-hot": (
        *((3,), "logistic", one_hot(CLASSES).astype(int)),
        *(Kind.BINARY, one_hot(CLASSES)),
    ),
    "values": ((3,), None, one_hot(CLASSES), Kind.VALUES, one_hot(CLASSES)),
    "a value each": ((1,), None, CLASSES / 2, Kind.VALUES, CLASSES[:, None] / 2),
    "values of a logistic": ((1,), "logistic", CLASSES / 2, Kind.VALUES, CLASSES[:, None] / 2),
    "probabilities": ((3,), "softmax", one_hot(CLASSES), Kind.SHARES, one_hot(CLASSES)),
}


@pytest.mark.parametrize("case", KINDS.values(), ids=KINDS)
def test_labels_say_what_an_output_is(case):
    shape, end, labels, kind, stored = case
    one = lesson(model(*shape, end=end), labels)
    assert one.kind is kind
    assert one.in_logistic == (end == "logistic")
    np.testing.assert_array_equal(one.labels, stored)
    assert one.labels.dtype == (np.int64 if kind is Kind.CLASSES else np.float32)
    assert (one.learns_from, one.teacher) == ("labels", None)
    assert one.measure == ("mse" if kind is Kind.VALUES else "top1")


@pytest.mark.parametrize("end", [None, "logistic", "tanh"])
@pytest.mark.parametrize("moves", [(), ("reshape",), ("transpose",), ("transpose", "reshape")])
def test_a_logistic_function_is_known_behind_what_moves_its_values(end, moves):
    graph = model(2, 3, end=end, moves=moves)
    shape = graph.value(graph.outputs[0]).shape[1:]
    assert lesson(graph, np.ones((N, *shape), int)).in_logistic == (end == "logistic")


def test_an_input_that_is_only_moved_is_no_logistic():
    b = Builder((1, 4))
    graph = b.graph(b.op("reshape", ("x",), ReshapeAttrs((1, 2, 2))))
    assert not lesson(graph, np.ones((N, 2, 2), int)).in_logistic


MISFITS = {
    "a class too many": ((3,), None, np.array([0, 3] * 3), r"int64\[6\], from 0 to 3"),
    "a negative class": ((3,), None, CLASSES - 1, "from -1 to 1"),
    "another number of marks": ((3,), None, MARKS[:, :2], r"int64\[6, 2\]"),
    "counts": ((3,), None, MARKS * 2, "from 0 to 2"),
    "negative marks": ((3,), None, -MARKS, "from -1 to 0"),
    "marks before a softmax": ((3,), "softmax", MARKS, "from 0 to 1"),
    "floats of another shape": ((3,), None, CLASSES.astype(float), r"float64\[6\]"),
    "no number": ((1,), None, np.full(N, np.nan), "not all of them finite"),
    "no probabilities": ((3,), "softmax", one_hot(CLASSES) * 2, "from 0.0 to 2.0"),
    "negative probabilities": ((3,), "softmax", one_hot(CLASSES) * 3 - [2, 0, 0], "from -2.0"),
    "text": ((3,), None, np.array(["a"] * N), r"<U1\[6\]"),
    "one class of one": ((1,), None, CLASSES, "from 0 to 2"),
}


@pytest.mark.parametrize("case", MISFITS.values(), ids=MISFITS)
def test_labels_that_fit_nothing_are_refused(case):
    shape, end, labels, said = case
    with pytest.raises(DataError, match=f"labels of output '.*' are .*{said}") as refused:
        lesson(model(*shape, end=end), labels)
    assert f"class indices below {shape[-1]}" in refused.value.expected


def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def logs(x):
    return np.log(softmax(x))


ANSWERS = RNG.normal(size=(4, 3)).astype(np.float32)
ANSWERS[0, :2] = ANSWERS[1, 1:] = 0, 0.5  # where marks begin, of logits and of shares
VALUES = RNG.normal(size=(N, 3))
SHARES = softmax(VALUES)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


LOSSES = {
    "classes": (None, CLASSES, -logs(ANSWERS)[range(4), CLASSES[ROWS]].mean()),
    "binary": (
        *(None, MARKS),
        -(np.log(sigmoid(ANSWERS * (2 * MARKS[ROWS] - 1)))).mean(),
    ),
    "binary in a logistic": ("logistic", MARKS, np.square(ANSWERS - MARKS[ROWS]).mean()),
    "values": (None, VALUES, np.square(ANSWERS - VALUES[ROWS]).mean() / VALUES.var()),
    "shares": (
        *("softmax", SHARES),
        (SHARES[ROWS] * (np.log(SHARES[ROWS]) - logs(ANSWERS))).sum(axis=1).mean(),
    ),
}
FIGURES = {
    "classes": (ANSWERS.argmax(1) == CLASSES[ROWS]).mean(),
    "binary": ((ANSWERS >= 0) == (MARKS[ROWS] == 1)).mean(),
    "binary in a logistic": ((ANSWERS >= 0.5) == (MARKS[ROWS] == 1)).mean(),
    "values": np.square(ANSWERS - VALUES[ROWS]).mean(),
    "shares": (ANSWERS.argmax(1) == SHARES[ROWS].argmax(1)).mean(),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_figures_and_scores_of_labels(name):
    end, labels, loss = LOSSES[name]
    one = lesson(model(3, end=end), labels)
    assert one.loss(Tensor(ANSWERS), ROWS).item() == pytest.approx(loss, rel=1e-5)
    assert one.figure(ANSWERS, ROWS) == pytest.approx(FIGURES[name], rel=1e-5)
    score = one.score(ANSWERS, ROWS)
    if one.measure == "mse":
        assert score == pytest.approx(-loss, rel=1e-5)
    else:
        assert score == pytest.approx(FIGURES[name] - loss / (1 + loss) / 12, rel=1e-5)


def test_classes_of_places_count_each():
    one = lesson(model(2, 3), PLACES)
    answers = RNG.normal(size=(4, 2, 3)).astype(np.float32)
    expected = -np.take_along_axis(logs(answers), PLACES[ROWS][..., None], 2).mean()
    assert one.loss(Tensor(answers), ROWS).item() == pytest.approx(expected, rel=1e-5)
    assert one.figure(answers, ROWS) == (answers.argmax(2) == PLACES[ROWS]).mean()


def soft_loss(targets, t):
    right = softmax(targets[ROWS] / t)
    return t * t * (right * (np.log(right) - logs(ANSWERS / t))).sum(axis=1).mean()


TAUGHT = Teaching(0.25, 2.0)


def test_a_teacher_of_classes():
    both = lesson(model(3, end="softmax"), CLASSES, model(3), TAUGHT)
    expected = 0.25 * soft_loss(both.teacher, 2) + 0.75 * LOSSES["classes"][2]
    assert both.loss(Tensor(ANSWERS), ROWS).item() == pytest.approx(expected, rel=1e-5)
    assert (both.learns_from, both.measure) == ("labels and teacher", "top1")
    for own, end in (("softmax", None), (None, "softmax")):
        alone = lesson(model(3, end=own), None, model(3, end=end), TAUGHT)
        expected = soft_loss(alone.teacher, 2)
        assert alone.kind is Kind.SHARES
        assert alone.loss(Tensor(ANSWERS), ROWS).item() == pytest.approx(expected, rel=1e-4)
        agreeing = (ANSWERS.argmax(1) == alone.teacher[ROWS].argmax(1)).mean()
        assert alone.figure(ANSWERS, ROWS) == agreeing
        assert (alone.learns_from, alone.measure) == ("teacher", "agreement")
        assert alone.score(ANSWERS, ROWS) == pytest.approx(-expected, rel=1e-4)


def test_a_teacher_of_values():
    alone = lesson(model(3), None, model(3), TAUGHT)
    own = np.square(ANSWERS - alone.teacher[ROWS]).mean()
    expected = own / alone.teacher.var()
    assert alone.kind is Kind.VALUES
    assert alone.loss(Tensor(ANSWERS), ROWS).item() == pytest.approx(expected, rel=1e-5)
    assert alone.figure(ANSWERS, ROWS) == pytest.approx(own, rel=1e-5)
    both = lesson(model(3), VALUES, model(3), TAUGHT)
    of_teacher = np.square(ANSWERS - both.teacher[ROWS]).mean() / both.teacher.var()
    expected = 0.25 * of_teacher + 0.75 * LOSSES["values"][2]
    assert both.loss(Tensor(ANSWERS), ROWS).item() == pytest.approx(expected, rel=1e-5)
    marked = lesson(model(3, end="logistic"), MARKS, model(3, end="logistic"), TAUGHT)
    of_teacher = np.square(ANSWERS - marked.teacher[ROWS]).mean() / marked.teacher.var()
    expected = 0.25 * of_teacher + 0.75 * LOSSES["binary in a logistic"][2]
    assert marked.loss(Tensor(ANSWERS), ROWS).item() == pytest.approx(expected, rel=1e-5)


def test_values_that_never_change_are_learned_all_the_same():
    one = Lesson("y", Kind.VALUES, False, np.ones((N, 3), np.float32), None)
    assert np.isfinite(one.loss(Tensor(ANSWERS), ROWS).item())
    assert one.loss(Tensor(np.ones((4, 3), np.float32)), ROWS).item() == 0


STRANGERS = {
    "of other outputs": (model(4), "the teacher gives .4. for output"),
    "of probabilities": (model(3, end="logistic"), "gives output '.*' out of a logistic"),
}


@pytest.mark.parametrize("case", STRANGERS.values(), ids=STRANGERS)
def test_a_teacher_of_another_kind_is_refused(case):
    teacher, said = case
    with pytest.raises(DataError, match=said):
        lesson(model(3), None, teacher)


def heads(*ends):
    """Two dense layers of one input, and what each ends in."""
    b, outputs = Builder((1, 4)), []
    for end in ends:
        w = b.constant(RNG.normal(size=(3, 4)).astype(np.float32))
        y = b.op("fully_connected", ("x", w), FullyConnectedAttrs())
        outputs.append(b.op(end, (y,), SoftmaxAttrs() if end == "softmax" else None) if end else y)
    return b.graph(*outputs)


@pytest.mark.parametrize(
    ("own", "taught", "kinds"),
    [
        ((None, None), (None, "softmax"), [Kind.VALUES, Kind.SHARES]),
        ((None, None), ("softmax", None), [Kind.SHARES, Kind.VALUES]),
        ((None, "logistic"), (None, "logistic"), [Kind.VALUES, Kind.VALUES]),
    ],
)
def test_each_output_learns_from_the_teachers_of_the_same_place(own, taught, kinds):
    graph, teacher = heads(*own), heads(*taught)
    x = RNG.normal(size=(N, 4)).astype(np.float32)
    answers = answers_at_ends(teacher, {"x": x})
    found = lessons_of(graph, {}, Teacher(teacher, answers), Teaching())
    assert [one.kind for one in found] == kinds
    for one, own_answers in zip(found, answers, strict=True):
        np.testing.assert_array_equal(one.teacher, own_answers)


def test_a_teacher_of_another_number_of_outputs_is_refused():
    two = Builder((1, 4))
    graph = two.graph(two.op("abs", ("x",)), two.op("exp", ("x",)))
    with pytest.raises(DataError, match="the teacher has 2 outputs"):
        lesson(model(4), None, graph)


@pytest.mark.parametrize("wrong", [(-0.1, 4), (1.1, 4), (0.5, 0), (float("nan"), 4)])
def test_a_teachers_weight_is_a_share(wrong):
    with pytest.raises(DataError, match=r"a teacher of weight .* at temperature"):
        Teaching(*wrong)
    assert [Teaching(share).weight for share in (0, 1)] == [0, 1]


def test_answers_of_a_model_are_those_before_its_softmax():
    x = RNG.normal(size=(N, 4)).astype(np.float32)
    (raw,) = answers_at_ends(model(3), {"x": x})
    (end,) = answers_at_ends(model(3, end="softmax"), {"another name": x})
    np.testing.assert_array_equal(raw, end)
