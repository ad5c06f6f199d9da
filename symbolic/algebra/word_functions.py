"""Functions on words: what makes words of an element, one word of two parts together, a result of words.

They are functions on data that belong to one operator (`swizzle.operators`), not to the language: the row holds their
types, what they are on NumPy's arrays, and their bodies in C++ and Python. A proof knows of the words of two parts
together that the operator is associative (`Terms`), and of the others what it knows of every function.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from symbolic.ir.functions import WordFunction
from symbolic.ir.program import Apply, Expr, FunctionName, Program
from symbolic.ir.walk import functions_of, rewrite_program

INLINED: Final = "static __device__ __forceinline__"
"""How the definitions of functions on words begin in printed texts, and nothing else there."""


def named_apart(program: Program) -> tuple[Program, dict[FunctionName, WordFunction]]:
    """Return a program whose functions on words have names of their own in printed texts, with these functions by what
    they are in the program as it was: two operators may have one name. Which of two has a number depends on their texts
    alone.
    """
    rows = word_functions_of(program)
    apart, taken = dict[FunctionName, WordFunction](), {row.spelled for row in rows}
    for place, row in enumerate(sorted(rows, key=_text)):
        found = row.spelled
        if found in {each.spelled for each in apart.values()}:
            found = next(f"{found}_{n}" for n in range(2, place + 3) if f"{found}_{n}" not in taken)
            taken.add(found)
        apart[row.name] = replace(row, spelled=found)
    if all(apart[row.name].spelled == row.spelled for row in rows):
        return program, {row.name: row for row in rows}

    def renamed(expr: Expr) -> Expr:
        if not isinstance(expr, Apply) or expr.function not in apart:
            return expr
        return replace(expr, function=apart[expr.function].name)

    return rewrite_program(program, renamed), apart


def _text(row: WordFunction) -> tuple[Any, ...]:
    return row.spelled, row.body, row.operands, [kind.value for kind in (*row.given, row.result)]


def word_functions_of(program: Program) -> tuple[WordFunction, ...]:
    """Return the functions on words of a program, in order."""
    return tuple(name.row for name, _ in functions_of(program) if isinstance(name.row, WordFunction))
