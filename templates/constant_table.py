"""`?sw_index(i, n, k)` as a table in constant memory, where one in numbers of the text (`table.py`) would be too large.

    static __constant__ const unsigned char table_1[64] = {3, 0, 61, ...};    // 64 entries of 6 bits
    ... table_1[lane + 32 * k] ...

What a table says, and by which arguments it is looked up, is as there; one of up to 64 bytes is packed as there. No
search goes through such tables: one is taken whose values the outputs tell, or a colouring of conflicts. All lanes that
ask for one entry get it at once; for different entries the hardware takes a turn each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from symbolic.errors import Place
from symbolic.ir.index import looked_up
from symbolic.ir.program import Expr, Lookup
from templates.chooser import Choice
from templates.table import MOST_WORDS, EitherTable, PackedTable, ReadTable, TableTemplate, forms_of, packed_of
from templates.template import Point, TemplateFamily

NAME: Final = "constant_table"
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
        return {NAME: 1} | {name: value for name, value in super().constants().items() if name != "table"}

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


def make(size: int, arity: int, points: tuple[Point, ...], space: str) -> EitherTable | None:
    """Return the template; None where the smallest table is too large, or the hole is asked at one point only."""
    fitting = [form for form in forms_of(size, arity, points) if form.entries <= MOST_ENTRIES]
    return EitherTable([ConstantTableTemplate(form, points) for form in fitting]) if fitting else None


FAMILY = TemplateFamily(NAME, "xform", make, saved=lambda size, arity, points: ReadConstantTable(size, arity))
