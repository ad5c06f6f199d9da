"""Scans in which elements drop their words, at every size: Blelloch's, and inclusive ones whose elements then move."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from swizzle import SwizzleError, f32, i32, scan_operator, scans, serial, u32
from swizzle.language.specs.verify import verify
from swizzle.scans import Algorithm, Network, Scan
from swizzle.scans.algorithm import ELEMENT, SIZE, ScanStep
from swizzle.scans.kernel import ScanKernel
from swizzle.scans.moving import Move, MovingSearch
from swizzle.scans.network import IDLE, HeldRanges
from swizzle.scans.proof import LARGEST, BothEnds, ends_of
from symbolic.expressions.columns import on_columns
from symbolic.expressions.expression import FALSE, ONE, TRUE, ZERO, add, constant, subtract
from tests.slow_cases import slow_unless
from tests.swizzle.scans.examples import blelloch, brent_kung, is_exclusive_scan, kogge_stone, sklansky
from tests.swizzle.scans.test_kernel import first_and_last, then


def moved_up(inclusive: Network, *, first: bool = False) -> Network:
    """Return an inclusive network whose elements move up by one in the end, or in the beginning."""
    size, none = inclusive.size, (frozenset[int](),) * inclusive.depth
    up, all_drop = (IDLE, *range(size - 1)), frozenset(range(size))
    if first:
        return Network(size, (up, *inclusive.steps), (all_drop, *none))
    return Network(size, (*inclusive.steps, up), (*none, all_drop))


def without_root(size: int) -> Network:
    """Return Blelloch's network without the last step up, whose result is emptied."""
    made, last = blelloch(size), size.bit_length() - 2
    return Network(size, *((*each[:last], *each[last + 1 :]) for each in (made.steps, made.dropped)))


def emptied_at_once(size: int) -> Network:
    """Return the same with the first step down in the one that empties the root."""
    made, at = without_root(size), size.bit_length() - 2
    left = size // 2 - 1
    step = tuple(left if i == size - 1 else IDLE for i in range(size))
    return Network(
        size,
        (*made.steps[:at], step, *made.steps[at + 2 :]),
        (*made.dropped[:at], frozenset({left, size - 1}), *made.dropped[at + 2 :]),
    )


MOVING: dict[str, Callable[[int], Network]] = {
    "blelloch": blelloch,
    "without_root": without_root,
    "emptied_at_once": emptied_at_once,
    "kogge_stone_then_up": lambda size: moved_up(kogge_stone(size)),
    "sklansky_then_up": lambda size: moved_up(sklansky(size)),
    "brent_kung_then_up": lambda size: moved_up(brent_kung(size)),
    "up_then_kogge_stone": lambda size: moved_up(kogge_stone(size), first=True),
    "up_then_sklansky": lambda size: moved_up(sklansky(size), first=True),
}


@cache
def solved(name: str, backward: bool) -> Scan:
    """Return what an example of 16 elements becomes."""
    example = MOVING[name](16)
    return scans.solve(like=example.mirrored() if backward else example)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", slow_unless(MOVING, ("blelloch", "up_then_kogge_stone").__contains__))
@pytest.mark.parametrize("backward", [False, True])
def test_one_example_gives_every_size(name: str, backward: bool) -> None:
    """From N = 16 forward and backward: proved for all N up to 2^30, and the same network at every size."""
    found = solved(name, backward)
    assert found.status == "proved" and found.proof is not None and found.proof.largest == LARGEST
    assert found.loops.exclusive and found.backward == backward and "an exclusive scan for N = 2" in repr(found)
    for size in (4, 8, 16, 32, 64, 256):
        wanted = MOVING[name](size).mirrored() if backward else MOVING[name](size)
        assert found.network(size) == wanted
        assert size > 64 or is_exclusive_scan(found.network(size), backward)


