"""Search for networks within exact budgets, on one machine or on a cluster.

Optuna proposes and remembers, Dask runs; what is here is what they lack: what a candidate costs.
Read in this order: ``frames``, ``answers``, ``teacher`` and ``problem`` (what a network is for, and
who teaches it), ``seen`` (what it sees of raw samples and frames), ``deployment`` (what becomes of
it), ``candidate``, ``spaces`` and ``raw_spaces`` (what is proposed), ``setting``, ``order``,
``learning`` and ``work`` (what is done for a trial, by whomever ``tinyrt.cluster`` has), ``funnel``
(in which order, and who is refused), ``store`` (the study in its file), ``run``; ``sharing``,
``supernet`` and ``scouts`` (weights that networks share); ``search``, ``front``.
"""

from tinyrt.search.candidate import Candidate
from tinyrt.search.deployment import Deployment
from tinyrt.search.front import Point, SearchResult
from tinyrt.search.problem import Problem, View
from tinyrt.search.search import search_networks
from tinyrt.search.setting import SearchSetting
from tinyrt.search.shipped import SPACES

__all__ = [
    "SPACES",
    "Candidate",
    "Deployment",
    "Point",
    "Problem",
    "SearchResult",
    "SearchSetting",
    "View",
    "search_networks",
]
