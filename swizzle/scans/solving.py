"""The questions: an example, a scan sketch, or a solved scan whose loops are filled anew; and the answer.

The loops that an example's steps may be: runs of growing or shrinking distances, those with few loops first.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from swizzle.language.element_types import ElementType, f32
from swizzle.language.operators import Operator, ScanOperator
from swizzle.layouts import Access, Layout
from swizzle.scans.algorithm import Algorithm, sizes
from swizzle.scans.bank import LoopPoints, Skeleton
from swizzle.scans.block import block_scan
from swizzle.scans.kernel import ScanKernel, kernel
from swizzle.scans.moving import MovingSearch
from swizzle.scans.network import IDLE, Network, mistake, network
from swizzle.scans.proof import Proof, prove
from swizzle.scans.scan_sketch import LoopSketch, ReadScan, StepSketch, read
from swizzle.scans.search import TRIED, Known, Search

BASES: Final = (2, 3)
LOOPS: Final = 5
"""At most so many."""


def base_of(size: int) -> int | None:
    """Return the base of which a size is a power, if it is one of few."""
    return next((base for base in BASES if size in sizes(base, size)), None)


def sketches(example: Network, base: int) -> Iterator[ReadScan]:
    """Yield sketches with all conditions and sources open that have an example's steps at its size."""
    whole = next(k for k in itertools.count() if base**k >= example.size)
    near, far = zip(*(_reach(step, base) for step in example.steps), strict=True)
    found = dict.fromkeys(parts for exponents in (far, near) for parts in _cut(exponents, whole, LOOPS))
    for parts in sorted(found, key=lambda parts: (len(parts), sum(part.steps for part in parts))):
        loops = tuple(LoopSketch(part, (StepSketch(None, None),) * part.steps) for part in parts)
        yield ReadScan("scan", base, example.backward, loops)


def _reach(step: Sequence[int], base: int) -> tuple[int, int]:
    """Return the exponents of the least and the greatest distance of a step."""
    lengths = [abs(i - source) for i, source in enumerate(step) if source != IDLE] or [1]
    near, far = (next(k for k in itertools.count() if base ** (k + 1) > each) for each in (min(lengths), max(lengths)))
    return near, far


def _cut(exponents: Sequence[int], whole: int, most: int) -> Iterator[tuple[Skeleton, ...]]:
    """Yield all ways to cut a list of exponents into at most so many loops."""
    if not exponents:
        yield ()
        return
    for length in range(len(exponents), 0, -1) if most else ():
        for first in _loops(exponents[:length], whole):
            for rest in _cut(exponents[length:], whole, most - 1):
                yield (first, *rest)


def _loops(exponents: Sequence[int], whole: int) -> Iterator[Skeleton]:
    """Yield the loops that some exponents are, of one step or several in a round."""
    for steps in (1, 2, 3, 4):
        if len(exponents) % steps:
            continue
        rounds = [exponents[at : at + steps] for at in range(0, len(exponents), steps)]
        if any(len(set(each)) > 1 for each in rounds):
            continue
        distances = [each[0] for each in rounds]
        count, first, last = len(rounds), distances[0], distances[-1]
        if count == 1 and steps == 1:
            yield Skeleton("first", first, 0, 1)
            if first:
                yield Skeleton("last", 0, whole - first, 1)
        elif count > 1 and distances == list(range(first, first + count)):
            yield Skeleton("up", first, whole - last, steps)
        elif count > 1 and distances == list(range(first, first - count, -1)):
            yield Skeleton("down", last, whole - first, steps)


SKETCHES: Final = 300
"""Ways to see an example's steps as loops that are tried."""


