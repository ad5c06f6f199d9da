"""Rotate register arrays by ceil(log2 n) conditional rotations (paper, section 6.3, 'Barrel Array Rotation').

If a loop reads `a[(j + lane) % n]` for several j, choosing among n elements for each j is wasteful. Instead, the array
is rotated once, bit by bit of the amount, and then read at static indices. `cuda_out.passes.rotation` recognises
rotations. A loop that writes with such an index writes to the rotated array, which is rotated back after the loop.

    for bit in range(2, -1, -1):          # n = 8
        for k in range(8):
            turned[k] = rotated[(k + (1 << bit)) % 8] if amount & (1 << bit) != 0 else rotated[k]
        for k in range(8):
            rotated[k] = turned[k]

The statements of a barrel rotation: copy, then one conditional rotation for each bit of the amount.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from cuda_out.analysis.registers import (
    Elements,
    elements,
    is_overwritten,
    is_static,
    local_arrays,
    reads,
    static_names,
    written,
)
from cuda_out.analysis.values import leaves_in
from cuda_out.passes.index_rules import constant
from cuda_out.passes.references import At, Definitions, forget, update_definitions, walk_references
from cuda_out.passes.rotation import Reference, Rotation, find_rotation, static_index
from symbolic.errors import Place
from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, after, facts_where, launch_facts, loop_facts
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import Body, FreshNames, all_names, assigned_in, statements, subexpressions, surely_assigned


def rotate_into(
    source: ir.DeclareArray, target: ir.DeclareArray, axis: int, rotation: Rotation, fresh: FreshNames
) -> Body:
    """Return statements that set `target[k]` to the source's element start + k, rotated by the rotation's amount."""
    place = target.place
    before, amount = _named(f"{source.name}_rotation", rotation.amount, fresh)
    if rotation.bits & (rotation.bits - 1) == 0:  # one step needs no copy
        return (*before, _turn(source, target, axis, rotation, amount, constant(rotation.bits, place), fresh))
    return (
        *before,
        _move(source, target, axis, rotation.start, 0, fresh),
        *_steps(target, source.name, axis, rotation, amount, fresh),
    )


def rotate_back(
    target: ir.DeclareArray, source: ir.DeclareArray, axis: int, rotation: Rotation, fresh: FreshNames
) -> Body:
    """Return statements that rotate `target` in the other direction and copy it to where it came from."""
    place = target.place
    back: Expr = rotation.amount
    if rotation.kind == "+":
        size = constant(rotation.size, place)
        back = ir.Binary("%", ir.Binary("-", size, back, DType.INDEX, place), size, DType.INDEX, place)
    before, amount = _named(f"{source.name}_rotation", back, fresh)
    return (
        *before,
        *_steps(target, source.name, axis, rotation, amount, fresh),
        _move(target, source, axis, 0, rotation.start, fresh),
    )


def _named(wish: str, amount: Expr, fresh: FreshNames) -> tuple[Body, Expr]:
    if isinstance(amount, ir.Var | ir.Const):
        return (), amount
    name = fresh.take(wish)
    return (ir.Assign(name, amount, amount.place),), ir.Var(name, DType.INDEX, amount.place)


def _steps(array: ir.DeclareArray, source: str, axis: int, rotation: Rotation, amount: Expr, fresh: FreshNames) -> Body:
    """Return the conditional rotations, the farthest first: what is not read in the end then costs nothing."""
    place = array.place
    turned = ir.DeclareArray(fresh.take(f"{source}_turned"), "local", array.shape, array.dtype, place)
    lowest, highest = (rotation.bits & -rotation.bits).bit_length() - 1, rotation.bits.bit_length() - 1
    bit = fresh.loop_variable("bit")
    distance = ir.Binary("<<", constant(1, place), ir.Var(bit, DType.INDEX, place), DType.INDEX, place)
    body = (
        turned,
        _turn(array, turned, axis, rotation, amount, distance, fresh, shift=False),
        _move(turned, array, axis, 0, 0, fresh),
    )
    start, stop, step = (constant(number, place) for number in (highest, lowest - 1, -1))
    return (ir.For(bit, start, stop, step, body, place),)


def _turn(
    source: ir.DeclareArray,
    target: ir.DeclareArray,
    axis: int,
    rotation: Rotation,
    amount: Expr,
    distance: Expr,
    fresh: FreshNames,
    *,
    shift: bool = True,
) -> ir.Stmt:
    """Return `target[k] = source[k + distance, within its window] if amount & distance else source[k]`."""
    place = target.place
    start = rotation.start if shift else 0

    def moved(k: Expr) -> Expr:
        if rotation.kind == "^":
            return ir.Binary("^", k, distance, DType.INDEX, place)
        size = constant(rotation.size, place)
        inside = ir.Binary("%", ir.Binary("+", k, distance, DType.INDEX, place), size, DType.INDEX, place)
        if rotation.size == rotation.extent:
            return inside
        window = ir.Binary("*", ir.Binary("//", k, size, DType.INDEX, place), size, DType.INDEX, place)
        return ir.Binary("+", window, inside, DType.INDEX, place)

    def value(indices: Sequence[Expr]) -> Expr:
        near, far = list(indices), list(indices)
        near[axis], far[axis] = _shifted(indices[axis], start), _shifted(moved(indices[axis]), start)
        bit = ir.Binary("&", amount, distance, DType.INDEX, place)
        return ir.Select(
            ir.Compare("!=", bit, constant(0, place), place),
            ir.Load(source.name, tuple(far), source.dtype, place),
            ir.Load(source.name, tuple(near), source.dtype, place),
            source.dtype,
            place,
        )

    return _over(target.shape, place, fresh, lambda k: ir.Store(target.name, tuple(k), value(k), place))


def _shifted(index: Expr, by: int) -> Expr:
    return ir.Binary("+", constant(by, index.place), index, DType.INDEX, index.place) if by else index


def _move(
    source: ir.DeclareArray, target: ir.DeclareArray, axis: int, read: int, write: int, fresh: FreshNames
) -> ir.Stmt:
    """Return the copy of as many elements as the smaller of the two holds along the axis."""
    place = target.place
    shape = min(source.shape, target.shape)

    def copy(indices: Sequence[Expr]) -> ir.Stmt:
        ends, starts = list(indices), list(indices)
        ends[axis], starts[axis] = _shifted(indices[axis], write), _shifted(indices[axis], read)
        value = ir.Load(source.name, tuple(starts), source.dtype, place)
        return ir.Store(target.name, tuple(ends), value, place)

    return _over(shape, place, fresh, copy)


def _over(
    shape: tuple[int, ...], place: Place, fresh: FreshNames, make: Callable[[Sequence[Expr]], ir.Stmt]
) -> ir.Stmt:
    """Return the loops over an array's elements."""
    names = [fresh.loop_variable(name) for name in "klmnpq"[: len(shape)]]
    found = make([ir.Var(name, DType.INDEX, place) for name in names])
    for name, extent in reversed(list(zip(names, shape, strict=True))):
        bounds = (constant(0, place), constant(extent, place), constant(1, place))
        found = ir.For(name, *bounds, (found,), place)
    return found


