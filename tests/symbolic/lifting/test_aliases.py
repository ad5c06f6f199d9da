"""Lists that several names hold: what is not refused means what Python means."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from symbolic.core.obligations import obligations
from symbolic.core.outcome import evaluated
from symbolic.core.values import boolean
from symbolic.errors import SwizzleError
from symbolic.lifting.functions import lifted
from symbolic.solve.answer import Model
from tests.symbolic.lifting.random_functions import function

CONDITION = boolean("aliases_test")
SIMPLE = (
    "a = b",
    "b = a",
    "a = list(b)",
    "b = [1, 2]",
    "rows = [a, b]",
    "rows = [a, [7, 8]]",
    "rows = [[0, 0]] * 2",
    "t = (a, b)",
    "a = rows[0]",
    "b = t[1]",
    "a[0] = 5",
    "b[1] = 6",
    "rows[0][1] = 9",
    "rows[1] = a",
    "rows = [list(r) for r in rows]",
    "a.append(3)",
    "b += [4]",
    "v = b.pop()",
    "a = a + b",
    "b = same(a)",
    "a = fresh(b)",
    "b = a[:]",
    "rows[1] = [v, v]",
    "g = lambda: a[0]",
    "v = g()",
    "a = b if p else a",
    "a.reverse()",
    "b = rows[0] if p else [0, 1]",
    "rows = rows[::-1]",
    "b.extend(a)",
    "a, b = b, a",
    "a = [r[0] for r in rows]",
    "poke(a)",
    "poke(rows[0])",
    "a = grow(b)",
    "v = len(a)",
    "swap(a, rows[0])",
    "swap_if(a, b, p)",
    "rows[0].append(4)",
    "rows[1] += [v]",
    "t[0].reverse()",
    "v = t[1].pop()",
    "a.insert(0, 1)",
    "note(v)",
    "note(a[0])",
    "rows = both(a, rows)",
    "a += log",
)
LOOPS = (
    "for x in a:",
    "for i, x in enumerate(b):",
    "for r in rows:",
    "if p:",
    "for x, y in zip(a, b):",
    "for i in range(2):",
    "for x in list(a):",
    "for x in reversed(b):",
)


HELPERS = """
def same(xs):
    return xs
def fresh(xs):
    ys = list(xs)
    ys[0] = 0
    return ys
def poke(xs):
    xs[0] = 12
def grow(xs):
    xs.append(len(xs))
    return xs
def swap(xs, ys):
    xs[0], ys[0] = ys[0], xs[0]
def swap_if(xs, ys, c):
    if c:
        swap(xs, ys)
        return 1
    ys += [14]
    return 0
def both(xs, rows):
    poke(rows[0])
    return [xs, rows[0]]
"""


def text_of(seed: int) -> str:
    """Return a function of one condition."""
    rng, lines = random.Random(seed), list[str]()

    def block(depth: int, size: int) -> None:
        for _ in range(size):
            if depth < 3 and rng.random() < 0.25:
                lines.append("    " * depth + rng.choice(LOOPS))
                block(depth + 1, rng.randint(1, 2))
            else:
                lines.append("    " * depth + rng.choice(SIMPLE))

    block(1, rng.randint(3, 6))
    start = (
        "    a, b, v, i, x = [1, 2], [3, 4], 0, 0, 0\n    rows, t, g = [[5, 6], [7]], ([8, 9], [10, 11]), lambda: 0\n"
    )
    log = "    log = []\n    def note(x):\n        log.append(x)\n        poke(log)\n"
    return HELPERS + "def f(p):\n" + start + log + "\n".join(lines) + "\n    return (a, b, rows, t, v, log)\n"


def test_what_is_not_refused_is_pythons() -> None:
    """Of random programs, of which few are refused: whoever holds a list may change it, and all see it change."""
    compared(range(120))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
def test_three_thousand_random_programs(part: int) -> None:
    """More of them."""
    compared(range(500 * part, 500 * part + 500))


@pytest.mark.parametrize("held", ["b", "b if p else c", "t[0]", "rows[k]", "rows[0:1][0]", "same(b)", "[b, c][0]"])
@pytest.mark.parametrize("before", ["pass", "if p: b.append(5)"])
@pytest.mark.parametrize("loop", ["enumerate({})", "zip([6, 7, 8], {})", "enumerate(zip([6, 7, 8], {}))"])
def test_what_a_loop_asks_for_element_by_element_does_not_change(loop: str, before: str, held: str) -> None:
    """Whatever expression gives the list that `enumerate` and the like run over; a copy of it is run over as it was."""
    start = f"b, c, k = [3, 4], [1, 2, 3], 0\n    t, rows, n = (b, c), [b, c], 0\n    {before}\n    "
    changing = f"{HELPERS}def f(p):\n    {start}for i, y in {loop}:\n        b[1] = [9]\n        n += 1\n    return n\n"
    names = dict[str, Any]()
    symbolic = function(changing.format(held), f"<{loop} of {held}, {before}>", names)
    names["same"] = lifted(names["same"])
    with pytest.raises(SwizzleError) as caught:
        lifted(symbolic)(CONDITION)
    assert "changes while a loop runs over it" in caught.value.found or "may be" in caught.value.found
    assert caught.value.place is not None
    if held == "b":
        copied, plain = (
            function(changing.format("list(b)"), f"<{k} {loop}, {before}>", {}) for k in ("symbolic", "plain")
        )
        found = lifted(copied)(CONDITION)
        for value, model in ((False, Model(lambda _: False)), (True, Model(lambda _: True))):
            assert evaluated(found, model) == plain(value)


def compared(seeds: range) -> None:
    """Compare programs with Python, on both values of the condition."""
    accepted = refused = 0
    for seed in seeds:
        text, names = text_of(seed), dict[str, Any]()
        symbolic = function(text, f"<aliases {seed}>", names)
        plain: Any = function(text, f"<plain aliases {seed}>", {})
        for helper in re.findall(r"^def (\w+)", HELPERS, re.MULTILINE):
            names[helper] = lifted(names[helper])
        try:
            with obligations() as made:
                found = lifted(symbolic)(CONDITION)
        except SwizzleError as error:
            assert error.place is not None or "returns for no input" in error.found
            refused += 1
            continue
        accepted += 1
        for value in (False, True):
            model = Model(lambda _, value=value: value)
            broken = [each for each in made.made if not model.value(each.condition.formula)]
            try:
                wanted = plain(value)
            except (LookupError, TypeError, ValueError):
                assert broken, text
                continue
            assert not broken, (text, broken)
            assert evaluated(found, model) == wanted, (text, value)
    assert accepted > refused > 0, (accepted, refused)
