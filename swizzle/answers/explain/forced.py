"""What the holes would have to be: values that no function of the template has, or two values at one point."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from swizzle.answers.explain.conflicts import Conflict
from swizzle.answers.explain.part_names import PartNames, listing
from swizzle.answers.explain.relaxed import IgnoresAt, ObeysAt, Relaxed, Requirement, Right, smallest_of
from templates.holes import Point, kind_of

MOST_VALUES: Final = 4
"""Values of a hole at a point that are told apart; more count as any."""
MOST_POINTS: Final = 200
"""Points of a hole that are looked at."""
FEW_POINTS: Final = 3
"""A smallest set of points is looked for up to this size."""


def allowed(
    relaxed: Relaxed, hole: int, point: Point, wanted: Iterable[Requirement], deadline: float
) -> tuple[Any, ...] | None:
    """Return the values that a free hole may have at a point; None if they are many, or all, or not decided."""
    values, found = relaxed.value_at(hole, point), list[Any]()
    while len(found) <= MOST_VALUES:
        answer = relaxed.check(wanted, deadline, also=[-values[v] for v in found])
        if answer is None:
            return None
        if isinstance(answer, Conflict):
            return tuple(sorted(found)) if len(found) < len(values) else None
        found.append(answer.tables[hole][point])
    return None


def beyond_template(
    relaxed: Relaxed, names: PartNames, hole: int, others: frozenset[Requirement], deadline: float
) -> str:
    """Say what a blamed hole would have to be at a few points if the other requirements hold; '' if not found."""
    everywhere: frozenset[Requirement] = frozenset(ObeysAt(hole, p) for p in relaxed.asked(hole))
    whole = relaxed.check(others | everywhere, deadline)
    if not isinstance(whole, Conflict):
        return ""
    found = smallest_of(relaxed, ObeysAt, others, whole.parts, deadline, FEW_POINTS).parts
    points = sorted(r.point for r in found if isinstance(r, ObeysAt))
    values = {p: allowed(relaxed, hole, p, others, deadline) for p in points[:MOST_POINTS]}
    excluded = [
        -guard
        for point, some in values.items()
        if some is not None
        for value, guard in relaxed.value_at(hole, point).items()
        if value not in some
    ]
    declared = names.program.holes[hole]
    template = f"no function of ?{kind_of(declared).spelling} in Space {relaxed.space}"
    told = {p: some for p, some in values.items() if some is not None}
    if told and isinstance(relaxed.check(found, deadline, rules=False, also=excluded), Conflict):
        texts = [_value(some, names.point(hole, p)) for p, some in told.items()]
        return f"{declared.name} would have to be {listing(texts, limit=8)}; {template} is"
    where = listing([f"({names.point(hole, p)})" for p in points])
    return f"{template} gives {declared.name} values that fit at once at {where}"


def two_values(
    relaxed: Relaxed, names: PartNames, outputs: Sequence[int], rules: frozenset[Requirement], deadline: float
) -> str:
    """Say at which point the outputs, taken one by one, need values of a hole that have nothing in common."""
    for hole in range(len(relaxed.templates)):
        for point in relaxed.asked(hole)[:MOST_POINTS]:
            needs: dict[int, tuple[Any, ...]] = {}
            common: frozenset[Any] | None = None
            for output in outputs:
                some = allowed(relaxed, hole, point, {Right(output), *rules}, deadline)
                if some is not None:
                    needs[output] = some
                    common = frozenset(some) if common is None else common & frozenset(some)
            if common is not None and not common:
                cells = [(names.problem.outputs[o], some) for o, some in needs.items()]
                texts = [f"{_either(some)} for {names.cell(o.array, o.address)}" for o, some in cells]
                at = names.point(hole, point)
                return f"{names.program.holes[hole].name} would have to be {listing(texts)}" + (
                    f" at {at}" if at else ""
                )
    return ""


def beyond_arguments(
    relaxed: Relaxed, names: PartNames, hole: int, others: frozenset[Requirement], deadline: float
) -> str:
    """Say which uses of a hole with the same arguments would have to differ; '' if not found."""
    everywhere: frozenset[Requirement] = frozenset(IgnoresAt(hole, p) for p in relaxed.asked(hole))
    whole = relaxed.check(others | everywhere, deadline)
    if not isinstance(whole, Conflict):
        return ""
    found = smallest_of(relaxed, IgnoresAt, others, whole.parts, deadline, FEW_POINTS).parts
    arity, own = relaxed.arity[hole], dict[Point, list[Point]]()
    for point in sorted(r.point for r in found if isinstance(r, IgnoresAt)):
        own.setdefault(point[:arity], []).append(point)
    texts = []
    for base, uses in own.items():
        varying = [i for i in range(arity, min(map(len, uses))) if len({use[i] for use in uses}) > 1]
        values = [allowed(relaxed, hole, use, others, deadline) for use in uses]
        where = [names.point(hole, use, only=varying) for use in uses]
        if all(values) and not frozenset.intersection(*(frozenset(some or ()) for some in values)):
            how = f"be {listing([_value(some or (), at) for some, at in zip(values, where, strict=True)])}"
        else:
            how = f"differ between {names.points(hole, uses, varying)}"
        same = names.point(hole, base)
        given = f"where {same}" if same else "though it has no arguments"
        texts.append(f"{how}, {given}")
    more = f", or differ in one of {len(texts) - 1} ways more" if len(texts) > 1 else ""  # one of them would do
    return f"{names.program.holes[hole].name} would have to {texts[0]}{more}"


def _value(values: tuple[Any, ...], where: str) -> str:
    where = f"({where})" if ", " in where else where
    return f"{_either(values)} at {where}" if where else _either(values)


def _either(values: tuple[Any, ...]) -> str:
    if len(values) > 2 and values[-1] - values[0] == len(values) - 1:
        return f"{values[0]} to {values[-1]}"
    return " or ".join(map(str, values)) if values else "no value"
