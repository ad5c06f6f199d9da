"""Elementary operators as data: pairs and single words over `x`, `y` and a constant `k`, and the table that is kept."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from symbolic.expressions.expression import BUILDERS, Expression, constant, number_name
from symbolic.expressions.formulas import REALS, Sort

TYPES: Final = {
    "i32": Sort("word", 32, True),
    "u32": Sort("word", 32, False),
    "i64": Sort("word", 64, True),
    "u64": Sort("word", 64, False),
    "f32": REALS,
}
"""The five types; floating-point numbers are real numbers, in any precision."""
TABLE: Final = Path(__file__).with_name("table.json")


class Elementary(Struct, frozen=True):
    """An associative operator: `lists` (an operator and what it is of, nested) give the words of two parts, over x0,
    x1, those of the first one, y0, y1, and k. `left` and `right` say on which sides `identity` changes nothing."""

    lists: tuple[Any, ...]
    identity: tuple[str, ...]
    left: bool
    right: bool
    commutative: bool
    types: tuple[str, ...]

    @property
    def combine(self) -> tuple[Expression, ...]:
        """The words of two parts as expressions."""
        return tuple(map(of_lists, self.lists))

    @property
    def has_k(self) -> bool:
        """Whether it has a constant."""
        return any(map(_has_k, self.lists))


def _has_k(what: Any) -> bool:
    return any(map(_has_k, what)) if isinstance(what, list) else what == "k"


def neutral(what: str, sort: Sort) -> Expression:
    """Return a word of an identity as an expression."""
    if what == "k":
        return number_name("k")
    if what in ("least", "greatest"):
        limits = (float("-inf"), float("inf")) if sort.kind == "real" else sort.limits
        return constant(limits[what == "greatest"])
    return constant(int(what) % (1 << sort.bits) if sort.kind == "word" and not sort.signed else int(what))


def of_lists(what: Any) -> Expression:
    """Return the expression that nested lists say."""
    if isinstance(what, str):
        return number_name(what)
    if isinstance(what, list):
        return BUILDERS[what[0]](*map(of_lists, what[1:]))
    return constant(what)


@lru_cache(maxsize=4)
def table(words: int) -> tuple[Elementary, ...]:
    """Return the operators of so many words that were generated and proved, smallest first."""
    return tuple(
        Elementary(
            tuple(lists), tuple(identity.split()), "l" in laws, "r" in laws, "c" in laws,
            tuple(types.split()),
        )
        for lists, identity, laws, types in json.loads(TABLE.read_text(encoding="utf-8"))
        if len(lists) == words
    )  # fmt: skip
