"""The engines by name, and which of them are installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any, Final, Literal, TypeAlias

from symbolic.errors import SwizzleError

SatName: TypeAlias = Literal["cadical", "glucose"]
EngineName: TypeAlias = Literal["z3", "cvc5", "cadical", "glucose"]
SolverName: TypeAlias = Literal["z3", "cvc5", "cadical", "glucose", "portfolio"]
_MODULE: dict[EngineName, str] = {"z3": "z3", "cvc5": "cvc5", "cadical": "pysat", "glucose": "pysat"}
_PACKAGE: dict[EngineName, str] = {
    "z3": "z3-solver",
    "cvc5": "cvc5",
    "cadical": "python-sat",
    "glucose": "python-sat",
}

OWN_CONTEXTS: Final[ContextVar[list[Any] | None]] = ContextVar("OWN_CONTEXTS", default=None)
"""The contexts of z3 that questions asked here share with each other; None where all questions share them."""


@contextmanager
def fresh_contexts() -> Iterator[None]:
    """Keep the questions that are asked here to contexts of their own.

    Their answers then depend on each other, and not on what was asked before.
    """
    token = OWN_CONTEXTS.set([])
    try:
        yield
    finally:
        OWN_CONTEXTS.reset(token)


def quickest_boolean() -> EngineName:
    """Return the engine that is quickest on Boolean problems."""
    return "glucose"


def members(name: SolverName, boolean: bool) -> tuple[EngineName, ...]:
    """Return the engines that a name stands for; raises `SwizzleError` where it is not installed."""
    if name != "portfolio":
        require_installed(name)
        return (name,)
    wanted: tuple[EngineName, ...] = ("z3", "cvc5", "cadical", "glucose") if boolean else ("z3", "cvc5")
    found = tuple(member for member in wanted if find_spec(_MODULE[member]))
    if not found:
        require_installed("z3")
    return found


def require_installed(name: EngineName) -> None:
    """Raise `SwizzleError` where an engine's package is missing."""
    if not find_spec(_MODULE[name]):
        raise SwizzleError(
            f"the solver {name} is not installed", expected=f"the Python package {_PACKAGE[name]}",
            fix=f"pip install {_PACKAGE[name]}",
        )  # fmt: skip


class UndecidedQuantifier(SwizzleError):
    """No solver could say whether a quantified formula holds when all other symbols have their values."""
