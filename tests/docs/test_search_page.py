"""The page about search: its tables repeat what the code and its tests say."""

import re

from tests.api.test_costs import NEAR
from tests.docs.pages import ROOT
from tinyrt.search import SPACES
from tinyrt.search.store import End

PAGE = (ROOT / "docs" / "search.md").read_text(encoding="utf-8")


def test_estimates_are_as_near_as_the_page_says():
    rows = re.findall(r"^\| (cortex-[^|]*) \| (\d+) % \|$", PAGE, re.MULTILINE)
    said = {core: int(share) / 100 for cores, share in rows for core in cores.split(", ")}
    assert said == NEAR


def test_the_page_has_every_space_and_every_end():
    assert re.findall(r"^\| `(\w+)` \| [^|]* \| [^|]* \|$", PAGE, re.MULTILINE) == list(SPACES)
    ends = PAGE.partition("ends as one of these: ")[2].partition(" What is raised")[0]
    assert re.findall(r"`(\w+)`", ends) == [end.value for end in End]
