"""Which epoch's weights are kept."""

from types import SimpleNamespace

import pytest

from tinyrt.train.history import Epoch
from tinyrt.train.pipeline import run as stages
from tinyrt.train.pipeline.setting import QatSetting


@pytest.mark.parametrize(("before", "best"), [(0.5, 2), (0.75, 2), (0.8, 0)])
def test_of_equals_the_first_epoch_is_kept_and_no_epoch_only_if_all_are_worse(before, best):
    history = [Epoch(n, 4, 0, 0, score) for n, score in enumerate((0.5, 0.75, 0.75, 0.25), start=1)]
    taken, model = [], SimpleNamespace(load_state_dict=lambda state: taken.append(state))
    run = SimpleNamespace(setting=QatSetting())
    assert stages._Run._best_epoch(run, model, tuple(history), before, "start") == best
    assert taken == ["start"] * (best == 0)