class Scan(Struct, frozen=True):
    """A scan for every power of a base: its loops, and what is known of them.

    `status` is 'proved' for all sizes up to `proof.largest`, 'tried' at all sizes up to there, 'refuted' of a scan that
    was written out and is none, 'none' where no expressions were found. `witness` says in words what refutes it.
    """

    name: str
    status: Literal["proved", "tried", "refuted", "none"]
    algorithm: Algorithm | None
    proof: Proof | None
    seconds: float
    witness: str = ""

    @property
    def loops(self) -> Algorithm:
        """The algorithm; SwizzleError where there is none."""
        if self.algorithm is None:
            mistake(
                f"{self.name} has no solution",
                "a scan that was found",
                fix="look at its status first, and add steps to the sketch",
            )
        return self.algorithm

    @property
    def backward(self) -> bool:
        """Whether element i ends with everything from i on."""
        return self.loops.backward

    def network(self, size: int) -> Network:
        """Return the network at a size, a power of the base."""
        base = self.loops.base
        if not isinstance(size, int) or size < base or size not in sizes(base, size):
            mistake(f"the size is {size!r}", f"a power of {base}", fix=f"round up to a power of {base}")
        found = self.loops.network(size)
        if isinstance(found, str):
            mistake(
                f"{self.name} is no network: {found}", "elements that take elements", fix="guard what leaves the array"
            )
        return found

    def kernel(
        self,
        size: int,
        *,
        operator: str | Operator | ScanOperator = "+",
        dtype: ElementType = f32,
        threads: int | None = None,
        place: Layout | bool = True,
    ) -> ScanKernel:
        """Return the scan of one block of so many elements, as a sketch without holes that any command takes.

        `operator` is "+", "*", "min", "max", of integers also "&", "|" and "^", an operator of your own, or the
        operator on words that `scan_operator(loop)` found, which has types of its own. Steps with gaps are done by
        `threads` threads, half as many as there are elements unless given. `place` is where elements are kept in shared
        memory: the layout with the fewest bank conflicts, then bytes, then instructions; a layout of your own; or, if
        False, in order.
        """
        return kernel(self.name, self.loops, size, operator, dtype, threads, place, self.known)

    def accesses(self, size: int, threads: int | None = None) -> list[Access]:
        """Return what the warps of `kernel(size, threads=...)` ask of shared memory, for `swizzle.layouts`.

        What an element changes counts twice: it is read, and written.
        """
        return block_scan(self.loops, size, threads).accesses()

    def __repr__(self) -> str:
        if self.algorithm is None or self.proof is None:
            return f"{self.name}: {self.witness}"
        return f"{self.algorithm}\n{self.known}"

    @property
    def known(self) -> str:
        """For which sizes it is a scan, and how that is known."""
        assert self.algorithm is not None and self.proof is not None
        base, largest = self.algorithm.base, self.proof.largest
        powers = ", ".join(str(base**each) for each in (1, 2, 3))
        last = f"2^{largest.bit_length() - 1}" if base == 2 else str(sizes(base, largest)[-1])
        what = f"{'an exclusive' if self.algorithm.exclusive else 'a'} scan for N = {powers}, ..., {last}"
        return {
            "proved": f"{what}: proved, by induction over the steps",
            "tried": f"{what}: run at these sizes, not proved for others",
        }.get(self.status, f"no scan: {self.witness}")


class ScanSketch:
    """A scan with holes; `solve` fills them."""

    def __init__(self, read: ReadScan, example: Network | None) -> None:
        self.read, self.example = read, example
        self.name = read.name

    def __repr__(self) -> str:
        return f"<scan sketch {self.name}: {self.read.holes} holes>"

    def solve(self) -> Scan:
        """Return the scan with the smallest expressions, or why there is none."""
        return solve(self)


def sketch(function: Any = None, /, *, like: Any = None) -> Any:
    """Make a scan sketch of a function: loops over distances, with holes `when(...)` and `source(...)`.

    `like` is a network, or its rows, at one size, with which the scan agrees there. Without holes, the scan is judged
    as it stands. Raises SwizzleError with a place for what is no such sketch.
    """

    def make(given: Any) -> ScanSketch:
        if not isinstance(given, FunctionType):
            mistake(f"@scans.sketch was given {given!r}", "a function made by `def`", fix="write it above one `def`")
        found = read(given)
        example = None if like is None else _example(like)
        if example is None and found.holes and not found.in_place:
            mistake(
                f"{found.name} has holes, elements that drop their own words, and no example",
                "an example at one size: whoever drops its words may take anyone",
                fix="@scans.sketch(like=...), or fill the holes in",
            )
        return checked(found, example)

    return make if function is None else make(function)


def checked(found: ReadScan, example: Network | None) -> ScanSketch:
    """Return a scan sketch with its example; SwizzleError where one is not of the other."""
    if example is not None:
        if found.in_place:
            example.only_in_place(f"{found.name}, whose steps say no other")
        else:
            found = replace(found, backward=example.backward)
        if example.backward != found.backward:
            mistake(
                f"{found.name} is a {'backward' if found.backward else 'forward'} scan, and its example is not",
                "one direction: an element that is taken stands on the left in a forward scan, on the right otherwise",
                fix="mirror the example, or the sketch",
            )
        if example.size not in sizes(found.base, example.size):
            mistake(
                f"the example has {example.size} elements",
                f"a power of {found.base}, as the sketch's distances are",
                fix="give an example of such a size",
            )
        steps = sum(len(loop.skeleton.distances(found.base, example.size)) * len(loop.steps) for loop in found.loops)
        if steps != example.depth:
            mistake(
                f"{found.name} has {steps} steps at N = {example.size}, and its example {example.depth}",
                "as many steps: a round of a loop for each distance",
                fix="add a loop, or a round, or leave steps out of the example",
            )
    return ScanSketch(found, example)


