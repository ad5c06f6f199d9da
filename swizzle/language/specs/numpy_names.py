"""NumPy as a specification sees it while it runs on data: what takes lists takes data in them, and what makes an array
makes one that data can be written into.

A function is run with names of its own: those of its module, in which NumPy, and what comes from it, stands for this,
and with the module's other functions in the same way. The module itself stays as it is.
"""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from swizzle.language.specs import array_products  # noqa: F401  (what it notes in FUNCTIONS)
from swizzle.language.specs.array_elements import is_data, note_widened
from swizzle.language.specs.array_functions import filled
from swizzle.language.specs.data_array import FUNCTIONS, DataArray, array_of, constants, has_arrays
from swizzle.language.specs.spec import Spec
from symbolic.errors import is_ours

_AS_IT_IS: Final = object()
_OPAQUE: Final = (type(None), bool, int, float, str, np.ndarray)


def _made(function: Callable[..., Any], whole: bool = True) -> Callable[..., Any]:
    """Return a function that makes an array which data can be written into; integers too where `whole`."""

    def make(*arguments: Any, **named: Any) -> Any:
        found = function(*arguments, **named)
        return constants(found) if whole or found.dtype.kind == "f" else found  # integers may be indices of others

    return make


def _empty(shape: Any, dtype: Any = float, *_: Any, **__: Any) -> Any:
    return filled(shape, None, dtype)


def _full(shape: Any, fill_value: Any, dtype: Any = None, *_: Any, **__: Any) -> Any:
    given = array_of(fill_value)
    found = filled(shape, None, given.dtype if dtype is None else dtype)
    found[...] = fill_value
    return found


def _array(value: Any, dtype: Any = None, *_: Any, copy: Any = True, ndmin: int = 0, **__: Any) -> Any:
    """Return an array of data or of numbers, which data can be written into."""
    found = array_of(value)
    if not isinstance(found, DataArray):
        return _made(np.array, whole=False)(value, dtype, copy=True if copy else None, ndmin=ndmin)
    if dtype is not None:
        found = found.astype(dtype)
    found = found.copy() if copy and found is value else found
    return found.reshape((1,) * (ndmin - found.ndim) + found.shape) if ndmin > found.ndim else found


def _as_array(value: Any, dtype: Any = None, *_: Any, **__: Any) -> Any:
    return _array(value, dtype, copy=False)


_OWN: Final[dict[Any, Callable[..., Any]]] = {
    **{function: _made(function) for function in (np.zeros, np.ones, np.eye, np.identity)},
    **{function: _made(function, whole=False) for function in (np.arange, np.linspace)},
    np.empty: _empty, np.full: _full, np.array: _array,
    **dict.fromkeys((np.asarray, np.asanyarray, np.ascontiguousarray), _as_array),
}  # fmt: skip


def _is_no_array(value: Any) -> bool:
    """Say whether an argument is data that NumPy would not know: by itself, in a list, or in an array of objects."""
    if isinstance(value, list | tuple):
        return has_arrays(value)
    return is_data(value) or (type(value) is np.ndarray and value.dtype.kind == "O")


class _Joined:
    """`np.r_` or `np.c_`: what it makes of arrays and numbers, where there is data among them."""

    def __init__(self, own: Any, join: Callable[..., Any]) -> None:
        self._own, self._join = own, join

    def __getitem__(self, key: Any) -> Any:
        parts = list(key) if isinstance(key, tuple) else [key]
        if not has_arrays(parts) or any(isinstance(part, slice | str) for part in parts):
            return self._own[key]
        return self._join([np.atleast_1d(array_of(part)) for part in parts])


