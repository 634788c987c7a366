"""Search for networks within exact budgets, on one machine or on a cluster.

Optuna proposes and remembers, Dask runs; what is here is what they lack: what a candidate costs.
Read in this order: ``problem`` (what a network is for), ``candidate`` and ``spaces`` (what is
proposed), ``setting``, ``work`` (what is done for a trial, anywhere), ``funnel`` (in which order,
and who is refused), ``workers`` (where), ``store`` (the study in its file), ``search``, ``front``.
"""

from tinyrt.search.candidate import Candidate
from tinyrt.search.front import Point, SearchResult
from tinyrt.search.problem import Problem
from tinyrt.search.search import search_networks
from tinyrt.search.setting import SearchSetting
from tinyrt.search.spaces import SPACES

__all__ = [
    "SPACES",
    "Candidate",
    "Point",
    "Problem",
    "SearchResult",
    "SearchSetting",
    "search_networks",
]
