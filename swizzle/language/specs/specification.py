"""One specification, two uses: on symbolic arrays it gives the post-condition, on NumPy arrays the numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from math import prod
from types import FunctionType
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from swizzle.language.other_names import IN_NUMPY, here
from swizzle.language.specs.array_elements import kind_of_type
from swizzle.language.specs.data_array import exact_integers, made
from swizzle.language.specs.numpy_names import Names
from swizzle.language.specs.spec import Spec
from swizzle.language.specs.typed_scalars import in_own_type, symbolic_array
from swizzle.language.specs.wrapping import unwrapped, wrapping_array
from symbolic.algebra.datum import DataComparison, Datum, symbolic_input
from symbolic.algebra.numbers import CONVERT, NUMPY_DTYPES, as_numbers
from symbolic.algebra.residues import converted
from symbolic.algebra.terms import Term, Terms
from symbolic.algebra.whole_ranges import WholeRanges
from symbolic.elements import is_exact
from symbolic.errors import Place, SwizzleError, user_place
from symbolic.ir.index import cell_name
from symbolic.ir.program import DType, OperatorName, Parameter, Program
from symbolic.ir.walk import operators_of
from symbolic.solve.interrupt import gc_paused

MANY: Final = 1 << 11
"""So many elements are worth reading the specification's text."""
_OWN_TYPES: ContextVar[bool] = ContextVar("_OWN_TYPES", default=False)


def inputs(program: Program) -> tuple[Parameter, ...]:
    """Return the parameters that the specification receives."""
    return tuple(p for p in program.parameters if p.role != "out")


def outputs(program: Program) -> tuple[Parameter, ...]:
    """Return the parameters that the specification determines."""
    return tuple(p for p in program.parameters if p.role in ("out", "inout"))


def symbolic_inputs(program: Program, terms: Terms) -> dict[str, npt.NDArray[np.int64]]:
    """Return each input parameter as a flat array of its variables."""
    terms.scalars.update(p.name for p in inputs(program) if p.is_scalar)
    terms.types.update({p.name: p.dtype for p in inputs(program)})
    found = dict[str, npt.NDArray[np.int64]]()
    for p in inputs(program):
        asked = p.name, prod(p.shape)
        if asked not in terms.lanes:
            terms.lanes[asked] = np.array(terms.atoms(*asked), np.int64)
            terms.lanes[asked].flags.writeable = False
        found[p.name] = terms.lanes[asked]
    return found


def postcondition(program: Program, spec: Callable[..., Any], terms: Terms) -> dict[str, list[Term]]:
    """Return the term that every output element must be, row-major.

    Raises `SwizzleError` when the specification fails or returns other shapes than the kernel's.
    """
    terms.types.update({p.name: p.dtype for p in inputs(program)})
    place = _place(program, spec)
    large = sum(prod(p.shape) for p in program.parameters) >= MANY
    with gc_paused(), np.errstate(all="ignore"):  # terms are many, and no cycles
        seen = _on_data(spec)
        if _OWN_TYPES.get() and seen is not None and any(not p.dtype.is_float for p in inputs(program)):
            terms.whole, large = terms.whole or WholeRanges(terms), False
        make = symbolic_input if seen is None else symbolic_array
        arrays = [make(terms, p.name, p.shape) for p in inputs(program)]
        run = partial(seen.on_symbols, terms) if large and seen is not None else seen
        returned = _by_name(program, _call(program, spec, arrays, run), place)
    found: dict[str, list[Term]] = {}
    for parameter in outputs(program):
        flat: list[Term] = []
        _flatten(parameter, in_own_type(returned[parameter.name]), parameter.shape, terms, flat, place)
        narrow = parameter.dtype.is_narrow
        found[parameter.name] = [Datum(terms, term).kept_by(parameter.dtype) for term in flat] if narrow else flat
    _refuse_namesakes(program, terms, place)
    return found


