"""Formulas as SMT-LIB text."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING, Final

from symbolic.solve.floor_division import manager

if TYPE_CHECKING:
    from pysmt.fnode import FNode


_OTHERWISE: Final = str.maketrans("|\\%", "___")
"""What no name may hold, not even between bars."""


def smtlib_text(formulas: Sequence[FNode], values: Sequence[FNode] = ()) -> str:
    """Return a script that asks whether formulas hold together, and for values of some symbols if they do."""
    from pysmt.smtlib.printers import SmtDagPrinter, quote

    m, lines = manager(), ["(set-logic ALL)"]
    symbols = {symbol for formula in formulas for symbol in m.env.fvo.get_free_variables(formula)}
    renamed = {
        symbol: m.FreshSymbol(symbol.symbol_type(), f"{name.translate(_OTHERWISE)}_%d")
        for symbol in symbols if not _OTHERWISE.keys().isdisjoint(map(ord, name := symbol.symbol_name()))
    }  # fmt: skip
    symbols = {renamed.get(symbol, symbol) for symbol in symbols}
    formulas = [formula.substitute(renamed) for formula in formulas] if renamed else formulas
    for symbol in sorted(symbols, key=lambda each: str(each.symbol_name())):
        kind = symbol.symbol_type()
        sort = kind.as_smtlib(funstyle=True)
        lines.append(f"(declare-fun {quote(symbol.symbol_name())} {sort})")
    for formula in formulas:
        text = StringIO()
        SmtDagPrinter(text).printer(formula)
        lines.append(f"(assert {text.getvalue()})")
    lines.append("(check-sat)")
    if values:
        lines.append(f"(get-value ({' '.join(quote(each.symbol_name()) for each in values)}))")
    return "\n".join(lines) + "\n"
