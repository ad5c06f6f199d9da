"""The holes of a scan in a kernel, `sw_when`, `sw_from` and `sw_place`, filled before any other hole.

The kernel is run with answers that change nothing, to see in which order and at which distances the holes are asked of
which elements. That is a scan sketch, which `swizzle.scans` solves for every size; its expressions, at this size, are
the holes' formulas. The filled kernel is run once more to see what its warps ask of shared memory: of that the
placement is found. None of this is believed: the filled kernel is verified like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NoReturn

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from swizzle.language.specs.verify import run_canonical, verify
from swizzle.layouts import Access, FoundLayout, best
from swizzle.scans.algorithm import Algorithm, shown, sizes
from swizzle.scans.bank import Skeleton
from swizzle.scans.block import NONE, access_of_rows
from swizzle.scans.network import Network, network
from swizzle.scans.scan_sketch import LoopSketch, ReadScan, StepSketch
from swizzle.scans.solving import Scan, ScanSketch, checked, relaxed_example, solve
from swizzle.sketches.hole_formula import HoleFormula
from swizzle.sketches.sketch import ScanExample, Sketch
from symbolic.algebra.expansion import in_words
from symbolic.algebra.terms import Terms
from symbolic.errors import SwizzleError
from symbolic.expressions.expression import constant, substituted
from symbolic.ir.program import DeclareArray, Expr, Hole, Program, Var
from symbolic.ir.walk import rewrite_expression, statements
from symbolic.values.vector import Vector
from templates.formula import binary, fill_some, formula_of_text, formula_text, number
from templates.holes import SCAN_KINDS

Lanes = npt.NDArray[np.int64]
KINDS = ("when", "from")


class StepAsked(Struct, frozen=True):
    """A hole, asked once by all threads that are on: for which elements, and at which distance."""

    hole: int
    elements: Lanes
    distance: int


class KernelStep(Struct, frozen=True):
    """The holes that are one condition and one source, asked at a distance, and the elements that they are asked of."""

    holes: tuple[int, ...]
    distance: int
    elements: Lanes


class KernelLoop(Struct, frozen=True):
    """A loop: the holes of each of its steps, of which elements these are asked in each round, the distances of the
    rounds, and whether holes are given these as exponents of 2."""

    steps: tuple[tuple[int, ...], ...]
    turns: tuple[tuple[Lanes, ...], ...]
    distances: tuple[int, ...]
    exponents: bool


class FilledScan(Struct, frozen=True):
    """A sketch whose scan is found: the scan for every size, and where elements are kept, where it asks for them."""

    sketch: Sketch
    scan: Scan | None
    placement: FoundLayout | None


def directions(sketch: Sketch) -> tuple[bool, ...]:
    """Return whether the scan is a backward one, the likely answer first, as far as the sketch says."""
    if not any(hole.kind in KINDS for hole in sketch.program.holes):
        return (False,)
    example = sketch.example
    if example is not None and example.like is not None:
        return (_example(example).backward,)
    if any(hole.kind == "when" for hole in sketch.program.holes):
        return (False, True)
    _, size, bodies = _read(sketch, backward=False)
    said = {way: _taking(size, bodies, backward=way) for way in (False, True)}
    ways = tuple(way for way, found in said.items() if isinstance(found, Network))
    if not ways:
        hole = next(hole for hole in sketch.program.holes if hole.kind in KINDS)
        _mistake(
            hole,
            f"whatever {hole.name} is, the elements that take another make no scan: {said[False]}",
            "conditions under which each element has everything in the end",
            "leave the condition open, too: sw_when(i, d)",
        )
    return ways


def filled(sketch: Sketch, *, backward: bool) -> FilledScan | None:
    """Fill the holes of a scan, forward or backward, the smallest expressions first; None where none are found.

    Raises SwizzleError for holes that are not asked as those of a scan are.
    """
    scan, placement = None, None
    if any(hole.kind in KINDS for hole in sketch.program.holes):
        read, size, bodies = _read(sketch, backward=backward)
        fits = _Suits(sketch, size, bodies)
        asked = _checked(sketch, read, backward=backward)
        if not any(hole.kind == "when" for hole in sketch.program.holes):
            taking = _taking(size, bodies, backward=backward)
            assert isinstance(taking, Network), "a direction in which it is one"
            asked = ScanSketch(read, taking)
        scan = solve(asked, suits=fits.suits)
        if scan.algorithm is None and fits.broken:
            scan = solve(asked)  # what rule its kernel breaks is then said
        if scan.algorithm is None:
            return None
        sketch = _with_steps(sketch, scan.algorithm, size, bodies)
    if any(hole.kind == "place" for hole in sketch.program.holes):
        placement = _placement(sketch)
        first = next(hole for hole in sketch.program.holes if hole.kind == "place")
        assert placement.layout is not None, "in order they fit"
        made = formula_of_text(replace(first, arguments=("x",)), placement.layout.formula)
        places = {at: made for at, hole in enumerate(sketch.program.holes) if hole.kind == "place"}
        sketch = _fill(sketch, places, "the placement")
    return FilledScan(sketch, scan, placement)


# ---- what the kernel asks --------------------------------------------------------------------------------------------


def _record(sketch: Sketch, kinds: Sequence[str]) -> list[tuple[int, tuple[Lanes, ...], npt.NDArray[np.bool_]]]:
    """Run a sketch, and return what its holes of some kinds are asked by a block, in order; other holes say 0."""
    program, found = sketch.program, []
    block = program.block[0] * program.block[1] * program.block[2]

    def hole(number: int, args: tuple[Vector, ...], mask: Vector) -> Vector:
        asked = program.holes[number]
        given = [each for each in args if isinstance(each, np.ndarray)]
        assert len(given) == len(args) and isinstance(mask, np.ndarray), "these holes are filled before others are open"
        lanes = tuple(np.asarray(np.broadcast_to(each, mask.shape)) for each in given)
        if asked.kind in kinds:
            found.append((number, tuple(each[:block] for each in lanes), mask[:block]))
        if asked.kind == "when":
            return np.ones(mask.shape, bool)
        return lanes[0] if asked.kind in ("from", "place") else np.zeros(mask.shape, np.int64)

    run_canonical(program, Terms(), hole, violation_limit=1)
    return found


def _asked(sketch: Sketch) -> list[StepAsked]:
    """Return what a sketch asks of the steps of a scan, in order."""
    found = []
    for at, (elements, distances), mask in _record(sketch, KINDS):
        hole, some = sketch.program.holes[at], np.unique(distances[mask])
        if len(some) > 1:
            _mistake(
                hole,
                f"the distance of {hole.name}, {hole.arguments[1]}, is {some[0]} for one thread and {some[1]} for "
                "another",
                "one distance for all threads: the variable of a loop",
                "give it the distance of the step, and the element as the first argument",
            )
        if len(some):
            found.append(StepAsked(at, _of_one_scan(elements[mask]), int(some[0])))
    return found


def _of_one_scan(elements: Lanes) -> Lanes:
    """Return the elements of one scan, where several stand side by side: all are asked of equally often."""
    some, times = np.unique(elements, return_counts=True)
    return some if times[0] > 1 and (times == times[0]).all() else elements


def _rounds(sketch: Sketch, asked: Sequence[StepAsked]) -> tuple[int, list[KernelStep]]:
    """Return how many elements there are, and the steps in their order."""
    holes = sketch.program.holes
    used = {holes[each.hole].kind for each in asked}
    first = holes[asked[0].hole].kind
    if used == {"when"}:
        _mistake(
            holes[asked[0].hole],
            "a scan without a hole sw_from",
            "which element is taken as a hole, too: where the condition is open, the kernel does not say it",
            "`if sw_when(i, d): a[i] = a[sw_from(i, d)] + a[i]`; without a kernel, docs/scans.md has @scans.sketch, "
            "where either may be given",
        )
    groups: list[list[StepAsked]] = []
    for each in asked:
        own = groups[-1] if groups else None
        done = own is not None and {holes[one.hole].kind for one in own} == used
        done = done and not (used == {"from"} and own is not None and np.array_equal(own[0].elements, each.elements))
        before = [one.elements for one in own or () if one.hole == each.hole]
        twice = any(np.isin(each.elements, some).any() for some in before)
        fits = own is not None and own[0].distance == each.distance
        if own is None or not fits or (done and (twice or (holes[each.hole].kind == first and not before))):
            groups.append([each])
        else:
            own.append(each)
    for at in range(len(groups) - 1, 0, -1):  # a condition that is asked again when the step is written, or a source
        last, own = groups[at - 1], groups[at]
        kinds, asked_before = {holes[each.hole].kind for each in own}, {each.hole for each in last}
        again = kinds == {"when"} or (kinds != used and {each.hole for each in own} <= asked_before)
        if again and last[0].distance == own[0].distance:
            groups[at - 1 : at + 1] = [last + own]
    size = 1 + max(int(each.elements.max()) for each in asked)
    for group in groups:
        hole = holes[group[0].hole]
        if {holes[each.hole].kind for each in group} != used:
            _mistake(
                hole,
                f"a step at distance {group[0].distance} with {hole.name} alone",
                "sw_when and sw_from in it",
                "if sw_when(i, d): a[i] = a[sw_from(i, d)] + a[i]",
            )
        for at in {each.hole for each in group if holes[each.hole].kind == first and "when" in used}:
            elements = np.concatenate([each.elements for each in group if each.hole == at])
            if len(elements) != size or len(np.unique(elements)) != size:
                count = len(np.unique(elements))
                _mistake(
                    holes[at],
                    f"{holes[at].name} is asked for {count} of {size} elements in the step at distance "
                    f"{group[0].distance}" + ("" if len(elements) == count else ", some of them twice"),
                    "every element once in a step: all do a step at once",
                    "the element's number as the first argument, such as cuda.threadIdx.x",
                )
    return size, [
        KernelStep(
            tuple(dict.fromkeys(each.hole for each in group)),
            group[0].distance,
            np.unique(np.concatenate([each.elements for each in group])),
        )
        for group in groups
    ]


def _read(sketch: Sketch, *, backward: bool) -> tuple[ReadScan, int, list[KernelLoop]]:
    """Return the scan sketch that a kernel is, its size, and its loops."""
    asked = _asked(sketch)
    if not asked:
        hole = next(hole for hole in sketch.program.holes if hole.kind in KINDS)
        _mistake(
            hole, f"{hole.name} is never asked", "a loop over the distances of a scan", "for d in (1, 2, 4, 8): ..."
        )
    size, steps = _rounds(sketch, asked)
    bodies: list[KernelLoop] = []
    while steps:
        body = next((n for n, each in enumerate(steps) if n and each.holes == steps[0].holes), 1)
        once, turns = tuple(each.holes for each in steps[:body]), 1
        while tuple(each.holes for each in steps[turns * body : (turns + 1) * body]) == once:
            turns += 1
        given = [steps[turn * body].distance for turn in range(turns)]
        _check_once(sketch.program.holes[once[0][0]], given)
        exponents = min(given) == 0 and max(given) < 20
        asked_of = [each.elements for each in steps[: turns * body]]
        rounds = tuple(tuple(asked_of[at : at + body]) for at in range(0, turns * body, body))
        bodies.append(KernelLoop(once, rounds, tuple(1 << each if exponents else each for each in given), exponents))
        steps = steps[turns * body :]
    base = next((max(d[:2]) // max(min(d[:2]), 1) for d in (each.distances for each in bodies) if len(d) > 1), 2)
    if not any(hole.kind == "when" for hole in sketch.program.holes):  # the last element may take none
        size = next(each for each in sizes(max(base, 2), size * max(base, 2)) if each >= size)
    if base < 2 or size not in sizes(base, size):
        at = sketch.program.holes[bodies[0].steps[0][0]]
        _mistake(
            at,
            f"a scan of {size} elements, with the distances {', '.join(map(str, bodies[0].distances))}",
            f"a power of {max(base, 2)} elements, and distances that are powers of it",
            "a loop over 1, 2, 4, ... up to half the elements, or over their exponents: range(n)",
        )
    shapes = [_skeleton(sketch, each, size, base) for each in bodies]
    _check_enough(sketch, bodies, size)
    holes = [LoopSketch(shape, (StepSketch(None, None),) * shape.steps) for shape in shapes]
    return ReadScan(sketch.name, base, backward, tuple(holes)), size, bodies


def _check_once(hole: Hole, distances: Sequence[int]) -> None:
    """Refuse a loop in which a step is done twice at a distance: its holes are one formula for all distances."""
    twice = next((each for at, each in enumerate(distances) if each in distances[:at]), None)
    if twice is not None:
        _mistake(
            hole,
            f"the distances of {hole.name} are {', '.join(map(str, distances))}: {twice} twice",
            "each distance once",
            "write the second step out, or the second loop, so that it has holes of its own",
        )


def _check_enough(sketch: Sketch, bodies: Sequence[KernelLoop], size: int) -> None:
    """Refuse fewer steps than a scan needs: an element holds at most twice as many after each."""
    steps = sum(len(turn) for body in bodies for turn in body.turns)
    if any(hole.kind == "when" for hole in sketch.program.holes) and 1 << steps < size:
        _mistake(
            sketch.program.holes[bodies[0].steps[0][0]],
            f"{steps} steps for {size} elements: in each, an element takes one other, so it has {1 << steps} at most",
            f"{(size - 1).bit_length()} steps or more",
            "one more distance in a loop; or, for smaller scans side by side, the element's number in its own, as "
            f"i % {1 << steps}",
        )


def _skeleton(sketch: Sketch, body: KernelLoop, size: int, base: int) -> Skeleton:
    """Return a loop over distances as one for every size."""
    hole, distances, steps = sketch.program.holes[body.steps[0][0]], body.distances, len(body.steps)
    powers = [base**each for each in range(20)]
    if not all(each in powers and each < size for each in distances):
        said = ", ".join(map(str, distances))
        _mistake(
            hole,
            f"the distances of {hole.name} are {said}",
            f"powers of {base} below {size}, one after the other, up or down",
            f"a loop over {', '.join(str(each) for each in powers if each < size)}",
        )
    exponents = [powers.index(each) for each in distances]
    whole = powers.index(size)
    if len(distances) == 1:
        late = 2 * exponents[0] >= whole
        return Skeleton("last" if late else "first", 0 if late else exponents[0], whole - exponents[0], steps)
    up = exponents[1] > exponents[0]
    if exponents != list(range(exponents[0], exponents[-1] + (1 if up else -1), 1 if up else -1)):
        _mistake(
            hole,
            f"the distances of {hole.name} are {', '.join(map(str, distances))}",
            "no power left out",
            "two loops, one up and one down",
        )
    return Skeleton("up" if up else "down", min(exponents), whole - max(exponents), steps)


def _taking(size: int, loops: Sequence[KernelLoop], *, backward: bool) -> Network | str:
    """Return the network in which all elements of which sources are asked take their neighbours; or why it is none."""
    reach, rows = np.arange(size), []
    for elements in (each for loop in loops for turn in loop.turns for each in turn):
        neighbour = reach[elements] + (1 if backward else -1)
        row = np.full(size, NONE)
        row[elements] = neighbour
        if ((neighbour < 0) | (neighbour >= size)).any():
            at = int(elements[(neighbour < 0) | (neighbour >= size)][0])
            return f"element {at} takes another, although it has everything already"
        reach[elements] = reach[neighbour]
        rows.append(tuple(row.tolist()))
    found = Network(size, rows)
    return found.wrong or found


# ---- examples --------------------------------------------------------------------------------------------------------


def _example(given: ScanExample) -> Network:
    try:
        found = given.like if isinstance(given.like, Network) else network(given.like)
        return found.only_in_place("a kernel's holes")
    except SwizzleError as error:
        raise _placed_at(error, given) from None


def _placed_at(error: SwizzleError, given: ScanExample) -> SwizzleError:
    """Return a mistake in an example at the place where a sketch names it."""
    return SwizzleError(error.found, place=given.place, expected=error.expected, fix=error.fix)


def _checked(sketch: Sketch, read: ReadScan, *, backward: bool) -> ScanSketch:
    """Return a scan sketch with its example; SwizzleError, at the example's place, where they do not fit."""
    given = sketch.example
    if given is None:
        return ScanSketch(read, None)
    if given.relaxed_from is not None:
        source = _scan_of(given.relaxed_from)
        if source is None:
            raise SwizzleError(
                f"{given.relaxed_from.name}, from which {sketch.name} is relaxed, has no solution",
                place=given.place,
                expected="the sketch of a scan that is found",
                fix=f"swizzle solve FILE:{given.relaxed_from.name}",
            )
        example = relaxed_example(source, backward=backward)
    else:
        example = _example(given)
    try:
        return checked(read, example)
    except SwizzleError as error:
        raise _placed_at(error, given) from None


