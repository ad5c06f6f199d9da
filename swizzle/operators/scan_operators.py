"""From a serial loop, or an operator, to the operator on words that sketches use: found, and proved.

Its functions on words are computed on NumPy's arrays as printed texts compute them: each expression in the type of the
word that it is for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace as replaced
from functools import lru_cache, partial, reduce
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from cuda_out.c.emitter import c_name, c_names
from swizzle.language.operators import FixedWord, ScanOperator, WordsFunction
from swizzle.operators import Found, found_of
from swizzle.operators.carrier import Carrier, Values
from swizzle.operators.cub import Printer, check_printable
from swizzle.operators.derived import Given
from swizzle.operators.loop import BOOL
from swizzle.operators.python_texts import numba_function
from swizzle.operators.types import as_data, computed_in, infinite_summands, result_types, stand_in, whole_infinities
from symbolic.algebra.numbers import NUMPY_DTYPES
from symbolic.algebra.operator_laws import Law, Order
from symbolic.algebra.states import state_operator
from symbolic.elements import wrapped
from symbolic.errors import SwizzleError
from symbolic.expressions.columns import ON_COLUMNS
from symbolic.expressions.expression import Expression, subexpressions, terms
from symbolic.expressions.meaning import Key, SeveralKinds, evaluate
from symbolic.ir.functions import Joined, MadeWords, WordFunction
from symbolic.ir.program import DType


def on_arrays(
    expression: Expression, dtype: DType, values: Mapping[str, Any], types: Mapping[str, DType],
    infinite: Mapping[str, int] | None = None,
) -> Any:  # fmt: skip
    """Return an expression of arrays in a type; conditions are any numbers that are not 0.

    `infinite` are the names of whole numbers that may be an infinity.
    """
    domain = _domain_of(tuple(types.items()), tuple((infinite or {}).items()))
    found = evaluate(expression, values, domain, BOOL if expression.truth else dtype)
    return np.asarray(found).astype(NUMPY_DTYPES[DType.I32 if dtype is BOOL else dtype])[()]


@lru_cache(maxsize=64)
def _domain_of(types: tuple[tuple[str, DType], ...], infinite: tuple[tuple[str, int], ...]) -> _Typed:
    return _Typed(dict(types), dict(infinite))


class _Typed(SeveralKinds):
    """Columns of the types of words: what divides or shifts is computed in its own type, a comparison in the widest."""

    def __init__(self, types: Mapping[str, DType], infinite: Mapping[str, int]) -> None:
        super().__init__(ON_COLUMNS)
        self._types, self._infinite = types, infinite
        self._signs: dict[Expression, set[int]] = {}

    def name(self, value: Any, kind: DType) -> Any:
        return np.asarray(value) != 0 if kind is BOOL else np.asarray(value).astype(NUMPY_DTYPES[kind])

    def constant(self, value: Any, kind: DType) -> Any:
        if kind is BOOL or kind.is_float:
            return np.asarray(bool(value) if kind is BOOL else float(value), NUMPY_DTYPES[kind])[()]
        whole = stand_in(value, kind) if isinstance(value, float) else wrapped(int(value), kind)
        return np.asarray(whole, NUMPY_DTYPES[kind])[()]

    def arguments_of(self, node: Expression, kind: DType) -> Sequence[Key]:
        match node.operator:
            case "select":
                return [(node.arguments[0], BOOL), *((each, kind) for each in node.arguments[1:])]
            case "+":
                return [(what, kind) for _, what in terms(node)]
            case "<" | "<=" | "==":
                kind = computed_in(self._types, *node.arguments)
            case "//" | "%" | "<<" | ">>":
                kind = computed_in(self._types, node.arguments[0])
        return [(each, kind) for each in node.arguments]

    def applied(self, node: Expression, kind: DType, *values: Any) -> Any:
        if node.operator == "+":
            return self._sum(node, kind, values)
        found = self.table[node.operator](*values)
        return found.astype(NUMPY_DTYPES[kind]) if node.operator in ("//", "%", "<<", ">>") else found

    def _sum(self, node: Expression, kind: DType, values: Sequence[Any]) -> Any:
        """Return a sum, which is an infinity where one of its summands is."""
        summands = dict(zip(terms(node), values, strict=True))
        found = reduce(np.add, (self.constant(number, kind) * value for (number, _), value in summands.items()))
        known = {what: value for (_, what), value in summands.items()}
        for what, sign in () if kind.is_float else infinite_summands(node, self._infinite, self._signs):
            limit = self.constant(stand_in(sign, kind), kind)
            found = np.where(known[what] == limit, limit, found)
        return found


ANY: Final = object()
"""That the laws hold of whatever words there are."""


def scan_operator_of(
    carrier: Carrier, order: Order = "sequence", of_any: Any = ANY, empty: Values | None = None,
    empty_of_any: bool = False,
) -> ScanOperator:  # fmt: skip
    """Return a proved operator for sketches and kernels; `order` is what counts of the parts that it combines.

    `of_any` is what counts of parts of words that no elements make, None where nothing is proved of these; left out
    where there are no such words. `empty` are words that are proved to change no words that elements make, or, with
    `empty_of_any`, no words at all.

    Raises SwizzleError for words that printed texts do not have (`check_printable`).
    """
    check_printable(carrier)
    name, words = carrier.loop.name, carrier.words
    law = Law(name, partial(_joined_by_words, carrier), order, infix=False, own=True)
    sides = {f"{side}.{word}": dtype for side in "ab" for word, dtype in words.items()}
    results = {f"value{place}": value for place, value in enumerate(carrier.result)}
    kinds = {word: as_data(dtype) for word, dtype in words.items()}
    lift = _function(name, "lift", carrier.loop.elements, words, carrier.lift)
    numbers = _empty(carrier, empty)
    joined = Joined(law.name, 0, len(words), empty=numbers, empty_of_any=empty_of_any)
    if (of_any is not ANY and of_any != order) or (numbers is not None and not empty_of_any):
        made = tuple(
            (each.result, each.value) if isinstance(each, FixedWord) else each if isinstance(each, int) else each.name
            for each in lift.values
        )
        of_any = order if of_any is ANY else of_any
        joined = replace(joined, lifted=MadeWords(len(lift.operands), made), of_any=of_any)
    combine = _function(name, "combine", sides, words, carrier.combine, whole_infinities(carrier, "ab"), joined)
    rows = [each.name for each in combine.values if isinstance(each, WordFunction)]
    none = None if numbers is None else tuple(value for _, value in numbers)
    operator = state_operator(name, order, rows, list(kinds.values()), list(kinds), none) if kinds else None
    state = operator if len(kinds) > 1 else None
    types = dict(zip(results, result_types(carrier), strict=True))
    result = _function(name, "result", words, types, results, whole_infinities(carrier))
    return ScanOperator(
        name,
        {element: as_data(dtype) for element, dtype in carrier.loop.elements.items()},
        kinds,
        replace(lift, state=state, gives=True),
        replace(combine, state=state, takes=2, gives=True),
        replace(result, state=state, takes=1),
        state,
        operator,
    )


def _empty(carrier: Carrier, empty: Values | None) -> tuple[tuple[DType, int | float], ...] | None:
    """Return the words of no element as numbers of their types; None where there are none, where whole numbers would
    need an infinity that `combine` does not know, and where they are no words of no element in these types."""
    if empty is None or whole_infinities(replaced(carrier, identity=empty)) != whole_infinities(carrier):
        return None
    types = {f"{side}.{word}": dtype for side in "ab" for word, dtype in carrier.words.items()}
    words = {word: on_arrays(empty[word], dtype, {}, {}) for word, dtype in carrier.words.items()}
    both = {f"{side}.{word}": value for side in "ab" for word, value in words.items()}
    infinite = whole_infinities(carrier, "ab")
    with np.errstate(all="ignore"):
        joined = [on_arrays(carrier.combine[word], d, both, types, infinite) for word, d in carrier.words.items()]
    if joined != list(words.values()):
        return None
    return tuple((as_data(dtype), words[word].item()) for word, dtype in carrier.words.items())


def _joined_by_words(carrier: Carrier, a: Any, b: Any) -> Any:
    """Tell operators apart that have one name: no two carriers give the same fold."""
    raise AssertionError("the words of two parts are combined word by word")


def _function(
    name: str, part: str, given: Mapping[str, DType], made: Mapping[str, DType], values: Mapping[str, Expression],
    infinite: Mapping[str, int] | None = None, joined: Joined | None = None,
) -> WordsFunction:  # fmt: skip
    spelled = c_names([_flat(each) for each in given])
    names = {each: spelled[_flat(each)] for each in given}
    rows: list[WordFunction | FixedWord | int] = []
    for place, (word, dtype) in enumerate(made.items()):
        value = values[word]
        if joined is None and value.operator == "name" and given[value.value] is dtype:
            rows.append(list(given).index(value.value))
            continue
        if joined is None and value.constant:
            rows.append(FixedWord(on_arrays(value, dtype, {}, {}).item(), as_data(dtype)))
            continue
        symbol = f"{name}.{part}" if len(made) == 1 else f"{name}.{part}.{word}"
        body = _body(value, dtype, given, names, infinite or {})
        on_numbers = partial(_applied, value, dtype, given, infinite or {})
        found = c_name(symbol.replace(".", "_"))
        rows.append(
            WordFunction(
                symbol, tuple(names.values()), on_numbers, tuple(map(as_data, given.values())), as_data(dtype),
                spelled=found, body=body,
                helpers=tuple(each for each in ("greater", "lesser") if f"{each}<" in body),
                python=numba_function(found, value, dtype, given, names, infinite or {}),
                joined=None if joined is None else replace(joined, word=place),
            )
        )  # fmt: skip
    return WordsFunction(f"{name}.{part}", tuple(names.values()), tuple(map(as_data, given.values())), tuple(rows))


def _flat(name: str) -> str:
    """Return a name without its dot: `a_here` of `a.here`."""
    return name.replace(".", "_")


def _body(
    value: Expression, dtype: DType, given: Mapping[str, DType], names: Mapping[str, str], infinite: Mapping[str, int]
) -> str:
    def spelled(name: str) -> str:
        return f"({names[name]} != 0)" if given[name] is BOOL else names[name]

    text = Printer(given, spelled, infinite).text(value, dtype)
    return f"{text} ? 1 : 0" if dtype is BOOL else text


def _applied(
    value: Expression, dtype: DType, given: Mapping[str, DType], infinite: Mapping[str, int], *words: Any
) -> Any:
    return on_arrays(value, dtype, dict(zip(given, words, strict=True)), given, infinite)


def scan_operator(given: Given) -> ScanOperator:
    """Return the operator of a serial loop, or of what `@operator` made, for kernels and specifications.

    It has functions `lift`, `combine` and `result`, which take words one by one and give one, or a tuple. In a kernel,
    several words may be one value, a state: `s = op.lift(x[i])`, `op.combine(s, t)`, `op.result(s)`, and arrays of
    them, `cuda.shared.array(64, op)`.

    Raises SwizzleError where no operator is proved, or its words are none of kernels.
    """
    return _of_found(given) if isinstance(given, Found) else _of_one(given)


@lru_cache(maxsize=64)
def _of_one(given: Given) -> ScanOperator:
    """Return the operator: of one loop it is always the same one, so that a specification may ask for it again."""
    return _of_found(given)


_MADE: Final = dict[tuple[Any, ...], ScanOperator]()
"""The operators that were made, by all that a kernel knows of them: of equal loops it is one, whose words meet."""


def _of_found(given: Given) -> ScanOperator:
    found = proved(given)
    assert found.carrier is not None and found.proofs is not None
    holds = {name for name, law in found.proofs.laws.items() if law.verdict == "proved"}
    if BOOL in found.carrier.words.values():
        holds.discard(
            "idempotent"
        )  # a condition is any number of an array, and 0 or 1 when it was combined with itself
    of_any = holds - {name for name in holds if found.proofs.laws[name].on_carrier} if _of_any(found) else set()
    carrier, order, others = found.carrier, _order(holds) or "sequence", _order(of_any)
    named = (carrier.loop.elements, carrier.words, carrier.lift, carrier.combine, carrier.infinite)
    empty = found.with_identity.identity
    empty_of_any = {"left_identity", "right_identity"} <= of_any
    identity = tuple((carrier.identity or {}).items()), tuple((empty or {}).items()), empty_of_any
    key = (carrier.loop.name, *(tuple(each.items()) for each in named), identity, carrier.result, order, others)
    if key not in _MADE:
        _MADE[key] = scan_operator_of(carrier, order, others, empty, empty_of_any)
    return _MADE[key]


def _order(holds: Collection[str]) -> Order | None:
    """Return what counts of parts where these laws hold; None where it counts how they are grouped."""
    if "associative" not in holds:
        return None
    return "sequence" if "commutative" not in holds else "set" if "idempotent" in holds else "bag"


def _of_any(found: Found) -> bool:
    """Tell whether laws that were proved may hold of words that no elements make: not where they were proved of words
    that do not wrap, or wherever nothing is divided by zero."""
    assert found.carrier is not None and found.proofs is not None
    divides = any(node.operator == "/" for each in found.carrier.combine.values() for node in subexpressions(each))
    return found.proofs.domain == found.domain and not found.needs_ranges and not divides


def proved(given: Given) -> Found:
    """Return what was found of a loop, or judged of an operator; raises SwizzleError unless it is proved."""
    found = found_of(given)
    if found.status != "proved":
        raise SwizzleError(
            f"no operator of {found.loop.name} is proved: {found.witness or found.status}",
            place=found.loop.place,
            expected="a loop with an associative operator, as a scan goes through its input in parts",
            fix=f"see `swizzle operator`: {found.next_step}",
        )
    return found
