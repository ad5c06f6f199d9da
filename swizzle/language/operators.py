"""Users' own operators on data: what `@operator(...)` makes of a function, and how an operator is found by its name.

Operators on words in sketches: `lift`, `combine` and `result` of an operator that was found and proved.

    best = scan_operator(best_run)
    here, most = best.combine(here_a, most_a, here_b, most_b)

In a kernel and in a specification alike, each takes its words one by one and gives one value, or a tuple of them.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, reduce
from pathlib import Path
from textwrap import dedent
from typing import Any, Final, get_args

from msgspec import Struct

from swizzle.language.element_types import ElementType, caller_place, i32, i64, u32, u64
from symbolic.algebra.operator_laws import LAWS, Law, Order
from symbolic.errors import Place, SwizzleError
from symbolic.extensions import extension, extension_names
from symbolic.ir.functions import WordFunction, applied
from symbolic.ir.program import DType, OperatorName

SPELLINGS: Final[Mapping[str, Law]] = LAWS | {word: law for law in LAWS.values() for word in law.words}
"""How sketches spell the operators of the language."""
ORDERS: Final = tuple(order for order in get_args(Order) if order != "linear")


class Operator(Struct, frozen=True, eq=False):
    """A user's own associative operator on data.

    In a kernel it is a function of two or more values, and `accumulator(..., outer=gcd)` reduces by it. In a
    specification it is a function too, of two or more values or of a list: `gcd(x[3 * i + k] for k in range(3))`.
    """

    law: Law
    place: Place | None = None

    @property
    def name(self) -> str:
        return self.law.symbol

    def __call__(self, first: Any, *more: Any) -> Any:
        """Apply the operator to two or more values, or to the items of one list."""
        values = [first, *more] if more else list(_items(self.name, first))
        if not values and self.law.identity is not None:
            return self.law.identity
        if not values:
            raise SwizzleError(
                f"{self.name} of nothing, and it has no identity",
                expected=f"{self.name} of one value or more",
                fix="give it a first value, or write identity=... in @operator",
            )
        return reduce(self.pair, values)

    def pair(self, a: Any, b: Any) -> Any:
        """Apply the operator to two values: numbers, NumPy arrays, or symbolic data."""
        for value, other, swapped in ((a, b, False), (b, a, True)):
            if hasattr(value, "reduce_with"):
                return value.reduce_with(self.law.name, other, swapped)
        if isinstance(a, int | float) and isinstance(b, int | float):
            return self.law.fold(a, b)
        from symbolic.algebra.numbers import joined

        return joined(self.law.name, a, b)


class TypedOperator(Struct, frozen=True, eq=False):
    """An operator on values of given types, words or tuples of words, that `swizzle operator` judges: nothing is
    taken for granted of it. Called, it is the function."""

    function: Callable[[Any, Any], Any]
    name: str
    types: tuple[DType, ...]
    single: bool
    place: Place | None = None

    def __call__(self, a: Any, b: Any) -> Any:
        return self.function(a, b)


def _items(name: str, value: Any) -> Iterable[Any]:
    if isinstance(value, Iterable):
        return value
    raise SwizzleError(
        f"{name} of one value",
        expected=f"two values or more, or a list: {name}(a, b), {name}(values)",
        fix="pass the other values too, or the list that has them",
    )


def operator(
    function: Callable[[Any, Any], Any] | None = None,
    *,
    order: Order = "bag",
    identity: int | float | None = None,
    absorber: int | float | None = None,
    types: Iterable[ElementType] = (i32, u32, i64, u64),
    numpy: str | Callable[[Any, Any], Any] = "",
    cuda: str = "",
    numba: str = "",
    name: str = "",
) -> Any:
    """Make an associative operator on data from a function of two numbers: write it above a `def`.

    `order` says what matters about the items of a reduction: how often each is there ("bag"), whether it is there
    ("set": of two equal items one counts, as for a maximum), whether it is there an odd number of times ("parity":
    two equal items cancel, as for xor), or in which order they come ("sequence": the operator does not commute).
    `identity` changes nothing (-1: all bits), and `absorber` absorbs every other number. `types` are the types of data
    that it takes: the function gets Python numbers of such a type and returns one. `numpy` is the name of a NumPy
    function, or a function on arrays; without it, the function itself is called number by number. `cuda` is the body of
    the function in C++, with its parameters' names and `T` for the type. `numba` is a `def` for numba.cuda; without it,
    the function's own text is used. `name` is the function's name unless given.

    These properties are tried on edge cases and on random numbers, which is not a proof. Raises `SwizzleError` if one
    fails.

    With element types at both parameters, `def argmin(a: (f32, i32), b: (f32, i32))`, it is an operator on such words
    of which nothing is taken for granted. `swizzle operator` proves or refutes its laws, and accumulators take its
    `scan_operator`.
    """
    place = caller_place()

    def make(fold: Callable[[Any, Any], Any]) -> Operator | TypedOperator:
        typed = _typed(fold, place)
        if typed is not None:
            said = {"order": order != "bag", "identity": identity is not None, "absorber": absorber is not None}
            if any(said.values()):
                given = next(each for each in said if said[each])
                raise SwizzleError(
                    f"{given}= of {typed.name}, whose parameters have element types", place=place,
                    expected="an operator of which nothing is said: swizzle operator finds its laws and its identity",
                    fix=f"leave {given}= out, or the element types",
                )  # fmt: skip
            return typed
        own = name or getattr(fold, "__name__", "")
        _check_name(own, place)
        law = Law(
            own, fold, order, numpy, identity, absorber, infix=False, types=_types(own, types, place), own=True,
            operands=_operands(own, fold, place), cuda=dedent(cuda).strip("\n"), python=dedent(numba) or _text(fold),
        )  # fmt: skip
        _check_row(law, place)
        from symbolic.algebra.counterexample import counterexample

        found = counterexample(law)
        if found:
            raise SwizzleError(
                f"the operator {own} is {found}" if found.startswith("not ") else f"the operator {own}: {found}",
                place=place,
                expected="an operator that is what @operator says, on all data of its types",
                fix="correct the function, or what is said of it: order, identity, absorber, types, numpy",
            )
        return Operator(law, place)

    return make if function is None else make(function)


def _typed(fold: Callable[[Any, Any], Any], place: Place) -> TypedOperator | None:
    """Return the operator that a function with element types at both parameters is."""
    if not isinstance(fold, types.FunctionType):
        return None
    found = [_types_at(each.annotation, fold) for each in inspect.signature(fold).parameters.values()]
    if None in found or not found:
        return None
    if len(found) != 2 or found[0] != found[1]:
        raise SwizzleError(
            f"the operator {fold.__name__} takes values of several types", place=place,
            expected="two values of the same types", fix=f"def {fold.__name__}(a: f32, b: f32):",
        )  # fmt: skip
    dtypes, single = found[0] or ((), False)
    return TypedOperator(fold, fold.__name__, dtypes, single, place)


def _is_type(given: object) -> bool:
    return given is bool or isinstance(given, ElementType)


def _types_at(annotation: Any, fold: types.FunctionType) -> tuple[tuple[DType, ...], bool] | None:
    """Return the element types of an annotation, and whether it is one alone; None where it is anything else."""
    if isinstance(annotation, str):
        tree = ast.parse(annotation, mode="eval").body
        nodes = tree.elts if isinstance(tree, ast.Tuple) else [tree]
        names = {**vars(builtins), **fold.__globals__}
        some = [names.get(node.id) if isinstance(node, ast.Name) else None for node in nodes]
        annotation = tuple(some) if isinstance(tree, ast.Tuple) else some[0]
    some = list(annotation) if isinstance(annotation, tuple) else [annotation]
    dtypes = [each.dtype if isinstance(each, ElementType) else DType.BOOL for each in some if _is_type(each)]
    return (tuple(dtypes), not isinstance(annotation, tuple)) if dtypes and len(dtypes) == len(some) else None


def _check_name(name: str, place: Place) -> None:
    if not name.isidentifier() or keyword.iskeyword(name) or name in SPELLINGS:
        raise SwizzleError(
            f"an operator is called {name!r}",
            place=place,
            expected="a name of letters, digits and _ that is not a word of the language",
            fix='write @operator(name="...")',
        )


def _check_row(law: Law, place: Place) -> None:
    if law.order not in ORDERS:
        raise SwizzleError(
            f"the order of {law.symbol} is {law.order!r}",
            place=place,
            expected=f"one of {', '.join(map(repr, ORDERS))}",
            fix="write order='bag' where every item counts",
        )
    if law.order == "parity" and law.identity is None:
        raise SwizzleError(
            f"{law.symbol} has the order 'parity' and no identity",
            place=place,
            expected="what is left when two of a kind cancel",
            fix="write identity=0, or what it is",
        )
    for what, number in (("identity", law.identity), ("absorber", law.absorber)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int | float)):
            raise SwizzleError(
                f"the {what} of {law.symbol} is {number!r}",
                place=place,
                expected="a number, or None",
                fix="give a Python number, or leave it out",
            )


def _types(name: str, given: Iterable[ElementType], place: Place) -> frozenset[Any]:
    found = (given,) if isinstance(given, ElementType) else tuple(given)
    if not found or not all(isinstance(each, ElementType) for each in found):
        raise SwizzleError(
            f"the types of {name} are {found!r}",
            place=place,
            expected="element types",
            fix="write types=(u32, u64)",
        )
    return frozenset(each.dtype for each in found)


def _operands(name: str, fold: Callable[[Any, Any], Any], place: Place) -> tuple[str, str]:
    if isinstance(fold, types.FunctionType):
        given = tuple(inspect.signature(fold).parameters.values())
        if len(given) == 2 and all(each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for each in given):
            return given[0].name, given[1].name
    elif callable(fold):
        return "a", "b"
    raise SwizzleError(
        f"the operator {name} is not a function of two numbers",
        place=place,
        expected=f"def {name}(a, b): ...",
        fix="write @operator(...) above such a `def`",
    )


def _text(fold: Callable[[Any, Any], Any]) -> str:
    """Return a function's own `def`, without decorators; '' for what has none."""
    if not isinstance(fold, types.FunctionType):
        return ""
    try:
        tree = ast.parse(dedent(inspect.getsource(fold)))
    except (OSError, SyntaxError):
        return ""
    found = next((node for node in tree.body if isinstance(node, ast.FunctionDef)), None)
    if found is None:
        return ""
    found.decorator_list = []
    return ast.unparse(found)


