"""Users' operators, and functions on words, in PTX: functions that the text calls, known by their names and tried on
numbers.

A call is taken as the operator with its law. That the function computes the operator is not proved: its body, as the
compiler left it, is run on edge numbers and random ones, and must give what the operator's own function gives.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from cuda_out.ptx.instructions.mathematics import term_name
from cuda_out.ptx.instructions.operation import Operation
from cuda_out.ptx.instructions.polynomials import signed
from cuda_out.ptx.kinds import KIND_OF, KINDS, is_float, width
from cuda_out.ptx.running.machine import call_results, results_of_function
from cuda_out.ptx.running.memory import Broken
from cuda_out.ptx.syntax import Kernel, Name, NotInterpreted
from symbolic.algebra.counterexample import first_difference, first_word_difference, tried_columns, word_columns
from symbolic.algebra.operator_laws import Law
from symbolic.algebra.states import named_apart, word_functions_of
from symbolic.ir.functions import External, WordFunction
from symbolic.ir.program import DType, OperatorName, Program
from symbolic.ir.walk import functions_of, operators_of


@lru_cache(maxsize=256)
def of_kind(op: OperatorName, kind: str) -> OperatorName:
    """Return an operator on values of one type of PTX's, whose numbers read as that type's constants do."""

    def seen(number: Any) -> Any:
        return number if number is None or is_float(kind) else signed(int(number) & (1 << 64) - 1, width(kind))

    law: Law = op.law
    name: OperatorName = replace(
        law, symbol=f"{op}:{kind}", identity=seen(law.identity), absorber=seen(law.absorber)
    ).name
    return name


def recognised(kernel: Kernel, program: Program) -> dict[str, Operation]:
    """Return the functions that a kernel calls which are a program's operators, or the user's own, by what the module
    calls them.

    Raises Broken for one that is called as an operator is and computes something else, NotInterpreted where that cannot
    be said.
    """
    calls = [each for each in kernel.instructions if each.op[0] == "call"]
    called = {part.text for each in calls for part in each.operands if isinstance(part, Name)}
    found: dict[str, Operation] = {}
    operators, (_, rows) = operators_of(program), named_apart(program)
    for name, function in kernel.functions.items():
        for row in word_functions_of(program):
            if name in called and _is_called(name, rows[row.name].spelled):
                found[name] = _word_function(function, row)
        for op, dtype in operators:
            if name in called and _is_called(name, f"{op}_{dtype.value}"):
                found[name] = _checked(function, op, dtype)
        for each, dtype in functions_of(program):
            if isinstance(each.row, External) and name in called and name == f"{each}_{dtype.value}":
                found[name] = _declared(function, each.row)
    return found


def _declared(function: Kernel, own: External) -> Operation:
    """Return a function of the user's own, of which the module knows nothing but its types."""
    kinds, gives = tuple(KIND_OF[kind] for kind in own.kinds), KIND_OF[own.gives]
    given = [kind for _, kind in (*function.parameters, *([function.result] if function.result else []))]
    if not function.declared or list(map(width, given)) != [*map(width, kinds), width(gives)]:
        raise NotInterpreted(f"{function.name} is no function that is declared with the types of {own.symbol}")

    def numbers(*values: Any) -> Any:
        return own.on_numbers(list(values)).astype(KINDS[gives])

    return Operation(term_name(own), kinds, gives, numbers, term_name(own))


def _is_called(symbol: str, name: str) -> bool:
    """Tell whether a symbol, mangled or not, is a function of this name in some namespace."""
    return symbol == name or re.search(rf"(?<!\d){len(name)}{re.escape(name)}(?=[E\W]|[a-z]+$)", symbol) is not None


def _checked(function: Kernel, op: OperatorName, dtype: DType) -> Operation:
    kind, operation = KIND_OF[dtype], call_results(function)
    what = f"line {function.instructions[0].line}: {function.name}" if function.instructions else function.name
    if operation is None or [width(each) for each in (*operation.sources, operation.result)] != [width(kind)] * 3:
        raise NotInterpreted(f"{what}, called as the operator {op} is, is no function of two {dtype.value} alone")
    bodies = ((name, each.instructions, tuple(each.labels.items())) for name, each in function.functions.items())
    wrong = _difference(op, dtype, _Body(function.name, tuple(bodies), function))
    if wrong:
        raise Broken(f"{what} is not the operator {op}: {wrong}")
    name = of_kind(op, kind)
    return Operation(
        name, (kind, kind), kind, lambda *values: results_of_function(function, (kind, kind), kind, values), name
    )


def _word_function(function: Kernel, row: WordFunction) -> Operation:
    kinds, kind, operation = tuple(KIND_OF[dtype] for dtype in row.given), KIND_OF[row.result], call_results(function)
    what = f"line {function.instructions[0].line}: {function.name}" if function.instructions else function.name
    if operation is None or [width(each) for each in (*operation.sources, operation.result)] != [
        width(each) for each in (*kinds, kind)
    ]:
        raise NotInterpreted(f"{what}, called as {row.symbol} is, is not a function of its words alone")
    bodies = ((name, each.instructions, tuple(each.labels.items())) for name, each in function.functions.items())
    wrong = _word_difference(row, _Body(function.name, tuple(bodies), function))
    if wrong:
        raise Broken(f"{what} is not {row.symbol}: {wrong}")

    return Operation(
        row.name, kinds, kind, lambda *values: results_of_function(function, kinds, kind, values), row.name
    )


@lru_cache(maxsize=256)
def _word_difference(row: WordFunction, body: _Body) -> str:
    """Return words for which a function gives something else than a function on words, as a text; '' for none."""
    given = word_columns(row)
    kinds = [KIND_OF[dtype] for dtype in row.given]
    return first_word_difference(row, given, results_of_function(body.function, kinds, KIND_OF[row.result], given))


@dataclass(frozen=True, slots=True)
class _Body:
    """A function by its text, and by that of all that it may call."""

    name: str
    bodies: tuple[Any, ...]
    function: Kernel = field(compare=False)


@lru_cache(maxsize=256)
def _difference(op: OperatorName, dtype: DType, body: _Body) -> str:
    """Return numbers for which a function gives something else than the operator, in words; '' for none."""
    kind = KIND_OF[dtype]
    found = results_of_function(body.function, (kind, kind), kind, tried_columns(dtype))
    return first_difference(op.law, dtype, found.tolist())
