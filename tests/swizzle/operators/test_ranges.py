"""Words near the limits of their types: what is proved of them is what printed texts compute, in the types they have.

`on_arrays` is these texts' meaning; other tests run them. Where no word overflows, that is the Python loop's result;
otherwise it is that of the loop on words that wrap.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as structs_replace

from swizzle import i32
from swizzle.operators import operator_of
from swizzle.operators.carrier import Values
from swizzle.operators.cub import check_printable
from swizzle.operators.find import Found
from swizzle.operators.linear import deduced
from swizzle.operators.ranges import ranges_of
from swizzle.operators.scan_operators import on_arrays
from swizzle.operators.serial import Serial, serial
from swizzle.operators.types import result_types, whole_infinities
from swizzle.sketches.loading import load_names
from symbolic.errors import SwizzleError
from symbolic.ir.program import DType
from tests.slow_cases import slow_unless
from tests.swizzle.operators.found import found_of

LARGE = (7, 3000, 70_000, 1_000_000_000, 1_500_000_000, 2_000_000_000, 2_147_483_000)
KEEPING = (
    "p = p + E", "p = max(p, E)", "p = min(p, E)", "p = max(0, p + E)", "p = E if C else p + 1", "q = p if C else E",
    "q = max(q, p)", "p = p + E if C else p", "f = f and C", "f = f or C", "p = E if C else p",
)  # fmt: skip
KINDS = (["i32"], ["i32", "i64"], ["i64", "i32"], ["i32", "u32"], ["u32"], ["u32", "i64"], ["i32", "i32"])
LIMITS = {"i32": (-(1 << 31), (1 << 31) - 1), "u32": (0, (1 << 32) - 1), "i64": (-(1 << 63), (1 << 63) - 1)}

FOUND_WRONG: dict[str, tuple[tuple[tuple[int, int], ...], str]] = {
    "a maximum with a number is no infinity, and may be taken away": (
        ((-1000, 1000),),
        """
@serial(length=1000, where=lambda u: -1000 <= u <= 1000)
def loop(x: i32):
    p, q = -2000, -2000
    for u in x:
        if u > p:
            q = p
            p = u
        elif u > q:
            q = u
    return q, p - q
""",
    ),
    "a comparison of elements is computed in their own, narrower type": (
        ((-1500000000, 1500000000), (-10, 10)),
        """
@serial(length=1000, where=lambda u, w: -10 <= w <= 10 and -1500000000 <= u <= 1500000000)
def loop(x: i32, y: i64):
    s = 0
    for u, w in zip(x, y):
        s = s + w if u + 2000000000 < 2100000000 else s
    return s
""",
    ),
    "a condition is a word, and its comparisons overflow": (
        ((0, 2000000000),),
        """
@serial(length=1000, where=lambda u: 0 <= u <= 2000000000)
def loop(x: i32):
    ok = True
    for u in x:
        ok = ok and u + 1000000000 > 1500000000
    return ok
""",
    ),
    "a result that is a constant has the type of the loop's": (
        ((-2000000000, 10), (-1500000000, 1)),
        """
@serial(where=lambda u, w: -2000000000 <= u <= 10 and -1500000000 <= w <= 1)
def loop(x: i64, y: i32):
    p, q = -2000000000, 5
    for u, w in zip(x, y):
        q = min(q, p)
        p = min(p, -1000000000)
    return p + q
""",
    ),
    "an infinity that lift makes stays one in a sum": (
        ((-1000, 1000),),
        """
@serial(length=1 << 20, where=lambda u: -1000 <= u <= 1000)
def loop(x: i32):
    p = -1
    for u in x:
        p = 2 if max(u, 1) < 2 else p
        p = max(0, p + -2)
        p = max(p, u)
    return p
""",
    ),
    "a result may overflow": (
        ((0, 1000),),
        """
@serial(length=1000, where=lambda u: 0 <= u <= 1000)
def loop(x: i32):
    s = 0
    for u in x:
        s = max(s, u)
    return s + 2147483000 > 5
""",
    ),
}
BESIDE = """
@serial
def loop(x: i32, y: f32):
    s = 0
    for u, w in zip(x, y):
        s = s + u * w if u + 2000000000 < 2100000000 else s
    return s
