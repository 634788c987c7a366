"""What ``tinyrt run`` prints where no file takes the answers."""

import numpy as np

from tests.cli.calls import call, call_json
from tests.cli.screen import lines_of
from tinyrt.cli.answers import answers
from tinyrt.convert.tflite.reader import read_tflite
from tinyrt.data import load_inputs
from tinyrt.interpreter import Model


def expected(made):
    return Model(read_tflite(made.int8))(load_inputs(made.test)["x"])


def test_answers_are_printed_and_nothing_is_written(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    want = expected(made)
    text = call("run", made.int8, "-i", made.test).stdout
    rows = [line.split() for line in text.splitlines() if line[:8].strip().isdigit()]
    assert [int(row[0]) for row in rows] == [*range(16)]
    assert [int(row[1]) for row in rows] == want.argmax(axis=1).tolist()
    assert [row[2:] for row in rows] == [[f"{v:.4g}" for v in row] for row in want]
    assert "output" not in text.replace("outputs", "")
    assert list(tmp_path.iterdir()) == []


def test_json_has_all_answers(made):
    found = call_json("run", made.int8, "-i", made.test)
    (values,) = found["answers"].values()
    np.testing.assert_array_equal(np.array(values, np.float32), expected(made))


def test_a_file_has_them_instead(made, tmp_path):
    assert "answers" not in call_json("run", made.int8, "-i", made.test, "-o", tmp_path / "y.npz")
    text = call("run", made.int8, "-i", made.test, "-o", tmp_path / "y.npz").stdout
    assert "greatest" not in text


def test_long_answers_are_cut_with_their_numbers():
    lines = lines_of(answers("y", np.arange(17 * 13).reshape(17, 13).astype(np.int8)), 100)
    assert "and 1 more samples; -o FILE.npz writes all of them" in lines[-1]
    rows = [line for line in lines if line.endswith("and 1 more")]
    assert len(rows) == 16
    assert rows[0].split()[:3] == ["0", "12", "0"]
    whole = lines_of(answers("y", np.zeros((16, 12), np.int8)), 100)
    assert not [line for line in whole if "more" in line]


def test_only_rows_of_several_numbers_are_classes():
    for shape in ((2, 1), (2, 2, 2), (2,)):
        lines = lines_of(answers("y", np.zeros(shape, np.float32)))
        assert not any("greatest" in line for line in lines)
