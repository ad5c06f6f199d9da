"""Random loops and operators of floating-point numbers against Python: NaN, infinities, signed zeros, divisions.

The judge shares nothing with what finds and proves operators: it runs the loop's own text in Python's floats, and the
Python text that is printed, on the same elements, in random trees that are filled up with words of no element. A text
in which a test for what is no real number was planted has to be refused, if Python has another result without it for
any such numbers.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from swizzle import SwizzleError
from swizzle.operators import found_of
from swizzle.operators.find import Found
from swizzle.sketches.loading import load_names

LEFT, RIGHT = "\u00ab", "\u00bb"
SEEDS = range(60)
SHORT = 40
MADE = "from math import exp, inf\nfrom swizzle import f32, operator, serial\ndef same(p, q):\n    return p == q\n"
FINITE = (0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.0, -4.0, 8.0)
SPECIAL = (math.nan, math.inf, -math.inf, 1.0, -2.0, 0.0, -0.0)
PLANTED = (
    "{a} != {a}", "not {a} == {a}", "{a} - {a} == 0", "{a} * 0 != 0", "same({a}, {a})", "not {a} <= {a}",
    "{a} < {k} or {a} >= {k}", "not ({a} > {k}) and not ({a} <= {k})", "max({a}, {a}) != {a}", "{a} + 1 > {a}",
    "abs({a}) >= 0", "{a} * {a} >= 0", "({a} > {k}) == ({a} <= {k})", "{a} / 2 * 2 == {a}", "{a} < inf", "{a} != -inf",
    "{a} + {k} - {k} == {a}", "{a} in ({a}, {k})", "exp({a}) > 0", "{a} + {a} != 2 * {a}",
)  # fmt: skip
CONDITIONS = (
    "{a} > {k}",
    "{a} <= {k}",
    "{a} == {k}",
    "{k} < {a} < {k} + 2",
    "{a} > 0 or {a} < -{k}",
    "{a} * {a} > {k}",
)
STEPS = (
    "s = s + {e}", "s = max(s, {e})", "s = min(s, {e})", "s = s * {c} + {e}", "s = s + {e} if {p} else s",
    "s = {e} if {p} else s", "t = t + {e}\ns = max(s, t)", "t = max(t + {e}, 0)\ns = max(s, t)",
    "t = t + 1\ns = s + ({e} - s) / t", "t = t + w * w\ns = s + ({e} - s) * (w * w) / t", "s = s + {e} / (1 + v * v)",
    "m = max(s, v)\nt = t * exp(s - m) + exp(v - m)\ns = m", "if {p}:\n    s = s + {e}\nelse:\n    t = t + 1",
    "s = s + 1 / ({e}) if {e} != 0 else s", "t = t * {c}\ns = s + t * v",
)  # fmt: skip
RESULTS = ("s", "s, t", "s / t if t != 0 else s", "s + t", "max(s, t)")
COMBINED = (
    "a + b", "max(a, b)", "a + b - a * b", "a * b", "a if {p} else b", "a + b if {p} else max(a, b)", "a * b / (a + b)",
    "max(a + b, {k})", "b if a == {k} else a",
)  # fmt: skip


def made(rng: random.Random) -> tuple[str, str]:
    """Return the text of a random loop or operator, and the same one without the test for what is no real number that
    was planted in it."""
    planted = rng.random() < 0.35
    names = "ab" if rng.random() < 0.2 else "vs"

    def condition() -> str:
        some = [rng.choice(CONDITIONS).format(a=rng.choice(names), k=rng.choice("012"))]
        if planted:
            some.append(f"{LEFT}{rng.choice(PLANTED).format(a=rng.choice(names), k=rng.choice('123'))}{RIGHT}")
        rng.shuffle(some)
        return rng.choice((" and ", " or ")).join(f"({each})" for each in some) if len(some) > 1 else some[0]

    if names == "ab":
        pattern = rng.choice([each for each in COMBINED if "{p}" in each] if planted else COMBINED)
        value = pattern.format(p=condition(), k=rng.choice("012"))
        return twins(f"{MADE}@operator\ndef f(a: f32, b: f32):\n    return {value}\n")
    pattern = rng.choice([each for each in STEPS if "{p}" in each] if planted else STEPS)
    element = rng.choice(("v", "v + w", "v * w", "abs(v)", "-v", "max(v, w)", "2 * v", "v - 1"))
    step = pattern.format(e=element, c=rng.choice(("0.5", "2", "w")), p=condition()).replace("\n", "\n        ")
    softmax = "exp(s - m)" in pattern
    start = f"s, t = {'-inf' if softmax or 'max(s' in pattern else '0'}, {'1' if 't * {c}' in pattern else '0'}"
    result = "s, t" if softmax else rng.choice(RESULTS)
    loop = f"    {start}\n    for v, w in zip(x, y):\n        {step}\n    return {result}\n"
    return twins(f"{MADE}@serial\ndef f(x: f32, y: f32):\n{loop}")


def twins(marked: str) -> tuple[str, str]:
    """Return a text with its planted test, and with what the test is of every real number."""
    text = marked.replace(LEFT, "").replace(RIGHT, "")
    if LEFT not in marked:
        return text, text
    before, _, rest = marked.partition(LEFT)
    test, _, behind = rest.partition(RIGHT)
    names = dict.fromkeys("vsab", 1.5)
    return text, before + str(eval(test, {"exp": math.exp, "inf": math.inf, "same": float.__eq__, **names})) + behind


def matters(text: str, without: str, rng: random.Random) -> bool:
    """Tell whether Python has another result for some numbers, or what is none, without the planted test."""
    one, other = plain(text), plain(without)
    for _ in range(200):
        columns = [[rng.choice(SPECIAL) for _ in range(4)] for _ in range(2)]
        given = columns if "@serial" in text else [each[0] for each in columns]
        try:
            if not alike(tupled(one(*given)), tupled(other(*given))):
                return True
        except (ZeroDivisionError, OverflowError):
            continue
    return False


def plain(text: str) -> Callable[..., Any]:
    """Return the function of a text as Python runs it."""
    names: dict[str, Any] = {"serial": lambda f: f, "operator": lambda f: f, "f32": float}
    exec(text.replace("from swizzle import f32, operator, serial\n", ""), names)
    function: Callable[..., Any] = names["f"]
    return function


def printed(found: Found) -> dict[str, Any]:
    """Return the functions of the Python text that is printed."""
    names: dict[str, Any] = {"inf": math.inf, "exp": lambda v: math.exp(v) if v < 700 else math.inf, "log": math.log}
    exec(found.source(), names)
    return names


def grouped(names: dict[str, Any], rows: Sequence[Sequence[float]], rng: random.Random) -> tuple[Any, ...]:
    """Return the result of elements whose words are combined in a random tree, with words of no element among them."""
    words = [names["lift"](*row) for row in rows]
    for _ in range(rng.randrange(4)) if "identity" in names else ():
        words.insert(rng.randrange(len(words) + 1), names["identity"])
    while len(words) > 1:
        at = rng.randrange(len(words) - 1)
        words[at : at + 2] = [names["combine"](words[at], words[at + 1])]
    return tupled(names["result"](words[0]))


def tupled(value: Any) -> tuple[Any, ...]:
    """Return results as a tuple."""
    return value if isinstance(value, tuple) else (value,)


def alike(got: Sequence[Any], want: Sequence[Any]) -> bool:
    """Tell whether numbers are equal but for rounding; NaN is NaN, and one zero is the other."""
    return all(
        x == y or (x != x and y != y) or math.isclose(x, y, rel_tol=1e-6, abs_tol=1e-6)
        for x, y in zip(got, want, strict=True)
    )


def wrong(text: str, found: Found, numbers: Sequence[float], rng: random.Random) -> str:
    """Return elements for which the printed text is not what Python makes of the loop; '' if none were met.

    Where Python divides by zero there is nothing to compare; nor where a part may, of which the report says so.
    """
    function = plain(text)
    names = {} if found.written_down else printed(found)
    for _ in range(20):
        rows = [[rng.choice(numbers), rng.choice(numbers)] for _ in range(rng.randint(1, 7))]
        try:
            if found.written_down:  # its law is that it may be grouped in any way
                values = [row[0] for row in rows[:3]] * 3
                want = (function(function(values[0], values[1]), values[2]),)
                got = (function(values[0], function(values[1], values[2])),)
            else:
                want = tupled(function(*map(list, zip(*rows, strict=True))))
                got = grouped(names, rows, rng)
        except (ZeroDivisionError, OverflowError):
            continue
        if any(each != each or math.isinf(each) for each in want) and all(map(math.isfinite, numbers)):
            continue
        if not alike(got, want) and not (found.divisors and any(map(str, found.divisors))):
            return f"{rows}: {got}, and Python has {want}"
    return ""


def judged(seed: int, count: int, tmp_path: Path) -> Counter[str]:
    """Judge random texts, and return how many were what; AssertionError for one that is wrong."""
    rng, seen = random.Random(f"floats {seed}"), Counter[str]()
    for place in range(count):
        text, without = made(rng)
        file = tmp_path / f"loop{seed}_{place}.py"
        file.write_text(text)
        try:
            found = found_of(load_names(str(file), {})["f"])
        except SwizzleError as error:
            said = "floating-point numbers are taken as real" in str(error)
            assert text != without or not said, (text, str(error))
            seen["refused" if said else "not read"] += 1
            continue
        seen[found.status] += 1
        if found.status == "proved":
            complaint = wrong(text, found, FINITE, rng)
            assert not complaint, (text, found.source(), complaint)
        assert text == without or not matters(text, without, rng), text
    return seen


@pytest.mark.parametrize("seed", [SEEDS[0], *(pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS[1:])])
def test_random_loops_against_python(seed: int, tmp_path: Path) -> None:
    """None that is proved is wrong, and none with a planted test is taken."""
    seen = judged(seed, SHORT if seed == SEEDS[0] else 50, tmp_path)
    assert seen["proved"] >= 5 and seen["refused"] >= 5