def _on_data(spec: Callable[..., Any]) -> Any:
    """Return a specification in Python as it runs on data, with NumPy's functions; None of any other one."""
    own = spec.spec if isinstance(spec, Remembered) else spec
    return Names().of_spec(own) if isinstance(own, Spec) and isinstance(own.function, FunctionType) else None


def _refuse_namesakes(program: Program, terms: Terms, place: Place) -> None:
    """Refuse two operators of one name, in the kernel and the specification or in one of them."""
    met: dict[str, OperatorName] = {}
    for op in (
        *(op for op, _ in operators_of(program)),
        *terms.own_operators(),
    ):
        if met.setdefault(str(op), op) != op:
            raise SwizzleError(
                f"two operators are called {op}: what one says of order, identity or types is not what the other says",
                place=place,
                expected="one operator of this name, in the kernel and in its specification",
                fix="use one of them for both, or give the other one another name",
            )


MOST_TERMS: Final = 1 << 20
"""Terms in one table, which take about half a gigabyte."""


class Meaning(Struct, frozen=True):
    """What a specification says at a sketch's sizes: the term of every output element, in its table of terms."""

    terms: Terms
    wanted: dict[str, list[Term]]

    @property
    def is_large(self) -> bool:
        """Whether the table has so many terms that another one begins (`Remembered`)."""
        return len(self.terms.nodes) > MOST_TERMS

    @staticmethod
    def of(program: Program, spec: Callable[..., Any]) -> Meaning:
        """Run the specification on symbols; raises `SwizzleError` as `postcondition` does."""
        if isinstance(spec, Remembered) or _SHARED.get() is not None:
            return remembered(spec, program).meaning(program)
        terms = Terms()
        return Meaning(terms, postcondition(program, spec, terms))


class Remembered:
    """A specification that is run on symbols once for each set of shapes. Its terms are in one table until that has
    `MOST_TERMS`; then another one begins, and whoever still needs the first one holds it.

    It lives for one command: if something that it reads changes, it is not run again.
    """

    def __init__(self, spec: Callable[..., Any]) -> None:
        self.spec, self.place = spec, getattr(spec, "place", None)
        self._terms, self._said = Terms(), dict[object, Meaning]()

    def __call__(self, *arrays: Any) -> Any:
        return self.spec(*arrays)

    def meaning(self, program: Program) -> Meaning:
        """Return what it says at the shapes of a program."""
        shapes = tuple((p.name, p.dtype, p.role, p.shape) for p in program.parameters)
        if shapes not in self._said:
            if len(self._terms.nodes) > MOST_TERMS:
                self._terms, self._said = Terms(), {}
            self._said[shapes] = Meaning(self._terms, postcondition(program, self.spec, self._terms))
        return self._said[shapes]


_SHARED: ContextVar[dict[object, Remembered] | None] = ContextVar("_SHARED", default=None)


def remembered(spec: Callable[..., Any], program: Program) -> Remembered:
    """Return a specification that remembers, of a program with these parameters, whatever their shapes are.

    It is that of the `remembering` around, if there is one.
    """
    if isinstance(spec, Remembered):
        return spec
    known, made = _SHARED.get(), Remembered(spec)  # it keeps the specification, whose identity is in the key
    key = id(spec), tuple((p.name, p.dtype, p.role) for p in program.parameters)
    return made if known is None else known.setdefault(key, made)


@contextmanager
def remembering() -> Iterator[None]:
    """Run no specification twice for the same shapes: a command that searches asks again at which lengths it holds."""
    token = _SHARED.set({})
    try:
        yield
    finally:
        _SHARED.reset(token)


@contextmanager
def own_types() -> Iterator[None]:
    """Let integers have the types that NumPy gives them, and wrap there, in terms and in numbers; those of 8 and 16
    bits are `int32` all the same."""
    token = _OWN_TYPES.set(True)
    try:
        yield
    finally:
        _OWN_TYPES.reset(token)


