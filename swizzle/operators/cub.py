"""An operator as C++ for CUB and Thrust: a struct of words, and functors that lift, combine and give the result.

The text is host code, too, where nvcc is not there. `Combine` is what CUB's scans and reductions take, with an iterator
that lifts, `identity()` where there is one, and one that gives results. Integers wrap as they were proved to: sums and
products of signed ones are computed as unsigned ones, since C++ leaves their overflow open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Final

from msgspec import Struct

from cuda_out.c.emitter import c_name, c_names
from swizzle.operators.carrier import Carrier
from swizzle.operators.loop import BOOL
from swizzle.operators.types import (
    computed_in,
    infinite_summands,
    result_types,
    stand_in,
    sums_infinities,
    whole_infinities,
)
from symbolic.errors import SwizzleError
from symbolic.expressions.expression import ONE, Expression, subexpressions, terms
from symbolic.ir.program import DType

C_TYPES: Final = {
    DType.BOOL: "bool", DType.I32: "int", DType.U32: "unsigned int", DType.I64: "long long",
    DType.U64: "unsigned long long", DType.F32: "float", DType.F64: "double",
}  # fmt: skip
UNSIGNED: Final = {DType.I32: "unsigned int", DType.I64: "unsigned long long"}
MARK: Final = "SWIZZLE_FUNCTION"
HEADERS: Final = (
    "#ifndef __CUDACC_RTC__", "#include <math.h>", "#elif !defined(INFINITY)",
    "#define INFINITY __int_as_float(0x7f800000)", "#endif",
)  # fmt: skip
REFUSED: Final = {
    "//": "divides by what is no number above 0 of the type", "%": "divides by what is no number above 0 of the type",
    "<<": "shifts by what is no number below a word's bits", ">>": "shifts by what is no number below a word's bits",
}  # fmt: skip
"""Operators of whole numbers that texts have for constants only, and what is wrong of others."""


def cub(carrier: Carrier, head: Sequence[str]) -> str:
    """Return an operator as a C++ header; `head` are the lines of its first comment.

    Raises SwizzleError for a word that has no C type here, or may be an infinity in more than sums where its type has
    none, and for operators that C has otherwise.
    """
    check_printable(carrier)
    loop, words = carrier.loop, carrier.words
    members, arguments = c_names(words), c_names(loop.elements, taken=["words"])
    sides = {f"{side}.{word}": dtype for side in "ab" for word, dtype in words.items()}
    parameters = ", ".join(f"{C_TYPES[dtype]} {arguments[name]}" for name, dtype in loop.elements.items())
    lift = Printer(loop.elements, arguments.__getitem__)
    combine = Printer(sides, lambda name: f"{name[:2]}{members[name[2:]]}", whole_infinities(carrier, "ab"))
    result = Printer(words, lambda word: f"w.{members[word]}", whole_infinities(carrier))
    lines = [*(f"// {line}".rstrip() for line in head), "#pragma once", *HEADERS, ""]
    lines += [f"#ifndef {MARK}", "#ifdef __CUDACC__", f"#define {MARK} __host__ __device__ inline", "#else"]
    lines += [f"#define {MARK} inline", "#endif", "#endif", "", f"namespace {c_name(loop.name)}_operator {{", ""]
    for name, test in (("greater", "a < b"), ("lesser", "b < a")):
        lines += ["template <typename T>", f"{MARK} T {name}(T a, T b) {{ return {test} ? b : a; }}", ""]
    lines += ["struct Words {", *(f"    {C_TYPES[dtype]} {members[word]};" for word, dtype in words.items()), "};", ""]
    lines += _functor(
        "Lift", parameters, {members[word]: lift.text(carrier.lift[word], words[word]) for word in words},
        [arguments[name] for name in loop.elements if not any(name in each.names for each in carrier.lift.values())],
    )  # fmt: skip
    lines += _functor(
        "Combine", "const Words &a, const Words &b",
        {members[word]: combine.text(carrier.combine[word], words[word]) for word in words},
        [side for side in "ab" if not any(name[0] == side for each in carrier.combine.values() for name in each.names)],
    )  # fmt: skip
    if carrier.identity is not None:
        empty = {members[word]: lift.text(carrier.identity[word], words[word]) for word in words}
        lines += [f"{MARK} Words identity() {{", *_filled(empty, "    "), "}", ""]
    for place, (each, dtype) in enumerate(zip(carrier.result, result_types(carrier), strict=True)):
        lines += [f"struct Result{'' if len(carrier.result) == 1 else place} {{"]
        lines += [f"    {MARK} {C_TYPES[dtype]} operator()(const Words &w) const {{"]
        lines += [] if each.names else ["        (void)w;"]
        lines += [f"        return {result.text(each, dtype)};", "    }", "};", ""]
    return "\n".join([*lines, f"}}  // namespace {c_name(loop.name)}_operator", ""])


def _functor(name: str, parameters: str, texts: Mapping[str, str], unused: Sequence[str]) -> list[str]:
    head = [f"struct {name} {{", f"    {MARK} Words operator()({parameters}) const {{"]
    head += [f"        (void){each};" for each in unused]
    return [*head, *_filled(texts, "        "), "    }", "};", ""]


def _filled(texts: Mapping[str, str], indent: str) -> list[str]:
    assignments = [f"{indent}words.{word} = {text};" for word, text in texts.items()]
    return [f"{indent}Words words;", *assignments, f"{indent}return words;"]


def check_printable(carrier: Carrier) -> None:
    """Raise SwizzleError for what texts do not have: types, infinities of integers, operators that C has otherwise."""
    loop, words = carrier.loop, carrier.words
    for name, dtype in {**loop.elements, **words}.items():
        if dtype not in C_TYPES:
            known = ", ".join(each.value for each in C_TYPES)
            raise SwizzleError(
                f"{name} is {dtype.value}",
                place=loop.place,
                expected=f"one of {known}",
                fix="declare it with one of these types",
            )
    made: list[tuple[Expression, DType, str, Mapping[str, int]]] = []
    made += [(each, words[word], word, {}) for word, each in carrier.lift.items()]
    made += [(each, words[word], word, whole_infinities(carrier, "ab")) for word, each in carrier.combine.items()]
    made += [
        (each, dtype, "the result", whole_infinities(carrier))
        for each, dtype in zip(carrier.result, result_types(carrier), strict=True)
    ]
    for each, dtype, word, infinite in made:
        if not dtype.is_float and not sums_infinities(each, infinite):
            raise SwizzleError(
                f"{word} of {loop.name} may be an infinity, which {dtype.value} has not, and more than sums and "
                "comparisons is made of it",
                place=loop.place,
                expected="words that are numbers of their types",
                fix="arrays of floating-point numbers",
            )
    sides = {f"{side}.{word}": dtype for side in "ab" for word, dtype in words.items()}
    for some, types in (
        (carrier.lift.values(), loop.elements),
        (carrier.combine.values(), sides),
        (carrier.result, words),
    ):
        for node in (node for each in some for node in subexpressions(each)):
            if node.operator in REFUSED and not _is_by_a_constant(node, types):
                raise SwizzleError(
                    f"`{node.operator}` in the operator of {loop.name}: it {REFUSED[node.operator]}",
                    place=loop.place,
                    expected="whole numbers divided by a constant above 0, or shifted by one below the word's bits",
                    fix="compute it before the loop, or after it",
                )


def _is_by_a_constant(node: Expression, types: Mapping[str, DType]) -> bool:
    """Tell whether whole numbers are divided or shifted by a constant that C has the same for."""
    value, by = node.arguments
    dtype = computed_in(types, value)
    if dtype.is_float or dtype is BOOL or not by.constant or not isinstance(by.value, int):
        return False
    bits = int(dtype.value[1:])
    return 0 <= by.value < bits if node.operator in ("<<", ">>") else 0 < by.value < 1 << (bits - (dtype in UNSIGNED))


class Printer(Struct, frozen=True):
    """Expressions in C: every operand that is not alone stands in parentheses.

    `infinite` are the names of whole numbers that may be an infinity (`swizzle.operators.types`).
    """

    types: Mapping[str, DType]
    spelled: Callable[[str], str]
    infinite: Mapping[str, int] = {}

    def type_of(self, *some: Expression) -> DType:
        """Return the type that numbers are computed in."""
        return computed_in(self.types, *some)

    def text(self, node: Expression, dtype: DType) -> str:
        """Return an expression as a number of a type, or a condition."""

        def inner(each: Expression) -> str:
            return self.text(each, dtype)

        arguments = node.arguments
        match node.operator:
            case "constant":
                return _constant(node.value, dtype)
            case "name":
                name = self.spelled(node.value)
                return name if self.types[node.value] is dtype else f"({C_TYPES[dtype]}){name}"
            case "select":
                return f"({self.text(arguments[0], BOOL)} ? {inner(arguments[1])} : {inner(arguments[2])})"
            case "max" | "min":
                name = "greater" if node.operator == "max" else "lesser"
                found = inner(arguments[0])
                for each in arguments[1:]:
                    found = f"{name}<{C_TYPES[dtype]}>({found}, {inner(each)})"
                return found
            case "and" | "or":
                return "(" + (" && " if node.operator == "and" else " || ").join(map(inner, arguments)) + ")"
            case "not":
                return f"!{inner(arguments[0])}"
            case "<" | "<=" | "==":
                kind = self.type_of(*arguments)
                return f"({self.text(arguments[0], kind)} {node.operator} {self.text(arguments[1], kind)})"
            case "+":
                parts = [
                    [_constant(coefficient, dtype)] if what is ONE else
                    [inner(what)] if coefficient == 1 else [_constant(coefficient, dtype), inner(what)]
                    for coefficient, what in terms(node)
                ]  # fmt: skip
                found = _wrapped([_product(part, dtype) for part in parts], "+", dtype)
                for what, sign in () if dtype.is_float else reversed(infinite_summands(node, self.infinite)):
                    limit = _constant(stand_in(sign, dtype), dtype)
                    found = f"({inner(what)} == {limit} ? {limit} : {found})"
                return found
            case "*":
                return _wrapped(list(map(inner, arguments)), "*", dtype)
            case "//" | "%" | "<<" | ">>":
                kind = self.type_of(arguments[0])
                found = self._by_a_constant(node.operator, self.text(arguments[0], kind), arguments[1].value, kind)
                return found if kind is dtype else f"({C_TYPES[dtype]}){found}"
            case "/" | "&" | "|" | "^":
                return "(" + f" {node.operator} ".join(map(inner, arguments)) + ")"
            case "exp" | "log":
                return f"{node.operator}{'f' if dtype is DType.F32 else ''}({inner(arguments[0])})"
        raise AssertionError(node.operator)

    @staticmethod
    def _by_a_constant(symbol: str, value: str, by: int, kind: DType) -> str:
        """Return a quotient that is rounded down, a remainder of the divisor's sign, or a shift, by a constant."""
        unsigned = UNSIGNED.get(kind)
        if symbol in ("<<", ">>"):
            return (
                f"({C_TYPES[kind]})(({unsigned}){value} << {by})"
                if symbol == "<<" and unsigned
                else (f"({value} {symbol} {by})")
            )
        if by & (by - 1) == 0:  # of two's complement, bits
            return f"({value} >> {by.bit_length() - 1})" if symbol == "//" else f"({value} & {_constant(by - 1, kind)})"
        number = _constant(by, kind)
        remainder = f"{value} % {number}"
        if symbol == "//":
            return f"({value} / {number} - ({remainder} < 0))" if unsigned else f"({value} / {number})"
        return f"({remainder} + ({remainder} < 0 ? {number} : 0))" if unsigned else f"({remainder})"


