"""What is written above a kernel, `@sketch(spec=..., block=..., x=f32[130])`: read, checked, and made a `Sketch`."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from numbers import Integral
from typing import Any, Final

from msgspec.structs import replace

from swizzle.language.element_types import MAX_ELEMENTS, ArrayRole, ArrayType, ElementType, VectorType, caller_place
from swizzle.language.frontend.kernel import build_program
from swizzle.language.frontend.resolve import Launch
from swizzle.language.parameters import MODULE_KEY, Parameters, Refused
from swizzle.language.source.kernel_source import KernelSource, kernel_source
from swizzle.language.specs.function import SequentialFunction
from swizzle.language.specs.own_meaning import OwnMeaning
from swizzle.language.specs.spec import Spec, spec
from swizzle.sketches.sketch import ScanExample, Sketch, SketchFamily, no_specification
from symbolic.algebra.expansion import in_words
from symbolic.errors import Place, SwizzleError, near
from symbolic.ir.program import DeclareArray, Program

MAX_THREADS: Final = 1024
MAX_BLOCK: Final = (1024, 1024, 64)
MAX_GRID: Final = (2**31 - 1, 65535, 65535)
MAX_GRID_THREADS: Final = 1 << 22
MAX_SHARED: Final = 227 * 1024
"""What a block of sm_90 and sm_100 may have; more than 48 KiB are dynamic, and blocks of other GPUs have less."""
WARP_SIZES: Final = (1, 2, 4, 8, 16, 32, 64)
MAX_ARGUMENTS: Final = 4096
"""The bytes that all arguments of a kernel may have in every CUDA version."""
MAX_RESIDENT: Final = 2048
"""The most threads that a multiprocessor of any GPU holds at once, in at most 32 blocks."""
MAX_RESIDENT_BLOCKS: Final = 32
OPTIONS: Final = (
    "spec", "block", "grid", "warp_size", "min_blocks", "ieee_division", "filled_from", "like", "relaxed_from",
)  # fmt: skip


def sketch(
    *bare: Any,
    spec: Callable[..., Any] | None = None,
    block: int | tuple[int, ...] | None = None,
    grid: int | tuple[int, ...] = 1,
    warp_size: int = 32,
    min_blocks: int = 0,
    ieee_division: bool = False,
    filled_from: Sketch | tuple[Sketch, ...] = (),
    like: Any = None,
    relaxed_from: Sketch | None = None,
    **arguments: ArrayType | int,
) -> Callable[[Callable[..., Any]], Sketch]:
    """Make a sketch of the kernel below: its specification, its launch shape, the type of each parameter.

    `block` (threads, at most 1024) and `grid` (blocks) are an int or up to three. `warp_size` is a power of two from 1
    to 64; with 64, the sketch can be solved and checked, but not printed. A parameter is an array type, `f32[130]`
    (input), `f32.const[3]`, `f32.by_value[3]` (elements that a launch is given), `f32.out[128]`, `f32.inout[4, 5]`,
    `i32.below(64)[130]` (index data, of a range that is assumed), a scalar's type, `f32.scalar` (one number, passed by
    value), or an int that is a constant in the kernel.
    With `min_blocks`, the compiler takes so few registers that a multiprocessor holds so many blocks at once.
    `ieee_division` keeps divisions of floats by constants, which are else printed as products with the reciprocal.
    `filled_from` names sketches that are solved first; the holes of device functions that they solve are taken from
    their solutions. `like` and `relaxed_from` are for a sketch with the holes of a scan, `sw_when` and `sw_from`: an
    example network at one size, with which it agrees there, or another such sketch, whose steps do as much
    (docs/scans.md). The kernel's text is read, never run. Raises `SwizzleError` with the place of a mistake.
    """
    if bare:
        raise SwizzleError(
            "@sketch without its arguments",
            place=caller_place(),
            expected="@sketch(spec=..., block=..., grid=..., x=f32[130], y=f32.out[128])",
            fix="write the arguments: the specification, the threads of a block, and what each parameter is",
        )
    options = {
        "spec": spec, "block": block, "grid": grid, "warp_size": warp_size, "min_blocks": min_blocks,
        "ieee_division": ieee_division, "filled_from": filled_from, "like": like, "relaxed_from": relaxed_from,
    }  # fmt: skip

    def decorate(function: Callable[..., Any]) -> Sketch:
        if not isinstance(function, types.FunctionType):
            raise SwizzleError(
                f"@sketch on a {type(function).__name__}",
                place=caller_place(),
                expected="a kernel defined with `def`",
                fix="write one @sketch(...) above one `def`",
            )
        declared: Parameters = function.__globals__.get(MODULE_KEY, Parameters())
        return declared.made(
            function.__name__, lambda: make_sketch(kernel_source(function, OPTIONS), options, arguments, declared)
        )

    return decorate


def make_sketch(
    kernel: KernelSource, options: Mapping[str, Any], arguments: Mapping[str, Any], parameters: Parameters
) -> Sketch:
    """Check a sketch's declaration and build its program; raises the mistake of another one that it is made of."""
    of = options.get("filled_from", ())
    for other in (*(of if isinstance(of, tuple) else (of,)), options.get("like"), options.get("relaxed_from")):
        if isinstance(other, Refused):
            raise other.error
    ordered = declared_arguments(kernel, arguments)
    launch = _launch(kernel, options)
    specification = None if options["spec"] is None else specification_of(kernel, options["spec"], ordered)
    given = options.get("filled_from", ())
    others = [other for other in (given if isinstance(given, tuple) else (given,)) if isinstance(other, Sketch)]
    program = replace(
        build_program(kernel, ordered, launch, {hole.place for other in others for hole in other.program.holes}),
        ieee_division=_ieee_division(kernel, options),
        min_blocks=_min_blocks(kernel, options, launch),
    )
    if specification is None:
        if program.holes:
            raise no_specification(program.name, kernel.keyword_place("spec"))
        names = tuple(p.name for p in program.parameters if p.role != "out")
        specification = Spec(program.name, OwnMeaning(program), names, kernel.keyword_place("spec"))
    _check_by_value(kernel, program)
    _check_local(program)
    _check_shared(program)
    sources = _filled_from(kernel, options.get("filled_from", ()), program)
    example = _example(kernel, options, program)
    again = parameters.again
    family: SketchFamily[Sketch] | None = None
    if again is not None:
        family = SketchFamily(parameters, partial(again, program.name))
    return Sketch(
        program.name, program, specification, parameters.values, program.place, sources, family=family, example=example
    )


