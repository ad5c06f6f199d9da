"""The statements of a barrel rotation: copy, then one conditional rotation for each bit of the amount."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cuda_out.passes.arithmetic import constant
from cuda_out.passes.rotation import Rotation
from symbolic.errors import Place
from symbolic.ir import program as ir
from symbolic.ir.program import DType, Expr
from symbolic.ir.walk import Body, FreshNames


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
