"""What Python's other values and users' classes say is what a lifted function says: never another answer."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
import pytest

from symbolic import SwizzleError, assume, integer, lifted, obligations, solve


@dataclass(frozen=True)
class Parity:
    x: Any
    xs: tuple[Any, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parity) and self.x % 2 == other.x % 2

    def __hash__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return self.x > 0  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return self.x + 1  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        return iter([self.x, 7])

    def __lt__(self, other: "Parity") -> bool:
        return self.x > other.x  # type: ignore[no-any-return]

    @lifted
    def __getitem__(self, place: int) -> Any:
        return (self.x, 5)[place]


@dataclass(frozen=True, order=True)
class Ordered:
    x: Any
    y: Any = field(default=0, compare=False)


@dataclass(frozen=True)
class Doubled:
    x: Any
    twice: Any = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", self.x * 2)


class Alike(NamedTuple):
    x: Any

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


SET, TABLE, BYTES, LETTERS = frozenset({1, 2}), {5: 1, 7: 2}, b"ab", {"a": 1}
MIXED: dict[float, int] = {True: 3, 2.0: 4, 1.5: 5}


def equality(x: Any, y: Any) -> Any:
    p, q = Parity(x), Parity(y)
    return p == q, p != q, p in (q,), [p] == [q], [p].count(q), Alike(x) == Alike(y)


def order(x: Any, y: Any) -> Any:
    return Parity(x) < Parity(y), Parity(x) > Parity(y), Ordered(x, 1) < Ordered(y, 0), Ordered(x, 1) == Ordered(y, 2)


def truth_and_length(x: Any, y: Any) -> Any:
    if y > 0:
        return bool(Parity(x)), not Parity(y), any([Parity(x)]), len(Parity(x))
    return 1 if Parity(x) else 2


def elements(x: Any, y: Any) -> Any:
    if y > 0:
        return [v + 1 for v in Parity(x)], 7 in Parity(x), Parity(x)[y - 1]
    a, b = SET
    found = 0
    for v in TABLE if x > 0 else [1]:
        found = 10 * found + v
    return found, a + b, sum(SET), max(TABLE), list(TABLE.items()), [v + 1 for v in BYTES], sorted(SET)


def ranges(x: Any, y: Any) -> Any:
    if y > 0:
        return x in range(y), x in range(y, -3, -2), bool(range(x)), isinstance(range(x), range)
    return None


def kinds(x: Any, y: Any) -> Any:
    return (
        isinstance(x, int | str), isinstance(x, Number), isinstance([x], Sequence), isinstance(x > 0, Number),
        isinstance(x, (str, (int,))), isinstance(None if x > 0 else x, int | None), isinstance(x, str | None),
        isinstance(lambda: y, Callable), (x, y).index(y), (x, y, 1).count(1),
    )  # fmt: skip


def in_parts(x: Any, y: Any) -> Any:
    return partial(max, x)(y), partial(sorted, reverse=True)([x, y])


class Refused(Exception):
    pass


def refuses(x: int) -> int:
    if x > 1:
        raise Refused(x)
    assert x != 0
    return x


def stranger(x: Any, y: Any) -> Any:
    """A function that is not lifted raises an exception on a path."""
    if x > 0:
        return refuses(2)
    if y > 0:
        return refuses(0)
    return refuses(1)


def texts(x: Any, y: Any) -> Any:
    letter = "a" if x > 0 else "b"
    return letter in "bcd", letter in LETTERS, "abc"[x], b"abc"[x], MIXED[x]


def made_anew(x: Any, y: Any) -> Any:
    return replace(Doubled(x), x=y).twice


@pytest.mark.parametrize(
    "function", [equality, order, truth_and_length, elements, ranges, kinds, texts, stranger, made_anew, in_parts]
)
def test_python_and_a_lifted_function_say_the_same(function: Callable[[Any, Any], Any]) -> None:
    x, y = integer("own x"), integer("own y")
    with obligations():
        assume((x >= -2) & (x <= 2) & (y >= -1) & (y <= 2))
        result = lifted(function)(x, y)
        for a, b in product(range(-2, 3), range(-1, 3)):
            outcome = solve(x == a, y == b)
            try:
                wanted = function(a, b)
            except (ValueError, LookupError, AssertionError, Refused):
                assert outcome.status == "unsat", (a, b)
            else:
                assert outcome.status == "sat", (a, b)
                assert repr(outcome[result]) == repr(wanted), (a, b)


def store_in_a_table(x: Any, y: Any) -> Any:
    table = TABLE
    if y > 0:
        table[5] = 1
    return x


def same_record(x: Any, y: Any) -> Any:
    p = Nameless(1 if x > 0 else 2)
    return p == p


@dataclass(frozen=True, eq=False)
class Nameless:
    x: Any


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x == 1.0 if y > 0 else 0,
        lambda x, y: x < 1.5 if y > 0 else 0,
        lambda x, y: x in (1.0, 2) if y > 0 else 0,
        lambda x, y: (2.5 if x > 0 else 2) > y if y > 0 else 0,
        lambda x, y: x < np.int64(1) if y > 0 else 0,
        lambda x, y: x == np.int64(1) if y > 0 else 0,
        lambda x, y: len(range(x)) if y > 0 else 0,
        lambda x, y: range(x)[0] if y > 0 else 0,
        lambda x, y: np.array([1, 2])[x] if y > 0 else 0,
        lambda x, y: (1 if x > 0 else 2).bit_length() if y > 0 else 0,
        lambda x, y: list(range(x) if y > 0 else [1]),
        lambda x, y: [i + x for i in iter([1, 2])] if y > 0 else 0,
        same_record,
        store_in_a_table,
    ],
)
def test_what_has_no_right_answer_is_refused_on_a_path_too(function: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(SwizzleError):
        lifted(function)(integer("own x"), integer("own y"))