def _launch(kernel: KernelSource, options: Mapping[str, Any]) -> Launch:
    if options["block"] is None:
        raise SwizzleError(
            f"the sketch {kernel.definition.name} has no block size",
            place=kernel.keyword_place("block"),
            expected="block=, the threads of a block: an int or up to three",
            fix="write @sketch(..., block=64, grid=2, ...)",
        )
    shapes = []
    for name in ("block", "grid"):
        given = options[name]
        sizes = given if isinstance(given, tuple) else (given,)
        if not 1 <= len(sizes) <= 3 or not all(_is_int(size) and size >= 1 for size in sizes):
            raise SwizzleError(
                f"{name} is {given!r}",
                place=kernel.keyword_place(name),
                expected="an int or up to three, each at least 1",
                fix=f"write {name}=32, or {name}=(32, 4)",
            )
        x, y, z = (*map(int, sizes), 1, 1)[:3]
        shapes.append((x, y, z))
    warp_size = options["warp_size"]
    if warp_size not in WARP_SIZES or not _is_int(warp_size):
        raise SwizzleError(
            f"warp_size is {warp_size!r}",
            place=kernel.keyword_place("warp_size"),
            expected=f"one of {', '.join(map(str, WARP_SIZES))}",
            fix="leave it out for 32, which is what GPUs have",
        )
    launch = Launch(shapes[0], shapes[1], int(warp_size))
    if launch.threads > MAX_THREADS:
        raise SwizzleError(
            f"a block of {launch.threads} threads",
            place=kernel.keyword_place("block"),
            expected=f"at most {MAX_THREADS} threads",
            fix="use a larger grid of smaller blocks",
        )
    _check_limits(kernel, launch)
    return launch


