"""Where each scalar and array is declared in C++: at its first assignment, if that comes before every other use; and
where shared arrays are that are too large to be declared with their sizes.

Python scopes a name to its function, C++ to its block. A name is declared further out if its first assignment does not
dominate its uses, or if its value is kept from one iteration of a loop to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Final, TypeAlias

from msgspec import Struct

from symbolic.errors import SwizzleError
from symbolic.ir import program as ir
from symbolic.ir.program import DeclareArray, DType, Program, Stmt
from symbolic.ir.walk import Body, names_in, own_expressions, statements

Path: TypeAlias = tuple[
    tuple[int, str], ...
]  # from the kernel's body inwards: statement number, and which of its bodies


class DeclarationPoint(Struct, frozen=True):
    """A variable is declared before statement `index` of the body at `path`, or by that statement itself (`here`)."""

    path: Path
    index: int
    here: bool


class Scalar(Struct, frozen=True):
    """A scalar variable: its type, where it is declared, whether it never changes, whether anything reads it."""

    dtype: DType
    site: DeclarationPoint
    constant: bool
    read: bool


def declarations(program: Program) -> dict[str, ir.DeclareArray | ir.DeclareAccumulator]:
    """Return what declares each array and accumulator, by name; raises SwizzleError if two declarations differ."""
    found: dict[str, ir.DeclareArray | ir.DeclareAccumulator] = {}
    for stmt in statements(program.body):
        if isinstance(stmt, ir.DeclareArray | ir.DeclareAccumulator):
            first = found.setdefault(stmt.name, stmt)
            if (first.shape, first.dtype) != (stmt.shape, stmt.dtype):
                raise SwizzleError(
                    f"'{stmt.name}' is declared twice, with different shapes or types",
                    place=stmt.place,
                    expected=f"{first.dtype.value}{list(first.shape)}, as at {first.place}",
                    fix="give the second array a name of its own",
                )
    return found


class _Occurrence(Struct, frozen=True):
    path: Path
    index: int
    defines: bool
    stmt: Stmt


def _occurrences(body: Body, path: Path, loop_variables: frozenset[str]) -> Iterator[tuple[str, _Occurrence]]:
    for index, stmt in enumerate(body):
        read = frozenset[str]().union(*(names_in(expr) for expr in own_expressions(stmt)))
        for name in sorted(read - loop_variables):
            yield name, _Occurrence(path, index, False, stmt)
        match stmt:
            case ir.Assign(name=name) | ir.DeclareArray(name=name) | ir.DeclareAccumulator(name=name):
                yield name, _Occurrence(path, index, name not in read, stmt)
            case ir.Store(array=name) | ir.CopyAsync(array=name) | ir.Accumulate(accumulator=name):
                yield name, _Occurrence(path, index, False, stmt)
            case ir.For(variable=variable, body=inner):
                yield from _occurrences(inner, (*path, (index, "for")), loop_variables | {variable})
            case ir.If(then=then, otherwise=otherwise):
                yield from _occurrences(then, (*path, (index, "then")), loop_variables)
                yield from _occurrences(otherwise, (*path, (index, "else")), loop_variables)
            case ir.Barrier() | ir.CopyGroup():
                pass


def _common(paths: list[Path]) -> Path:
    shortest = min(paths, key=len)
    for length in range(len(shortest), 0, -1):
        if all(path[:length] == shortest[:length] for path in paths):
            return shortest[:length]
    return ()


def _site(found: list[_Occurrence]) -> DeclarationPoint:
    path = _common([occurrence.path for occurrence in found])
    first = found[0]
    if first.path == path and first.defines:
        return DeclarationPoint(path, first.index, True)
    if any(kind == "for" for _, kind in path):
        path = ()
    index = first.index if first.path == path else first.path[len(path)][0]
    return DeclarationPoint(path, index, False)


def placements(program: Program) -> tuple[dict[str, Scalar], dict[str, DeclarationPoint]]:
    """Return every scalar variable, and the site of every array and accumulator.

    Raises SwizzleError for a variable that is read but never assigned where it is read.
    """
    found: dict[str, list[_Occurrence]] = {}
    for name, occurrence in _occurrences(program.body, (), frozenset()):
        found.setdefault(name, []).append(occurrence)
    parameters = {parameter.name for parameter in program.parameters}
    scalars: dict[str, Scalar] = {}
    arrays: dict[str, DeclarationPoint] = {}
    for name, places in found.items():
        if name in parameters:
            continue
        writers = [place.stmt for place in places]
        assigns = [stmt for stmt in writers if isinstance(stmt, ir.Assign) and stmt.name == name]
        if assigns:
            value = assigns[0].value
            read = any(name in names_in(expr) for stmt in writers for expr in own_expressions(stmt))
            scalars[name] = Scalar(value.dtype, _site(places), len(assigns) == 1, read)
        elif any(isinstance(stmt, ir.DeclareArray | ir.DeclareAccumulator) and stmt.name == name for stmt in writers):
            arrays[name] = _site(places)
        else:
            raise SwizzleError(
                f"'{name}' is read where nothing assigns it",
                place=writers[0].place,
                expected="a variable, array or accumulator of this kernel; a loop variable lives only inside its loop",
                fix=f"assign '{name}' before it is read",
            )
    return scalars, arrays


MOST_STATIC: Final = 48 * 1024
"""As many bytes may be declared with their sizes; more are dynamic shared memory, whose size the launch gives."""
MOST_SHARED: Final = {"sm_75": 65536, "sm_80": 166912, "sm_90": 232448, "sm_100": 232448}
"""As many bytes may a block have of an architecture, as CUDA's guide says (compute capabilities)."""
ALIGNMENT: Final = 16
"""What each array begins at a multiple of: the bytes of the widest vector."""


class DynamicShared(Struct, frozen=True):
    """Dynamic shared memory: where each array begins, and how many bytes they take together; 0 where there is none."""

    offsets: Mapping[str, int]
    bytes: int


def dynamic_shared(program: Program) -> DynamicShared:
    """Place the shared arrays of a program, as it is printed, one behind the other if they need to be dynamic."""
    arrays = [stmt for stmt in statements(program.body) if isinstance(stmt, DeclareArray) and stmt.memory == "shared"]
    sizes = {array.name: prod(array.shape) * array.dtype.bits // 8 for array in arrays}
    if sum(sizes.values()) <= MOST_STATIC:
        return DynamicShared({}, 0)
    offsets, end = {}, 0
    for name, size in sizes.items():
        offsets[name] = -(-end // ALIGNMENT) * ALIGNMENT
        end = offsets[name] + size
    return DynamicShared(offsets, end)
