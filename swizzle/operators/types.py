"""In which type printed texts compute an expression, which types its words have as data, and what infinities are.

An infinity of whole numbers is the least or the greatest number of the type, which no other word is: that is part of
what is proved of ranges. Sums with it are said to be it; everything else is as it is with any number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from swizzle.operators.carrier import Carrier
from swizzle.operators.loop import BOOL
from symbolic.bottom_up import bottom_up
from symbolic.elements import limits
from symbolic.expressions.expression import Expression, terms
from symbolic.ir.program import DType


def computed_in(types: Mapping[str, DType], *some: Expression) -> DType:
    """Return the type that numbers are computed in: the widest of their names, floating-point before all."""
    if some[0].truth:
        return BOOL
    return widest(types[name] for each in some for name in each.names) or DType.I32


def widest(types: Iterable[DType]) -> DType | None:
    """Return the type of numbers of several types: a floating-point one before all, then the one of most bits."""
    found = [dtype for dtype in types if dtype is not BOOL]
    return max(found, key=lambda dtype: (dtype.is_float, dtype.value[1:]), default=None)


def result_types(carrier: Carrier) -> list[DType]:
    """Return the type of each result: wide enough for the loop's own, of which less may be left."""
    loop = carrier.loop
    own = loop.result if len(loop.result) == len(carrier.result) else carrier.result
    found = []
    for each, said in zip(carrier.result, own, strict=True):
        kinds = [carrier.words[name] for name in each.names if name in carrier.words]
        kinds += [loop.state[name] for name in said.names if name in loop.state]
        found.append(BOOL if each.truth else widest(kinds) or widest(loop.state.values()) or DType.I32)
    return found


def as_data(dtype: DType) -> DType:
    """Return the type of data that a word is in a kernel: conditions, which would steer there, are numbers."""
    return DType.I32 if dtype is BOOL else dtype


def stand_in(sign: float, dtype: DType) -> int:
    """Return the number of a type of whole numbers that stands for an infinity.

    >>> stand_in(-1, DType.I32)
    -2147483648
    """
    return limits(dtype)[sign > 0]


def whole_infinities(carrier: Carrier, sides: str = "") -> dict[str, int]:
    """Return the names of whole numbers that may be an infinity, each with its sign: of words, or of those of parts.

    Those of no element are among them, where the identity has an infinity.
    """
    empty = {word: 1 if each.value > 0 else -1 for word, each in (carrier.identity or {}).items() if each.infinite}
    whole = {word: sign for word, sign in {**empty, **carrier.infinite}.items() if not carrier.words[word].is_float}
    return {f"{side}.{word}": sign for side in sides for word, sign in whole.items()} if sides else whole


def infinity_signs(
    node: Expression, infinite: Mapping[str, int], known: dict[Expression, set[int]] | None = None
) -> set[int]:
    """Return the signs of the infinities that a number may be, or be made of; `infinite` are names that may be one."""

    def numbers(node: Expression) -> list[Expression]:
        return [each for each in node.arguments if not each.truth]

    def signs_of(node: Expression, signs: list[set[int]]) -> set[int]:
        if node.infinite:
            return {1 if node.value > 0 else -1}
        if node.operator == "name":
            return {infinite[node.value]} if node.value in infinite else set()
        found = set[int]().union(*signs)
        if node.operator in ("max", "min"):  # a maximum is -inf only where all of it may be
            beaten = -1 if node.operator == "max" else 1
            found -= set() if all(beaten in each for each in signs) else {beaten}
        return found

    return bottom_up(node, numbers, signs_of, known)


def infinite_summands(
    node: Expression, infinite: Mapping[str, int], known: dict[Expression, set[int]] | None = None
) -> list[tuple[Expression, int]]:
    """Return what of a sum may be an infinity, each with its sign; `infinite` are the names that may be one.

    `known` has the signs that are known already, given the same names.
    """
    return [(what, sign) for _, what in terms(node) for sign in sorted(infinity_signs(what, infinite, known))]


def sums_infinities(node: Expression, infinite: Mapping[str, int]) -> bool:
    """Say whether infinities are in sums only, each once and all of one sign: constants, and those of these names."""
    if node.operator in ("max", "min", "select", "and", "or", "not", "<", "<=", "==", "name", "constant"):
        return all(sums_infinities(each, infinite) for each in node.arguments)
    if node.operator != "+":
        return not infinity_signs(node, infinite)
    if len({sign for _, sign in infinite_summands(node, infinite)}) > 1:
        return False
    return all(
        not infinity_signs(what, infinite) or (number == 1 and sums_infinities(what, infinite))
        for number, what in terms(node)
    )
