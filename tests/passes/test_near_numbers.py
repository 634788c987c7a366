"""How far constants of a formula may be off: relatively, so that tiny ones are not zero."""

import pytest

from tinyrt.convert.passes.patterns import is_near


@pytest.mark.parametrize("target", [1e-9, 1e-3, 0.044715, 1.0, -1 / 6, 1e9])
def test_a_constant_may_be_off_by_a_thousandth(target):
    assert is_near(target, target)
    for off in (0.9991, 1.0009):
        assert is_near(target * off, target)
    for off in (0.9989, 1.0011, 0.0, -1.0):
        assert not is_near(target * off, target)


@pytest.mark.parametrize(("constant", "near"), [(0.0, True), (1e-12, False), (None, False)])
def test_zero_is_zero_alone(constant, near):
    assert is_near(constant, 0.0) is near
