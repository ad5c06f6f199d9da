"""What users' classes say themselves of operators, and who has elements that only Python can give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Number as AnyNumber
from types import FunctionType
from typing import Any, Final

from symbolic.errors import SwizzleError
from symbolic.lifting.operations import Number, native
from symbolic.lifting.states import PathSite
from symbolic.lifting.values import DIRECT, is_data

UNSAID: Final = object()
"""What no class says."""


def own_method(value: Any, name: str) -> Callable[..., Any] | None:
    """Return a method that a user wrote in the class of a value, not one that Python or `dataclass` made."""
    kind = type(value)
    if DIRECT[kind] or isinstance(value, Number) or kind.__module__.startswith("symbolic."):
        return None
    method = getattr(kind, name, None)
    if not isinstance(method, FunctionType):
        return method if hasattr(method, "closure") else None
    return None if method.__code__.co_filename == "<string>" else method


def asked(site: PathSite, name: str, value: Any, *others: Any) -> Any:
    """Return what a value's own method says, run as Python does; `UNSAID` where there is none."""
    method = None if site.budget.limited else own_method(value, name)
    if method is None:
        return UNSAID
    found = native(site, method, [value, *others], {})
    return UNSAID if found is NotImplemented else found


def is_foreign_number(value: Any) -> bool:
    """Tell whether a value is a number for Python, but none that solvers know: a float, a decimal, NumPy's."""
    return not isinstance(value, Number) and (isinstance(value, AnyNumber) or is_data(type(value)))


def has_elements(value: Any) -> bool:
    """Tell whether Python runs over a value."""
    return not isinstance(value, Number) and hasattr(type(value), "__iter__")


def elements_of(site: PathSite, value: Any) -> Any:
    """Return the elements of a set, of bytes, of a view of a dict, of a user's object: whatever Python runs over."""
    if isinstance(value, Iterator):
        raise SwizzleError(
            f"a loop over {type(value).__name__}, which is used up by the first who reads it", place=site.where(),
            expected="a list", fix="list(...), outside of the function",
        )  # fmt: skip
    method = own_method(value, "__iter__")
    return native(site, lambda each: list(each if method is None else method(each)), [value], {})


def stores_only(kind: type) -> bool:
    """Tell whether making an instance does nothing but keep the fields."""
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return True
    parameters = getattr(kind, "__dataclass_params__", None)
    code = getattr(getattr(kind, "__init__", None), "__code__", None)
    generated = code is not None and code.co_filename == "<string>"
    return parameters is not None and parameters.frozen and generated and not hasattr(kind, "__post_init__")