def rotate_registers(program: Program) -> Program:
    """Return the same program with rotations of register arrays written as barrel rotations."""
    return replace(program, body=_Rotator(program).body(program.body, launch_facts(program), {}, {}, frozenset()))


class _Found(Struct, frozen=True):
    """A reference of a region, by its number in program order; along `axis` its index may depend on the thread."""

    number: int
    is_write: bool
    axis: int | None
    reference: Reference | None

    @property
    def count(self) -> int:
        """How often it stands in the unrolled code."""
        assert self.reference is not None
        total = 1
        for _, values in self.reference.loops:
            total *= len(values)
        return total


class _Rotator:
    """Goes through the bodies, outermost first: one rotation serves as much code as it can."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._arrays = local_arrays(program)
        self._static = static_names(program)
        self._fresh = FreshNames(all_names(program))
        self._defined: frozenset[str] = frozenset()  # before the statement that is looked at

    def body(self, body: Body, facts: Facts, known: Definitions, full: Elements, defined: frozenset[str]) -> Body:
        """Return the body with rotations; `full` are the elements, `defined` the variables that are written before."""
        found: list[Stmt] = []
        rest = list(body)
        full = dict(full)
        while rest:
            stmt = rest.pop(0)
            self._defined = defined
            region = self._rotated((stmt, *rest), facts, known, full)
            if region is not None:
                rest = list(region)
                continue
            found.append(self._nested(stmt, facts, known, full, defined))
            defined |= surely_assigned((stmt,))
            for name, places in written((stmt,)).items():
                full[name] = full.get(name, frozenset()) | places
            if isinstance(stmt, ir.DeclareArray):
                full.pop(stmt.name, None)
            update_definitions(stmt, known, facts)
            facts = after(stmt, facts)
        return tuple(found)

    def _nested(self, stmt: Stmt, facts: Facts, known: Definitions, full: Elements, defined: frozenset[str]) -> Stmt:
        match stmt:
            case ir.For(body=inner):
                known = dict(known)
                forget(known, assigned_in((stmt,)))
                return replace(
                    stmt, body=self.body(inner, loop_facts(stmt, facts), known, full, defined | {stmt.variable})
                )
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                return replace(
                    stmt,
                    then=self.body(then, facts_where(condition, True, facts), dict(known), full, defined),
                    otherwise=self.body(otherwise, facts_where(condition, False, facts), dict(known), full, defined),
                )
            case _:
                return stmt

    def _rotated(self, body: Body, facts: Facts, known: Definitions, full: Elements) -> Body | None:
        """Return the body with one rotation before its first statement, or None when that offers none."""
        for name, array in self._arrays.items():
            if not _mentions(body[0], name):
                continue
            if _writes(body[0], name):
                region: Body | None = self._scattered(body, array, facts, known, full)
            else:
                region = self._gathered(body, array, facts, known, full)
            if region is not None:
                return region
        return None

    def _gathered(
        self, body: Body, array: ir.DeclareArray, facts: Facts, known: Definitions, full: Elements
    ) -> Body | None:
        """Rotate an array that the first statement only reads, for as long as it and the amount stay the same."""
        if not full.get(array.name, frozenset()) >= elements(array.shape):
            return None
        for first in self._references(body[:1], array, facts, known):
            rotation = self._rotation(first, facts, assigned_in(body[:1]))
            if rotation is None or first.axis is None:
                continue
            end = 1
            leaves = leaves_in([rotation.amount, rotation.known])
            while (
                end < len(body) and not _writes(body[end], array.name) and not assigned_in(body[end : end + 1]) & leaves
            ):
                end += 1
            moving = [each for each in self._references(body[:end], array, facts, known) if each.axis == first.axis]
            places = {each.number: index for each in moving if (index := self._place(each, rotation)) is not None}
            if sum(each.count for each in moving if each.number in places) < 2:
                continue
            target = self._target(array, first.axis, rotation)
            steps = self._static_too(rotate_into(array, target, first.axis, rotation, self._fresh))
            region = self._replaced(body[:end], array, facts, known, target, first.axis, places)
            return (target, *steps, *region, *body[end:])
        return None

    def _scattered(
        self, body: Body, array: ir.DeclareArray, facts: Facts, known: Definitions, full: Elements
    ) -> Body | None:
        """Rotate an array before the first statement, which writes it, and back behind it."""
        references = list(self._references(body[:1], array, facts, known))
        first = next((found for found in references if found.is_write), None)
        if first is None or first.axis is None or any(isinstance(each, ir.DeclareArray) for each in body[:1]):
            return None
        rotation = self._rotation(first, facts, assigned_in(body[:1]))
        if rotation is None:
            return None
        # Every lane must come back to where it was, whatever its amount.
        rotation = replace(rotation, bits=(1 << (rotation.size - 1).bit_length()) - 1)
        places = {found.number: self._place(found, rotation) for found in references if found.axis == first.axis}
        if len(places) < len(references) or None in places.values():
            return None
        target = self._target(array, first.axis, rotation)
        chosen = {number: place for number, place in places.items() if place is not None}
        (region,) = self._replaced(body[:1], array, facts, known, target, first.axis, chosen)
        turn: Body = ()
        if not (is_overwritten(region, target) and not reads(region, target.name)):
            covered = full.get(array.name, frozenset()) >= elements(array.shape)
            if not covered or sum(found.count for found in references) <= 2 * rotation.bits.bit_length():
                return None
            turn = self._static_too(rotate_into(array, target, first.axis, rotation, self._fresh))
        back = self._static_too(rotate_back(target, array, first.axis, rotation, self._fresh))
        return (target, *turn, region, *back, *body[1:])

    def _rotation(self, found: _Found, facts: Facts, changed: frozenset[str]) -> Rotation | None:
        """Return the reference's rotation, if its amount can be computed before the region."""
        if found.reference is None or found.count < 1:
            return None
        rotation = find_rotation(self._program, found.reference, facts)
        if rotation is None or leaves_in([rotation.amount, rotation.known]) & changed:
            return None
        if not {part.name for part in subexpressions(rotation.amount) if isinstance(part, ir.Var)} <= self._defined:
            return None
        return rotation if rotation.bits else None

    def _place(self, found: _Found, rotation: Rotation) -> Expr | None:
        if found.reference is None or found.count < 1:
            return None
        return static_index(self._program, found.reference, rotation)

    def _target(self, array: ir.DeclareArray, axis: int, rotation: Rotation) -> ir.DeclareArray:
        shape = (*array.shape[:axis], rotation.extent, *array.shape[axis + 1 :])
        target = replace(array, name=self._fresh.take(f"{array.name}_rotated"), shape=shape)
        self._arrays = {**self._arrays, target.name: target}
        return target

    def _static_too(self, steps: Body) -> Body:
        """Remember which variables of new statements the compiler knows once loops are unrolled."""
        for stmt in statements(steps):
            match stmt:
                case ir.For(variable=name):
                    self._static |= {name}
                case ir.Assign(name=name, value=value) if is_static(value, self._static):
                    self._static |= {name}
                case _:
                    pass
        return steps

    def _references(self, body: Body, array: ir.DeclareArray, facts: Facts, known: Definitions) -> Iterator[_Found]:
        found: list[_Found] = []

        def visit(name: str, indices: tuple[Expr, ...], is_write: bool, at: At) -> tuple[str, tuple[Expr, ...]]:
            if name == array.name:
                dynamic = [axis for axis, index in enumerate(indices) if not is_static(index, self._static)]
                axis, reference = None, None
                if dynamic:
                    axis = dynamic[0]
                    index, full = at.spelled_out(indices[axis])
                    used = leaves_in([index, full])
                    loops = tuple((variable, values) for variable, values in at.loops if variable in used)
                    reference = Reference(index, full, loops, at.facts, array.shape[axis])
                found.append(_Found(len(found), is_write, axis, reference))
            return name, indices

        walk_references(body, facts, known, self._static, visit)
        yield from found

    def _replaced(
        self,
        body: Body,
        array: ir.DeclareArray,
        facts: Facts,
        known: Definitions,
        target: ir.DeclareArray,
        axis: int,
        places: dict[int, Expr],
    ) -> Body:
        """Return the body with the numbered references made to the rotated array."""
        number = -1

        def visit(name: str, indices: tuple[Expr, ...], is_write: bool, at: At) -> tuple[str, tuple[Expr, ...]]:
            nonlocal number
            if name != array.name:
                return name, indices
            number += 1
            if number not in places:
                return name, indices
            return target.name, (*indices[:axis], places[number], *indices[axis + 1 :])

        return walk_references(body, facts, known, self._static, visit)


def _mentions(stmt: Stmt, name: str) -> bool:
    return reads(stmt, name) or _writes(stmt, name)


def _writes(stmt: Stmt, name: str) -> bool:
    return any(
        (isinstance(inner, ir.Store) and inner.array == name)
        or (isinstance(inner, ir.DeclareArray) and inner.name == name)
        for inner in statements((stmt,))
    )
