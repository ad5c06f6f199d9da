"""The table from an operator's order (bag, set, ...) to the class that counts its items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from symbolic.algebra.accumulation import Accumulation
from symbolic.algebra.bag import Bag
from symbolic.algebra.distinct import Distinct
from symbolic.algebra.linear import Linear
from symbolic.algebra.operator_laws import Order, law_of
from symbolic.algebra.parity import Parity
from symbolic.algebra.sequence import Ordered
from symbolic.algebra.terms import Terms

ORDERS: Final[Mapping[Order, type[Accumulation]]] = {
    "bag": Bag,
    "linear": Linear,
    "set": Distinct,
    "parity": Parity,
    "sequence": Ordered,
}


def accumulation(terms: Terms, op: str) -> Accumulation:
    """Return what knows the items of reductions by an operator."""
    return ORDERS[law_of(op).order](terms, op)