@lru_cache(maxsize=8)
def _scan_of(sketch: Sketch) -> Scan | None:
    """Return the scan of every size that a sketch is, in the first direction in which its kernel is right."""
    for backward in directions(sketch):
        found = filled(sketch, backward=backward)
        if found is None:
            continue
        if len(directions(sketch)) == 1 or verify(found.sketch.program, found.sketch.spec).equal:
            return found.scan
    return None


# ---- formulas --------------------------------------------------------------------------------------------------------


RACES: Final = 4
"""So many kernels are tried that break a rule of the language, each with another scan."""


class _Suits:
    """Whether a scan suits a kernel: one that changes elements in place needs a scan that takes none that change."""

    def __init__(self, sketch: Sketch, size: int, bodies: Sequence[KernelLoop]) -> None:
        self.sketch, self.size, self.bodies = sketch, size, bodies
        self.broken = 0

    def suits(self, algorithm: Algorithm) -> bool:
        """Say whether the search may end here: what is wrong of the last kernel that is tried is told the user."""
        network = algorithm.network(self.size)
        if self.broken and not (isinstance(network, Network) and network.apart):
            return False
        tried = _with_steps(self.sketch, algorithm, self.size, self.bodies)
        if any(hole.kind not in SCAN_KINDS for hole in tried.program.holes):
            return True
        found = run_canonical(tried.program, Terms(), _in_order, violation_limit=1)
        self.broken += bool(found.violations)
        return not found.violations or self.broken > RACES


