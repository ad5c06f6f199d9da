"""Host functions: kernels that run one after the other, with one specification.

`@host(spec=..., x=f32[4, 64], y=f32.out[4, 64])` stands above a function that launches sketches on its arrays. The
function is run once, on arrays without elements, to see what it launches.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from swizzle.language.element_types import ArrayType, caller_place
from swizzle.language.host_arrays import LAUNCHES, HostArray, Launches
from swizzle.language.parameters import MODULE_KEY, Parameters
from swizzle.language.source.kernel_source import KernelSource, kernel_source
from swizzle.language.specs.spec import Spec
from swizzle.sketches.declaration import declared_arguments, specification_of
from swizzle.sketches.sketch import Sketch, no_specification
from symbolic.errors import Place, SwizzleError
from symbolic.ir.program import Parameter, Program


class HostLaunch(Struct, frozen=True):
    """A kernel of a host function, and the names of the arrays that it runs on."""

    kernel: Sketch
    arrays: tuple[str, ...]
    place: Place


class HostSketch(Struct, frozen=True, eq=False):
    """A host function: what it is given, the arrays that its kernels hand on, and the launches in order.

    `values` are those of the file's parameters.
    """

    name: str
    parameters: tuple[Parameter, ...]
    scratch: tuple[Parameter, ...]
    launches: tuple[HostLaunch, ...]
    spec: Spec
    place: Place
    values: Mapping[str, int]

    @property
    def kernels(self) -> tuple[Sketch, ...]:
        """The kernels, each once, in the order of their first launches."""
        return tuple(dict.fromkeys(launch.kernel for launch in self.launches))

    @property
    def face(self) -> Program:
        """A program without statements that has the host function's parameters, to ask its specification."""
        return Program(self.name, self.parameters, (), (), (1, 1, 1), (1, 1, 1), 32, self.place)

    def __repr__(self) -> str:
        return f"<host function {self.name} at {self.place}: {len(self.launches)} launches>"


def host(*bare: Any, spec: Callable[..., Any] | None = None, **arguments: ArrayType) -> Callable[..., HostSketch]:
    """Make a host function of the function below: kernels that run one after the other, with one specification.

    Each parameter has an array type, as in `@sketch`, or a scalar's. The function launches sketches by calling them on
    its parameters, and on arrays that `cuda.device_array(shape, dtype)` makes. A sketch without holes that is launched
    so needs no specification of its own. Raises `SwizzleError` with the place of a mistake.
    """
    if bare:
        raise SwizzleError(
            "@host without its arguments",
            place=caller_place(),
            expected="@host(spec=..., x=f32[130], y=f32.out[128])",
            fix="name the specification, and each array with its type",
        )

    def decorate(function: Callable[..., Any]) -> HostSketch:
        if not isinstance(function, types.FunctionType):
            raise SwizzleError(
                f"@host on a {type(function).__name__}",
                place=caller_place(),
                expected="a function defined with `def`, which launches kernels",
                fix="write it above one `def`",
            )
        source = kernel_source(function, ("spec",), "host function")
        parameters: Parameters = function.__globals__.get(MODULE_KEY, Parameters())

        def run(seen: Launches, given: Mapping[str, HostArray]) -> Any:
            token = LAUNCHES.set(seen)
            try:
                return function(**given)
            finally:
                LAUNCHES.reset(token)

        return parameters.made(function.__name__, lambda: make_host(source, run, spec, arguments, parameters.values))

    return decorate


def make_host(
    source: KernelSource, run: Callable[[Launches, Mapping[str, HostArray]], Any], spec: Any,
    arguments: Mapping[str, Any], values: Mapping[str, int],
) -> HostSketch:  # fmt: skip
    """Make a host function of its text; `run` adds the launches of its body on some arrays, and returns its result."""
    function_name = source.definition.name
    declared = declared_arguments(source, arguments, ("spec",))
    kinds = {name: kind for name, kind in declared.items() if isinstance(kind, ArrayType)}
    for name in declared.keys() - kinds.keys():
        raise SwizzleError(
            f"the parameter {name} of a host function is an int", place=source.keyword_place(name),
            expected="an array type, or a scalar's", fix="write a constant above the kernels",
        )  # fmt: skip
    for name, kind in kinds.items():
        if kind.role == "by_value":
            raise _by_value(function_name, name, source.keyword_place(name))
    if spec is None:
        raise no_specification(function_name, source.keyword_place("spec"), "host function")
    specification = specification_of(source, spec, kinds)
    given = {name: HostArray(name, kind, source.keyword_place(name)) for name, kind in kinds.items()}
    seen = Launches()
    returned = run(seen, given)
    if returned is not None or not seen.launches:
        what = "returns something" if returned is not None else "launches no kernel"
        raise SwizzleError(
            f"the host function {function_name} {what}", place=source.place,
            expected="launches of kernels on its arrays", fix="write `kernel(x, y)` in its body, and return nothing",
        )  # fmt: skip
    own = _own_names(source)
    names = {id(array): array.name for array in given.values()}
    for array in seen.scratch:
        wish = own.get(array.place.line, array.name)
        names[id(array)] = wish if wish not in names.values() else array.name
    written = {name for name, kind in kinds.items() if kind.role != "out"}
    launches = []
    for each in seen.launches:
        launches.append(_launch(each.kernel, each.given, each.place, names, given, written))
    never = [name for name, kind in kinds.items() if kind.role in ("out", "inout") and name not in _stored(launches)]
    if never:
        raise SwizzleError(
            f"no kernel of {function_name} stores {', '.join(never)}", place=source.place,
            expected="each output stored by a kernel", fix="launch a kernel on it, or leave it out",
        )  # fmt: skip
    parameters = tuple(Parameter(n, k.dtype, k.shape, k.role, given[n].place, k.limit) for n, k in kinds.items())
    scratch = tuple(Parameter(names[id(a)], a.type.dtype, a.type.shape, "inout", a.place) for a in seen.scratch)
    return HostSketch(function_name, parameters, scratch, tuple(launches), specification, source.place, values)


