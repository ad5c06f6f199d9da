"""The primitives against the paper's figures and against what a permutation is."""

from hypothesis import given
from hypothesis import strategies as st

from templates.primitives import fan, group, rot, xform


def divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def test_rot_is_figure_3() -> None:
    """Figure 3: n = 8, R = 2."""
    assert [rot(8, 2, i) for i in range(8)] == [2, 3, 4, 5, 6, 7, 0, 1]


def test_group_is_figure_6() -> None:
    """Figure 6: n = 8 in groups of 4, each fanned by 3."""
    assert [group(4, lambda j: fan(4, 3, 4, j), i) for i in range(8)] == [0, 3, 2, 1, 4, 7, 6, 5]


@given(st.data())
def test_fan_with_its_own_period_is_a_permutation(data: st.DataObject) -> None:
    """With d_f = n / gcd(c_f, n), equation 3 has no collisions."""
    from math import gcd

    n = data.draw(st.integers(1, 24))
    c_f = data.draw(st.integers(1, n))
    d_f = n // gcd(c_f, n)
    assert sorted(fan(n, c_f, d_f, i) for i in range(n)) == list(range(n))


@given(st.data())
def test_xform_is_a_permutation_whenever_its_fan_is(data: st.DataObject) -> None:
    """Grouping and both rotations permute what the fan permutes (equations 5 to 7)."""
    from math import gcd

    n = data.draw(st.integers(1, 24))
    gs = data.draw(st.sampled_from(divisors(n)))
    c_f = data.draw(st.integers(1, gs))
    d_f = gs // gcd(c_f, gs)
    wrap, amount = data.draw(st.booleans()), data.draw(st.integers(-40, 40))
    assert sorted(xform(gs, c_f, d_f, wrap, amount, i) for i in range(n)) == list(range(n))
