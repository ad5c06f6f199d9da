"""Integers as words: within `with bitwidth(8)`, the integers that a query may choose are those of 8 bits.

All that is computed from them has as many bits as it needs, by the bounds of each operation, so that nothing wraps
around and an answer is one in integers, too. A query without integer constants of unknown value is answered exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NoReturn

from symbolic.errors import SwizzleError, shown
from symbolic.solve.answer import Model
from symbolic.solve.floor_division import bit_vector_type, manager
from symbolic.solve.tables import Value

if TYPE_CHECKING:
    from pysmt.fnode import FNode


_width: ContextVar[int | None] = ContextVar("bitwidth", default=None)
WIDEST: Final = 4096
"""As many bits a number may have that is computed from them."""


@contextmanager
def bitwidth(width: int) -> Iterator[None]:
    """Let the queries inside choose integers of so many bits only, signed: questions about bits instead of arithmetic.

    What they answer holds in integers, and nothing wraps around; 'unsat' is said of those integers, and says so.
    """
    if type(width) is not int or not 1 <= width <= 256:
        raise SwizzleError(f"a bitwidth of {shown(width)}", expected="a Python int from 1 to 256", fix="bitwidth(8)")
    token = _width.set(width)
    try:
        yield
    finally:
        _width.reset(token)


def limits(formulas: Iterable[FNode]) -> str:
    """Return for which integers an answer about formulas is said; '' where it is for all."""
    width, free = _width.get(), manager().env.fvo.get_free_variables
    if width is None or not any(s.symbol_type().is_int_type() for formula in formulas for s in free(formula)):
        return ""
    return f"of integers from {-(1 << (width - 1))} to {(1 << (width - 1)) - 1}: `with bitwidth({width})`"


def words() -> IntegerWords | None:
    """Return what translates a solver's formulas here; None where integers have no bounds."""
    width = _width.get()
    return None if width is None else IntegerWords(width)