# ---- by name -----------------------------------------------------------------------------------------------------


def find_operator(name: str, given: Mapping[str, Any]) -> Operator | None:
    """Return the operator of a name, handed in or from an installed package; None if there is none."""
    found = given.get(name)
    if isinstance(found, Operator):
        return found
    found = extension("operators", name)
    if found is None:
        return None
    if not isinstance(found, Operator):
        raise SwizzleError(
            f"{name!r} of swizzle.operators is a {type(found).__name__}",
            expected="what @swizzle.operator(...) makes",
            fix="see docs/extend.md",
        )
    if found.name != name:
        raise SwizzleError(
            f"the operator {name!r} calls itself {found.name!r}",
            expected="one name, by which a sketch finds it",
            fix=f"write {found.name} = ... under swizzle.operators in the package's metadata",
        )
    return found


class OperatorNames(dict[str, Operator]):
    """The operators that a text may name: those handed in, and installed ones, which are looked up when needed."""

    def __missing__(self, name: str) -> Operator:
        found = find_operator(name, {})
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or (isinstance(name, str) and find_operator(name, {}) is not None)


class HandedIn(dict[str, Operator]):
    """Operators by their names, and the files that they were taken from."""

    def __init__(self, operators: Mapping[str, Operator], files: Mapping[str, Path]) -> None:
        super().__init__(operators)
        self.files = dict(files)