def _check_limits(kernel: KernelSource, launch: Launch) -> None:
    """Refuse what no GPU launches, and grids that are too large to be solved."""
    for name, shape, limits in (("block", launch.block, MAX_BLOCK), ("grid", launch.grid, MAX_GRID)):
        if any(size > limit for size, limit in zip(shape, limits, strict=True)):
            raise SwizzleError(
                f"{name} is {shape}",
                place=kernel.keyword_place(name),
                expected=f"at most {', '.join(map(str, limits))} along x, y, z, as on a GPU",
                fix="put more along x",
            )
    threads = launch.threads * prod(launch.grid)
    if threads > MAX_GRID_THREADS:
        raise SwizzleError(
            f"a grid of {threads} threads",
            place=kernel.keyword_place("grid"),
            expected=f"at most {MAX_GRID_THREADS} threads",
            fix="sketch one tile of the problem; a kernel is solved for fixed sizes",
        )


def _ieee_division(kernel: KernelSource, options: Mapping[str, Any]) -> bool:
    given = options.get("ieee_division", False)
    if given not in (True, False) or not isinstance(given, int):
        raise SwizzleError(
            f"ieee_division is {given!r}",
            place=kernel.keyword_place("ieee_division"),
            expected="True, for divisions that round as IEEE 754 says, or False",
            fix="leave it out for products with the reciprocal",
        )
    return bool(given)