def solve(
    given: ScanSketch | Network | None = None,
    /,
    *,
    like: Any = None,
    relaxed_from: Scan | None = None,
    backward: bool | None = None,
    suits: Callable[[Algorithm], bool] | None = None,
) -> Scan:
    """Return a scan for every size: of a sketch, of an example at one size, or of a solved scan seen anew.

    - `solve(sketch)` fills a sketch.
    - `solve(like=example)` finds the loops as well; the example is a `Network`, or its rows.
    - `solve(relaxed_from=scan, backward=True)` keeps the loops of a solved scan, and how much each step does; all
      conditions and sources are found anew, for the other direction.

    Of expressions that fit, the smallest come first; with `suits`, the first scan that does. A sketch without holes is
    judged as it stands.
    """
    started = time.perf_counter()
    name, example = "scan", None
    if isinstance(given, ScanSketch):
        name, example, some = given.name, given.example, iter([given.read])
    elif relaxed_from is not None:
        if not isinstance(relaxed_from, Scan):
            mistake(f"relaxed_from is {relaxed_from!r}", "a solved scan", "pass what scans.solve returned")
        name = relaxed_from.name
        some, example = _relaxed(relaxed_from, relaxed_from.backward if backward is None else backward)
    else:
        example = _example(given if like is None else like)
        base = base_of(example.size)
        if base is None:
            mistake(
                f"the example has {example.size} elements",
                f"a power of {', '.join(map(str, BASES))}",
                "an example of 16",
            )
        some = sketches(example, base)
    known = Known()
    for each in itertools.islice(some, SKETCHES):
        if not each.holes:
            return _judged(each, started)
        search = (
            Search(each, example, known) if example is None or example.in_place else MovingSearch(each, example, known)
        )
        for algorithm, points in search.found():
            if suits is not None and not suits(algorithm):
                continue
            return _known(name, algorithm, points, started)
    why = "no conditions and sources were found that make a scan of every size; "
    if isinstance(given, ScanSketch):
        why += "its loops may have other distances, or too few steps"
    else:
        why += "give an example of a larger size, or write its loops down: @scans.sketch(like=...)"
    return Scan(name, "none", None, None, time.perf_counter() - started, why)


def _known(name: str, algorithm: Algorithm, points: Sequence[Sequence[LoopPoints]], started: float) -> Scan:
    """Return a scan that was run at all sizes that are tried, proved if it can be."""
    proof = prove(algorithm, points, TRIED)
    return Scan(name, "proved" if proof.proved else "tried", algorithm, proof, time.perf_counter() - started)


def _judged(read: ReadScan, started: float) -> Scan:
    """Return what is known of a scan without holes."""
    algorithm = read.algorithm()
    for size in sizes(read.base, TRIED):
        wrong = algorithm.wrong(size)
        if wrong:
            proof = Proof(False, size)
            return Scan(read.name, "refuted", algorithm, proof, time.perf_counter() - started, wrong)
    search = Search(read, None)
    return _known(read.name, algorithm, [search.points(loop) for loop in read.loops], started)


def _example(given: Any) -> Network:
    return given if isinstance(given, Network) else network(given)


def relaxed_example(scan: Scan, *, backward: bool) -> Network:
    """Return what a solved scan does at a size, seen in a direction."""
    example = scan.network(next(size for size in sizes(scan.loops.base, TRIED) if size >= 16))
    return example if backward == scan.backward else example.mirrored()


def _relaxed(scan: Scan, backward: bool) -> tuple[Iterator[ReadScan], Network]:
    """Return a solved scan's loops with all expressions open, and what it does at a size, seen in a direction."""
    base = scan.loops.base
    holes = tuple(
        LoopSketch(Skeleton.of(loop), (StepSketch(None, None),) * len(loop.steps)) for loop in scan.loops.loops
    )
    return iter([ReadScan(scan.name, base, backward, holes)]), relaxed_example(scan, backward=backward)