_handed_in: ContextVar[Callable[[], HandedIn]] = ContextVar("handed_in", default=lambda: HandedIn({}, {}))


def handed_in() -> HandedIn:
    """Return the operators that were handed in to whatever is loaded now."""
    return _handed_in.get()()


@contextmanager
def handing_in(more: HandedIn | Callable[[], HandedIn]) -> Iterator[None]:
    """Hand operators in to all files that are loaded inside the `with`, in addition to those already handed in.

    A function is called when the first file is loaded, so that the time that it takes is the file's.
    """
    before = _handed_in.get()

    @cache
    def together() -> HandedIn:
        given, own = before(), more() if callable(more) else more
        return HandedIn({**given, **own}, {**given.files, **own.files})

    token = _handed_in.set(together)
    try:
        yield
    finally:
        _handed_in.reset(token)


def known_names(given: Mapping[str, Any]) -> list[str]:
    """Return the names of the operators that were handed in and of those that are installed: for messages."""
    own = [name for name, value in given.items() if isinstance(value, Operator)]
    return [*own, *(name for name in extension_names("operators") if name not in own)]


class FixedWord(Struct, frozen=True):
    """A word that is the same number whatever the arguments are."""

    value: int | float
    result: DType


class WordsFunction(Struct, frozen=True, eq=False):
    """A function from words to words. Each value is a row, a number, or the place of the argument that it is."""

    name: str
    operands: tuple[str, ...]
    given: tuple[DType, ...]
    values: tuple[WordFunction | FixedWord | int, ...]
    state: OperatorName | None = None
    """The operator on states of several words, if its words are such: `takes` says of how many states."""
    takes: int = 0
    gives: bool = False
    """Whether its values are a state."""

    @property
    def types(self) -> tuple[DType, ...]:
        """The types of its values."""
        return tuple(self.given[each] if isinstance(each, int) else each.result for each in self.values)

    def __call__(self, *words: Any) -> Any:
        """Apply the function to numbers, NumPy's arrays or data; all words of a state may be passed as one tuple."""
        if self.takes and len(words) == self.takes and all(isinstance(each, tuple) for each in words):
            words = tuple(word for each in words for word in each)
        if len(words) != len(self.operands):
            raise SwizzleError(
                f"{self.name} with {len(words)} argument{'s' * (len(words) != 1)}",
                expected=f"{self.name}({', '.join(self.operands)})",
                fix="pass one value for each word",
            )
        found = tuple(self._value(each, words) for each in self.values)
        return found[0] if len(found) == 1 else found

    @staticmethod
    def _value(each: WordFunction | FixedWord | int, words: Sequence[Any]) -> Any:
        if isinstance(each, FixedWord):
            return each.value
        return words[each] if isinstance(each, int) else applied(each, list(words))


class ScanOperator(Struct, frozen=True, eq=False):
    """An associative operator on words, whose laws are proved.

    `lift` makes the words of one element, `combine` of the words of two parts those of both, the one that comes first
    on the left, and `result` what is wanted of words. `elements` and `words` are the types of data by name; conditions
    are `i32`, 0 or 1.
    """

    name: str
    elements: dict[str, DType]
    words: dict[str, DType]
    lift: WordsFunction
    combine: WordsFunction
    result: WordsFunction
    state: OperatorName | None = None
    """What combines states, in which all words are one value; None where there is only one."""
    operator: OperatorName | None = None
    """What combines all words as one value, also where there is one word only: what an accumulator reduces by."""

    def scan(self, *arrays: Sequence[Any]) -> list[Any]:
        """Return the words of each part of arrays that begins with their first elements, one list of words for each."""
        found: list[Any] = []
        for row in zip(*arrays, strict=True):
            words = self.several(self.lift(*row))
            found.append(words if not found else self.several(self.combine(*found[-1], *words)))
        return found

    @staticmethod
    def several(value: Any) -> tuple[Any, ...]:
        """Return one value or a tuple as a tuple."""
        return value if isinstance(value, tuple) else (value,)