"""


def loaded(text: str, folder: Path) -> Serial:
    """Return the loop of a text."""
    file = folder / "near_limits.py"
    file.write_text(f"from swizzle import f32, i32, i64, serial, u32\n{text}")
    (found,) = (each for each in load_names(file).values() if isinstance(each, Serial))
    return found


def number(rng: random.Random, depth: int, names: list[str]) -> str:
    """Return the text of a random number."""
    if depth == 0:
        return rng.choice([*names, *names, str(rng.choice(LARGE)), str(rng.randrange(-3, 4))])
    a, b = (number(rng, 0, names) for _ in range(2))
    kind = rng.choice(["+", "-", "*", "max", "min"])
    return f"{kind}({a}, {b})" if kind in ("max", "min") else f"({a} {kind} {b})"


def random_loop(rng: random.Random) -> tuple[str, list[tuple[int, int]]]:
    """Return the text of a loop whose data is promised to be within limits, often large ones, and these."""
    kinds = rng.choice(KINDS)
    arrays, elements = ["x", "y"][: len(kinds)], ["u", "w"][: len(kinds)]
    within = []
    for kind in kinds:
        low = max(LIMITS[kind][0], rng.choice([0, -1, -1000, -1_500_000_000, -2_000_000_000]))
        high = rng.choice([1, 1000, 70_000, 1_500_000_000, 2_147_483_000])
        within.append((low, high) if rng.random() < 0.85 else LIMITS[kind])
    where = " and ".join(f"{low} <= {each} <= {high}" for each, (low, high) in zip(elements, within, strict=True))
    lines = [f"@serial(length={rng.choice([10, 1000, 1 << 20])}, where=lambda {', '.join(elements)}: {where})"]
    lines += [f"def loop({', '.join(f'{a}: {kind}' for a, kind in zip(arrays, kinds, strict=True))}):"]
    lines += [f"    p, q, f = {rng.choice([0, 0, 1, -1, -2_000_000_000])}, {rng.choice([0, 5])}, {rng.random() < 0.5}"]
    lines += [f"    for {', '.join(elements)} in {'zip(x, y)' if len(kinds) == 2 else 'x'}:"]
    for _ in range(rng.randrange(1, 4)):
        names = [*elements, *elements, *rng.choice([[], ["p", "q"]])]
        compared = [number(rng, rng.randrange(2), names), number(rng, 0, names)]
        condition = rng.choice(["f", *3 * [rng.choice([" < ", " <= ", " == "]).join(compared)]])
        lines.append(
            "        " + rng.choice(KEEPING).replace("E", number(rng, rng.randrange(2), names)).replace("C", condition)
        )
    lines.append(
        f"    return {rng.choice(['p', 'p + q', 'f', 'p if f else q', f'p + {rng.choice(LARGE)} > 5', 'p, q'])}"
    )
    return "\n".join(lines) + "\n", within


def random_rows(rng: random.Random, within: Any, most: int) -> list[tuple[int, ...]]:
    """Return elements, most of them at limits: their own, and those from which a large constant leads over another."""
    steps = [0, 1, -1, *LARGE, *(-each for each in LARGE)]
    edges = [edge + step for edge in (0, LIMITS["i32"][0], LIMITS["i32"][1]) for step in steps]

    def element(low: int, high: int) -> int:
        near = [low, high, *(edge for edge in edges if low <= edge <= high)]
        return rng.choice(near) if rng.random() < 0.8 else rng.randint(low, high)

    return [tuple(element(*each) for each in within) for _ in range(rng.randrange(1, most + 1))]


def computed(
    values: Values, types: dict[str, DType], names: dict[str, Any], of: dict[str, DType], infinite: dict[str, int]
) -> dict[str, Any]:
    """Return what a printed function computes, each number in its type."""
    return {word: on_arrays(values[word], dtype, names, of, infinite).item() for word, dtype in types.items()}


def in_parts(found: Found, rows: list[tuple[int, ...]], rng: random.Random) -> dict[str, Any]:
    """Return the words of elements in a random grouping, as printed texts compute them."""
    carrier = found.carrier
    assert carrier is not None
    words, elements = dict(carrier.words), dict(carrier.loop.elements)
    if len(rows) == 1:
        return computed(carrier.lift, words, dict(zip(elements, rows[0], strict=True)), elements, {})
    cut = rng.randrange(1, len(rows))
    sides = {"a": in_parts(found, rows[:cut], rng), "b": in_parts(found, rows[cut:], rng)}
    names = {f"{side}.{word}": value for side, some in sides.items() for word, value in some.items()}
    types = {f"{side}.{word}": dtype for side in sides for word, dtype in words.items()}
    return computed(carrier.combine, words, names, types, whole_infinities(carrier, "ab"))


def check(serial: Serial, within: Any, rng: random.Random) -> None:
    """Compare what is proved with a loop: Python's where nothing overflows, else the loop on words that wrap."""
    loop = serial.loop
    found = operator_of(loop)
    if found.status != "proved" or found.carrier is None:
        return
    carrier = found.carrier
    try:
        check_printable(carrier)
    except SwizzleError:
        return
    exact = found.ranges is not None and found.ranges.verdict == "proved"
    types = dict(zip(map(str, range(len(carrier.result))), result_types(carrier), strict=True))
    ours = dict(zip(types, carrier.result, strict=True))
    own = dict(zip(types, loop.result, strict=True))
    state_types = dict(loop.state)
    for _ in range(100):
        rows = random_rows(rng, within, min(loop.range.length or 8, 8))
        words = in_parts(found, rows, rng)
        result = list(computed(ours, types, words, dict(carrier.words), whole_infinities(carrier)).values())
        if exact:
            wanted = serial(*map(list, zip(*rows, strict=True)))
            wanted = list(wanted) if isinstance(wanted, tuple) else [wanted]
        else:
            state = computed(loop.initial, state_types, {}, {}, {})
            for row in rows:
                names = {**state, **dict(zip(loop.elements, row, strict=True))}
                state = computed(loop.step, state_types, names, loop.types, {})
            wanted = list(computed(own, types, state, state_types, {}).values())
        assert result == wanted, (rows, exact, carrier.source())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FOUND_WRONG)