def _in_order(number: int, args: tuple[Vector, ...], mask: Vector) -> Vector:
    """Keep every element at its own number."""
    return args[0]


def _with_steps(sketch: Sketch, algorithm: Algorithm, size: int, bodies: Sequence[KernelLoop]) -> Sketch:
    """Fill conditions and sources with a scan's, at a size."""
    formulas: dict[int, Expr] = {}
    for loop, body in zip(algorithm.loops, bodies, strict=True):
        for step, own in zip(loop.steps, body.steps, strict=True):
            for at in own:
                hole = sketch.program.holes[at]
                text = shown(substituted(step.when if hole.kind == "when" else step.source, {"N": constant(size)}))
                made = formula_of_text(replace(hole, arguments=("i", "d")), text)
                formulas[at] = _of_exponents(made) if body.exponents else made
    return _fill(sketch, formulas, "the scan")


def _of_exponents(formula: Expr) -> Expr:
    """Return a formula of distances as one of their exponents."""

    def rule(node: Expr) -> Expr:
        return binary("<<", number(1, node.place), node) if isinstance(node, Var) and node.name == "1" else node

    return rewrite_expression(formula, rule)


def _fill(sketch: Sketch, formulas: dict[int, Expr], found_in: str) -> Sketch:
    known = list(sketch.filled)
    for at, formula in formulas.items():
        hole = sketch.program.holes[at]
        known.append(HoleFormula(hole.name, hole.kind, hole.place, formula_text(hole, formula), {}, found_in))
    program, opened = fill_some(sketch.program, formulas), sketch.opened or sketch.program
    return replace(sketch, program=program, filled=tuple(known), opened=opened)


