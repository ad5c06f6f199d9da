"""Users' own operators, judged: associative, commutative, idempotent, what its identity is.

    @operator
    def argmin(a: (f32, i32), b: (f32, i32)):
        return a if a[0] <= b[0] else b

The function runs once, on two values that could be any; what it returns is what two parts of an input combine to, so
that it is judged like the operator of a loop whose elements are such values.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, Final

from msgspec.structs import replace

from swizzle.language.operators import Operator, TypedOperator
from swizzle.operators.carrier import Carrier
from swizzle.operators.exact import check_comparisons, exact
from swizzle.operators.find import GIVEN, Found, with_divisors
from swizzle.operators.loop import BOOL, Domain, Loop, name_of
from swizzle.operators.proof import Proofs, Prover
from symbolic.algebra.operator_laws import Law
from symbolic.core.obligations import obligations
from symbolic.core.values import bitvector, boolean, real
from symbolic.elements import limits
from symbolic.errors import SwizzleError
from symbolic.expressions.expression import Expression, constant
from symbolic.expressions.reading import Unreadable, cancelled_in, expression_of
from symbolic.ir.program import DType
from symbolic.lifting.builtins import elementary_functions
from symbolic.lifting.comparisons import noted_comparisons
from symbolic.lifting.environment import Closure
from symbolic.lifting.functions import Lifted
from symbolic.solve.engines import fresh_contexts

WORD: Final = "value"
ROUNDS: Final = 32
"""Of a loop whose end depends on the values, so many rounds are looked at."""


def judged(given: Operator | TypedOperator, domain: Domain = "words") -> Found:
    """Prove the laws of an operator, those that were said of it among them, or refute them with numbers."""
    started = time.perf_counter()
    with fresh_contexts():
        return replace(_in_each_type(given, domain), seconds=time.perf_counter() - started)


def _in_each_type(given: Operator | TypedOperator, domain: Domain) -> Found:
    if isinstance(given, TypedOperator):
        return _judged(given.function, given.name, given.types, given.single, domain, None)
    kinds = sorted(given.law.types, key=lambda dtype: list(DType).index(dtype))
    for dtype in kinds:
        found = _judged(given.law.fold, given.name, (dtype,), True, domain, given.law)
        if found.status != "proved":
            break
    return found


def _judged(
    function: Callable[..., Any], name: str, types: Sequence[DType], single: bool, domain: Domain, said: Law | None
) -> Found:
    words = {WORD if single else f"{WORD}{place}": dtype for place, dtype in enumerate(types)}
    empty = Loop(name, None, dict(words), {}, {}, {}, ())
    if not isinstance(function, FunctionType):
        return Found(empty, domain, None, None, 0.0, ("the function's text, which is not at hand",), undecided=True)
    try:
        combine, cancelled, apart = _combined(function, words, single)
    except Unreadable as error:
        return Found(empty, domain, None, None, 0.0, (f"the function as formulas: {error}",), undecided=True)
    loop = Loop(name, None, dict(words), {}, {}, dict(combine), (), cancelled=cancelled, compared_apart=apart)
    lift = {word: name_of(word, dtype) for word, dtype in words.items()}
    carrier = Carrier(loop, words, lift, combine, {}, tuple(lift.values()), GIVEN)
    prover = Prover(carrier, domain)
    laws = {"associative": prover.associative(), "commutative": prover.commutative()}
    identity, laws["left_identity"], laws["right_identity"] = prover.identity(_said_identity(words, said))
    laws["idempotent"] = prover.repeated(lift)
    if said is not None and said.order == "parity" and identity is not None:
        laws["self_inverse"] = prover.repeated(identity)
    return with_divisors(Found(loop, domain, carrier, Proofs(domain, laws, identity, (), _needed(said)), 0.0))


def _said_identity(words: dict[str, DType], said: Law | None) -> dict[str, Expression] | None:
    return None if said is None or said.identity is None else dict.fromkeys(words, constant(said.identity))


def _needed(said: Law | None) -> tuple[str, ...]:
    """Return the laws without which an operator is refuted: what is said of it."""
    if said is None:
        return ("associative",)
    needed = ["associative"]
    if said.commutes:
        needed.append("commutative")
    if said.identity is not None:
        needed += ["left_identity", "right_identity"]
    if said.order in ("set", "parity"):
        needed.append("idempotent" if said.order == "set" else "self_inverse")
    return tuple(needed)


def _combined(
    function: FunctionType, words: dict[str, DType], single: bool
) -> tuple[dict[str, Expression], dict[str, tuple[str, ...]], int]:
    """Return what a function makes of two values, over the names a.WORD and b.WORD, what cancels in it, and how many
    comparisons were not looked at under all the tests before them."""
    lifted = Lifted(function, ROUNDS, "assert")
    if any(dtype.is_float for dtype in words.values()):
        lifted.closure = exact(lifted.closure)
    place = lifted.closure.code.text.place(lifted.closure.code.node)
    _check_compared(lifted.closure, words)
    spelled: dict[str, str] = {}

    def symbols(side: str) -> Any:
        made = []
        for word, dtype in words.items():
            symbol: Any = _symbol(f"{side}.{word}", dtype)
            spelled[symbol.formula.symbol_name()] = f"{side}.{word}"
            made.append(symbol)
        return made[0] if single else tuple(made)

    with obligations() as demands, elementary_functions(), noted_comparisons() as noted:
        found = lifted(symbols("a"), symbols("b"))
    for demand in demands.made:
        if demand.demanded and not demand.text.startswith("division by zero"):
            raise Unreadable(demand.text)
    results = found if isinstance(found, tuple | list) else (found,)
    apart = check_comparisons(results, noted)
    if len(results) != len(words):
        raise SwizzleError(
            f"{function.__name__} returns {len(results)} values", place=place,
            expected=f"{len(words)}, as many as it takes on either side", fix="return a value of the same kind",
        )  # fmt: skip
    read = {word: expression_of(each, spelled) for word, each in zip(words, results, strict=True)}
    for word, each in read.items():
        if each.truth != (words[word] is BOOL):
            raise SwizzleError(
                f"{function.__name__} returns a {'condition' if each.truth else 'number'} for {word}",
                place=place, expected=f"what {words[word].value} holds",
                fix="return a value of the same kind",
            )  # fmt: skip
    cancelled = {word: cancelled_in(each, spelled) for word, each in zip(words, results, strict=True)}
    return read, {word: some for word, some in cancelled.items() if some}, apart


def _check_compared(closure: Closure, words: Mapping[str, DType]) -> None:
    """Refuse comparisons with a number that no word can be: as a word it would be another one, `a > -1` of u32."""
    kinds = {dtype for dtype in words.values() if dtype is not BOOL}
    if not kinds or any(dtype.is_float for dtype in kinds):
        return
    least, greatest = (choose(limits(dtype)[side] for dtype in kinds) for side, choose in enumerate((min, max)))
    for node in (each for statement in closure.code.body for each in ast.walk(statement)):
        for each in (node.left, *node.comparators) if isinstance(node, ast.Compare) else ():
            try:
                value = ast.literal_eval(each) if isinstance(each, ast.Constant | ast.UnaryOp) else None
            except ValueError:
                continue
            if isinstance(value, int) and not least <= value <= greatest:
                types = ", ".join(sorted(dtype.value for dtype in kinds))
                raise SwizzleError(
                    f"{value} is compared with words of {types}, and is none",
                    place=closure.code.text.place(each),
                    expected=f"numbers from {least} to {greatest}",
                    fix="a wider type, or a comparison that needs no such number",
                )


def _symbol(name: str, dtype: DType) -> Any:
    if dtype is BOOL:
        return boolean(name)
    return real(name) if dtype.is_float else bitvector(name, int(dtype.value[1:]), signed=dtype.value[0] == "i")
