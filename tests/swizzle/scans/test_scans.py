"""Networks against words; found algorithms against the literature's networks, and against words at other sizes."""

from __future__ import annotations

import io
import itertools
import random
from pathlib import Path

import numpy as np
import pytest

from swizzle import SwizzleError, scans
from swizzle.commands.process import execute
from swizzle.scans import Network
from swizzle.scans.algorithm import ELEMENT, SIZE, Algorithm, ScanLoop
from swizzle.scans.bank import Comparisons, IndexTerms, LoopPoints, Skeleton
from swizzle.scans.network import IDLE
from swizzle.scans.proof import CLEARED, LARGEST, cleared, digits_known, prove
from symbolic.expressions.columns import on_columns
from symbolic.expressions.expression import ZERO, Expression, add, constant, less, select
from tests.slow_cases import slow_unless
from tests.swizzle.scans.examples import (
    FAMILIES,
    blelloch,
    brent_kung,
    is_exclusive_scan,
    is_scan,
    kogge_stone,
    odd_places,
    sklansky,
    solved,
)


@pytest.mark.parametrize("name", slow_unless(FAMILIES, ("kogge_stone", "brent_kung").__contains__))
def test_one_example_gives_every_size(name: str) -> None:
    """From N = 16 forward and backward: proved for all N up to 2^30, and the literature's network at every size."""
    family = FAMILIES[name]
    for backward in (False, True):
        found = solved(name, backward)
        assert found.status == "proved" and found.proof is not None and found.proof.largest == LARGEST
        for size in (4, 8, 16, 32, 64, 256):
            wanted = family(size).mirrored() if backward else family(size)
            assert found.network(size) == wanted
            assert size > 64 or is_scan(found.network(size), backward)


@pytest.mark.parametrize(
    "example",
    [
        brent_kung(8),
        pytest.param(odd_places(odd_places(kogge_stone(8))), marks=pytest.mark.slow),
        pytest.param(odd_places(odd_places(sklansky(8))), marks=pytest.mark.slow),
    ],
)
def test_other_examples(example: Network) -> None:
    """Examples of eight elements; three and four loops."""
    found = scans.solve(like=example)
    assert found.status == "proved" and found.network(example.size) == example
    assert is_scan(found.network(128), False)


@pytest.mark.slow
def test_base_three() -> None:
    """The paper's bk3: two steps a round going up, one going down; proved by what elements keep of their digits."""
    for backward in (False, True):
        found = solved("base_three", backward)
        assert found.status == "proved"
        assert [len(loop.steps) for loop in found.loops.loops] == [2, 1]
        wanted = brent_kung(243, 3).mirrored() if backward else brent_kung(243, 3)
        assert found.network(243) == wanted


