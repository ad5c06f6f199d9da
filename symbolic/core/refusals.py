"""What a symbolic value cannot do in Python, and the call that does it instead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from symbolic.errors import SwizzleError


def refuse(found: str, fix: str) -> NoReturn:
    """Raise the error for a value that is only known once a query has answered."""
    raise SwizzleError(found, expected="a value that is known while Python runs", fix=fix)


class Refusals:
    """What a symbolic value cannot do, each with the call that can."""

    __slots__ = ()

    @property
    def described(self) -> str:
        """What an error calls it."""
        return f"a symbolic {type(self).__name__}"

    def __bool__(self) -> bool:
        refuse(
            f"a symbolic {type(self).__name__} has no truth value: `if`, `while`, `and`, `or`, `not`, `in` and chained "
            "comparisons need one",
            "select(condition, a, b) for `if`, `&` `|` `~` for `and` `or` `not`, all_of(...) and any_of(...) for many",
        )

    def __index__(self) -> int:
        refuse(
            f"a symbolic {type(self).__name__} cannot index, slice or count a native sequence",
            "lookup(sequence, index), or outcome[value] once a query has answered",
        )

    def __int__(self) -> int:
        refuse(f"a symbolic {type(self).__name__} is not a Python number", "outcome[value] once a query has answered")

    def __float__(self) -> float:
        self.__int__()
        raise AssertionError

    def __hash__(self) -> int:
        refuse(
            f"a symbolic {type(self).__name__} has no hash: its == builds a formula and does not compare",
            "keep symbolic values in lists, or key dictionaries by name",
        )

    def __iter__(self) -> Iterator[Any]:
        refuse(f"a symbolic {type(self).__name__} cannot be iterated over", "range over a Python integer")

    def __len__(self) -> int:
        refuse(f"a symbolic {type(self).__name__} has no length", "use a Python sequence of symbolic values")

    def __getitem__(self, place: object) -> NoReturn:
        raise SwizzleError(
            f"a symbolic {type(self).__name__} has no elements", expected="a list or tuple before the brackets",
            fix="v.extract(high, low) for bits of a BitVector; lookup(sequence, index) where the index is symbolic",
        )  # fmt: skip

    def __truediv__(self, other: object) -> NoReturn:
        refuse("`/` makes fractions, which only Reals are", "`//`, which rounds down as in Python, or x.to_real()")

    __rtruediv__ = __truediv__