class _Function:
    """A function of NumPy's that takes data in lists, too; its attributes (`reduce`) do, as well."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        function = self._function
        if not any(map(_is_no_array, (*arguments, *named.values()))):
            return function(*arguments, **named)
        note_widened(arguments)
        if function in FUNCTIONS:
            return FUNCTIONS[function](*arguments, **named)
        return function(*(array_of(each) if _is_no_array(each) else each for each in arguments), **named)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._function, name)
        return _Function(found) if callable(found) else found

    def __repr__(self) -> str:
        return repr(self._function)


class _Module(types.ModuleType):
    """NumPy, or a module of it."""

    def __init__(self, module: types.ModuleType, names: Names) -> None:
        super().__init__(module.__name__)
        self.__dict__.update(_module=module, _names=names)

    def __getattr__(self, name: str) -> Any:
        return self.__dict__["_names"].of(getattr(self.__dict__["_module"], name))


class Names:
    """What names stand for while a specification runs on data: the same for all functions that it calls."""

    def __init__(self) -> None:
        self._modules: dict[int, dict[str, Any]] = {}
        self._functions: dict[int, types.FunctionType] = {}

    def of(self, value: Any) -> Any:
        """Return what a value is seen as."""
        if isinstance(value, _OPAQUE):
            return value
        if isinstance(value, types.ModuleType):
            return _Module(value, self) if _is_numpy_module(value) or not _is_library(value) else value
        if isinstance(value, Spec) and isinstance(value.function, types.FunctionType):
            return self.of_spec(value)
        if isinstance(value, types.FunctionType) and not _is_library(value):
            return self.of_function(value)
        if value is np.r_ or value is np.c_:
            return _Joined(value, np.concatenate if value is np.r_ else np.column_stack)
        try:
            if value in _OWN:
                return _OWN[value]
        except TypeError:
            return value
        if isinstance(value, np.ufunc) or (callable(value) and not isinstance(value, type) and _is_numpy(value)):
            return _Function(value)
        return value

    def of_spec(self, spec: Spec) -> Spec:
        """Return a specification whose function runs with these names."""
        assert isinstance(spec.function, types.FunctionType)
        return replace(spec, function=self.of_function(spec.function))

    def of_function(self, function: types.FunctionType) -> types.FunctionType:
        """Return a function that runs with these names."""
        found = self._functions.get(id(function))
        if found is None:
            cells = [self._opened(cell) for cell in function.__closure__ or ()]
            found = types.FunctionType(
                function.__code__, self._of_module(function.__globals__), function.__name__, function.__defaults__,
                tuple(cell for _, cell in cells) or None,
            )  # fmt: skip
            found.__kwdefaults__ = function.__kwdefaults__
            self._functions[id(function)] = found
            for value, cell in cells:
                if value is not _AS_IT_IS:
                    cell.cell_contents = self.of(value)
        return found

    def _opened(self, cell: types.CellType) -> tuple[Any, types.CellType]:
        """Return what a cell holds and one for what that is seen as; the cell itself where it is seen as it is."""
        try:
            value = cell.cell_contents
        except ValueError:  # it is not bound yet
            return _AS_IT_IS, cell
        changes = isinstance(value, types.ModuleType | types.FunctionType | np.ufunc | Spec) or _is_numpy(value)
        return (value, types.CellType()) if changes else (_AS_IT_IS, cell)

    def _of_module(self, names: dict[str, Any]) -> dict[str, Any]:
        found = self._modules.get(id(names))
        if found is None:
            found = self._modules[id(names)] = dict(names)

            def imported(*arguments: Any) -> Any:
                return self.of(builtins.__import__(*arguments))

            found["__builtins__"] = {**vars(builtins), "__import__": imported}
            found.update({name: self.of(value) for name, value in names.items() if name != "__builtins__"})
        return found


def _is_numpy(value: Any) -> bool:
    return str(getattr(value, "__module__", None)).partition(".")[0] == "numpy"


def _is_numpy_module(module: types.ModuleType) -> bool:
    return module.__name__.partition(".")[0] == "numpy"


def _is_library(value: types.FunctionType | types.ModuleType) -> bool:
    """Say whether a function or a module is nobody's own: Python's, an installed package's, ours."""
    own = isinstance(value, types.FunctionType)
    name, file = (
        (value.__module__, value.__code__.co_filename) if own else (value.__name__, getattr(value, "__file__", ""))
    )
    if str(name).partition(".")[0] in sys.stdlib_module_names - {"__main__"}:
        return True
    return not file or is_ours(file) or "site-packages" in file