def _min_blocks(kernel: KernelSource, options: Mapping[str, Any], launch: Launch) -> int:
    given, most = options.get("min_blocks", 0), min(MAX_RESIDENT_BLOCKS, MAX_RESIDENT // launch.threads)
    if not _is_int(given) or not 0 <= given <= most:
        raise SwizzleError(
            f"min_blocks is {given!r}",
            place=kernel.keyword_place("min_blocks"),
            expected=f"an int from 1 to {most}: a multiprocessor holds no more blocks of {launch.threads} threads",
            fix="leave it out, so that the compiler chooses how many registers it takes",
        )
    return int(given)


def declared_arguments(
    kernel: KernelSource, arguments: Mapping[str, Any], options: Sequence[str] = OPTIONS
) -> dict[str, ArrayType | int]:
    """Return what the sketch declares for each kernel parameter, in the kernel's order."""
    definition, source = kernel.definition, kernel.source
    a = definition.args
    if a.vararg or a.kwarg or a.kwonlyargs or a.posonlyargs or a.defaults:
        source.mistake(
            definition, "a kernel's parameters with `*`, `/` or defaults", "plain names: def kernel(x, w, y):",
            "write one name for each array; a size may be an int that @sketch(...) gives",
        )  # fmt: skip
    names = [argument.arg for argument in a.args]
    for argument in a.args:
        if argument.arg not in arguments:
            source.mistake(
                argument,
                f"the kernel's parameter {argument.arg} is not declared",
                "a type for each parameter",
                f"write @sketch(..., {argument.arg}=f32[...]), with its shape",
            )
    for name in arguments:
        if name not in names:
            raise SwizzleError(
                f"the kernel {definition.name} has no parameter {name}",
                place=kernel.keyword_place(name),
                expected=f"one of {', '.join(names)}, or an option: {', '.join(options)}",
                fix=near(name, [*names, *options]) or f"leave it out, or write def {definition.name}(..., {name})",
            )
    ordered = {name: _argument(kernel, name, arguments[name]) for name in names}
    if not any(isinstance(value, ArrayType) and value.role in ("out", "inout") for value in ordered.values()):
        raise SwizzleError(
            f"the kernel {definition.name} has no output",
            place=kernel.keyword_place("out"),
            expected="an out or inout array among its parameters",
            fix="declare one: y=f32.out[128]",
        )
    return ordered


def _argument(kernel: KernelSource, name: str, value: Any) -> ArrayType | int:
    if isinstance(value, ArrayType):
        return value
    if _is_int(value):
        return int(value)
    kind = value.dtype.value if isinstance(value, ElementType | ArrayRole | VectorType) else ""
    raise SwizzleError(
        f"the parameter {name} is declared {'without a shape' if kind else f'as {value!r}'}",
        place=kernel.keyword_place(name),
        expected="an array type, such as f32[130] or f32.out[128], or a scalar's, f32.scalar, or an int",
        fix=_with_a_type(name, value, kind, getattr(value, "below", 0) if isinstance(value, ArrayRole) else 0),
    )


def _with_a_type(name: str, value: Any, kind: str, below: int) -> str:
    if isinstance(value, float):
        return (
            f"write {name}=f32.scalar for a number that each call gives, or {name.upper()} = {value!r} above the sketch"
        )
    if below:
        return f"write {name}={kind}.below({below})[...] with its shape"
    if isinstance(value, VectorType):
        return f"write {name}={value!r}[...] with its shape, in vectors"
    if kind:
        return f"write {name}={kind}[...] with its shape, or {name}={kind}.scalar for one number"
    return f"write {name}=f32[...] with its shape"


def specification_of(kernel: KernelSource, given: Any, arguments: Mapping[str, ArrayType | int]) -> Spec:
    """Return the specification, with the kernel's int parameters that it names filled in.

    Inputs are given by position. What it calls them is its own choice, but not the name of another one.
    """
    if given is None:
        raise no_specification(kernel.definition.name, kernel.keyword_place("spec"))
    if not isinstance(given, Spec | SequentialFunction | types.FunctionType):
        raise SwizzleError(
            f"the specification is {given!r}", place=kernel.keyword_place("spec"), expected="a function marked @spec",
            fix=f"write spec={given}, without quotes" if isinstance(given, str) else "write the function's name",
        )  # fmt: skip
    made = spec(given)
    constants = {name: value for name, value in arguments.items() if isinstance(value, int) and name in made.parameters}
    arrays = tuple(name for name in made.parameters if name not in constants)
    given = {n: value for n, value in arguments.items() if isinstance(value, ArrayType) and value.role != "out"}
    inputs, scalars = list(given), any(not value.shape for value in given.values())
    if len(arrays) != len(inputs):
        what = ("input" if scalars else "array") + "s" * (len(arrays) != 1)
        raise SwizzleError(
            f"the specification {made.name} takes {len(arrays)} {what} ({', '.join(arrays) or 'none'})",
            place=kernel.keyword_place("spec"),
            expected=f"the kernel's {'inputs' if scalars else 'input arrays'} in order: {', '.join(inputs) or 'none'}",
            fix=f"write def {made.name}({', '.join(inputs)}): it returns the out arrays",
        )
    for name, bound in zip(arrays, inputs, strict=True):
        if name in inputs and name != bound:
            raise SwizzleError(
                f"{name} of the specification {made.name}({', '.join(arrays)}) is the kernel's {bound}, not its {name}",
                place=kernel.keyword_place("spec"),
                expected=f"the kernel's input{'s' if scalars else ' arrays'} in order: {', '.join(inputs)}",
                fix=f"write def {made.name}({', '.join((*inputs, *constants))}), or other names: inputs go by position",
            )
    return Spec(made.name, made.function, arrays, made.place, constants)


def _check_by_value(kernel: KernelSource, program: Program) -> None:
    """Refuse more by value than a launch can be given, beside pointers, scalars and three lengths."""
    mine = {p.name: prod(p.shape) * p.dtype.bits // 8 for p in program.parameters if p.by_value}
    room = MAX_ARGUMENTS - 8 * (len(program.parameters) - len(mine) + len(MAX_BLOCK))
    if sum(mine.values()) > room:
        name = max(mine, key=lambda each: mine[each])
        others = ", with the others " + str(sum(mine.values())) if len(mine) > 1 else ""
        raise SwizzleError(
            f"{name} takes {mine[name]} bytes by value{others}",
            place=kernel.keyword_place(name),
            expected=f"at most {room} bytes: a launch is given {MAX_ARGUMENTS}, pointers and lengths included",
            fix=f"declare {name} with .const, which is read through a pointer",
        )


def _check_local(program: Program) -> None:
    """Refuse local arrays that take too much memory in all threads together."""
    threads = prod(program.block) * prod(program.grid)
    for array in program.body:
        if isinstance(array, DeclareArray) and array.memory == "local" and prod(array.shape) * threads > MAX_ELEMENTS:
            raise SwizzleError(
                f"the local array {array.name} has {prod(array.shape)} elements in each of {threads} threads",
                place=array.place,
                expected=f"at most {MAX_ELEMENTS} elements in all",
                fix="sketch one tile of the problem; a kernel is solved for fixed sizes",
            )


def _check_shared(program: Program) -> None:
    """Refuse more shared memory than a block of any GPU can have, where it is declared."""
    total = 0
    for array in in_words(program).body:  # an array is declared at the top of a kernel
        if not isinstance(array, DeclareArray) or array.memory != "shared":
            continue
        taken = prod(array.shape) * array.dtype.bits // 8
        total += taken
        if total > MAX_SHARED:
            before = f", {total} with the arrays before it" if total > taken else ""
            raise SwizzleError(
                f"the shared array {array.name} takes {taken} bytes{before}",
                place=array.place,
                expected=f"at most {MAX_SHARED} bytes of shared memory in all",
                fix="use smaller tiles",
            )


def _example(kernel: KernelSource, options: Mapping[str, Any], program: Program) -> ScanExample | None:
    """Return what the sketch of a scan is like, or relaxed from; None where nothing is said."""
    like, source = options.get("like"), options.get("relaxed_from")
    if like is None and source is None:
        return None
    name = "relaxed_from" if like is None else "like"
    place = kernel.keyword_place(name)
    if like is not None and source is not None:
        raise SwizzleError(
            "like= and relaxed_from= in one sketch",
            place=place,
            expected="one of them: each says what every step does at one size",
            fix="leave one of them out",
        )
    if not any(hole.kind == "when" for hole in program.holes):
        raise SwizzleError(
            f"{name}= of {program.name}, which has no hole sw_when",
            place=place,
            expected="a sketch of a scan, with the holes sw_when(i, d) and sw_from(i, d)",
            fix="leave it out; holes of device functions are taken from another sketch by filled_from=",
        )
    if source is not None and not (
        isinstance(source, Sketch) and any(hole.kind == "when" for hole in source.program.holes)
    ):
        said = f"{source.name}, which has no hole sw_when" if isinstance(source, Sketch) else repr(source)
        raise SwizzleError(
            f"relaxed_from is {said}", place=place, expected="a sketch of a scan above this one", fix="write its name"
        )
    return ScanExample(like, source, place)


def _filled_from(kernel: KernelSource, given: Any, program: Program) -> tuple[Sketch, ...]:
    """Return the sketches that fill holes of this one, each of which shares one with it."""
    sources = given if isinstance(given, tuple) else (given,)
    place, mine = kernel.keyword_place("filled_from"), {hole.place: hole for hole in program.holes}
    owners: dict[Place, str] = {}
    for source in sources:
        if not isinstance(source, Sketch):
            said = repr(source) if isinstance(source, str | int | None) else f"a {type(source).__name__}"
            raise SwizzleError(
                f"filled_from is {said}",
                place=place,
                expected="a sketch above this one, or several in a tuple",
                fix="write @sketch(..., filled_from=product), without quotes"
                if isinstance(source, str)
                else "name the sketches themselves: filled_from=product, or filled_from=(product, shift)",
            )
        common = [hole for hole in source.program.holes if hole.place in mine]
        if not common:
            raise SwizzleError(
                f"{program.name} shares no hole with {source.name}",
                place=place,
                expected="a sketch that calls a device function with holes which this kernel calls too",
                fix="move what both compute into a function with @cuda.jit(device=True)",
            )
        for hole in common:
            if hole.size != mine[hole.place].size:
                raise SwizzleError(
                    f"the hole {mine[hole.place].name} has the size {mine[hole.place].size} here and {hole.size} in "
                    f"{source.name}",
                    place=place,
                    expected="one size for both",
                    fix=f"see {hole.place}",
                )
            if owners.setdefault(hole.place, source.name) != source.name:
                raise SwizzleError(
                    f"{mine[hole.place].name} is filled from {owners[hole.place]} and from {source.name}",
                    place=place,
                    expected="one sketch for each hole",
                    fix="leave one of them out",
                )
    return sources


def _is_int(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
