"""`?sw_index(i, n, k)` as a table, for what no formula gives: entries packed into constants, shifted and masked.

A table gives the hole's value itself, by i, by k or by both, or what is added to i or combined with it by exclusive or,
by k. It has up to `MOST_WORDS` words, which are numbers in the kernel's text: `(1985229328 >> (lane % 8 * 4)) & 15` has
eight entries, and of several words one is chosen by comparing. Values that the kernel does not ask for are 0.

It is in the last space only, and only where the hole names it: a formula that is right is found before. Where a table
in numbers of the text would be too large, there is one in constant memory:

    static __constant__ const unsigned char table_1[64] = {3, 0, 61, ...};    // 64 entries of 6 bits
    ... table_1[lane + 32 * k] ...

What it says, and by which arguments it is looked up, is the same; one of up to 64 bytes is packed. No search goes
through such tables: one is taken whose values the outputs tell, or a colouring of conflicts. All lanes that ask for one
entry get it at once; for different entries the hardware takes a turn each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from symbolic.errors import Place
from symbolic.ir.index import looked_up
from symbolic.ir.program import Compare, DType, Expr, Lookup, Select
from templates.chooser import Choice, Chooser
from templates.either import Either
from templates.formula import binary, number, remainder, times, total
from templates.template import HolePoints, Point, Points, Template, TemplateFamily, ValuesThere, integers

T = TypeVar("T")
NAME: Final = "table"
WORD: Final = 32  # bits
_HALF: Final = 1 << WORD - 1
MOST_WORDS: Final = 16  # and 15 comparisons
MOST_BYTES: Final = 4 * MOST_WORDS
MOST_CHOICES: Final = 8192  # values of all entries together: with twice as many, a solver comes to no end
TableEntry: TypeAlias = Literal["value", "plus", "xor"]
_WAYS: Final[tuple[TableEntry, ...]] = ("value", "plus", "xor")


class TableAxis(Struct, frozen=True):
    """An argument by which a table is looked up: which, its least value, and how many values from there on."""

    argument: int
    low: int
    length: int


class TableForm(Struct, frozen=True):
    """What a table of values below n says, and by which arguments it is looked up: the last one varies fastest."""

    n: int
    way: TableEntry
    axes: tuple[TableAxis, ...]

    @property
    def bits(self) -> int:
        """How many bits an entry has."""
        return (self.n - 1).bit_length()

    @property
    def in_word(self) -> int:
        """How many entries a word has: a power of two, so that no division is needed."""
        return 1 << (WORD // self.bits).bit_length() - 1

    @property
    def entries(self) -> int:
        """How many entries there are."""
        return int(np.prod([axis.length for axis in self.axes]))

    @property
    def words(self) -> int:
        """How many words there are."""
        return -(-self.entries // self.in_word)

    @property
    def fits(self) -> bool:
        """Whether such tables are looked for."""
        return self.words <= MOST_WORDS and self.entries * self.n <= MOST_CHOICES

    def place(self, arguments: Sequence[Any]) -> Any:
        """Return where in the table an entry is."""
        found: Any = 0
        for axis in self.axes:
            found = found * axis.length + (arguments[axis.argument] - axis.low)
        return found

    def value(self, entry: Any, i: Any) -> Any:
        """Return the hole's value, given its entry."""
        match self.way:
            case "value":
                return entry
            case "plus":
                return (i + entry) % self.n
            case "xor":
                return i ^ entry

    def entry(self, value: int, i: int) -> int:
        """Return the entry with which the hole has a value."""
        match self.way:
            case "value":
                return value
            case "plus":
                return (value - i) % self.n
            case "xor":
                return value ^ i

    def packed(self, entries: Mapping[int, int]) -> tuple[int, ...]:
        """Return the words of a table, given its entries by their places."""
        words = [0] * self.words
        for place, entry in entries.items():
            words[place // self.in_word] |= entry << place % self.in_word * self.bits
        return tuple(word - (word >> WORD - 1 << WORD) for word in words)  # ints; what is shifted in is masked out


class PackedTable(Struct, frozen=True):
    """A table: its form and its words."""

    form: TableForm
    words: tuple[int, ...]

    def entry(self, place: Any) -> Any:
        """Return the entries at places; beyond the table, what the formula gives there."""
        form = self.form
        word = np.array(self.words, np.int64)[np.clip(place // form.in_word, 0, form.words - 1)]
        return (word >> place % form.in_word * form.bits) & ((1 << form.bits) - 1)

    def apply(self, arguments: Sequence[Any]) -> Any:
        """Return the hole's values on lanes of its arguments."""
        arguments = [np.asarray(argument, np.int64) for argument in arguments]
        return self.form.value(self.entry(self.form.place(arguments)), arguments[0])

    def expression(self, arguments: Sequence[Expr], at: Place) -> Expr:
        """Return the same as an index expression."""
        form = self.form
        entry = self.entry_expression(self.place_expression(arguments, at), at)
        match form.way:
            case "value":
                return entry
            case "plus":
                return remainder(total([arguments[0], entry], at), form.n)
            case "xor":
                return binary("^", arguments[0], entry)

    def place_expression(self, arguments: Sequence[Expr], at: Place) -> Expr:
        """Return where in the table an entry is."""
        place: Expr = number(0, at)
        for axis in self.form.axes:
            place = total([times(axis.length, place), arguments[axis.argument]], at, -axis.low)
        return place

    def entry_expression(self, place: Expr, at: Place) -> Expr:
        """Return the entry at a place."""
        form = self.form
        slot = binary("*", binary("%", place, number(form.in_word, at)), number(form.bits, at))
        runs = [(w, word) for w, word in enumerate(self.words) if not w or word != self.words[w - 1]]
        word = self._word(place, runs, at)
        return binary("&", binary(">>", word, slot), number((1 << form.bits) - 1, at))

    def _word(self, place: Expr, runs: Sequence[tuple[int, int]], at: Place) -> Expr:
        """Return the word of a place, of runs of equal words: half of them are compared away at a time."""
        if len(runs) == 1:
            return number(runs[0][1], at)
        half = (len(runs) + 1) // 2
        before = Compare("<", place, number(runs[half][0] * self.form.in_word, at), at)
        parts = self._word(place, runs[:half], at), self._word(place, runs[half:], at)
        return Select(before, *parts, DType.INDEX, at)

    def constants(self) -> Mapping[str, int]:
        """Return the table as named numbers."""
        found = {"table": 1, "way": _WAYS.index(self.form.way)}
        for axis in self.form.axes:
            found |= {f"low_{axis.argument}": axis.low, f"length_{axis.argument}": axis.length}
        return found | {f"word_{place}": word for place, word in enumerate(self.words)}

    def text(self, names: Sequence[str]) -> str:
        """Say what the function does, in words."""
        by = " and ".join(names[axis.argument] for axis in self.form.axes)
        what = {"value": "look up", "plus": "rotate by an entry of", "xor": "exclusive or with an entry of"}
        return f"{what[self.form.way]} a table of {4 * len(self.words)} bytes, by {by}"


def packed_of(n: int, arity: int, constants: Mapping[str, object], most: int = MOST_WORDS) -> PackedTable:
    """Return the table of at most so many words that constants say; ValueError where they say none."""
    (way,) = integers(constants, ["way"])
    axes = []
    for argument in range(arity):
        if f"length_{argument}" in constants:
            low, length = integers(constants, [f"low_{argument}", f"length_{argument}"])
            axes.append(TableAxis(argument, low, length))
    if not 0 <= way < len(_WAYS) or not axes or min(axis.length for axis in axes) < 1 or n < 2:
        raise ValueError(f"the table of the hole is {dict(constants)}")
    form = TableForm(n, _WAYS[way], tuple(axes))
    if form.words > most or (form.way == "xor" and n & (n - 1)):
        raise ValueError(f"the table of the hole has {form.words} words, and its size is {n}")
    words = integers(constants, [f"word_{place}" for place in range(form.words)])
    packed = PackedTable(form, tuple(words))
    if (
        not -_HALF <= min(words) <= max(words) < _HALF
        or (packed.entry(np.arange(form.words * form.in_word)) >= n).any()
    ):
        raise ValueError(f"the words of the hole's table are {words}, and its size is {n}")
    return packed


class TableTemplate(Template):
    """All tables of a form, of so many words at `most`.

    Its components are the entries at the places that are asked for, each anything below n.
    """

    most: ClassVar[int] = MOST_WORDS

    def __init__(self, form: TableForm, points: Sequence[Point]) -> None:
        self.form, self.points = form, points
        self.places = {place: number for number, place in enumerate(sorted({form.place(point) for point in points}))}
        self.components = (tuple(range(form.n)),) * len(self.places)

    def packed(self, choice: Choice) -> PackedTable:
        return PackedTable(self.form, self.form.packed(dict(zip(self.places, choice, strict=True))))

    def at(self, chooser: Chooser[T], point: Point) -> T:
        return chooser.pick(self.places[self.form.place(point)], lambda entry: self.form.value(entry, point[0]))

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        return self.packed(choice).apply(arguments)

    def expression(self, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
        return self.packed(choice).expression(arguments, place)

    def constants(self, choice: Choice) -> Mapping[str, int]:
        return self.packed(choice).constants()

    def parse(self, constants: Mapping[str, object]) -> Choice:
        packed = packed_of(self.form.n, len(self.points[0]), constants, self.most)
        if packed.form != self.form:
            raise ValueError(f"the table of the hole is of another form: {dict(constants)}")
        return tuple(int(packed.entry(place)) for place in self.places)

    def words(self, choice: Choice, names: Sequence[str]) -> str:
        return self.packed(choice).text(names)

    def simplest(self, points: Sequence[Point], values: Sequence[Any]) -> Choice | None:
        """Return the table that has these values, which is the only one but for entries that are free."""
        entries: dict[int, int] = {}
        for point, value in zip(points, values, strict=True):
            if value is not None:
                entry = self.form.entry(int(value), point[0])
                if entries.setdefault(self.form.place(point), entry) != entry:
                    return None
        return tuple(entries.get(place, 0) for place in self.places)

    def recognised(self, points: Points, values: ValuesThere) -> Choice | None:
        if isinstance(values, np.ndarray):
            values = [value if value >= 0 else None for value in values.tolist()]
        return self.simplest([tuple(map(int, point)) for point in points], values)


class EitherTable(Either):
    """A table of one form or another, of few words before many."""

    def __init__(self, tables: Sequence[TableTemplate]) -> None:
        super().__init__([""] * len(tables), tables)
        self.forms = [table.form for table in tables]

    def constants(self, choice: Choice) -> Mapping[str, int]:
        part, own = self.of(choice)
        return part.constants(own)

    def parse(self, constants: Mapping[str, object]) -> Choice:
        for which, part in enumerate(self.parts):
            try:
                return self.whole(which, part.parse(constants))
            except ValueError:
                continue
        raise ValueError(f"the table of the hole is {dict(constants)}")


class ReadTable(Template):
    """A table that is read from a file: its choice is the table itself."""

    components = ()

    def __init__(self, n: int, arity: int) -> None:
        self.n, self.arity = n, arity

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        return choice[0].apply(arguments)

    def expression(self, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
        found: Expr = choice[0].expression(arguments, place)
        return found

    def constants(self, choice: Choice) -> Mapping[str, int]:
        found: Mapping[str, int] = choice[0].constants()
        return found

    def parse(self, constants: Mapping[str, object]) -> Choice:
        return (packed_of(self.n, self.arity, constants),)

    def words(self, choice: Choice, names: Sequence[str]) -> str:
        found: str = choice[0].text(names)
        return found


def make(size: int, arity: int, points: tuple[Point, ...], space: str) -> EitherTable | None:
    """Return the template; None where the smallest table is too large, or the hole is asked at one point only."""
    fitting = [form for form in forms_of(size, arity, points) if form.fits]
    return EitherTable([TableTemplate(form, points) for form in fitting]) if fitting else None


def too_large(size: int, arity: int, points: tuple[Point, ...]) -> int:
    """Return the bytes of the smallest table of a hole that is in no space as that is too large; 0 where one is."""
    forms = forms_of(size, arity, points)
    return 4 * forms[0].words if forms and forms[0].words > MOST_WORDS else 0


def too_many(size: int, arity: int, points: tuple[Point, ...]) -> int:
    """Return among how many values the entries of a table would be chosen, all together, where that is why a hole has
    none though one is small enough; 0 else."""
    small = [form for form in forms_of(size, arity, points) if form.words <= MOST_WORDS]
    return 0 if any(form.fits for form in small) else min((form.entries * form.n for form in small), default=0)


def forms_of(size: int, arity: int, points: tuple[Point, ...]) -> list[TableForm]:
    """Return what a table may say, the smallest first."""
    if size < 2 or not points or not arity:
        return []
    columns: list[npt.NDArray[np.int64]] = list(HolePoints.of(points).table.T)
    axes = [TableAxis(number, int(c.min()), int(c.max() - c.min()) + 1) for number, c in enumerate(columns)]
    several = [axis for axis in axes if axis.length > 1]
    forms = [TableForm(size, "value", (axis,)) for axis in several]
    forms += [TableForm(size, "plus", (axis,)) for axis in several if axis.argument]
    forms += [TableForm(size, "xor", (axis,)) for axis in several if axis.argument and not size & (size - 1)]
    forms += [TableForm(size, "value", tuple(several))] if len(several) > 1 else []
    return sorted(forms, key=lambda form: form.words)


FAMILY = TemplateFamily(NAME, "xform", make, saved=lambda size, arity, points: ReadTable(size, arity))


CONSTANT_NAME: Final = "constant_table"
MOST_ENTRIES: Final = 1 << 14  # of two bytes at most: half of constant memory


class ConstantTable(PackedTable, frozen=True):
    """A table of any size; its words are as of a packed one."""

    @property
    def is_packed(self) -> bool:
        """Whether it is small enough for numbers of the text."""
        return self.form.words <= MOST_WORDS

    @property
    def entries(self) -> tuple[int, ...]:
        """All entries, in their order."""
        found = PackedTable(self.form, self.words).entry(np.arange(self.form.entries))
        return tuple(found.tolist())

    def entry(self, place: Any) -> Any:
        """Return the entries at places; beyond the table, what the formula gives there."""
        return super().entry(place) if self.is_packed else looked_up(self.entries)[1](place)

    def entry_expression(self, place: Expr, at: Place) -> Expr:
        """Return the entry at a place."""
        return super().entry_expression(place, at) if self.is_packed else Lookup(self.entries, place, at)

    def constants(self) -> Mapping[str, int]:
        """Return the table as named numbers."""
        return {CONSTANT_NAME: 1} | {name: value for name, value in super().constants().items() if name != "table"}

    def text(self, names: Sequence[str]) -> str:
        """Say what the function does, in words."""
        return super().text(names) if self.is_packed else f"{super().text(names)}, in constant memory"


def table_of(n: int, arity: int, constants: Mapping[str, object]) -> ConstantTable:
    """Return the table that constants say; ValueError where they say none."""
    packed = packed_of(n, arity, constants, MOST_ENTRIES)
    return ConstantTable(packed.form, packed.words)


class ConstantTableTemplate(TableTemplate):
    """All tables of a form, of any size."""

    most = MOST_ENTRIES

    def packed(self, choice: Choice) -> ConstantTable:
        packed = super().packed(choice)
        return ConstantTable(packed.form, packed.words)


class ReadConstantTable(ReadTable):
    """A table that is read from a file."""

    def parse(self, constants: Mapping[str, object]) -> Choice:
        return (table_of(self.n, self.arity, constants),)


def make_constant(size: int, arity: int, points: tuple[Point, ...], space: str) -> EitherTable | None:
    """Return the template; None where the smallest table is too large, or the hole is asked at one point only."""
    fitting = [form for form in forms_of(size, arity, points) if form.entries <= MOST_ENTRIES]
    return EitherTable([ConstantTableTemplate(form, points) for form in fitting]) if fitting else None


CONSTANT = TemplateFamily(
    CONSTANT_NAME, "xform", make_constant, saved=lambda size, arity, points: ReadConstantTable(size, arity)
)
