"""`?sw_xform(i, n, k)` as a map that is affine over bits, for n a power of two: out = M i ^ Q k ^ c.

Each bit of the output is an exclusive or of bits of i, of k and a constant, so M and Q are bit matrices. Butterflies
(`i ^ k`), reversed bits, Gray codes and every other permutation of bits are among them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from msgspec import Struct

from symbolic.errors import Place
from symbolic.ir.program import Binary, DType, Expr, Var
from symbolic.ir.python_text import python_text
from templates.chooser import Choice, Chooser, Functions
from templates.formula import binary, number
from templates.template import HolePoints, Point, Points, Template, TemplateFamily, ValuesThere, integers, known_values
from templates.xor_functions import AffineMaps

T = TypeVar("T")
_NOWHERE = Place("", 0, 0)
_MOST_BITS = 32  # of k, that are read back


class Matrix(Struct, frozen=True):
    """A bit matrix by its columns: column j is what bit j of the argument adds, by exclusive or."""

    columns: tuple[int, ...]

    def diagonals(self) -> dict[int, int]:
        """Return, by how far bits move up, the output bits that get theirs in this way."""
        found: dict[int, int] = {}
        for j, column in enumerate(self.columns):
            for r in range(column.bit_length()):
                if column >> r & 1:
                    found[r - j] = found.get(r - j, 0) | 1 << r
        return found

    def factor(self) -> int | None:
        """Return c where the argument is multiplied by c, without any carry; None where it is not."""
        if not any(self.columns):
            return None
        first = self.columns[0]
        moved = [first << j for j in range(len(self.columns))]
        carries = sum(moved).bit_count() != sum(part.bit_count() for part in moved)
        return None if carries or list(self.columns) != moved else first

    def terms(self, argument: Expr) -> list[Expr]:
        """Return what is to be combined by exclusive or: shifted and masked parts, or a term for each bit, if fewer."""
        factor = self.factor()
        if factor is not None:
            return [argument if factor == 1 else binary("*", number(factor, argument.place), argument)]
        diagonals, bits = self.diagonals(), [j for j, column in enumerate(self.columns) if column]
        if len(diagonals) <= len(bits):
            return [self._moved(argument, up, mask) for up, mask in sorted(diagonals.items(), key=lambda d: abs(d[0]))]
        return [self._bit(argument, j) for j in bits]

    def _moved(self, argument: Expr, up: int, mask: int) -> Expr:
        def of(value: int) -> Expr:
            return number(value, argument.place)

        all_bits = (1 << len(self.columns)) - 1
        reached = all_bits << up if up > 0 else all_bits >> -up
        moved = argument if up == 0 else binary("<<" if up > 0 else ">>", argument, of(abs(up)))
        return moved if mask == reached else binary("&", moved, of(mask))

    def _bit(self, argument: Expr, j: int) -> Expr:
        def of(value: int) -> Expr:
            return number(value, argument.place)

        bit = argument if j == 0 else binary(">>", argument, of(j))
        bit = bit if j == len(self.columns) - 1 else binary("&", bit, of(1))
        return bit if self.columns[j] == 1 else binary("*", bit, of(self.columns[j]))


class Xor(Template):
    """`?sw_xform(i, n, k)`; its components are the bits of c, M and Q, for each bit of the output all that it takes.

    `shift_bits` is how many bits k has where the hole is asked; None only reads constants, which say it.
    """

    tabled: ClassVar[bool] = True

    def __init__(self, n: int, shift_bits: int | None) -> None:
        self.n, self.bits, self.shift_bits = n, n.bit_length() - 1, shift_bits
        self.features = 1 + self.bits + (shift_bits or 0)
        self.components = ((0, 1),) * (self.bits * self.features)

    @property
    def identity(self) -> int:
        """The solution that leaves an index as it is."""
        return sum(1 << r * self.features + 1 + r for r in range(self.bits))

    def features_of(self, point: Point) -> int:
        """Return 1, the bits of i and the bits of k, as the bits of a number."""
        shift = point[1] if len(point) > 1 else 0
        return 1 | point[0] << 1 | shift << 1 + self.bits

    def choice_of(self, solution: int) -> Choice:
        return tuple(solution >> place & 1 for place in range(len(self.components)))

    def named(self, choice: Choice) -> tuple[int, Matrix, Matrix]:
        """Return c, M and Q."""
        features = len(choice) // self.bits
        columns = [sum(choice[r * features + feature] << r for r in range(self.bits)) for feature in range(features)]
        return columns[0], Matrix(tuple(columns[1 : 1 + self.bits])), Matrix(tuple(columns[1 + self.bits :]))

    def at(self, chooser: Chooser[T], point: Point) -> T:
        features = self.features_of(point)

        def bit(r: int, some: int) -> T:
            last = some.bit_length() - 1
            own = chooser.pick(r * self.features + last, lambda taken: taken << r)
            rest = some ^ 1 << last
            return chooser.both(lambda a, b: a ^ b, bits(r, rest), own) if rest else own

        def bits(r: int, some: int) -> T:
            return chooser.shared((r, some), lambda: bit(r, some))

        value = bits(0, features)
        for r in range(1, self.bits):
            value = chooser.both(lambda a, b: a | b, value, bits(r, features))
        return value

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        value, *matrices = self.named(choice)
        found: Any = value
        for matrix, argument in zip(matrices, arguments, strict=False):
            for j, column in enumerate(matrix.columns):
                found = found ^ ((argument >> j) & 1) * column
        return found

    def weight(self, choice: Choice) -> tuple[Any, ...]:
        """Order choices by how many terms their formulas have, then by how many bits."""
        c, *matrices = self.named(choice)
        argument = Var("", DType.INDEX, _NOWHERE)
        terms = [term for matrix in matrices for term in matrix.terms(argument)]
        pieces = sum(_operators(term) for term in terms) + len(terms) + (c > 0)
        return pieces, sum(choice), choice

    def simplest(self, points: Sequence[Point], values: Sequence[Any]) -> Choice | None:
        places = np.array([place for place, value in enumerate(values) if value is not None], np.intp)
        only = np.array([values[place] for place in places], np.int64)[:, None] == np.arange(self.n)
        found = AffineMaps(self, points).keep(places, only)
        return found.simplest() if found.count else None

    def recognised(self, points: Points, values: ValuesThere) -> Choice | None:
        i, k, wanted = known_values(points, values)
        few = [0, *(1 << j for j in range(self.bits)), *(1 << j for j in range(self.shift_bits or 0))]
        some = np.isin(i, few) & np.isin(k, few)
        found = self.simplest(list(zip(i[some].tolist(), k[some].tolist(), strict=True)), wanted[some].tolist())
        return found if found is not None and (self.apply(found, (i, k)) == wanted).all() else None

    def lightest(self) -> Iterator[Choice]:
        """Yield the identity, then i with one or two shifted and masked parts of k, those of few operators first; where
        no k is given, parts of i itself, as of an index that counts all cells."""
        count, own = self.shift_bits or self.bits, not self.shift_bits
        masks = [((2 << high) - 1) >> low << low for low in range(self.bits) for high in range(low, self.bits)]
        parts = dict[tuple[int, ...], None]()
        for up in range(-count + 1, self.bits):
            for mask in masks if up or not own else ():
                columns = tuple((1 << j + up) & mask if j + up >= 0 else 0 for j in range(count))
                if any(columns):
                    parts[columns] = None
        light = sorted(parts, key=lambda columns: self.weight(self._with(columns)))
        yield self._with((0,) * count)
        yield from map(self._with, light)
        for one, other in sorted(itertools.combinations(range(len(light)), 2), key=sum):
            yield self._with(tuple(a ^ b for a, b in zip(light[one], light[other], strict=True)))

    def _with(self, columns: Sequence[int]) -> Choice:
        """Return i, combined by exclusive or with what the bits of k add, or its own where there is no k."""
        every = [0, *(1 << j for j in range(self.bits)), *columns]
        if not self.shift_bits:
            every = [0, *(column ^ 1 << j for j, column in enumerate(columns))]
        return tuple(column >> r & 1 for r in range(self.bits) for column in every)

    def functions(self, points: Sequence[Point]) -> Functions | None:
        return AffineMaps(self, points)

    # -- how a choice reads ---------------------------------------------------------------------------------

    def constants(self, choice: Choice) -> Mapping[str, int]:
        """Return c, and what each bit of i and k adds by exclusive or."""
        c, m, q = self.named(choice)
        columns = {f"i_{j}": column for j, column in enumerate(m.columns)}
        return {"xor": 1, "c": c} | columns | {f"k_{j}": column for j, column in enumerate(q.columns)}

    def parse(self, constants: Mapping[str, object]) -> Choice:
        shift_bits = next(j for j in range(_MOST_BITS + 1) if f"k_{j}" not in constants or j == _MOST_BITS)
        names = ["c", *(f"i_{j}" for j in range(self.bits)), *(f"k_{j}" for j in range(shift_bits))]
        columns = integers(constants, names)
        for name, column in zip(names, columns, strict=True):
            if not 0 <= column < self.n:
                raise ValueError(f"{name} of the hole is {column}, and its size {self.n}")
        if self.shift_bits is not None:  # bits of k that are never 1 make no difference
            columns = (columns + [0] * self.shift_bits)[: self.features]
        return tuple(column >> r & 1 for r in range(self.bits) for column in columns)

    def expression(self, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
        c, *matrices = self.named(choice)
        return self._combined(matrices, arguments, c, place)

    def _combined(self, matrices: Sequence[Matrix], arguments: Sequence[Expr], c: int, place: Place) -> Expr:
        terms = [term for m, argument in zip(matrices, arguments, strict=False) for term in m.terms(argument)]
        if c or not terms:
            terms.append(number(c, place))
        found = terms[0]
        for term in terms[1:]:
            found = binary("^", found, term)
        return found

    def words(self, choice: Choice, names: Sequence[str]) -> str:
        """Say how the bits of i are moved, and with what the result is combined (see `templates/formula.py`)."""
        c, m, q = self.named(choice)
        spread = _spread(m)
        if spread is None and not any(m.columns):
            return f"broadcast element {self._text([q], names[1:], c)}"
        if spread is None:
            sources = [[f"i{j}" for j, column in enumerate(m.columns) if column >> r & 1] for r in range(self.bits)]
            spread = f"bits {', '.join(' ^ '.join(some) or '0' for some in sources)}"
        other = f"exclusive or with {self._text([q], names[1:], c)}" if c or any(q.columns) else ""
        return ", then ".join(part for part in (spread, other) if part) or "as it is"

    def _text(self, matrices: Sequence[Matrix], names: Sequence[str], c: int) -> str:
        bare = [name[1:-1] if name.startswith("(") else name for name in names]
        arguments = [Var(name, DType.INDEX, _NOWHERE) for name in bare]
        return python_text(self._combined(matrices, arguments, c, _NOWHERE))


def _spread(m: Matrix) -> str | None:
    """Return how the bits of i are moved, '' where they stay; None for a matrix without a name."""
    named = {
        tuple(1 << j for j in range(len(m.columns))): "",
        tuple(1 << j for j in reversed(range(len(m.columns)))): "reverse the bits",
        tuple(1 << j | 1 << j >> 1 for j in range(len(m.columns))): "Gray code",
        tuple((2 << j) - 1 for j in range(len(m.columns))): "inverse Gray code",
    }
    return next((text for columns, text in named.items() if columns == m.columns), None)


def _operators(term: Expr) -> int:
    return 1 + _operators(term.left) + _operators(term.right) if isinstance(term, Binary) else 0


def make(size: int, arity: int, points: tuple[Point, ...], space: str) -> Xor | None:
    """Return the template for a size that is a power of two, and a k that is never negative."""
    if size < 2 or size & (size - 1):
        return None
    shifts = HolePoints.of(points).shifts or [0]
    return None if shifts[0] < 0 else Xor(size, shifts[-1].bit_length())


def saved(size: int, arity: int, points: tuple[Point, ...]) -> Xor | None:
    """Return a template that reads constants from a file."""
    return None if make(size, arity, (), "4") is None else Xor(size, None)


FAMILY = TemplateFamily("xor", "xform", make, saved=saved)