@pytest.mark.parametrize("base", [3, 5])
def test_what_is_known_of_a_number_without_its_lowest_digit(base: int) -> None:
    """The closed form's column against digits written out, and what the induction takes for granted against the column.

    A premise that was false of some element would prove anything of it.
    """

    def digits(number: int) -> str:
        return (digits(number // base) if number >= base else "") + str(number % base)

    size = base**3
    counts = np.arange(1, size + 1)
    without = cleared(counts, base)
    for count, found in zip(counts.tolist(), without.tolist(), strict=True):
        written = digits(count).rstrip("0")
        assert int(digits(count)[: len(written) - 1] + "0" * (len(digits(count)) - len(written) + 1), base) == found
    everyone = np.arange(-size, 2 * size)
    outside = (everyone < 0) | (everyone >= size)
    loop = ScanLoop("up", base, 0, 1, ())
    for backward, d in itertools.product((False, True), (1, base, base**2, size)):
        (known,) = digits_known(Algorithm((loop,), backward), ELEMENT, CLEARED)
        own = np.where(outside, -1, np.take(without[::-1] if backward else without, everyone, mode="clip"))
        names = {"i": everyone, "d": d, "N": size}
        assert on_columns(known, {**names, "cleared": own}).all()
        other = size - everyone if backward else everyone + 1
        assert not on_columns(known, {**names, "cleared": other})[~outside].any()


def test_relaxed_to_the_other_direction() -> None:
    """The paper's forward to backward: the loops stay, conditions and sources are found anew."""
    forward = solved("brent_kung")
    backward = scans.solve(relaxed_from=forward, backward=True)
    assert backward.status == "proved" and backward.network(64) == brent_kung(64).mirrored()
    assert scans.solve(relaxed_from=backward, backward=False).network(64) == brent_kung(64)
    assert repr(forward) == (
        "for d in 1, 2, 4, ..., N / 2:\n    if (i + 1) % (2 * d) == 0:\n        a[i] = a[i - d] . a[i]\n"
        "for d in N / 4, ..., 4, 2, 1:\n    if i > d and i % (2 * d) + 1 == d:\n        a[i] = a[i - d] . a[i]\n"
        "a scan for N = 2, 4, 8, ..., 2^30: proved, by induction over the steps"
    )


# ---- networks that are wrong -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
def test_networks_with_one_edge_moved_are_refused(name: str) -> None:
    """An edge that is moved, dropped or added makes no scan, unless the words say that it is one."""
    network, moved = FAMILIES[name](16), 0
    for at, step in enumerate(network.steps):
        for i, source in itertools.product(range(16), [IDLE, *range(16)]):
            if source in (i, step[i]):
                continue
            changed = list(step)
            changed[i] = source
            made = Network(16, (*network.steps[:at], tuple(changed), *network.steps[at + 1 :]))
            assert bool(made.wrong) == (not is_scan(made, False))
            moved += bool(made.wrong)
            assert not made.wrong or "element" in made.wrong
    assert moved > 900


def test_exclusive_networks() -> None:
    """Blelloch's, which swaps going down, at some sizes; every edge moved, every element's words dropped or kept.

    An inclusive network whose elements then move up by one is an exclusive scan, too.
    """
    for size in (2, 4, 16, 64):
        made = blelloch(size)
        assert not made.wrong and made.exclusive and not made.backward and not made.apart
        assert is_exclusive_scan(made, False) and is_exclusive_scan(made.mirrored(), True)
        assert made.mirrored().backward and not made.mirrored().wrong
        assert scans.network(str(made)) == made and made.operations == 2 * (size - 1)
    made, moved = blelloch(4), 0
    for at, (step, gone) in enumerate(zip(made.steps, made.dropped, strict=True)):
        for i, source, drops in itertools.product(range(4), [IDLE, *range(4)], (False, True)):
            if source == i:
                continue
            steps, dropped = list(made.steps), list(made.dropped)
            steps[at], dropped[at] = (*step[:i], source, *step[i + 1 :]), gone - {i} | ({i} if drops else set())
            changed = Network(4, steps, dropped)
            assert bool(changed.wrong) == (not is_exclusive_scan(changed, False)), changed
            moved += bool(changed.wrong)
            assert not changed.wrong or "element" in changed.wrong
    assert moved > 100
    up_by_one = (IDLE, *range(7))
    shifted = Network(8, [*sklansky(8).steps, up_by_one], [frozenset[int]()] * 3 + [frozenset(range(8))])
    assert not shifted.wrong and shifted.exclusive and is_exclusive_scan(shifted, False) and not shifted.apart
    with pytest.raises(SwizzleError, match="for modules, a scan in place"):
        scans.modules(blelloch(8))


def test_random_networks_are_judged_as_words_judge_them() -> None:
    """Random steps, and random legal ones, forward and backward."""
    rng = random.Random(7)
    scans_found = 0
    for _ in range(400):
        size, backward = rng.choice((2, 3, 4)), rng.random() < 0.5
        steps = [
            tuple(
                rng.choice([IDLE, *(range(i + 1, size) if backward else range(i))]) if rng.random() < 0.8 else IDLE
                for i in range(size)
            )
            for _ in range(rng.randint(1, 4))
        ]
        made = Network(size, steps)
        assert bool(made.wrong) == (not is_scan(made, made.backward)), steps
        scans_found += not made.wrong
    assert scans_found > 20


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (". 0 . 2\n. . . 1\n. . 0 .", "step 3: element 2 takes x0 of element 0, which is not next to x2 of its own"),
        (". 0 . 2\n. . . 1", "in the end element 2 holds x2, not x0 ... x2"),
        (". 0 0", "step 1: element 2 takes x0 of element 0"),
        (". 0\n. 0", "has everything already"),
        (". 0 3 .", "step 1: element 1 takes element 0, which is before it as in a forward scan"),
        (". 0 1\n. .", "step 2 of the network has 2 elements, and step 1 has 3"),
        (". 4", "element 1 takes element 4"),
        (". 1", "element 1 takes itself"),
        (". x", "has 'x' for element 1"),
        (". 0 . 2\n. . . 1\n. =3 . 1\n=1 0 =3 2", "x0 ... x1 of element 1, which is not next to x0 ... x3 of its own"),
        (". 0 . 2\n. . . 1\n. . . e\n. =3 . 1\n=1 0 . 2", "in the end element 2 holds x2, not x0 ... x1"),
        (". 0\n. e\n=1 .", "in the end element 1 holds nothing, not x0"),
        (". =1", "element 1 takes itself"),
        (". =", "has '=' for element 1"),
        ("", "empty"),
        ([{1: 0, 3: 2}, {3: 1}, {2: -5}], "is not a dict of elements"),
        (7, "the network is 7"),
    ],
)
def test_what_is_no_network_is_one_error(rows: object, said: str) -> None:
    """Each mistake is said with the step and the element, at the caller's line."""
    with pytest.raises(SwizzleError) as error:
        scans.network(rows)  # type: ignore[arg-type]
    assert said in str(error.value) and error.value.place is not None
    assert error.value.place.file == __file__


