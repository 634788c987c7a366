"""The pages for users of other frameworks run, from files as their exporters write them."""

import pytest

from tests.frameworks import stand_ins
from tests.frameworks.pages import PAGES, carried_out, packages, program
from tests.sampling import sampled

STAND_INS = {
    "from-jax": stand_ins.jax,
    "from-keras": stand_ins.keras,
    "from-pytorch": stand_ins.pytorch,
    "from-transformers": stand_ins.transformers,
}
"""Page -> what writes the files that its framework would; pages without one run as they stand."""


@pytest.mark.slow
@pytest.mark.parametrize("page", sampled(["from-pytorch"], PAGES))
@pytest.mark.whole
def test_a_page_runs(page, tmp_path):
    if page in STAND_INS:
        STAND_INS[page](tmp_path)
    text = program(page, "pass\n" if page in STAND_INS else "")
    carried_out(text, tmp_path)
    assert list(tmp_path.glob("firmware/*/*.c"))


def test_pages_that_need_a_framework_have_a_stand_in():
    assert {page for page in PAGES if packages(page) != {"sklearn"}} == set(STAND_INS)
