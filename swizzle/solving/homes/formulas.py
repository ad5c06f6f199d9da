"""Index expressions of numbers: a number for each lane, or for each thread of several warps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from symbolic.errors import Place
from symbolic.ir.program import LANES, Compare, Const, Coordinate, DType, Expr, Select, Var
from templates.formula import applied, binary, number, total
from templates.shortest import Shortest
from templates.xor import Matrix

_NOWHERE = Place("", 0, 0)
_ARGUMENT = Var("0", DType.INDEX, _NOWHERE)


class Thread:
    """The number of a thread in its warp, or in a block of several warps; what depends on it is written of it."""

    def __init__(self, warps: int, place: Place) -> None:
        self.place, self.count = place, warps * LANES
        self.lane: Expr = Coordinate("laneid", "x", place)
        self.warp: Expr = Coordinate("warpid", "x", place)
        own = binary("+", binary("*", self.warp, number(LANES, place)), self.lane)
        self.thread: Expr = self.lane if warps == 1 else own

    def index(self, values: Sequence[int]) -> Expr:
        """Return an expression with these values, one for each thread.

        It is a formula over the number's bits, a short one in arithmetic, or else a table, bit by bit.
        """
        found = self._bits(values) or self._arithmetic(values)
        if found is not None:
            return applied(found, [self.thread], self.place)
        planes = []
        for bit in range(max(values).bit_length()):
            plane = self._plane([value >> bit & 1 for value in values])
            planes.append(plane if not bit else binary("<<", plane, number(bit, self.place)))
        return total(planes, self.place)

    def where(self, chosen: Sequence[bool]) -> Expr:
        """Return a condition that holds for the threads that are chosen, not for all and not for none."""
        values = [int(each) for each in chosen]
        wanted = 1
        if values[0]:
            values, wanted = [1 - each for each in values], 0
        found = self._bits(values)
        index = self._plane(values) if found is None else applied(found, [self.thread], self.place)
        return Compare("!=" if wanted else "==", index, number(0, self.place), self.place)

    def _bits(self, values: Sequence[int]) -> Expr | None:
        """Return values that are affine over the bits of the thread's number, None where they are not."""
        if self.count & self.count - 1:
            return None
        first = values[0]
        columns = tuple(values[1 << j] ^ first for j in range(self.count.bit_length() - 1))
        guessed = [first]
        for column in columns:
            guessed += [value ^ column for value in guessed]
        if guessed != list(values):
            return None
        if not any(columns):
            return number(first, _NOWHERE)
        parts = Matrix(columns).terms(_ARGUMENT)
        found = reduce(lambda a, b: binary("^", a, b), parts)
        return binary("^", found, number(first, _NOWHERE)) if first else found

    def _arithmetic(self, values: Sequence[int]) -> Expr | None:
        points = [(n,) for n in range(self.count)]
        return Shortest(max(values) + 1, ["t"], points).found(values)

    def _plane(self, bits: Sequence[int]) -> Expr:
        """Return bits, packed in a word for each warp."""
        words = [bits[n : n + LANES] for n in range(0, len(bits), LANES)]
        masks = [sum(bit << lane for lane, bit in enumerate(word)) for word in words]
        packed: Expr = self._word(masks[-1])
        for warp in reversed(range(len(masks) - 1)):
            if masks[warp] != masks[warp + 1] or not isinstance(packed, Const):
                here = Compare("<=", self.warp, number(warp, self.place), self.place)
                packed = Select(here, self._word(masks[warp]), packed, DType.INDEX, self.place)
        return binary("&", binary(">>", packed, self.lane), number(1, self.place))

    def _word(self, mask: int) -> Const:
        return number(mask - (mask >> LANES - 1 << LANES), self.place)
