"""A solver-aided language in Python: symbolic values, lifted functions, and queries (docs/core.md).

    from symbolic import bitvector, lifted, obligations, verify

Importing this loads nothing; each name brings what it needs when it is asked for.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from symbolic.core.inspection import is_term, symbolics, term, union_contents
    from symbolic.core.obligations import assert_, assume, obligations
    from symbolic.core.outcome import Outcome
    from symbolic.core.query import optimize, soft, solve, synthesize, verify
    from symbolic.core.session import Session, unsat_core
    from symbolic.core.values import (
        all_of,
        any_of,
        bitvector,
        boolean,
        boolean_hole,
        choose,
        distinct,
        exists,
        forall,
        function,
        hole,
        implies,
        integer,
        lookup,
        real,
        select,
    )
    from symbolic.errors import SwizzleError
    from symbolic.lifting.functions import cost, grammar, lifted
    from symbolic.lifting.profiles import profiled
    from symbolic.solve.words import bitwidth

_HOME: Final = {
    "core.inspection": ("is_term", "symbolics", "term", "union_contents"),
    "core.obligations": ("assert_", "assume", "obligations"),
    "core.outcome": ("Outcome",),
    "core.query": ("optimize", "soft", "solve", "synthesize", "verify"),
    "core.session": ("Session", "unsat_core"),
    "core.values": (
        *("all_of", "any_of", "bitvector", "boolean", "boolean_hole", "choose", "distinct", "exists"),
        *("forall", "function", "hole", "implies", "integer", "lookup", "real", "select"),
    ),
    "errors": ("SwizzleError",),
    "lifting.profiles": ("profiled",),
    "solve.words": ("bitwidth",),
    "lifting.functions": ("cost", "grammar", "lifted"),
}
_MODULES: Final = {name: f"{__name__}.{module}" for module, names in _HOME.items() for name in names}

__all__ = [
    "Outcome",
    "Session",
    "SwizzleError",
    "all_of",
    "any_of",
    "assert_",
    "assume",
    "bitvector",
    "bitwidth",
    "boolean",
    "boolean_hole",
    "choose",
    "cost",
    "distinct",
    "exists",
    "forall",
    "function",
    "grammar",
    "hole",
    "implies",
    "integer",
    "is_term",
    "lifted",
    "lookup",
    "obligations",
    "optimize",
    "profiled",
    "real",
    "select",
    "soft",
    "solve",
    "symbolics",
    "synthesize",
    "term",
    "union_contents",
    "unsat_core",
    "verify",
]


class _Face(ModuleType):
    """A package whose names stay what they are when a room of the same name is imported: `solve` is the query."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _MODULES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