@pytest.mark.slow
def test_base_three() -> None:
    """An inclusive network in base 3 whose elements then move up is run, and proved where no digits are needed."""
    found = scans.solve(like=moved_up(brent_kung(27, 3)))
    assert found.status == "tried" and found.proof is not None and "no closed form" in found.proof.missing
    assert found.network(81) == moved_up(brent_kung(81, 3))


@pytest.mark.slow
def test_other_examples() -> None:
    """Of 8 and of 32 elements; and the forward scan's loops for a backward one."""
    for size in (8, 32):
        assert scans.solve(like=blelloch(size)).network(64) == blelloch(64)
    found = scans.solve(relaxed_from=solved("blelloch", False), backward=True)
    assert found.status == "proved" and found.network(64) == blelloch(64).mirrored()


def test_what_is_found_of_blellochs_network() -> None:
    assert repr(solved("blelloch", False)) == (
        "for d in 1, 2, 4, ..., N / 2:\n    if (i + 1) % (2 * d) == 0:\n        a[i] = a[i - d] . a[i]\n"
        "d = 1:\n    if i == N - 1:\n        a[i] = the identity\n"
        "for d in N / 2, ..., 4, 2, 1:\n    if (i + 1) % (2 * d) == 0:\n        a[i] = a[i] . a[i - d]\n"
        "    elif i % (2 * d) + 1 == d:\n        a[i] = a[i + d]\n"
        "an exclusive scan for N = 2, 4, 8, ..., 2^30: proved, by induction over the steps"
    )


# ---- what is wrong ---------------------------------------------------------------------------------------------------


def words_after(algorithm: Algorithm, size: int) -> bool:
    """Run an algorithm on words, with each operand where it says; return whether that is its scan."""
    held = [(i,) for i in range(size)]
    for step, d in algorithm.rounds(size):
        before = list(held)
        for i in range(size):
            names = {"i": i, "d": d, "N": size}
            move = next((move for move in step.moves if on_columns(move.when, names)), None)
            if move is None:
                continue
            source = int(on_columns(move.source, names))
            if move.how != "nothing" and not 0 <= source < size:
                return False
            taken = () if move.how == "nothing" else before[source]
            own = () if move.how in ("instead", "nothing") else before[i]
            held[i] = own + taken if move.how == "behind" else taken + own
            if held[i] != tuple(range(held[i][0], held[i][-1] + 1) if held[i] else ()):
                return False
    whole, own_too = tuple(range(size)), not algorithm.exclusive
    return held == [whole[i + 1 - own_too :] if algorithm.backward else whole[: i + own_too] for i in range(size)]


def changed(algorithm: Algorithm) -> Iterator[Algorithm]:
    """Yield an algorithm with one change in one step: whom elements take, how, which do, or what they do otherwise."""
    for at, loop in enumerate(algorithm.loops):
        for number, step in enumerate(loop.steps):
            for turn, move in enumerate(step.moves):
                others: list[ScanStep] = [replace(move, how=how) for how in ("before", "behind", "instead", "nothing")]
                others += [replace(move, source=add(move.source, constant(k))) for k in (-1, 1)]
                others += [replace(move, source=subtract(subtract(SIZE, ONE), ELEMENT)), replace(move, when=FALSE)]
                others += [replace(move, otherwise=None), replace(move, source=add(move.source, constant(1 << 20)))]
                for other in others:
                    made = replace(step, otherwise=other) if turn else other
                    steps = (*loop.steps[:number], made, *loop.steps[number + 1 :])
                    loops = (*algorithm.loops[:at], replace(loop, steps=steps), *algorithm.loops[at + 1 :])
                    yield replace(algorithm, loops=loops)
        yield replace(algorithm, loops=(*algorithm.loops[:at], *algorithm.loops[at + 1 :]))