def test_what_was_once_wrong_is_true(name: str, tmp_path: Path) -> None:
    """Loops that were said not to overflow, and did."""
    within, text = FOUND_WRONG[name]
    check(loaded(text, tmp_path), within, random.Random(name))


def test_integers_that_are_compared_beside_real_numbers_need_a_promise(tmp_path: Path) -> None:
    """A sum of elements that is compared is one of words: it may wrap, although its proof knows no width."""
    found = operator_of(loaded(BESIDE, tmp_path).loop)
    assert found.status == "unknown" and found.needs_ranges
    promised = BESIDE.replace("@serial", "@serial(where=lambda u, w: -1000 <= u <= 1000)")
    assert operator_of(loaded(promised, tmp_path).loop).status == "proved"


@pytest.mark.slow
def test_a_limit_of_the_type_may_be_compared_where_another_word_is_infinite(tmp_path: Path) -> None:
    """Only what may be an infinity keeps its type's limits free."""
    text = """
@serial(length=1 << 30)
def loop(x: i32):
    last, here, best = 2147483647, 0, 0
    for v in x:
        here = here + 1 if last < v else 1
        best = max(best, here)
        last = v
    return best
"""
    serial = loaded(text, tmp_path)
    found = operator_of(serial.loop)
    assert found.carrier is not None and found.carrier.infinite
    assert found.ranges is not None and found.ranges.verdict == "proved"
    check(serial, (LIMITS["i32"],), random.Random(1))


@pytest.mark.parametrize("seed", slow_unless(range(300), lambda seed: seed in (1, 4)))
def test_what_is_proved_near_the_limits_of_types_is_true(seed: int, tmp_path: Path) -> None:
    """Random loops over one or two arrays, of 32 and 64 bits, whose sums, comparisons and results may overflow."""
    rng = random.Random(seed)
    text, within = random_loop(rng)
    try:
        serial = loaded(text, tmp_path)
    except SwizzleError:
        return  # compares what is no number of the type
    check(serial, within, rng)


@serial(length=1 << 12, where=lambda v: -(1 << 19) < v < (1 << 19))
def lowest(x: i32):  # type: ignore[no-untyped-def]
    s, m = 0, 0
    for v in x:
        s = s + v
        m = min(m, s)
    return m


@serial(length=1 << 12, where=lambda v: -(1 << 19) < v < (1 << 19))
def climb(x: i32):  # type: ignore[no-untyped-def]
    s, m = 0, 0
    for v in x:
        s = s + v
        m = min(m, s)
    return s - m


def test_a_strict_promise_is_a_sharp_bound() -> None:
    """4096 times 524287 fits 32 bits, and 4096 times 524288 does not; nor does what the bounds say of a difference."""
    found = operator_of(lowest.loop)
    assert found.status == "proved" and found.ranges is not None
    assert "s_factor <= 524287 * length" in found.ranges.bounds
    overflow = ranges_of(deduced(climb.loop, climb.loop.live, "words")[0])
    assert overflow.verdict == "unknown" and overflow.reason.startswith("the result may overflow: ")
    assert "524287 * length" in overflow.reason


def test_a_product_is_bounded_by_a_power() -> None:
    """3 ** 19 is an i32; 3 ** 20 is none, and twenty elements 3 say so."""
    found = found_of("best_product")
    assert found.carrier is not None and found.ranges is not None
    assert {"m <= 3 ** length", "s <= 3 ** length"} <= set(found.ranges.bounds)
    loop = found.carrier.loop
    longer = replace(found.carrier, loop=replace(loop, range=structs_replace(loop.range, length=20)))
    ranges = ranges_of(longer)
    assert ranges.verdict == "refuted" and "of 20 elements v = 3, m is 3486784401" in ranges.reason
