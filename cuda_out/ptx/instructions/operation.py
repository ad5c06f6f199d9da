"""What an instruction of PTX is: one row, which says how it is spelled and what it means in each reading.

The readings of a row are descriptions of their own, which check each other: what it computes on numbers, what it is of
terms, and of index values (and so of numbers that grow in a loop). What has no term is an opaque operator of its
operands, which is sound: it is a function; what has no index rule is refused there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from msgspec import Struct

from cuda_out.ptx.instructions.indices import Indices, Value, not_of_blocks
from cuda_out.ptx.instructions.normal import Normal
from cuda_out.ptx.instructions.polynomials import Polynomial
from cuda_out.ptx.instructions.roundings import WIDER, FloatTypes, of_integers, of_type
from cuda_out.ptx.kinds import is_float, width
from symbolic.algebra.terms import Term

Forms: TypeAlias = tuple[tuple[str, str], ...]
"""Patterns of whole names, and the operands in short: `=t` is a register that is written, `t` one that is read, or a
literal; `t`, `s` and `w` are the type that the pattern names, a conversion's source, and the type of twice the bits."""
Compute: TypeAlias = Callable[..., Any]
"""A function on NumPy lanes, of the types of the operands."""
Maybe: TypeAlias = "list[Term | None]"
INTEGERS: Final = r"[us](?:16|32|64)"
FTZ: Final = r"(?:\.ftz(?!\.f64))?"


class InstructionRow(Struct, frozen=True):
    """An instruction, or some that differ by a modifier. What is in short in its `name`, as terms and messages have it,
    makes no difference otherwise. `numbers` is given NumPy lanes of the operands' types, `term` terms that are read in
    these types, `index` polynomials modulo their bits, and the operands themselves."""

    forms: Forms = ()
    numbers: Callable[..., Any] | None = None
    term: Callable[[Operation, Normal, list[Term]], Term] | None = None
    index: Callable[[Operation, Indices, list[Polynomial], Sequence[Value]], Value] | None = None
    name: str = "{op}.{t}"
    parts: Callable[[Operation, Normal, Maybe], Maybe] | None = None
    """The terms that a sum adds, and of a product the term that it is, which may be one; None stands for a summand
    that is another sum of the same ring, and for what is multiplied with one."""
    ring: str = "+"
    summands: tuple[int, ...] = ()
    """The operands of a sum that it adds as they are."""
    factors: int = 0
    """How many operands of a sum are multiplied before it adds them."""
    commutes: bool = False
    """Whether the first two operands may be exchanged."""
    chooses: bool = False
    """Whether it gives one of its operands, or that with another sign."""
    moves: bool = False
    """Whether it gives a register as it is, floats among them, whatever its type says."""
    rounds_once: bool = False
    """Whether it is the narrower type's own where it is computed on that type's numbers in a wider one, and rounded."""
    converts: tuple[str, str] | None = None
    """From which type to which float type it converts, '' for that of the operand and the result: as numbers they are
    the same, and a conversion to fewer bits rounds apart from that."""


class InstructionForm(Struct, frozen=True):
    """An instruction's name, read: its type, that of a conversion's source, the state space (None where it is generic
    or there is none), how many elements a vector access has, the operands, in one of several ways, and the modifiers
    that its pattern names."""

    kind: str
    source: str
    space: str | None
    count: int
    ways: tuple[tuple[str, ...], ...]
    op: tuple[str, ...] = ()
    said: Mapping[str, str] = {}

    def type_of(self, says: str) -> str:
        """Return the type that an operand in short has."""
        says = says.lstrip("=")
        wide = f"{self.kind[:1]}{2 * width(self.kind)}" if says == "w" else ""
        own = {"t": self.kind, "wider": self.kind, "s": self.source, "w": wide}
        return {**own, "condition": "pred", "literal": "u32"}.get(says, says)


class Operation:
    """A pure instruction, or a function that is called: `compute` maps values of the `sources` types to values of the
    `result` type. `operator` is the opaque operator that it is of terms, where its row has none."""

    def __init__(
        self,
        name: str,
        sources: tuple[str, ...],
        result: str,
        compute: Compute,
        operator: str | None = None,
        row: InstructionRow = InstructionRow(),  # noqa: B008
        form: InstructionForm | None = None,
    ) -> None:
        self.name, self.sources, self.result, self.compute = name, sources, result, compute
        self.row, self.form, self.operator = row, form, operator or f"{name}:{result}"
        self.size = width(result)
        self.ring = (row.ring, is_float(result), self.size) if row.summands else None
        self.narrows: str | None = None
        """The type that a conversion rounds to, None for what is no conversion that may round."""
        self.widens: str | None = None
        """The type that a conversion of floats reads, to which its number was rounded; None for any other."""
        if row.converts is not None:
            source, target = row.converts[0] or sources[0], row.converts[1] or result
            if source[0] in "us" or _bits(target) < _bits(source):
                self.narrows = target
            elif _bits(target) > _bits(source):
                self.widens = source

    def says(self, modifier: str) -> str:
        """Return one of its modifiers, '' where it is left out; `op` is the first part of the name."""
        assert self.form is not None
        return self.form.op[0] if modifier == "op" else self.form.said.get(modifier, "")

    def read_as(self, normal: Normal, row: Sequence[Value]) -> tuple[tuple[str, ...], str]:
        """Return the types in which some operands' terms are read, and that of the term that is given."""
        if self.row.moves and any(term and normal.is_real(term) for _, term in row[:2]):
            kind = f"f{self.size}"
            return (kind, kind, *self.sources[2:]), kind
        return self.sources, self.result

    def term(self, normal: Normal, v: list[Term]) -> Term:
        """Return what it gives for terms, each read in its operand's type."""
        return self.row.term(self, normal, v) if self.row.term else self.opaque(normal, v)

    def opaque(self, normal: Normal, v: list[Term]) -> Term:
        return normal.terms.apply(self.operator, tuple(v))

    def index(self, table: Indices, v: list[Polynomial], row: Sequence[Value]) -> Value:
        """Return what it gives for index values; raise NotInterpreted."""
        if self.row.index is None:
            raise not_of_blocks(self.name)
        return self.row.index(self, table, v, row)

    def held(self, operands: Sequence[FloatTypes]) -> FloatTypes:
        """Return the float types that hold what it gives, by those of its operands."""
        own = of_type(self.result)
        if self.row.chooses:
            return own.union(frozenset.intersection(*operands[:2]))
        if self.row.converts is None:
            return own
        source, target = self.row.converts
        if source or target:
            return WIDER[target] if target else own | WIDER[source]
        if not is_float(self.sources[0]):
            return own | of_integers(width(self.sources[0]))
        return own | operands[0] if self.result in operands[0] else own


def _bits(kind: str) -> int:
    return int(kind.lstrip("bfsu"))
