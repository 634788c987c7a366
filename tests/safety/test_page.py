"""The page about safety is what its data say."""

from tests.safety.figures import CORES, MODELS, load
from tests.safety.page import PAGE, page


def test_the_page_is_made_from_its_data():
    text = page(load())
    assert PAGE.read_text(encoding="utf-8") == text, "run: python -m tests.safety"


def test_every_model_has_a_bound_on_its_stack():
    stacks = load()["stack"]
    assert all(0 < stacks[core][model] < 1024 for core in CORES for model in MODELS)