def _product(factors: Sequence[str], dtype: DType) -> str:
    return factors[0] if len(factors) == 1 else _wrapped(factors, "*", dtype)


def _wrapped(operands: Sequence[str], symbol: str, dtype: DType) -> str:
    """Return a sum or a product; of signed integers, as one of unsigned ones."""
    unsigned = UNSIGNED.get(dtype)
    if unsigned is None:
        return "(" + f" {symbol} ".join(operands) + ")"
    return f"({C_TYPES[dtype]})(" + f" {symbol} ".join(f"({unsigned}){each}" for each in operands) + ")"


def _constant(value: object, dtype: DType) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if not dtype.is_float:
            return _constant(stand_in(value, dtype), dtype)
        return "INFINITY" if value > 0 else "(-INFINITY)"
    assert isinstance(value, int | Fraction)
    if dtype.is_float:
        text = f"{float(value)!r}{'f' if dtype is DType.F32 else ''}"
        return text if value >= 0 else f"({text})"
    assert isinstance(value, int)
    bits = int(dtype.value[1:])
    if dtype in (DType.U32, DType.U64):
        return f"{value % (1 << bits)}{'u' if bits == 32 else 'ull'}"
    suffix = "" if bits == 32 else "ll"
    least = -(1 << (bits - 1))
    value = (value - least) % (1 << bits) + least  # as it wraps
    return (
        f"({least + 1}{suffix} - 1)" if value == least else f"{value}{suffix}" if value >= 0 else f"({value}{suffix})"
    )