def test_forms_of_a_network() -> None:
    """A text, a list of lists, a list of dicts."""
    text = scans.network(". 0 . 2\n. . . 1\n. . 1 .")
    assert text == scans.network([[None, 0, None, 2], [-1, -1, -1, 1], [None, None, 1, None]])
    assert text == scans.network([{1: 0, 3: 2}, {3: 1}, {2: 1}])
    assert (text.depth, text.operations, text.fan_out, text.apart) == (3, 4, 1, True)
    assert not kogge_stone(8).apart and sklansky(8).fan_out == 4
    assert scans.network(str(brent_kung(16))) == brent_kung(16)


# ---- sketches --------------------------------------------------------------------------------------------------------


@scans.sketch
def blind(a, i, N):
    for d in scans.up(1, N // 2):
        if scans.when(i, d):
            a[i] = a[scans.source(i, d)] + a[i]


@scans.sketch(like=brent_kung(16))
def half_open(a, i, N):
    """The conditions of one loop and the source of the other are known."""
    for d in scans.up(1, N // 2):
        if (i + 1) % (2 * d) == 0:
            a[i] = a[scans.source(i, d)] + a[i]
    for d in scans.down(N // 4, 1):
        if scans.when(i, d):
            a[i] = a[i - d] + a[i]


@scans.sketch
def written_out(a, i, N):
    for d in scans.up(1, N // 2):
        if ~i & (2 * d - 1) == 0:
            a[i] = a[i - d] + a[i]
    for d in scans.down(N // 4, 1):
        if (i + 1) % (2 * d) == d and i >= 2 * d:
            a[i] = a[i - d] + a[i]


@scans.sketch
def papers_listing(a, i, N):
    for d in scans.up(1, N // 2):
        if (i + 1) % 2 * d != 0:
            a[i] = a[i - d] + a[i]


@scans.sketch
def backward_written_out(a, i, N):
    for d in scans.up(1, N // 2):
        if i < N - d:
            a[i] = a[i] + a[i + d]


def test_a_sketch_without_an_example() -> None:
    """The smallest expressions that make a scan of a loop over distances are Kogge and Stone's."""
    found = blind.solve()
    assert found.status == "proved" and found.network(32) == kogge_stone(32)


def test_a_sketch_that_is_half_open() -> None:
    assert half_open.solve().network(64) == brent_kung(64)


def test_scans_that_are_written_out() -> None:
    """They are judged: proved, or refuted with the element that goes wrong."""
    assert written_out.solve().status == "proved"
    assert backward_written_out.solve().status == "proved"
    found = papers_listing.solve()
    assert found.status == "refuted"
    assert found.witness == "at N = 2, d = 1: element 0 takes element -1, although it has everything already"


@pytest.mark.slow
def test_no_filling() -> None:
    """A loop over distances from 2 on is no scan, whatever its expressions."""

    @scans.sketch
    def late(a, i, N):
        for d in scans.up(2, N // 2):
            if scans.when(i, d):
                a[i] = a[i - d] + a[i]

    found = late.solve()
    assert found.status == "none" and "its loops may have other distances" in found.witness
    serial = scans.solve(like=Network(8, [tuple(i - 1 if i == at else -1 for i in range(8)) for at in range(1, 8)]))
    assert serial.status == "none" and repr(serial).endswith("write its loops down: @scans.sketch(like=...)")
    with pytest.raises(SwizzleError, match="late has no solution"):
        found.network(8)


def swapped(a, i, N):
    for d in scans.up(1, N // 2):
        if i >= d:
            a[i] = a[i - d] + a[i]
        if i >= d:
            a[i] = a[i] + a[i - d]


def other_loop(a, i, N):
    for d in range(N):
        a[i] = a[i - d] + a[i]


def other_bound(a, i, N):
    for d in scans.up(1, N // 3):
        a[i] = a[i - d] + a[i]


def other_expression(a, i, N):
    for d in scans.up(1, N // 2):
        if i >= d:
            a[i] = a[i / d] + a[i]


@pytest.mark.parametrize(
    ("function", "said", "line"),
    [
        (swapped, "the element that is taken stands on the right", 5),
        (other_loop, "a loop of a scan sketch that is not over distances", 1),
        (other_bound, "a bound of distances is N // 3", 1),
        (other_expression, "a scan sketch cannot say i / d", 3),
    ],
)
def test_what_is_no_sketch_is_one_error(function: object, said: str, line: int) -> None:
    """Each mistake has its line."""
    with pytest.raises(SwizzleError) as error:
        scans.sketch(function)
    assert said in str(error.value) and error.value.place is not None
    assert error.value.place.line == function.__code__.co_firstlineno + line  # type: ignore[attr-defined]


def test_an_example_that_does_not_fit_its_sketch() -> None:
    with pytest.raises(SwizzleError, match=r"has 4 steps at N = 16, and its example 7"):
        scans.sketch(like=brent_kung(16))(_one_loop)
    with pytest.raises(SwizzleError, match="is a forward scan, and its example is not"):
        scans.sketch(like=kogge_stone(16).mirrored())(_one_loop)
    with pytest.raises(SwizzleError, match="the example has 12 elements"):
        scans.solve(like=Network(12, kogge_stone(12).steps))


def _one_loop(a, i, N):
    for d in scans.up(1, N // 2):
        if scans.when(i, d):
            a[i] = a[scans.source(i, d)] + a[i]


# ---- the terms and the proof -----------------------------------------------------------------------------------------


def test_terms_are_what_their_expressions_say() -> None:
    """Each term's column, and each condition's, is its expression's values; no two are alike."""
    points = LoopPoints(Skeleton("up", 0, 1, 1), 2, (4, 8), with_size=True)
    bank = points.bank(6)
    names = {"i": points.element, "d": points.distance, "N": points.size}
    assert all(part.expression is not ZERO for term in bank.made for part in term.arguments)  # x + 0 is x
    for term, column in zip(bank.made, bank.rows, strict=True):
        assert (on_columns(term.expression, names) == column).all()
    assert len({column.tobytes() for column in bank.rows}) == len(bank) > 300
    conditions = Comparisons(bank)
    for each in range(0, len(conditions.masks), 37):
        assert (on_columns(conditions.expression(each), names) == conditions.masks[each]).all()


def test_no_lighter_term_is_missed() -> None:
    """Every sum and difference of two names or numbers is among the terms, by its values."""
    points = LoopPoints(Skeleton("up", 0, 1, 1), 2, (4, 8), with_size=True)
    bank: IndexTerms = points.bank(4)
    known = {column.tobytes() for column in bank.rows}
    leaves = [points.element, points.distance, points.size, points.element * 0 + 1, points.element * 0 + 2]
    for a, b in itertools.product(leaves, repeat=2):
        assert {(a + b).tobytes(), (a - b).tobytes(), (a & b).tobytes()} <= known


def test_a_wrong_closed_form_is_not_proved() -> None:
    """The proof fails where the algorithm is right only at sizes up to 64."""
    found = solved("kogge_stone")
    loop = found.loops.loops[0]
    (step,) = loop.steps
    late = type(step)(step.when, add(step.source, late_by_one()))
    changed = type(found.loops)((type(loop)(loop.way, 2, 0, 1, (late,)),), False)
    points = LoopPoints(Skeleton("up", 0, 1, 1), 2, (4, 8, 16, 32), with_size=True)
    assert not any(changed.wrong(size) for size in (2, 4, 8, 16, 32, 64))
    assert "takes element" in changed.wrong(128)
    assert not prove(changed, [[points]], 64).proved


def late_by_one() -> Expression:
    """Return 0 for N up to 64, and something else beyond."""
    return select(less(constant(64), SIZE), constant(1), constant(0))


def test_a_network_is_shown(tmp_path: Path) -> None:
    """`swizzle show FILE.py:NAME` prints a network, or draws it: a dot for each operation."""
    (tmp_path / "file.py").write_text(
        f'from swizzle import scans\nNET = scans.network("""{brent_kung(8)}""")\n', encoding="utf-8"
    )
    out, err = io.StringIO(), io.StringIO()
    target, figure = f"{tmp_path / 'file.py'}:NET", tmp_path / "net.svg"
    assert execute(["show", target], out, err) == 0
    assert "NET: network of 8: 5 steps, 11 operations" in out.getvalue() and str(brent_kung(8)) in out.getvalue()
    assert execute(["show", target, "-o", str(figure)], out, err) == 0
    assert figure.read_text(encoding="utf-8").count("<circle") == brent_kung(8).operations
    drawn = blelloch(8).svg()
    assert (
        drawn.count("<circle") == 14 + 7 + 1 and drawn.count('fill="#fff" stroke') == drawn.count('stroke="#fff"') == 8
    )
    assert "exclusive network of 8: 7 steps, 14 operations" in drawn
    assert execute(["show", target, "-o", str(tmp_path / "net.html")], out, err) == 2
    assert "for a network" in err.getvalue()
    assert execute(["show", f"{tmp_path / 'file.py'}:NOPE"], out, err) == 2
