"""ONNX's own node tests: the share that passes, and the page that lists the others."""

from tests.onnx_backend import PAGE, outcomes, page


def test_node_tests_pass_and_the_page_is_current():
    results, excluded = outcomes()
    passed = sum(not r.problem for r in results)
    assert passed >= 0.95 * len(results)
    assert PAGE.read_text() == page(results, excluded), "run python -m tests.onnx_backend --write"
