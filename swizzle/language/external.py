"""`cuda.external`: a function of the user's own on data, with its CUDA C++ text and what it is on numbers.

To the proof it is a function like `math.exp`: equal arguments give equal values, and nothing else is known of it. Its
text is printed as it stands; that the text computes the function is tried on random data (`swizzle run`), not proved.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import types
from collections.abc import Callable
from textwrap import dedent
from typing import Any, Final

from swizzle.language.element_types import ElementType, caller_place
from swizzle.language.mathematics import DataFunction
from symbolic.errors import Place, SwizzleError
from symbolic.ir.functions import External
from symbolic.ir.program import DType

EXPECTED: Final = "a `def` that returns what the function is on numbers"


class ExternalFunction(DataFunction):
    """A function that `cuda.external` made. Call it in a kernel, or in a specification on numbers or data."""

    def __init__(self, row: External, function: Callable[..., Any]) -> None:
        super().__init__(row)
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __repr__(self) -> str:
        return f"cuda.external {self.row.symbol}"


def external(
    text: str = "",
    takes: ElementType | tuple[ElementType, ...] | None = None,
    gives: ElementType | None = None,
    **other: Any,
) -> Callable[[Callable[..., Any]], ExternalFunction]:
    """Make a function on data from its text in CUDA C++: write it above a `def` that says what it is on numbers.

    `text` is the body of a C++ function, with the `def`'s parameters. `takes` is their type, or one for each; `gives`
    is the result's, the first of these unless given. Without `takes`, the `def` has the types,
    `def silu(x: f32) -> f32:`. They are all floats (f32, f64) or all integers. The `def` is called on NumPy's numbers,
    floats in double precision. The proof knows only that equal arguments give equal values. Not in `.swz` files.
    """
    place = caller_place()
    if other or not isinstance(text, str) or not text.strip():
        found = f"cuda.external with {min(other)}=" if other else "cuda.external without its text"
        fix = 'write @cuda.external("return x / (1.0f + expf(-x));", takes=f32) above def silu(x):'
        raise SwizzleError(found, place=place, expected="one text: the body of the function in CUDA C++", fix=fix)

    def make(function: Callable[..., Any]) -> ExternalFunction:
        if not isinstance(function, types.FunctionType):
            what = type(function).__name__
            raise SwizzleError(
                f"cuda.external on a {what}", place=place, expected=EXPECTED, fix="write it above one `def`"
            )
        kinds, result = _types(function, takes, gives, place)
        if _is_empty(function):
            raise SwizzleError(
                f"{function.__name__} says nothing of numbers",
                place=place,
                expected=EXPECTED,
                fix="return what the function is on numbers: specifications and `swizzle run` compute with it",
            )
        names = tuple(inspect.signature(function).parameters)
        body = dedent(text).strip("\n")
        return ExternalFunction(External(function.__name__, names, kinds, result, body, function), function)

    return make


def _types(function: types.FunctionType, takes: Any, gives: Any, place: Place) -> tuple[tuple[DType, ...], DType]:
    """Return the types of a function's parameters and of its result, or raise what is wrong with them."""
    signature, name = inspect.signature(function), function.__name__
    parameters = signature.parameters.values()
    plain = all(p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty for p in parameters)
    if not signature.parameters or not plain:
        raise SwizzleError(
            f"the parameters of {name}", place=place, expected="one or more plain names",
            fix=f"write def {name}(x, y):",
        )  # fmt: skip
    annotations = [p.annotation for p in parameters]
    result = signature.return_annotation
    if takes is not None:
        annotations = list(takes) if isinstance(takes, tuple) else [takes] * len(annotations)
        result = annotations[0] if gives is None and annotations else gives
    if len(annotations) != len(parameters):
        raise SwizzleError(
            f"{len(annotations)} types for the {len(parameters)} parameters of {name}", place=place,
            expected="one type for all, or one for each", fix="write takes=f32",
        )  # fmt: skip
    found = []
    for what, given in [*((f"the parameter {p.name}", a) for p, a in zip(parameters, annotations, strict=True)),
                        ("the result", result)]:  # fmt: skip
        names = {**vars(builtins), **function.__globals__}
        kind = names.get(given) if isinstance(given, str) else given
        if not isinstance(kind, ElementType) or kind.dtype in (DType.F16, DType.BF16) or kind.dtype.is_narrow:
            said = f"the type {kind.dtype.value}" if isinstance(kind, ElementType) else "no element type"
            raise SwizzleError(
                f"{what} of {name} has {said}", place=place,
                expected="f32, f64, or an integer type of 32 or 64 bits, for each parameter and the result",
                fix=f"write @cuda.external(..., takes=f32) above def {name}({', '.join(signature.parameters)}):",
            )  # fmt: skip
        found.append(kind.dtype)
    if len({dtype.is_float for dtype in found}) > 1:
        raise SwizzleError(
            f"{name} takes or gives floats and integers", place=place, expected="all floats, or all integers",
            fix="convert before or behind the call: f32(...), i32(...)",
        )  # fmt: skip
    return tuple(found[:-1]), found[-1]


def _is_empty(function: types.FunctionType) -> bool:
    """Say whether a function's text has nothing but `...`, `pass` and documentation."""
    try:
        tree = ast.parse(dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        return False
    body = next(node.body for node in tree.body if isinstance(node, ast.FunctionDef))
    return all(
        isinstance(each, ast.Pass) or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        for each in body
    )