class IntegerWords:
    """Formulas over integers as formulas over bit-vectors that are wide enough."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._done: dict[FNode, FNode] = {}
        self._bounds: dict[FNode, tuple[int, int]] = {}
        self._symbols: dict[FNode, FNode] = {}

    def translated(self, formula: FNode) -> FNode:
        """Return a formula without integers; SwizzleError for what has no translation."""
        done, pending = self._done, [formula]
        while pending:
            node = pending[-1]
            needed = [each for each in node.args() if each not in done]
            if node in done or not needed:
                pending.pop()
                if node not in done:
                    done[node] = self._node(node)
            else:
                pending += needed
        return done[formula]

    def model(self, model: Model) -> Model:
        """Return the model of the integers whose words have these values."""
        from symbolic.solve.evaluate import as_signed

        def lookup(symbol: FNode) -> Value | None:
            word = self._symbols.get(symbol)
            if word is None:
                return None if symbol.symbol_type().is_int_type() else model.value(symbol)
            found = model.value(word)
            assert isinstance(found, int)
            return as_signed(found, self.width)

        return Model(lookup)

    def _node(self, node: FNode) -> FNode:
        import pysmt.operators as op

        m, kind = manager(), manager().env.stc.get_type(node)
        integers = [each for each in node.args() if each in self._bounds]
        if not integers and not kind.is_int_type():
            quantified = node.quantifier_vars() if node.is_quantifier() else ()
            if any(variable.symbol_type().is_int_type() for variable in quantified):
                self._refuse("a quantifier over integers")
            if node.is_symbol() or node.is_constant():
                return node
            arguments = tuple(self._done[each] for each in node.args())
            return m.create_node(node.node_type(), arguments, node._content.payload)
        match node.node_type():
            case op.SYMBOL:
                word = self._symbols[node] = m.FreshSymbol(bit_vector_type(self.width), "word!%d")
                return self._number(node, word, -(1 << (self.width - 1)), (1 << (self.width - 1)) - 1)
            case op.INT_CONSTANT:
                return self._constant(node, node.constant_value())
            case op.BV_TONATURAL:
                bits = self._done[node.arg(0)]
                return self._number(node, m.BVZExt(bits, 1), 0, (1 << bits.bv_width()) - 1)
            case op.ITE if (bits := _signed_bits(node)) is not None:
                half = 1 << (bits.bv_width() - 1)
                return self._number(node, self._done[bits], -half, half - 1)
            case op.ITE:
                (a, b), (yes, no) = (map(table.__getitem__, node.args()[1:]) for table in (self._bounds, self._done))
                low, high = min(a[0], b[0]), max(a[1], b[1])
                width = _bits(low, high)
                test = self._done[node.arg(0)]
                return self._number(node, m.Ite(test, _resized(yes, width), _resized(no, width)), low, high)
            case op.PLUS | op.MINUS | op.TIMES:
                return self._arithmetic(node, op.op_to_str(node.node_type()))
            case op.DIV:
                return self._divided(node)
            case op.EQUALS | op.LE | op.LT:
                a, b = (self._done[each] for each in node.args())
                width = max(a.bv_width(), b.bv_width())
                build = {op.EQUALS: m.Equals, op.LE: m.BVSLE, op.LT: m.BVSLT}[node.node_type()]
                return build(_resized(a, width), _resized(b, width))
        self._refuse(
            "a Real of an Integer" if kind.is_real_type() else "a function of integers, or the floor of a Real"
        )

    def _refuse(self, found: str) -> NoReturn:
        raise SwizzleError(
            f"{found}, where integers are words",
            expected=f"integers, Booleans and bit-vectors in bitwidth({self.width})",
            fix="ask this query outside of the block",
        )  # fmt: skip

    def _number(self, node: FNode, word: FNode, low: int, high: int) -> FNode:
        """Note what a node is, with as few bits as its bounds need."""
        if low == high:
            return self._constant(node, low)
        self._bounds[node] = low, high
        return _resized(word, _bits(low, high))

    def _constant(self, node: FNode, value: int) -> FNode:
        self._bounds[node] = value, value
        width = _bits(value, value)
        return manager().BV(value % (1 << width), width)

    def _arithmetic(self, node: FNode, operator: str) -> FNode:
        m = manager()
        build: Callable[[FNode, FNode], FNode] = {"PLUS": m.BVAdd, "MINUS": m.BVSub, "TIMES": m.BVMul}[operator]
        first, *others = node.args()
        found, (low, high) = self._done[first], self._bounds[first]
        for each in others:
            least, most = self._bounds[each]
            if operator == "TIMES":
                ends = [a * b for a in (low, high) for b in (least, most)]
                low, high = min(ends), max(ends)
            elif operator == "PLUS":
                low, high = low + least, high + most
            else:
                low, high = low - most, high - least
            width = max(_bits(low, high), found.bv_width(), self._done[each].bv_width())
            found = build(_resized(found, width), _resized(self._done[each], width))
        return self._number(node, found, low, high)

    def _divided(self, node: FNode) -> FNode:
        """Divide as SMT-LIB does: the remainder is never negative; by zero it is zero."""
        m = manager()
        (low, high), (least, most) = (self._bounds[each] for each in node.args())
        largest = max(abs(low), abs(high))
        width = _bits(-2 * largest - 1, 2 * max(largest, abs(least), abs(most)) + 1)
        a, b = (_resized(self._done[each], width) for each in node.args())
        zero = m.BV(0, width)
        if least == most and least > 0 and not least & (least - 1):
            quotient = m.BVAShr(a, m.BV(least.bit_length() - 1, width))
        elif low >= 0 and least > 0:
            quotient = m.BVUDiv(a, b)
        else:
            size, rest = m.Ite(m.BVSLT(b, zero), m.BVNeg(b), b), m.BVSRem(a, b)
            remainder = m.Ite(m.BVSLT(rest, zero), m.BVAdd(rest, size), rest)
            quotient = m.Ite(m.Equals(b, zero), zero, m.BVSDiv(m.BVSub(a, remainder), b))
        if least > 0:
            ends = [x // y for x in (low, high) for y in (least, most)]
            return self._number(node, quotient, min(ends), max(ends))
        return self._number(node, quotient, -largest, largest)


def _signed_bits(choice: FNode) -> FNode | None:
    """Return the bit-vector of which a choice is the signed number; None where it is no such choice."""
    natural = choice.arg(2)
    bits, m = natural.arg(0) if natural.args() else natural, manager()
    if not (bits.args() or bits.is_symbol()) or not m.env.stc.get_type(bits).is_bv_type():
        return None
    signed = m.Ite(
        m.BVSLT(bits, m.BV(0, bits.bv_width())), m.Minus(natural, m.Int(1 << bits.bv_width())), natural
    )  # fmt: skip
    return bits if choice is signed else None


def _bits(low: int, high: int) -> int:
    """Return how many bits hold all numbers of a range, with their sign."""
    found = max(low.bit_length() if low >= 0 else (~low).bit_length(), high.bit_length() if high >= 0 else 0) + 1
    if found > WIDEST:
        raise SwizzleError(
            f"a number of more than {WIDEST} bits, where integers are words", expected="smaller numbers",
            fix="a smaller bitwidth, or the query outside of the block",
        )  # fmt: skip
    return found


def _resized(word: FNode, width: int) -> FNode:
    m, more = manager(), width - word.bv_width()
    return m.BVSExt(word, more) if more > 0 else m.BVExtract(word, 0, width - 1) if more < 0 else word