def numbers(
    program: Program, spec: Callable[..., Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> dict[str, npt.NDArray[Any]]:
    """Return every output of the specification on NumPy inputs (copied first), in the outputs' shapes and dtypes."""
    with np.errstate(all="ignore"):
        by_name = returned(program, spec, [np.array(arrays[p.name]) for p in inputs(program)])
    found: dict[str, npt.NDArray[Any]] = {}
    for parameter in outputs(program):
        found[parameter.name] = _as_declared(parameter, by_name[parameter.name], _place(program, spec))
    return found


def returned(program: Program, spec: Callable[..., Any], arrays: list[Any]) -> dict[str, Any]:
    """Return what the specification makes of some NumPy arrays, by the outputs' names.

    Terms do not know how wide a sum of elements is. So each output of 32 or 64 bits is computed in its own type, from
    integers that it holds all of, and in `i32` from other ones of 8 and 16 bits; so is what the specification converts
    to 8 or 16 bits.
    """
    said: dict[tuple[str, ...], dict[str, Any]] = {}
    found: dict[str, Any] = {}
    converts, cuts = CONVERT.get(), False
    for parameter in outputs(program):
        target = parameter.dtype

        def convert(value: Any, to: DType, target: DType = target) -> Any:
            nonlocal cuts
            cuts |= to.is_narrow
            return _widened(converts(value, to), target) if to.is_narrow else converts(value, to)

        wide = [_widened(array, target) for array in arrays]
        types = (*(array.dtype.str for array in wide), target.value if cuts else "")
        if types not in said:
            token = CONVERT.set(convert)
            try:
                if any(array.dtype.kind == "u" for array in wide):
                    values = _call_wrapping(program, spec, wide)
                else:
                    values = _call_numbers(program, spec, _given(wide), exact=converts is converted)
            finally:
                CONVERT.reset(token)
            said[types] = _by_name(program, values, _place(program, spec))
        found[parameter.name] = said[types][parameter.name]
    return found


def _widened(array: npt.NDArray[Any], target: DType) -> npt.NDArray[Any]:
    """Return integers as those of the type that an output of another type is computed in; other arrays as they are."""
    if array.dtype.kind not in "iu":
        return array
    if _OWN_TYPES.get():
        return array.astype(np.int32) if array.dtype.itemsize < 4 else array
    source = DType(f"{array.dtype.kind}{8 * array.dtype.itemsize}")
    if source.is_narrow and target.is_narrow:
        return array.astype(np.int32)
    if is_exact(source, target):
        return array.astype(np.int64 if target.is_float else NUMPY_DTYPES[target])
    return array.astype(np.int32) if source.is_narrow else array


def _as_declared(parameter: Parameter, returned: Any, place: Place) -> npt.NDArray[Any]:
    """Return an output in its dtype.

    NumPy's integers wrap as the kernel's do; a Python int must fit, and a fraction is no integer.
    """
    dtype: np.dtype[Any] = np.dtype(NUMPY_DTYPES[parameter.dtype])
    array = returned if isinstance(returned, np.ndarray) else np.array(returned, object)
    if array.shape != parameter.shape:
        raise _wrong_shape(parameter, array.shape, place)
    if array.dtype.kind not in "iufb":
        for value in array.reshape(-1).tolist():
            if not isinstance(value, (int, float, np.integer, np.floating, np.bool_)):
                raise _no_number(parameter, type(value).__name__, place)
    if dtype.kind in "iu" and array.dtype.kind not in "iub":
        whole = [_whole(parameter, value, at, place) for at, value in enumerate(array.reshape(-1).tolist())]
        return np.array(whole, dtype).reshape(array.shape)
    try:
        return np.asarray(as_numbers(array, parameter.dtype))
    except OverflowError:
        raise _no_number(parameter, "an int beyond all floats", place) from None


def _whole(parameter: Parameter, value: Any, address: int, place: Place) -> Any:
    """Return one element of an integer output as a NumPy integer of its dtype."""
    dtype = NUMPY_DTYPES[parameter.dtype]
    if isinstance(value, np.integer):
        return value.astype(dtype)
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    if isinstance(value, (int, np.bool_)) and low <= int(value) <= high:
        return dtype(value)
    raise SwizzleError(
        f"the specification gives {cell_name(parameter.name, parameter.shape, address)} = {value}",
        place=place,
        expected=f"an integer from {low} to {high}: {parameter.name} is {parameter.dtype.value}",
        fix="divide with `//`" if isinstance(value, (float, np.floating)) else "compute with the array's own elements",
    )


def _no_number(parameter: Parameter, kind: str, place: Place) -> SwizzleError:
    return SwizzleError(
        f"the specification gives {kind} as an element of {parameter.name}",
        place=place,
        expected="numbers made of the input arrays' elements",
        fix="write where(a < b, 1, 0)" if kind == "a comparison" else "give every element a value",
    )


def _mending(error: Exception) -> str:
    """Say what to do about what a specification raised."""
    if isinstance(error, IndexError):
        return "check its indices against the shapes in @sketch(...)"
    if bounds := re.search(r"out of bounds for (u?int\d+)", str(error)):
        return (
            f"NumPy wraps what it computes, not what it stores: sum in the array's own type, "
            f"x.sum(dtype=np.{bounds[1]}), which wraps as a kernel does"
        )
    if isinstance(error, NameError) and error.name:
        return here(error.name) or f"define {error.name} above the specification"
    if isinstance(error, ModuleNotFoundError) or re.search(r"\b(Tensor|Array|jax)\b", str(error)):
        return "write it in NumPy: np.maximum(x, 0), x.sum(axis=1), np.exp(x - x.max())"
    if isinstance(error, AttributeError) and error.name in IN_NUMPY:
        return f"write it in NumPy: {IN_NUMPY[error.name]}"
    return "try it on NumPy arrays of these shapes"


def _call(program: Program, spec: Callable[..., Any], arrays: list[Any], run: Callable[..., Any] | None = None) -> Any:
    try:
        return (run or spec)(*arrays)
    except SwizzleError as error:
        place = error.place or _failing(error, spec) or program.place
        raise SwizzleError(error.found, place=place, expected=error.expected, fix=error.fix) from None
    except Exception as error:
        shapes = ", ".join(f"{p.name} {'x'.join(map(str, p.shape)) or 'a number'}" for p in inputs(program))
        raise SwizzleError(
            f"the specification fails: {type(error).__name__}: {error}",
            place=_failing(error, spec) or program.place,
            expected=f"a function that runs on the kernel's input arrays, in their order: {shapes or 'none'}",
            fix=_mending(error),
        ) from None


def _call_numbers(program: Program, spec: Callable[..., Any], arrays: list[Any], exact: bool = False) -> Any:
    """Call a specification on NumPy's arrays, or on arrays of numbers that NumPy does not have. Where it is `exact`, so
    are the floats that integers become."""
    seen = _on_data(spec)
    if seen is None or not (exact or any(np.ndim(array) and array.dtype.kind == "O" for array in arrays)):
        return _call(program, spec, arrays)
    given = list[Any]()
    for p, array in zip(inputs(program), arrays, strict=True):
        if np.ndim(array) and array.dtype.kind == "O":
            given.append(made(array, kind_of_type(p.dtype), p.name))
        else:
            given.append(exact_integers(array) if exact and isinstance(array, np.ndarray) else array)
    return _call(program, spec, given, seen)


def _call_wrapping(program: Program, spec: Callable[..., Any], arrays: list[Any]) -> Any:
    """Call a specification on inputs, unsigned ones among them; where NumPy refuses a Python int (-1), it wraps."""
    try:
        return spec(*_given(arrays))
    except (OverflowError, SwizzleError):
        return unwrapped(_call_numbers(program, spec, _given([wrapping_array(array) for array in arrays])))
    except Exception:
        return _call(program, spec, arrays)


def _given(arrays: list[Any]) -> list[Any]:
    """Return what a specification receives: arrays of its own, and the number that a scalar is."""
    return [np.array(array) if np.ndim(array) else array[()] for array in arrays]


def _failing(error: Exception, spec: Callable[..., Any]) -> Place | None:
    """Return the innermost place in the specification's own file."""
    written = getattr(spec, "place", None)
    return user_place(error, written.file if isinstance(written, Place) else None)


def _place(program: Program, spec: Callable[..., Any]) -> Place:
    """Return where the specification is, or else the kernel."""
    place = getattr(spec, "place", None)
    return place if isinstance(place, Place) else program.place


def _by_name(program: Program, returned: Any, place: Place) -> dict[str, Any]:
    """Match what a specification returned to the outputs: one array, a tuple in order, or a dict by name."""
    names = [p.name for p in outputs(program)]
    if returned is None:
        found = {}
    elif isinstance(returned, Mapping):
        found = dict(returned)
    elif len(names) == 1:
        found = {names[0]: returned[0] if isinstance(returned, tuple) and len(returned) == 1 else returned}
    elif isinstance(returned, tuple) and len(returned) == len(names):
        found = dict(zip(names, returned, strict=True))
    else:
        found = {}
    if set(found) != set(names):
        raise SwizzleError(
            f"the specification of {program.name} returns {_describe(returned)}",
            place=place,
            expected=f"a value for each of: {', '.join(names)}",
            fix="return one array, a tuple in the order of the out arrays, or a dict by their names",
        )
    return found


def _describe(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"a dict with the keys {', '.join(map(str, value)) or 'none'}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return "nothing" if value is None else f"one {type(value).__name__}"


def _flatten(
    parameter: Parameter, value: Any, shape: tuple[int, ...], terms: Terms, flat: list[Term], place: Place
) -> None:
    if isinstance(value, np.ndarray):
        if value.shape != shape:
            raise _wrong_shape(parameter, value.shape, place)
        for part in value.reshape(-1).tolist():
            _flatten(parameter, part, (), terms, flat, place)
        return
    if not shape:
        if isinstance(value, Datum):
            flat.append(value.term)
        elif isinstance(value, (int, float)) or hasattr(value, "item"):
            flat.append(terms.const(value.item() if hasattr(value, "item") else value))
        else:
            what = "a comparison" if isinstance(value, DataComparison) else type(value).__name__
            raise _no_number(parameter, what, place)
        return
    if not hasattr(value, "__len__") or len(value) != shape[0]:
        raise _wrong_shape(parameter, _shape_of(value), place, one_number=isinstance(value, Datum | int | float))
    if len(shape) == 1 and all(type(part) is Datum for part in value):
        flat += [part.term for part in value]
        return
    for part in value:
        _flatten(parameter, part, shape[1:], terms, flat, place)


def _shape_of(value: Any) -> tuple[int, ...]:
    if isinstance(value, Datum) or not hasattr(value, "__len__"):
        return ()
    return (len(value), *(_shape_of(value[0]) if len(value) else ()))


def _wrong_shape(parameter: Parameter, shape: tuple[int, ...], place: Place, one_number: bool = False) -> SwizzleError:
    return SwizzleError(
        f"the specification gives {parameter.name} the shape {shape}",
        place=place,
        expected=f"the shape {parameter.shape}, which the output has",
        fix=(
            f"return it as an array: np.reshape(value, {parameter.shape})"
            if one_number and prod(parameter.shape) == 1
            else "make the two agree: return the one, or declare the other"
            if shape or not parameter.shape
            else "return a list of all elements, without `yield`"
        ),
    )