# ---- placement -------------------------------------------------------------------------------------------------------


def _placement(sketch: Sketch) -> FoundLayout:
    """Return the layout of the fewest conflicts that the shared arrays have room for."""
    holes = sketch.program.holes
    other = next((hole for hole in holes if hole.kind not in SCAN_KINDS), None)
    first = next(hole for hole in holes if hole.kind == "place")
    if other is not None:
        _mistake(
            other,
            f"the hole {other.name} beside {first.name}",
            "addresses that are known before elements are placed: sw_place beside sw_when and sw_from only",
            "solve it first, and put its formula in its place",
        )
    rows: dict[int, list[Lanes]] = {}
    for at, (elements,), mask in _record(sketch, ("place",)):
        rows.setdefault(at, []).append(np.where(mask, elements, NONE))
    some = [row for each in rows.values() for row in each]
    size = 1 + max((int(row.max()) for row in some), default=0)
    low = min((int(row[row != NONE].min()) for row in some if (row != NONE).any()), default=0)
    if low < 0:
        _mistake(
            first,
            f"{first.name} is asked where element {low} is kept",
            "elements from 0 on",
            "keep element j at sw_place(j)",
        )
    arrays = [array for array in _shared(in_words(sketch.program)) if len(array.shape) == 1 and array.shape[0] >= size]
    if not arrays or size < 2:
        _mistake(
            first,
            f"no shared array has room for {size} elements",
            "an array of one axis",
            "a = cuda.shared.array(n, f32)",
        )
    bits = max(array.dtype.bits for array in arrays)
    room = min(array.shape[0] for array in arrays) * bits // 8
    accesses: list[Access] = [
        access_of_rows(f"{holes[at].name}, line {holes[at].place.line}", each) for at, each in rows.items()
    ]
    return best((size,), accesses, bits=bits, families=("xor", "rotate", "pad"), at_most=room)


def _shared(program: Program) -> list[DeclareArray]:
    found = [each for each in statements(program.body) if isinstance(each, DeclareArray)]
    return [each for each in found if each.memory == "shared"]


def _mistake(hole: Hole, found: str, expected: str, fix: str) -> NoReturn:
    raise SwizzleError(found, place=hole.place, expected=expected, fix=fix)
