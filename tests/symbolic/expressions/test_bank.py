"""What a bank keeps: each column once, at its least weight, in the order in which rules made it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from symbolic.expressions.bank import Bank, Block, exactly

POINTS = np.arange(6)


def sums(bank: Bank[str], weight: int) -> Iterator[Block[str]]:
    """Yield sums of what is lighter, with made-up `0` left out."""
    for left in range(1, weight):
        for i in bank.levels[left]:
            others = list(bank.levels[weight - left])
            names = [f"({bank.made[i]}+{bank.made[j]})" for j in others]
            yield bank.rows[i] + bank.rows[others], [None if "0" in name else name for name in names].__getitem__


def test_the_first_of_equal_columns_is_kept() -> None:
    """Lighter before heavier, and of one weight what a rule made first; what a rule gives up is not there."""
    bank: Bank[str] = Bank()
    leaves = np.stack([POINTS, POINTS * 0 + 1, POINTS, POINTS * 0])
    assert bank.grow(1, [(leaves, ["x", "1", "again", "0"].__getitem__)]) == range(3)
    assert bank.made == ["x", "1", "0"]
    bank.grow(2, sums(bank, 2))
    assert bank.made[3:] == ["(x+x)", "(x+1)", "(1+1)"] and bank.levels[2] == range(3, 6)
    bank.grow(3, sums(bank, 3))
    assert bank.made[6:] == ["(x+(x+x))", "(x+(x+1))", "(x+(1+1))", "(1+(1+1))"]
    assert len(bank) == 10 == len(bank.rows) == len({row.tobytes() for row in bank.rows})
    assert bank.find(3 * POINTS) == "(x+(x+x))" and bank.find(POINTS * 4) is None


@pytest.mark.parametrize("kind", [np.int64, np.float64, bool, object])
def test_keys_are_exact(kind: type) -> None:
    """Rows have one key where they are equal: of any type, and of no columns at all."""
    rows = np.array([[0, 1], [1, 0], [0, 1], [1, 1]]).astype(kind)
    first, second, third, fourth = exactly(rows)
    assert first == third and len({first, second, fourth}) == 3
    assert len(set(exactly(rows[:, :0]))) == 1 and len(list(exactly(rows[:0]))) == 0