@pytest.mark.parametrize("name", slow_unless(MOVING, ("blelloch", "up_then_kogge_stone").__contains__))
@pytest.mark.parametrize("backward", [False, True])
def test_changed_loops_are_refused(name: str, backward: bool) -> None:
    """Another element taken, or on the other side, the swap or the identity left out: as words say, with a witness."""
    refused = 0
    for made in changed(solved(name, backward).loops):
        for size in (2, 4, 8, 16):
            wrong = made.wrong(size)
            assert bool(wrong) == (not words_after(made, size)), f"{made}\n{size}"
            assert not wrong or (f"at N = {size}" in wrong and "element" in wrong)
        refused += any(made.wrong(size) for size in (2, 4, 8, 16))
    assert refused > 15


def test_networks_with_one_edge_moved_are_refused() -> None:
    """Another source, words kept or dropped, one element anew, at 16 elements: as words say."""
    rng, network, refused = random.Random(11), blelloch(16), 0
    for _ in range(800):
        at, i, source, drops = rng.randrange(9), rng.randrange(16), rng.randint(-1, 15), rng.random() < 0.5
        if source == i:
            continue
        steps, dropped = list(network.steps), list(network.dropped)
        steps[at] = (*steps[at][:i], source, *steps[at][i + 1 :])
        dropped[at] = dropped[at] - {i} | ({i} if drops else set())
        made = Network(16, steps, dropped)
        assert bool(made.wrong) == (not is_exclusive_scan(made, False))
        assert not made.wrong or "element" in made.wrong
        refused += bool(made.wrong)
    assert refused > 500


