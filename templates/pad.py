"""`?sw_index(i, n)` as an address with free elements after each so many: `i + i // 32`, with n larger than any i.

A pitch of 33 is that, for a tile of rows of 32 whose linear address is the hole's argument. Stretches are as long as a
divisor of the number of cells, or a power of two, and up to 32 elements stay free after each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from symbolic.errors import Place
from symbolic.ir.program import Expr
from templates.chooser import Choice, Chooser
from templates.formula import binary, number, times, total
from templates.template import Point, Template, TemplateFamily, integers

T = TypeVar("T")
LARGEST = 32  # elements that stay free after each stretch


class PaddedAddress(Template):
    """`i + i // every * by`, for i up to `last`; its one component is the pairs (every, by) that keep it below n."""

    def __init__(self, n: int, last: int) -> None:
        self.n, self.last = n, last
        stretches = {p for p in range(1, last + 1) if (last + 1) % p == 0 or p & (p - 1) == 0}
        pairs = [(p, by) for p in sorted(stretches) for by in range(1, LARGEST + 1) if last + last // p * by < n]
        self.components = (((1, 0), *sorted(pairs, key=self._weight)),)

    def _weight(self, pair: tuple[int, int]) -> tuple[int, ...]:
        """Put 1, 2, 4, ... free elements before other numbers, of each of them what takes less memory before more."""
        every, by = pair
        return by & (by - 1), by, self.last // every * by, every

    def at(self, chooser: Chooser[T], point: Point) -> T:
        i = point[0]
        return chooser.pick(0, lambda pair: i + i // pair[0] * pair[1])

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        ((every, by),) = choice
        return arguments[0] + arguments[0] // every * by

    def weight(self, choice: Choice) -> tuple[Any, ...]:
        return self._weight(choice[0])

    def constants(self, choice: Choice) -> Mapping[str, int]:
        ((every, by),) = choice
        return {"pad": 1, "every": every, "by": by}

    def parse(self, constants: Mapping[str, object]) -> Choice:
        every, by = integers(constants, ("every", "by"))
        if every < 1 or by < 0:
            raise ValueError(f"every = {every}, by = {by} of the hole")
        return ((every, by),)

    def expression(self, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
        ((every, by),) = choice
        stretch = arguments[0] if every == 1 else binary("//", arguments[0], number(every, place))
        return total([arguments[0], times(by, stretch)], place)

    def words(self, choice: Choice, names: Sequence[str]) -> str:
        ((every, by),) = choice
        return f"leave {by} free after each {every}" if by else "in order"


def make(size: int, arity: int, points: tuple[Point, ...], space: str) -> PaddedAddress | None:
    """Return the template, for a hole with room for all cells; where nothing can stay free, that is the address as it
    is."""
    last = max((point[0] for point in points), default=0)
    return PaddedAddress(size, last) if last < size else None


FAMILY = TemplateFamily("pad", "xform", make, saved=lambda size, arity, points: PaddedAddress(size, 0))
