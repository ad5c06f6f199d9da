"""What stands in a cell: a short label of a term, and its tone; the whole term is shown on hover, or as a title.

A label is a few short lines: `x17` for x[17], `w2` over `·x17` for a product, `Σ3` for a sum of three.
"""

from __future__ import annotations

import re
from fractions import Fraction

from msgspec import Struct

from symbolic.algebra.operator_laws import LAWS, find_law
from symbolic.algebra.terms import UNWRITTEN, Term, Terms
from symbolic.ir.index import cell_name, unflattened
from symbolic.ir.program import DeclareArray, Program

SIGNS = {symbol: law.sign for symbol, law in LAWS.items() if law.sign}
_ELEMENT = re.compile(r"(\w+)\[(\d+)\]")
LONGEST_NAME = 4
LONGEST_LINE = 7
STACKED = 3
FIRST_HUE, ARC = 20.0, 300.0


class Tone(Struct, frozen=True):
    """A colour before its lightness is known: a hue in degrees, and whether it is a pale one."""

    hue: float
    pale: bool


class Labels:
    """Labels and tones of the terms of one kernel."""

    def __init__(self, program: Program, terms: Terms, seen: set[Term]) -> None:
        """`seen` are the terms that the picture shows: the elements among them share out the hues of their array."""
        self.terms = terms
        self.shapes = {parameter.name: parameter.shape for parameter in program.parameters}
        self.shapes |= {array.name: array.shape for array in program.body if isinstance(array, DeclareArray)}
        self.names = _short_names(list(self.shapes))
        self.main = {
            parameter.name for parameter in program.parameters if parameter.role != "const" and parameter.shape
        }
        self._lines: dict[Term, tuple[str, ...]] = {}
        self.ranks: dict[str, dict[int, float]] = {}
        for name in self.shapes:
            met = sorted({i for t in seen for array, i in self._elements(t) if array == name})
            self.ranks[name] = {index: rank / max(1, len(met)) for rank, index in enumerate(met)}

    def lines(self, term: Term) -> tuple[str, ...]:
        """Return the label, at most three lines of at most seven characters."""
        if term not in self._lines:
            self._lines[term] = self._spelled(term)
        return self._lines[term]

    def _spelled(self, term: Term) -> tuple[str, ...]:
        op, args = self.terms.nodes[term]
        match op:
            case "unwritten":
                return ("·",)
            case "const":
                return (_clipped(f"{float(args[0]):g}" if isinstance(args[0], (float, Fraction)) else str(args[0])),)
            case "atom":
                return self._element(*args)
        if (law := find_law(op)) is not None and law.commutes:
            args = tuple(sorted(args, key=self.terms.reading_order))
        parts = [self.lines(arg) for arg in args]
        if (op in SIGNS or op in ("/", "-")) and len(parts) <= STACKED and all(len(p) == 1 for p in parts):
            sign = "·" if op == "*" else op
            if op in ("*", "&") or len(parts) == 2:
                ordered = [p[0] for p in parts]
                return (ordered[0], *(_clipped(sign + text) for text in ordered[1:]))
        if op in SIGNS:
            return (f"{SIGNS[op]}{len(args)}",)
        return (_clipped(f"{op}{len(args)}" if find_law(op) is not None else f"{op}()"),)

    def place(self, array: str, index: int) -> str:
        """Return where in an array a cell is: `17`, `1,3`."""
        return ",".join(map(str, unflattened(self.shapes[array], index)))

    def full(self, term: Term) -> str:
        """Return the whole term, each element with an index for each dimension."""
        if term == UNWRITTEN:
            return "not written"
        return _ELEMENT.sub(self._unravelled, self.terms.show(term))

    def _unravelled(self, match: re.Match[str]) -> str:
        return cell_name(match[1], self.shapes[match[1]], int(match[2])) if match[1] in self.shapes else match[0]

    def tone(self, term: Term) -> Tone | None:
        """Return the tone of an element, or of what is made of one input element; None for anything else."""
        found = {element for element in self._elements(term) if element[0] in self.main}
        if not found:
            found = set(self._elements(term))
        if len(found) != 1:
            return None
        ((array, index),) = found
        return Tone(round(self.ranks.get(array, {}).get(index, 0.0) * ARC + FIRST_HUE, 1), array not in self.main)

    def _elements(self, term: Term) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        seen, waiting = {term}, [term]
        while waiting:
            op, args = self.terms.nodes[waiting.pop()]
            if op == "atom":
                found.append((args[0], args[1]))
            elif op in SIGNS and len(args) > STACKED:
                found += (("", n) for n in range(2))  # many: no tone of its own
            elif op not in ("const", "unwritten"):
                waiting += (new := [arg for arg in dict.fromkeys(args) if isinstance(arg, int) and arg not in seen])
                seen.update(new)
        return found

    def _element(self, array: str, index: int) -> tuple[str, ...]:
        name, place = self.names[array], self.place(array, index)
        whole = f"{name}{place}"
        return (whole,) if len(whole) <= LONGEST_LINE else (name, _clipped(place))


def _short_names(names: list[str]) -> dict[str, str]:
    """Return names of at most four letters, all different."""
    short: dict[str, str] = {}
    for name in names:
        wish, number = name[:LONGEST_NAME], 2
        while wish in short.values():
            wish, number = f"{name[: LONGEST_NAME - 1]}{number}", number + 1
        short[name] = wish
    return short


def _clipped(text: str) -> str:
    return text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1] + "…"