@scans.sketch
def written_out(a, i, N):
    """As in the literature."""
    for d in scans.up(1, N // 2):
        if (i + 1) % (2 * d) == 0:
            a[i] = a[i - d] + a[i]
    if i == N - 1:
        a[i] = scans.identity
    for d in scans.down(N // 2, 1):
        if (i + 1) % (2 * d) == 0:
            a[i] = a[i] + a[i - d]
        elif (i + 1) % d == 0:
            a[i] = a[i + d]


@scans.sketch
def commutes(a, i, N):
    """What the right one takes stands on the left: right only of operators that commute."""
    for d in scans.up(1, N // 2):
        if (i + 1) % (2 * d) == 0:
            a[i] = a[i - d] + a[i]
    if i == N - 1:
        a[i] = scans.identity
    for d in scans.down(N // 2, 1):
        if (i + 1) % (2 * d) == 0:
            a[i] = a[i - d] + a[i]
        elif (i + 1) % (2 * d) == d:
            a[i] = a[i + d]


@scans.sketch
def without_identity(a, i, N):
    for d in scans.up(1, N // 2):
        if (i + 1) % (2 * d) == 0:
            a[i] = a[i - d] + a[i]
    for d in scans.down(N // 2, 1):
        if (i + 1) % (2 * d) == 0:
            a[i] = a[i] + a[i - d]
        elif (i + 1) % (2 * d) == d:
            a[i] = a[i + d]


@scans.sketch
def without_swap(a, i, N):
    for d in scans.up(1, N // 2):
        if (i + 1) % (2 * d) == 0:
            a[i] = a[i - d] + a[i]
    if i == N - 1:
        a[i] = scans.identity
    for d in scans.down(N // 2, 1):
        if (i + 1) % (2 * d) == 0:
            a[i] = a[i] + a[i - d]


@scans.sketch
def outside(a, i, N):
    if i == 0:
        a[i] = scans.identity
    else:
        a[i] = a[i + 1]


@scans.sketch(like=blelloch(16))
def half_open(a, i, N):
    for d in scans.up(1, N // 2):
        if scans.when(i, d):
            a[i] = a[i - d] + a[i]
    if scans.when(i):
        a[i] = scans.identity
    for d in scans.down(N // 2, 1):
        if (i + 1) % (2 * d) == 0:
            a[i] = a[i] + a[scans.source(i, d)]
        elif scans.when(i, d):
            a[i] = a[scans.source(i, d)]


def test_loops_that_are_written_out() -> None:
    """They are judged: proved, or refuted with the element that goes wrong."""
    assert written_out.solve().status == "proved" and written_out.solve().network(16) == blelloch(16)
    for sketch, witness in (
        (commutes, "at N = 4, d = 1: element 3 puts what element 2 holds, x2, before x0 ... x1 of its own"),
        (without_identity, "at N = 2, d = 1: element 1 puts what element 0 holds, x0, behind x0 ... x1 of its own"),
        (without_swap, "at N = 2: in the end element 0 holds x0, not nothing"),
        (outside, "at N = 2, d = 1: element 1 takes element 2, which does not exist"),
    ):
        found = sketch.solve()
        assert (found.status, found.witness) == ("refuted", witness)


def test_a_sketch_that_is_half_open() -> None:
    assert half_open.solve().network(64) == blelloch(64)


def open_without_example(a, i, N):
    for d in scans.up(1, N // 2):
        if scans.when(i, d):
            a[i] = a[scans.source(i, d)]


def test_mistakes() -> None:
    with pytest.raises(SwizzleError, match="elements that drop their own words, and no example"):
        scans.sketch(open_without_example)

    def stays(a, i, N):
        for d in scans.up(1, N // 2):
            if scans.when(i, d):
                a[i] = a[scans.source(i, d)] + a[i]

    with pytest.raises(SwizzleError, match="in step 4 of the network element 7 drops its own words"):
        scans.sketch(like=blelloch(8))(stays)
    with pytest.raises(SwizzleError, match="an exclusive scan by max of i32, whose identity is not known"):
        solved("blelloch", False).kernel(16, operator="max", dtype=i32)
    with pytest.raises(SwizzleError, match="whose identity is not known"):
        solved("blelloch", False).kernel(16, operator=scan_operator(first_and_last))


# ---- the proof -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["blelloch", "up_then_kogge_stone"])
@pytest.mark.parametrize("backward", [False, True])
def test_the_induction_says_what_a_run_says(name: str, backward: bool) -> None:
    """What elements hold before each step, and what a step makes of it, as expressions and in numbers."""
    found = solved(name, backward)
    algorithm, ends = found.loops, ends_of(found.loops)
    assert isinstance(ends, BothEnds) and found.proof is not None
    reaches = iter(found.proof.reaches)
    shapes = {step: (next(reaches), next(reaches)) for loop in algorithm.loops for step in loop.steps}
    for size in (2, 4, 32):
        runs = itertools.pairwise(algorithm.held(size))
        for (step, d), (before, after) in zip(algorithm.rounds(size), runs, strict=True):
            names = {"i": np.arange(size), "d": d, "N": size}
            assert isinstance(before, HeldRanges) and isinstance(after, HeldRanges)
            assert np.all(on_columns(ends.legal(step, shapes[step]), names))
            for expressions, wanted in ((shapes[step], before), (ends.after(step, shapes[step]), after)):
                for expression, column in zip(expressions, wanted, strict=True):
                    assert (on_columns(expression, names) == column).all()


def test_loops_that_are_no_scan_at_larger_sizes_are_not_proved() -> None:
    """A source is another from N = 8192 on, which is behind the sizes that are run."""
    found = late.solve()
    assert found.status == "tried" and found.proof is not None and "refuted" in found.proof.missing
    assert found.algorithm is not None and not found.algorithm.wrong(4096) and found.algorithm.wrong(8192)


@scans.sketch
def late(a, i, N):
    for d in scans.up(1, N // 2):
        if (i + 1) % (2 * d) == 0:
            a[i] = a[i - d] + a[i]
    if i == N - 1:
        a[i] = scans.identity
    for d in scans.down(N // 2, 1):
        if (i + 1) % (2 * d) == 0:
            a[i] = a[i] + a[i - d]
        elif (i + 1) % (2 * d) == d:
            a[i] = a[i + d + (d >> 12)]


# ---- kernels ---------------------------------------------------------------------------------------------------------


@serial
def smoothed(x: f32, a: f32):
    h = 0
    for v, g in zip(x, a, strict=True):
        h = g * h + v
    return h


@pytest.mark.parametrize("name", slow_unless(MOVING, ("blelloch", "up_then_kogge_stone").__contains__))
@pytest.mark.parametrize("backward", [False, True])
def test_kernels_are_scans_of_words(name: str, backward: bool) -> None:
    """With an operator that does not commute, with those of the language, and with one on several words."""
    scan = solved(name, backward)
    for op, dtype in ((then, u32), ("+", f32), ("max", f32), ("*", i32), ("&", i32), ("|", u32)):
        made = scan.kernel(32, operator=op, dtype=dtype)
        assert verify(made.sketch.program, made.sketch.spec).equal, (op, made)
        assert made.text.startswith(
            "# An exclusive scan of 32 elements by 32 threads.\n"
            "# Its loops are an exclusive scan for N = 2, 4, 8, ..., 2^30: proved, by induction over the steps.\n"
        )
    made = scan.kernel(16, operator=scan_operator(smoothed))
    assert verify(made.sketch.program, made.sketch.spec).equal
    x, a = np.arange(1.0, 17), np.full(16, 0.5)
    wanted = [smoothed(x[i + 1 :], a[i + 1 :]) if backward else smoothed(x[:i], a[:i]) for i in range(16)]
    assert not backward or wanted[-1] == 0
    if not backward:
        assert list(map(float, made.sketch.spec(x, a))) == wanted


@serial
def counted_on(x: i32):
    h = 5
    for v in x:
        h = h + v
    return h


@serial
def smoothed_on(x: f32, a: f32):
    h = 0.1
    for v, g in zip(x, a, strict=True):
        h = g * h + v
    return h


@pytest.mark.slow
def test_the_result_of_no_element_is_a_number() -> None:
    """A loop that does not begin with 0: the result of the identity is a number in kernel and specification alike."""
    for op in (scan_operator(counted_on), scan_operator(smoothed_on)):
        for backward in (False, True):
            made = solved("blelloch", backward).kernel(8, operator=op)
            assert verify(made.sketch.program, made.sketch.spec).equal
            text = made.text.replace("if i == 0:" if backward else "if i == 7:", "if i == 1:")
            wrong = ScanKernel(made.name, text, made.threads, None, op).sketch
            assert text != made.text and not verify(wrong.program, wrong.spec).equal


def test_swapped_operands_are_no_scan() -> None:
    """The usual text of the loop, with what is taken on the left; and the other changes that a hand makes."""
    made = solved("blelloch", False).kernel(16, operator=then, dtype=u32)
    for old, new in (
        ("then(a[i], a[i - d])", "then(a[i - d], a[i])"),
        ("v = a[i + d]", "v = a[i]"),
        ("v = 65536", "v = a[i]"),
        ("if i == 15:", "if i == 14:"),
    ):
        text = made.text.replace(old, new)
        assert text != made.text
        wrong = ScanKernel(made.name, text, made.threads, None, made.operator).sketch
        assert not verify(wrong.program, wrong.spec).equal, old


@pytest.mark.parametrize(("sources", "fine"), [((0, 1, 2), True), ((0, 1, -2), False), ((0, 1, 4), False)])
def test_a_source_outside_of_the_array_is_no_filling(sources: tuple[int, ...], fine: bool) -> None:
    """An element before the first one, which NumPy would count from the end, is none, as is one behind the last."""
    search = object.__new__(MovingSearch)
    search.among, search.backward = [4], False  # type: ignore[misc]
    points: Any = SimpleNamespace(element=np.arange(4), slices=[slice(0, 4)], rounds=[(4, 1)])
    move = Move(1, TRUE, ZERO, "before", np.arange(4) > 0, np.array((IDLE, *sources)))
    held = search._after(points, [[move]], [HeldRanges.start(4)])
    assert (held is not None) == fine
