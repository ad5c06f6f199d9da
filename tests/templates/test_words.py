"""The words of a chosen function are true: an evaluator that knows only the words gives the template's values."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Mapping, Sequence

import pytest

from symbolic.errors import Place
from symbolic.ir.program import Hole
from templates.cond import Cond, Part
from templates.holes import SPACES
from templates.registry import FilledHole, template
from templates.template import Template
from templates.xform import Xform

PLACE = Place("words.py", 1, 1)
Element = Callable[[int], int]


def hole(kind: str, size: int, *arguments: str) -> Hole:
    return Hole(f"{kind}1", kind, size, arguments, PLACE)


# ---- what the words mean, from the words alone ---------------------------------------------------------------------


def number(text: str, values: Mapping[str, int]) -> int:
    """Evaluate a sum of multiples, as the words write it."""
    assert re.fullmatch(r"[\w\s()+*/-]+", text), text
    return int(eval(text, {"__builtins__": {}}, dict(values)))


def one_step(text: str, n: int, values: Mapping[str, int]) -> Element:
    """Return from where each of n places is filled."""
    if inside := re.fullmatch(r"(.+) in groups of (\d+)", text):
        size = int(inside[2])
        step = one_step(inside[1], size, values)
        return lambda i: i // size * size + step(i % size)
    if text == "as it is":
        return lambda i: i
    if text == "reverse":
        return lambda i: n - 1 - i
    if found := re.fullmatch(r"rotate by (.+)", text):
        return lambda i: (i + number(found[1], values)) % n
    if found := re.fullmatch(r"broadcast element (.+)", text):
        return lambda i: number(found[1], values) % n
    if found := re.fullmatch(r"fan by (\d+), one further after every (\d+)", text):
        return lambda i: (int(found[1]) * i + i // int(found[2])) % n
    if found := re.fullmatch(r"fan by (\d+)", text):
        return lambda i: int(found[1]) * i % n
    if found := re.fullmatch(r"transpose a (\d+) x (\d+) matrix", text):
        rows, columns = int(found[1]), int(found[2])
        assert rows * columns == n
        matrix = [[r * columns + c for c in range(columns)] for r in range(rows)]
        flat = [matrix[r][c] for c in range(columns) for r in range(rows)]
        return lambda i: flat[i]
    raise AssertionError(f"no such words: {text!r}")


def element(words: str, n: int, values: Mapping[str, int]) -> Element:
    if found := re.fullmatch(r"in groups of (\d+): (.+)", words):
        size = int(found[1])
        step = element(found[2], size, values)
        return lambda i: i // size * size + step(i % size)
    if ", then " in words:
        first, second = (one_step(part, n, values) for part in words.split(", then "))
        return lambda i: second(first(i))
    return one_step(words, n, values)


def holds(words: str, values: Mapping[str, int]) -> bool:
    words = words.removeprefix("keep when ")
    if words in ("always", "never"):
        return words == "always"
    assert re.fullmatch(r"[\w\s()+*/<>=!-]+", words), words
    return bool(eval(words, {"__builtins__": {}}, dict(values)))


def part(words: str, values: Mapping[str, int]) -> int:
    if always := re.fullmatch(r"always (\d+)", words):
        return int(always[1])
    for choice in words.split(", else "):
        value, when, condition = choice.partition(" when ")
        if not when or holds(condition, values):
            return int(value)
    raise AssertionError(words)


# ---- compared with the templates -----------------------------------------------------------------------------------


def choices(made: Template, many: int = 50) -> Sequence[tuple[object, ...]]:
    """Return all choices where they are few, else a reproducible sample that begins with the first ones."""
    if made.size() <= many:
        return list(itertools.product(*made.components))
    draw = random.Random(7)
    return [tuple(draw.choice(c) for c in made.components) for _ in range(many)]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("space", SPACES[:3])
@pytest.mark.parametrize(("n", "extent"), [(1, 2), (2, 3), (6, 4), (8, 8), (9, 3), (12, 5), (32, 7)])
def test_xform_words_are_true(n: int, extent: int, space: str) -> None:
    """What the words say of every place is what the template gives there."""
    points = [(i, k) for i in range(n) for k in range(extent)]
    made = template(hole("xform", n, "lane", "k"), points, space)  # type: ignore[arg-type]
    assert isinstance(made, Xform)
    for choice in choices(made):
        filling = FilledHole(hole("xform", n, "lane", "k"), made.constants(choice))
        words = filling.words()
        for k in range(extent):
            step = element(words, n, {"k": k})
            wanted = [int(made.apply(choice, (i, k))) for i in range(n)]
            assert [step(i) for i in range(n)] == wanted, (words, dict(filling.constants))
            assert [int(filling.apply((i, k))) for i in range(n)] == wanted


def test_every_transform_of_eight_elements_has_true_words() -> None:
    """All of Space 3 at 8 elements and 4 iterations."""
    points = [(i, k) for i in range(8) for k in range(4)]
    made = template(hole("xform", 8, "i", "k"), points, "3")
    seen = set()
    for choice in choices(made, 10**6):
        words = FilledHole(hole("xform", 8, "i", "k"), made.constants(choice)).words()
        seen.add(words)
        k = len(seen) % 4
        step = element(words, 8, {"k": k})
        assert [step(i) for i in range(8)] == [int(made.apply(choice, (i, k))) for i in range(8)], words
    assert {"as it is", "reverse", "rotate by k", "fan by 3", "reverse in groups of 4"} <= seen


@pytest.mark.parametrize("space", ["1", "2"])
@pytest.mark.parametrize("arity", [1, 2, 3])
def test_condition_words_are_true(arity: int, space: str) -> None:
    """A condition's words hold where it does."""
    names = ("lane", "k", "j")[:arity]
    points = list(itertools.product(range(5), range(3), range(-1, 3)))
    points = sorted({point[:arity] for point in points})
    made = template(hole("cond", 2, *names), points, space)  # type: ignore[arg-type]
    assert isinstance(made, Cond)
    for choice in choices(made, 150):
        filling = FilledHole(hole("cond", 2, *names), made.constants(choice))
        for point in points:
            said = holds(filling.words(), dict(zip(names, point, strict=True)))
            assert said == bool(made.apply(choice, point)) == bool(filling.apply(point)), filling.words()


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_partition_words_are_true(n: int) -> None:
    """A partition's words give its value."""
    points = [(lane, k) for lane in range(6) for k in range(4)]
    made = template(hole("part", n, "lane", "k"), points, "2")
    assert isinstance(made, Part)
    for choice in choices(made, 80):
        filling = FilledHole(hole("part", n, "lane", "k"), made.constants(choice))
        for point in points:
            said = part(filling.words(), dict(zip(("lane", "k"), point, strict=True)))
            assert said == int(made.apply(choice, point)) == int(filling.apply(point)), filling.words()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "as it is"),
        ({"c_r": 1}, "rotate by k"),
        ({"c_r": 31, "c": 3}, "rotate by 3 - k"),
        ({"c_f": 31, "c": 31}, "reverse"),
        ({"c_f": 31, "c": 31, "c_r": 2}, "reverse, then rotate by 2 * k"),
        ({"c_f": 0, "c": 5}, "broadcast element 5"),
        ({"c_f": 0, "c": 31}, "broadcast element 31"),
        ({"c_f": 0, "c": 31, "c_r": 1}, "broadcast element k - 1"),
        ({"gs": 8, "d_f": 8, "c_f": 3}, "fan by 3 in groups of 8"),
        ({"gs": 8, "d_f": 4, "c_f": 2}, "transpose a 4 x 2 matrix in groups of 8"),
        ({"gs": 8, "d_f": 4, "c_f": 2, "c_r": 1}, "in groups of 8: transpose a 4 x 2 matrix, then rotate by k"),
        ({"d_f": 8, "c_f": 4, "wrap": 1, "d_r": 4}, "transpose a 8 x 4 matrix, then rotate by k // 4 in groups of 4"),
        ({"d_f": 8, "c_f": 8}, "fan by 8, one further after every 8"),
    ],
)
def test_words_of_a_transform(given: Mapping[str, int], words: str) -> None:
    """The words are those of the paper's primitives, with small signed numbers."""
    plain = {"gs": 32, "c_f": 1, "d_f": 32, "wrap": 0, "c_r": 0, "d_r": 0, "c": 0}
    assert FilledHole(hole("xform", 32, "lane", "k"), {**plain, **given}).words() == words


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"sign": 1, "right": 1, "threshold": 31}, "keep when lane < 32 - k"),
        ({"sign": 1, "right": 1, "threshold": 31, "negated": 1}, "keep when lane >= 32 - k"),
        ({"right": 1, "threshold": -1, "negated": 1}, "keep when lane >= k"),
        ({"right": 1, "threshold": 2, "equal": 1}, "keep when lane == k + 2"),
        ({"sign": 1, "threshold": 6}, "keep when lane < 4"),
        ({"sign": 1, "threshold": 7, "equal": 1}, "never"),
        ({"threshold": 0}, "always"),
    ],
)
def test_words_of_a_condition(given: Mapping[str, int], words: str) -> None:
    """Conditions read as comparisons with the nearest round number."""
    plain = {"left": 0, "sign": -1, "right": 0, "equal": 0, "negated": 0, "threshold": 0}
    assert FilledHole(hole("cond", 2, "lane", "k"), {**plain, **given}).words() == words


def test_an_argument_that_is_an_expression_is_kept_apart() -> None:
    """An argument's own operators do not mix with those of the words."""
    plain = {"gs": 8, "c_f": 1, "d_f": 8, "wrap": 0, "c_r": 2, "d_r": 0, "c": 0}
    assert FilledHole(hole("xform", 8, "lane", "r + 1"), plain).words() == "rotate by 2 * (r + 1)"