def _own_names(source: KernelSource) -> dict[int, str]:
    """Return the names that a host function gives its arrays, by the line of the assignment."""
    return {
        source.source.place(node).line: node.targets[0].id
        for node in ast.walk(source.definition)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    }


def _stored(launches: list[HostLaunch]) -> set[str]:
    return {
        name
        for launch in launches
        for name, p in zip(launch.arrays, launch.kernel.program.parameters, strict=True)
        if p.role in ("out", "inout")
    }


def _launch(
    kernel: Sketch, given: tuple[Any, ...], place: Place, names: Mapping[int, str], own: Mapping[str, HostArray],
    written: set[str],
) -> HostLaunch:  # fmt: skip
    """Check what a kernel is launched on: arrays of its types and shapes, each written before it is read."""
    parameters = kernel.program.parameters
    wanted = ", ".join(f"{p.name}: {_kind(p.dtype.value, p.shape)}" for p in parameters)

    def refuse(found: str, expected: str, fix: str) -> SwizzleError:
        return SwizzleError(found, place=place, expected=expected, fix=fix)

    if len(given) != len(parameters):
        what = f"{len(given)} array{'s' * (len(given) != 1)}"
        raise refuse(
            f"{kernel.name} is launched on {what}",
            f"{len(parameters)}: {wanted}",
            fix="pass each array of the kernel, in its order",
        )
    for parameter in parameters:
        if parameter.by_value:
            raise _by_value(kernel.name, parameter.name, place)
    for parameter, array in zip(parameters, given, strict=True):
        if not isinstance(array, HostArray) or id(array) not in names:
            raise refuse(
                f"{kernel.name} is given {array!r} for {parameter.name}",
                "a parameter of the host function, or an array of cuda.device_array",
                "declare what is an int in the kernel's own @sketch(...)",
            )
        name = names[id(array)]
        own_kind = _kind(array.type.dtype.value, array.type.shape)
        if (array.type.dtype, array.type.shape) != (parameter.dtype, parameter.shape):
            raise refuse(
                f"{kernel.name} is given {name}, {own_kind}, for {parameter.name}",
                _kind(parameter.dtype.value, parameter.shape), "declare one type and shape for both",
            )  # fmt: skip
        if parameter.below and parameter.below != array.type.limit:
            raise refuse(
                f"{kernel.name} takes {parameter.name} below {parameter.below}, which {name} is not declared as",
                "index data of one declared range", f"declare {name} as the kernel does",
            )  # fmt: skip
        if parameter.role in ("out", "inout") and name in own and own[name].type.role in ("in", "const"):
            raise refuse(
                f"{kernel.name} stores {name}, an input of the host function", "an output, or a device array",
                f"declare {name} with .inout, or hand on another array",
            )  # fmt: skip
        if parameter.role != "out" and name not in written:
            raise refuse(
                f"{kernel.name} reads {name}, which no kernel before it has stored", "an array with elements",
                "launch the kernel that stores it first",
            )  # fmt: skip
    arrays = [names[id(array)] for array in given]
    twice = next((name for name in arrays if arrays.count(name) > 1), None)
    if twice is not None and not own.get(twice, given[arrays.index(twice)]).type.shape == ():
        raise refuse(f"{kernel.name} is given {twice} twice", "arrays apart from each other", "hand on another array")
    written.update(n for n, p in zip(arrays, parameters, strict=True) if p.role in ("out", "inout"))
    return HostLaunch(kernel, tuple(arrays), place)


def _by_value(function: str, name: str, place: Place | None) -> SwizzleError:
    return SwizzleError(
        f"{function} takes {name} by value", place=place, expected="arrays in device memory, in host functions",
        fix=f"declare {name} with .const",
    )  # fmt: skip


def _kind(dtype: str, shape: tuple[int, ...]) -> str:
    return f"{dtype}[{', '.join(map(str, shape))}]" if shape else f"{dtype}.scalar"
