"""An operator as Python for Triton, numba and JAX: `lift`, `combine` and `result` as each of them takes functions.

One printer writes them all; a dialect says how choices, extremes and conversions are spelled. Words that are conditions
are 0 or 1 in numba and Triton, and Booleans in JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from cuda_out.c.emitter import c_names
from cuda_out.numba.expressions import first_comment, python_names
from swizzle.operators.carrier import Carrier
from swizzle.operators.cub import check_printable
from swizzle.operators.loop import BOOL
from swizzle.operators.types import as_data, computed_in, infinite_summands, result_types, stand_in, whole_infinities
from symbolic.algebra.numbers import NUMPY_DTYPES
from symbolic.elements import wrapped
from symbolic.errors import SwizzleError
from symbolic.expressions.expression import ONE, Expression, terms
from symbolic.ir.program import DType


class Dialect(Struct, frozen=True):
    """How one library spells what an operator computes; `{0}` and so on stand for operands, `{type}` for a type.

    `wraps` says whether a number's type must be given again after sums and products, as where they are computed in 64
    bits. `alike` is the same number for each element of an array, `{like}`. `flat`: combine takes the words of both
    parts one by one, not as two tuples. `booleans`: conditions are words as they are. `decorator` stands above each
    function.
    """

    imports: tuple[str, ...]
    decorator: str
    select: str
    maximum: str
    minimum: str
    both: str
    either: str
    negation: str
    exp: str
    log: str
    cast: str
    infinity: str
    alike: str
    wraps: bool = False
    flat: bool = False
    booleans: bool = True


WIDTH: Final = 100
"""Longer tuples stand on several lines."""
DIALECTS: Final[Mapping[str, Dialect]] = {
    "triton": Dialect(
        ("import triton", "import triton.language as tl"), "@triton.jit",
        "tl.where({0}, {1}, {2})", "tl.maximum({0}, {1})", "tl.minimum({0}, {1})", "({0} & {1})", "({0} | {1})",
        "({0} == 0)", "tl.exp({0})", "tl.log({0})", "{0}.to(tl.{type})", 'float("inf")',
        "tl.full({like}.shape, {0}, tl.{type})", flat=True, booleans=False,
    ),
    "numba": Dialect(
        ("import math", "", "from numba import cuda, float32, float64, int32, int64, uint32, uint64"),
        "@cuda.jit(device=True)",
        "({1} if {0} else {2})", "max({0}, {1})", "min({0}, {1})", "({0} and {1})", "({0} or {1})", "(not {0})",
        "math.exp({0})", "math.log({0})", "{type}({0})", "math.inf", "{type}({0})", wraps=True, booleans=False,
    ),
    "jax": Dialect(
        ("import jax.numpy as jnp",), "",
        "jnp.where({0}, {1}, {2})", "jnp.maximum({0}, {1})", "jnp.minimum({0}, {1})", "jnp.logical_and({0}, {1})",
        "jnp.logical_or({0}, {1})", "jnp.logical_not({0})", "jnp.exp({0})", "jnp.log({0})",
        "jnp.asarray({0}).astype(jnp.{type})", "jnp.inf", "jnp.full(jnp.shape({like}), {0}, jnp.{type})",
    ),
}  # fmt: skip
"""What `swizzle operator --emit` writes as Python."""


def python_text(carrier: Carrier, name: str, head: Sequence[str]) -> str:
    """Return an operator as a Python module for the library `name`; `head` are the lines of its first comment.

    Raises SwizzleError for what printed texts do not have (`swizzle.operators.cub.check_printable`).
    """
    check_printable(carrier)
    dialect, loop, words = DIALECTS[name], carrier.loop, carrier.words
    if not words and not dialect.wraps:
        raise SwizzleError(
            f"{loop.name} has no words, as its result is the same of all elements",
            place=loop.place,
            expected="words that are arrays",
            fix="return what the loop computes of its elements",
        )
    taken = ["a", "b", "words", "tl", "jnp", "math", "cuda", "triton"]
    members, elements = c_names(words, taken=taken), c_names(loop.elements, taken=[*taken, *words])
    sides = {f"{side}.{word}": dtype for side in "ab" for word, dtype in words.items()}
    lift = _ArrayPrinter(dialect, loop.elements, elements.__getitem__)
    combine = _ArrayPrinter(
        dialect, sides, lambda each: f"{members[each[2:]]}_{each[0]}", whole_infinities(carrier, "ab")
    )
    result = _ArrayPrinter(dialect, words, members.__getitem__, whole_infinities(carrier))
    lines = [*first_comment(head), "", *dialect.imports]
    lifted = lift.words(carrier.lift, words, next(iter(elements.values())))
    lines += _function(dialect, "lift", list(elements.values()), [], lifted)
    both = [[f"{members[word]}_{side}" for word in words] for side in "ab"]
    combined = combine.words(carrier.combine, words, next(iter(both[0]), ""))
    if dialect.flat:
        lines += _function(dialect, "combine", [*both[0], *both[1]], [], combined)
    else:
        opened = [f"{_targets(some)} = {side}" for some, side in zip(both, "ab", strict=True) if some]
        lines += _function(dialect, "combine", ["a", "b"], opened, combined)
    results = [
        result.for_all(each, dtype, next(iter(members.values()), ""))
        for each, dtype in zip(carrier.result, result_types(carrier), strict=True)
    ]
    if dialect.flat:
        lines += _function(dialect, "result", list(members.values()), [], results, single=True)
    else:
        opened = [f"{_targets(list(members.values()))} = words"] if words else []
        lines += _function(dialect, "result", ["words"], opened, results, single=True)
    if carrier.identity is not None:
        lines += ["", "", f"identity = {_tuple(lift.words(carrier.identity, words))}"]
    return "\n".join([*lines, ""])


def numba_function(
    name: str, value: Expression, dtype: DType, given: Mapping[str, DType], names: Mapping[str, str],
    infinite: Mapping[str, int],
) -> str:  # fmt: skip
    """Return the `def` of a function of words for numba.cuda: it gives exactly its type, 0 or 1 of a condition."""
    spelled = python_names(names.values())
    printer = _ArrayPrinter(DIALECTS["numba"], given, lambda each: spelled[names[each]], infinite)
    kind = NUMPY_DTYPES[as_data(dtype)].__name__
    text = printer.of(value, dtype)
    if not (text.startswith(f"{kind}(") and _enclosed(text.removeprefix(kind))):
        text = f"{kind}({text})"
    return f"def {name}({', '.join(spelled[each] for each in names.values())}):\n    return {text}\n"


def _function(
    dialect: Dialect, name: str, parameters: Sequence[str], opened: Sequence[str], values: Sequence[str],
    *, single: bool = False,
) -> list[str]:  # fmt: skip
    found = values[0] if len(values) == 1 and (single or dialect.flat) else _tuple(values)
    head = ["", *([dialect.decorator] if dialect.decorator else []), f"def {name}({', '.join(parameters)}):"]
    lines = [*head, *(f"    {line}" for line in opened), f"    return {found}"]
    if len(lines[-1]) > WIDTH:
        lines[-1:] = ["    return (", *(f"        {value}," for value in values), "    )"]
    return ["", *lines]


def _targets(names: Sequence[str]) -> str:
    return ", ".join(names) + "," * (len(names) == 1)


def _tuple(texts: Sequence[str]) -> str:
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


class _ArrayPrinter(Struct, frozen=True):
    """Expressions in a dialect: each number in the type of the word that it is for."""

    dialect: Dialect
    types: Mapping[str, DType]
    spelled: Callable[[str], str]
    infinite: Mapping[str, int] = {}

    def words(self, values: Mapping[str, Expression], types: Mapping[str, DType], like: str = "") -> list[str]:
        """Return a text for each word, of one element or of as many as `like` has."""
        return [self.for_all(values[word], dtype, like) for word, dtype in types.items()]

    def for_all(self, node: Expression, dtype: DType, like: str) -> str:
        """Return what is stored for a word, for as many elements as `like` has where it is one number of all."""
        if node.names or not like:
            return self.of(node, dtype)
        kind = "int32" if not self.dialect.booleans and dtype is BOOL else NUMPY_DTYPES[dtype].__name__
        kind = "bool_" if dtype is BOOL and self.dialect.booleans else kind
        value = int(node.value) if dtype is BOOL and not self.dialect.booleans else self._constant(node.value, dtype)
        return self.dialect.alike.format(value, type=kind, like=like)

    def of(self, node: Expression, dtype: DType) -> str:
        """Return what is stored for a word: the number, or of a condition 0 or 1 where there are no Booleans."""
        if dtype is BOOL and not self.dialect.booleans:
            constant = str(int(node.value)) if node.constant else ""
            return constant or self.dialect.select.format(self.text(node, dtype), 1, 0)
        text = self.text(node, dtype)
        if dtype is not BOOL and not node.constant and not self._typed(node, dtype):
            return self._cast(text, dtype)
        return text[1:-1] if _enclosed(text) else text

    def _typed(self, node: Expression, dtype: DType) -> bool:
        """Tell whether a number has its type from a word of that type, and not from constants."""
        if node.operator == "name":
            return True
        values = node.arguments[1:] if node.operator == "select" else node.arguments
        return any(self._typed(each, dtype) for each in values if not each.truth)

    def text(self, node: Expression, dtype: DType) -> str:
        """Return an expression as a number of a type, or a condition."""
        d = self.dialect

        def inner(each: Expression) -> str:
            return self.text(each, dtype)

        match node.operator:
            case "constant":
                return self._constant(node.value, dtype)
            case "name":
                name = self.spelled(node.value)
                if self.types[node.value] is BOOL:
                    return name if d.booleans else f"({name} != 0)"
                return name if self.types[node.value] is dtype else self._cast(name, dtype)
            case "select":
                condition, yes, no = node.arguments
                return d.select.format(self.text(condition, BOOL), inner(yes), inner(no))
            case "max" | "min" | "and" | "or":
                pattern = {"max": d.maximum, "min": d.minimum, "and": d.both, "or": d.either}[node.operator]
                found = inner(node.arguments[0])
                for each in node.arguments[1:]:
                    found = pattern.format(found, inner(each))
                return found
            case "not" | "exp" | "log":
                pattern = {"not": d.negation, "exp": d.exp, "log": d.log}[node.operator]
                return pattern.format(inner(node.arguments[0]))
            case "<" | "<=" | "==":
                kind = computed_in(self.types, *node.arguments)
                return f"({self.text(node.arguments[0], kind)} {node.operator} {self.text(node.arguments[1], kind)})"
            case "+":
                found = self._wrapped(self._sum(node, dtype), dtype)
                for what, sign in () if dtype.is_float else reversed(infinite_summands(node, self.infinite)):
                    limit = self._constant(stand_in(sign, dtype), dtype)
                    found = d.select.format(f"({inner(what)} == {limit})", limit, found)
                return found
            case "//" | "%":  # right wherever quotients are rounded down, and where they are rounded to 0, as in Triton
                kind = computed_in(self.types, node.arguments[0])
                value, by = self.text(node.arguments[0], kind), self._constant(node.arguments[1].value, kind)
                found = f"({value} {node.operator} {by})"
                number = node.arguments[1].value
                if number & (number - 1) == 0:  # of two's complement, bits
                    found = f"({value} >> {number.bit_length() - 1})"
                    found = found if node.operator == "//" else f"({value} & {self._constant(number - 1, kind)})"
                elif kind.value[0] == "i":
                    zero, one = (self._constant(each, kind) for each in (0, 1))
                    negative = f"({value} % {by} < {zero})"
                    if node.operator == "%":
                        found = f"({found} + {d.select.format(negative, by, zero)})"
                    else:
                        found = f"({found} - {d.select.format(negative, one, zero)})"
                return self._wrapped(found, kind) if kind is dtype else self._cast(found[1:-1], dtype)
            case ">>":
                kind = computed_in(self.types, node.arguments[0])
                found = f"({self.text(node.arguments[0], kind)} >> {node.arguments[1].value})"
                return self._wrapped(found, kind) if kind is dtype else self._cast(found[1:-1], dtype)
            case _:
                return self._wrapped("(" + f" {node.operator} ".join(map(inner, node.arguments)) + ")", dtype)

    def _sum(self, node: Expression, dtype: DType) -> str:
        found = ""
        for number, what in sorted(terms(node), key=lambda term: (term[0] < 0, term[1] is ONE)):
            size = abs(number)
            text = self._constant(size, dtype) if what is ONE else self.text(what, dtype)
            text = text if what is ONE or size == 1 else f"{self._constant(size, dtype)} * {text}"
            zero = " " if found else f"{self._constant(0, dtype)} "
            found += f"{zero}- {text}" if number < 0 else f" + {text}" if found else text
        return f"({found})"

    def _wrapped(self, text: str, dtype: DType) -> str:
        return self._cast(text[1:-1], dtype) if self.dialect.wraps and dtype is not BOOL else text

    def _cast(self, text: str, dtype: DType) -> str:
        return self.dialect.cast.format(text, type=NUMPY_DTYPES[dtype].__name__)

    def _constant(self, value: Any, dtype: DType) -> str:
        if isinstance(value, bool):
            return str(value)
        if isinstance(value, float) and not dtype.is_float:
            return self._constant(stand_in(value, dtype), dtype)
        if isinstance(value, float):
            text = self.dialect.infinity if value > 0 else f"-{self.dialect.infinity}"
            return self._cast(text, dtype) if self.dialect.wraps else text if value > 0 else f"({text})"
        if not dtype.is_float:
            found = wrapped(int(value), dtype) if dtype is not BOOL else int(value)
            if self.dialect.wraps and dtype is not BOOL:  # a plain 1 beside a uint64 makes a float of both
                return self._cast(str(found), dtype)
            return str(found) if found >= 0 else f"({found})"
        text = repr(float(value))
        text = self._cast(text, dtype) if self.dialect.wraps else text
        return text if value >= 0 else f"({text})"


def _enclosed(text: str) -> bool:
    """Tell whether a text is one pair of parentheses and what is inside."""
    if not text.startswith("("):
        return False
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return place == len(text) - 1
    return False
