"""An operator on words as sketches and kernels have it: functions on words, made of what was found and proved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace as replaced
from functools import partial
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from cuda_out.c.emitter import c_name, c_names
from swizzle.language.operators import FixedWord, ScanOperator, WordsFunction
from swizzle.operators.carrier import Carrier, Values
from swizzle.operators.cub import Printer, check_printable
from swizzle.operators.loop import BOOL
from swizzle.operators.on_arrays import on_arrays
from swizzle.operators.python_texts import numba_function
from swizzle.operators.types import as_data, result_types, whole_infinities
from symbolic.algebra.operator_laws import Law, Order
from symbolic.algebra.states import state_operator
from symbolic.expressions.expression import Expression
from symbolic.ir.functions import Joined, MadeWords, WordFunction
from symbolic.ir.program import DType

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
