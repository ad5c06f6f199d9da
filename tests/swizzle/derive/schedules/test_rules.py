"""What each rule of a space is good for, shown where it is left out.

Some schedules are wrong then, and their proof or the front end refuses them; some have no text, or one that another
schedule has, too; and some are not what is asked for: they do work twice, leave threads idle, or need other lengths.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

import pytest

from swizzle.derive.schedules.candidates import Assignment
from swizzle.derive.schedules.decisions import THREADS, UNROLLED, KernelLimits, LoopDimension
from swizzle.derive.schedules.nests import Nests
from swizzle.derive.schedules.proof import prove_schedule
from swizzle.derive.schedules.schedule_space import ScheduleSpace
from symbolic.choices.propagation import ContradictionError, Propagator
from symbolic.choices.search import assignments
from symbolic.errors import SwizzleError
from tests.swizzle.derive.schedules.kernels import KERNELS, SMALL, descent, schedules

WRONG: Final = {
    "orders fit together": ("matmul", {}),
    "kinds of a dimension": ("axpy", {"kind(load_x.i0)": "THREAD.x"}),
    "values are made before they are used": ("transposition", {}),
    "outermost levels are fused": ("axpy", {}),
    "values go point to point": ("transposition", {}),
    "a copy in registers is its load": ("transposition", {"memory(copy_x)": "REGISTER"}),
    "shared memory holds what threads and unrolled loops make": (
        "transposition",
        {"memory(copy_x)": "SHARED", "kind(load_x.i1)": "THREAD.x", "kind(copy_x.i1)": "THREAD.x"},
    ),
    "a begin is done once": ("matmul", {}),
    "a accumulate is done once": ("matmul", {}),
    "a hardware dimension has one extent": ("transposition", {}),
}
"""Rules without which some schedules are not equal to their specification, with decisions under which these are."""
LIMITS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "a grid has three dimensions": ("four", {f"kind(store_y.{level}0)": "BLOCK" for level in "abcd"}),
    "threads of a block": (
        "transposition",
        {"threads(THREAD.x)": 32, "threads(THREAD.y)": 32, "threads(THREAD.z)": 2, "size(i2)": 2},
    ),
}
"""Rules without which the front end refuses a kernel, as CUDA would: with decisions that no other rule forbids."""
TWICE: Final = (
    "kinds are nested in one order",
    "a vector has two or four elements, and one trip is no decision",
    "blocks are around all statements",
)
"""Rules without which there are more schedules, and not one more text."""
PITCH: Final = "only shared tiles have a pitch"


def fits(space: ScheduleSpace, nests: Nests) -> bool:
    return all(loop.extent % nests.stride(loop.tiles[0].name) == 0 for loop in space.backbone.loops.values())


def once(space: ScheduleSpace, nests: Nests) -> bool:
    """Say whether each loop around a statement is its own, or around one that takes what it makes."""
    for statement in space.backbone.statements:
        own = {nests.leader[LoopDimension(statement.name, t.name)] for t in space.backbone.tiles(statement)}
        users = [nests.around[user.name] for user in space.backbone.users(statement.name)]
        foreign = [loop for loop in nests.around[statement.name] if loop not in own]
        levels = {tile.name for tile in space.backbone.tiles(statement)}
        if any(loop.tile in levels or not any(loop in around for around in users) for loop in foreign):
            return False
    return True


def busy(space: ScheduleSpace, nests: Nests) -> bool:
    kinds = {nests.kind(dim) for dim in nests.dimensions}
    return all(count == 1 or axis in kinds for axis, count in zip(THREADS, nests.threads, strict=False))


def x_first(space: ScheduleSpace, nests: Nests) -> bool:
    return len(nests.threads) == 1 or 1 not in nests.threads


def fused(space: ScheduleSpace, nests: Nests) -> bool:
    """Say whether a load and its copy have one loop where that has one trip."""
    (copy,) = (statement for statement in space.backbone.statements if statement.kind == "copy")
    pairs = [[LoopDimension(name, t.name) for name in (copy.name, *copy.reads)] for t in space.backbone.tiles(copy)]
    return all(nests.size(a.tile) > 1 or nests.leader[a] == nests.leader[b] for a, b in pairs)


def in_four_words(space: ScheduleSpace, nests: Nests) -> bool:
    tiles = [nests.shared_cells(s) for s in space.backbone.statements if s.kind == "copy" and nests.in_shared(s.name)]
    return all(math.prod(nests.size(tile.name) for tile in cells) <= 4 for cells in tiles)


def short(space: ScheduleSpace, nests: Nests) -> bool:
    """Say whether no statement has more than two copies in the text."""
    copies = {statement.name: 1 for statement in space.backbone.statements}
    for dim in nests.dimensions:
        copies[dim.statement] *= nests.size(dim.tile) if nests.kind(dim) in UNROLLED else 1
    return max(copies.values()) <= 2


WANTED: Final[dict[str, tuple[str, dict[str, Any], Callable[[ScheduleSpace, Nests], bool]]]] = {
    "tiles divide a loop": ("scale", {"sizes": {"i": ((2, 4), (1, 2))}}, fits),
    **{f"a {kind} is done once": ("matmul", {}, once) for kind in ("load", "copy", "store")},
    "a compute is done once": ("stencil", {}, once),
    "what is made again is used there": ("matmul", {}, once),
    "loops of one trip are fused": ("transposition", {}, fused),
    "a hardware dimension is used": ("axpy", {}, busy),
    "x is used before y, and y before z": ("axpy", {}, x_first),
    "shared memory": ("transposition", {"limits": KernelLimits(shared_floats=4)}, in_four_words),
    "unrolled statements": ("axpy", {"limits": KernelLimits(unrolled=2)}, short),
}
"""Rules without which some schedules are not what is wanted, and what that is."""


def drawn(space: ScheduleSpace, decided: dict[str, Any], seed: int = 2) -> Iterator[Assignment]:
    """Yield random schedules with some decisions taken."""
    propagation, chooser = Propagator(space.space), random.Random(seed)
    start = space.decide(propagation, propagation.root(), decided)
    while True:
        if path := descent(space, propagation, start, chooser):
            yield propagation.assignment(path[-1])


def outcome(space: ScheduleSpace, assignment: Assignment) -> str:
    """Say what comes of a schedule.

    What is no kernel at all is refused by the front end: an index that differs between threads, a value that is not
    there yet. What has no text is not expressible.
    """
    try:
        proof = prove_schedule(space, assignment)
    except SwizzleError:
        return "refused"
    except (KeyError, IndexError):
        return "not expressible"
    return "undecided" if proof.found is None else "equal" if proof.equal else "refused"


def small(name: str, rule: str = "", **given: Any) -> ScheduleSpace:
    """Return the schedules of a kernel with levels of a few elements, and without a rule."""
    sizes = {"i": ((2, 4),), "j": ((2, 4),), "k": ((2,),)} if name in ("matmul", "stencil") else SMALL
    return schedules(name, **{"sizes": sizes, **given}, without=frozenset({rule}))


@pytest.mark.parametrize(
    "rule",
    [pytest.param(rule, marks=[pytest.mark.slow] * (name == "matmul")) for rule, (name, _) in WRONG.items()],
)
def test_without_a_rule_some_schedules_are_wrong(rule: str) -> None:
    """A proof finds them. With all rules, random schedules are proved by other tests."""
    name, decided = WRONG[rule]
    space = small(name, rule)
    assert any(outcome(space, assignment) == "refused" for assignment in islice(drawn(space, decided), 40))


@pytest.mark.parametrize("rule", LIMITS)
def test_without_a_rule_some_kernels_are_refused(rule: str) -> None:
    """What no GPU runs; with the rule such a schedule cannot be decided."""
    name, decided = LIMITS[rule]
    whole = schedules(name)
    with pytest.raises(ContradictionError):
        whole.decide(propagation := Propagator(whole.space), propagation.root(), decided)
    space = schedules(name, without=frozenset({rule}))
    assert outcome(space, next(drawn(space, decided))) in ("refused", "not expressible")


@pytest.mark.parametrize(
    "rule", [pytest.param(rule, marks=[pytest.mark.slow] * (name != "axpy")) for rule, (name, *_) in WANTED.items()]
)
def test_without_a_rule_some_schedules_are_not_wanted(rule: str) -> None:
    name, given, wanted = WANTED[rule]
    whole, space = small(name, **given), small(name, rule, **given)
    assert all(wanted(whole, whole.nests(assignment)) for assignment in islice(drawn(whole, {}), 10))
    assert not all(wanted(space, space.nests(assignment)) for assignment in islice(drawn(space, {}), 100))


def texts(space: ScheduleSpace) -> list[str]:
    propagation = Propagator(space.space)
    return [space.text(propagation.assignment(leaf)) for leaf in assignments(propagation)]


def test_without_a_rule_texts_come_twice() -> None:
    """All schedules of a small kernel are looked at."""
    sizes = {"i": ((1, 2),)}
    whole = texts(schedules("scale", sizes=sizes))
    for rule in TWICE:
        more = texts(small("scale", rule, sizes=sizes))
        assert len(more) > len(whole) and set(more) == set(whole), rule


def test_without_tiles_there_is_no_pitch() -> None:
    """A copy in registers would have two layouts, and one text."""
    space, whole = small("transposition", PITCH), small("transposition")
    padded = {"memory(copy_x)": "REGISTER", "layout(copy_x)": "PADDED"}
    assignment = next(drawn(space, padded))
    plain = {key: "PLAIN" if value == "PADDED" else value for key, value in assignment.items()}
    assert space.text(assignment) == space.text(plain)
    with pytest.raises(ContradictionError):
        whole.decide(propagation := Propagator(whole.space), propagation.root(), padded)


def test_without_a_nest_there_is_no_text() -> None:
    """A loop that is not around its statement has no value there."""
    space = small("axpy", "what a nest is")
    found = [outcome(space, assignment) for assignment in islice(drawn(space, {}), 8)]
    assert found.count("not expressible") >= 4


@pytest.mark.slow
def test_every_rule_is_left_out_once() -> None:
    """Whoever adds a rule says what it is good for."""
    rules = set[str]()
    for name in (*KERNELS, "scale", "four"):
        declared = schedules(name).choices.space
        rules |= {rule.why for rule in (*declared.constraints, *declared.counters)}
        rules |= {"orders fit together"} if declared.algebras else set()
    assert rules == {*WRONG, *LIMITS, *TWICE, *WANTED, PITCH, "what a nest is"}


def test_a_block_has_as_many_threads_along_a_dimension_as_cuda_has() -> None:
    """1,024 along x and y, 64 along z: a longer dimension is refused by the front end."""
    space = schedules("axpy")
    universe = {axis: space.space.values[space.decisions[f"threads(THREAD.{axis})"]] for axis in "xyz"}
    assert (max(universe["x"]), max(universe["y"]), max(universe["z"])) == (1024, 1024, 64)
