"""Space 4 on the command line and from Python: maps of bits are found, printed, saved, shown and certified."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from swizzle import Sketch, SwizzleError, load, solve
from swizzle.answers.explain.explain import explain
from swizzle.commands.process import execute
from swizzle.solving.solution.answered import fillings_of
from swizzle.solving.solution.solution import Limits, Progress
from symbolic.ir.program import Binary, Compare, DType, Select
from templates.formula import number
from templates.template import Template, TemplateFamily, integers

MAPS = """
from swizzle import cuda, f32, sketch, spec, sw_cond, sw_xform, accumulator

N = 32

@spec
def butterflies(x):
    return [[x[i ^ k] for k in range(8)] for i in range(N)]

@sketch(spec=butterflies, block=N, warp_size=N, x=f32[N], y=f32.out[N, 8])
def butterfly(x, y):
    lane = cuda.laneid
    for k in range(8):
        y[lane, k] = cuda.shfl_sync(cuda.FULL_MASK, x[lane], sw_xform(lane, N, k))

@spec
def reversed_bits(x):
    return [x[int(f"{i:05b}"[::-1], 2)] for i in range(N)]

@sketch(spec=reversed_bits, block=N, warp_size=N, x=f32[N], y=f32.out[N])
def bit_reversal(x, y):
    lane = cuda.laneid
    y[lane] = cuda.shfl_sync(cuda.FULL_MASK, x[lane], sw_xform(lane, N))

@spec
def gray_code(x):
    return [x[i ^ (i >> 1)] for i in range(N)]

@sketch(spec=gray_code, block=N, warp_size=N, x=f32[N], y=f32.out[N])
def gray(x, y):
    lane = cuda.laneid
    y[lane] = cuda.shfl_sync(cuda.FULL_MASK, x[lane], sw_xform(lane, N))

@spec
def squared(x):
    return [x[(i * i + i // 3) % N] for i in range(N)]

@sketch(spec=squared, block=N, warp_size=N, x=f32[N], y=f32.out[N])
def squares(x, y):
    lane = cuda.laneid
    y[lane] = cuda.shfl_sync(cuda.FULL_MASK, x[lane], sw_xform(lane, N))

@spec
def both_ways(x):
    return [[x[(i + 5 * k) % N] + 2 * x[i ^ k] for k in range(8)] for i in range(N)]

@sketch(spec=both_ways, block=N, warp_size=N, x=f32[N], y=f32.out[N, 8])
def mixed(x, y):
    lane = cuda.laneid
    for k in range(8):
        a = cuda.shfl_sync(cuda.FULL_MASK, x[lane], sw_xform(lane, N, k))
        b = cuda.shfl_sync(cuda.FULL_MASK, x[lane], sw_xform(lane, N, k))
        y[lane, k] = a + 2 * b

@spec
def some_of_them(x):
    return [x[i] + x[i ^ 1] + x[i ^ 2] for i in range(8)]

@sketch(spec=some_of_them, block=8, warp_size=8, x=f32[8], y=f32.out[8])
def summed(x, y):
    lane = cuda.laneid
    out = accumulator(f32, outer="+")
    for k in range(4):
        out.accumulate(cuda.shfl_sync(cuda.FULL_MASK, x[lane], sw_xform(lane, 8, k)), when=sw_cond(lane, k))
    y[lane] = out.value
"""


@pytest.fixture(scope="module")
def maps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("maps") / "maps.py"
    path.write_text(MAPS, encoding="utf-8")
    return path


def swizzle(*words: object) -> tuple[int, str]:
    out = io.StringIO()
    status = execute([*map(str, words), "-q"], out, io.StringIO())
    return status, out.getvalue()


def sketch_of(maps: Path, name: str) -> Sketch:
    (found,) = load(maps, name, {})
    return found


REVERSED = "(lane & 4) ^ ((lane << 2) & 8) ^ ((lane >> 2) & 2) ^ ((lane << 4) & 16) ^ (lane >> 4)"


@pytest.mark.parametrize(
    ("name", "formula", "words"),
    [
        ("butterfly", "lane ^ k", "exclusive or with k"),
        ("bit_reversal", REVERSED, "reverse the bits"),
        ("gray", "lane ^ (lane >> 1)", "Gray code"),
    ],
)
def test_named_maps(name: str, formula: str, words: str, maps: Path, tmp_path: Path) -> None:
    """One session each: solved and certified, written, checked, shown."""
    status, out = swizzle("solve", f"{maps}:{name}", "-o", tmp_path / "out", "--certify")
    assert status == 0 and f"xform1 = {formula}   at" in out and "proved minimal in Space 4" in out
    assert "certify no filling exists in Space 3: confirmed by" in out
    assert formula in (tmp_path / "out" / f"{name}.cu").read_text()
    saved = tmp_path / "out" / f"{name}.json"
    assert json.loads(saved.read_text())["space"] == "4"
    status, out = swizzle("check", saved)
    assert status == 0 and "equal to its specification" in out
    status, out = swizzle("show", saved)
    assert status == 0 and f"xform1  {words}   at" in out


def test_what_is_no_map_of_bits(maps: Path) -> None:
    """'None' is a matter of a moment, and the second description agrees."""
    status, out = swizzle("solve", f"{maps}:squares", "--json", "--certify", "--no-cache")
    answer = json.loads(out)
    assert (status, answer["status"], answer["space"]) == (1, "unsat", "4")
    assert [c["verdict"] for c in answer["certificate"]["confirmed"] if c["space"] == "4"] == ["confirmed"]
    assert answer["seconds"]["search"] < 1  # 0.03 s; the machine may be busy


def test_space_3_ends_before_it(maps: Path) -> None:
    """A single space is searched alone, 'all' goes to the end."""
    gray = sketch_of(maps, "gray")
    for space, status in (("3", "unsat"), ("4", "sat"), ("all", "sat"), (None, "sat")):
        assert solve(gray, Limits(space=space)).status == status  # type: ignore[arg-type]


def test_chains_are_tried_for_families_that_were_asked_for(tmp_path: Path) -> None:
    """A search that proves nothing goes before one that does only where that one cannot look at a family."""
    swap, steps = six(tmp_path, "i ^ 1 if i < 2 else i"), list[tuple[str, str]]()

    def note(step: Progress) -> None:
        steps.append((step.space, step.doing))

    assert solve(swap, progress=note).status == "unsat"
    assert ("4", "trying what one hole may do") not in steps and len(steps) > 3
    solve(swap, Limits(space="4"), note)
    assert ("4", "trying what one hole may do") not in steps
    solve(swap, Limits(space="4"), note, families=[family()])
    assert ("4", "trying what one hole may do") in steps


def test_one_hole_turns_and_another_flips(maps: Path) -> None:
    """A hole's functions in Space 4 are those of Space 3 and maps of bits, each hole's for itself."""
    found = solve(sketch_of(maps, "mixed"))
    assert [hole.formula for hole in found.best.holes] == ["(lane + 5 * k) % 32", "lane ^ k"]
    assert found.space == "4" and found.optimal


def test_a_cost_is_lowered_by_the_solver(maps: Path) -> None:
    """Where conditions decide what it costs, the maps' bits are the solver's variables."""
    found = solve(sketch_of(maps, "summed"), Limits(space="4"))
    assert (found.status, found.best.cost, found.optimal) == ("sat", {"accumulates": 1}, True)
    assert {claim["solver"] for claim in found.certificate["proved"]} <= {"glucose", "z3"}


# ---- users' own families ---------------------------------------------------------------------------------------


def family(name: str = "flip", kind: str = "xform", **more: Any) -> TemplateFamily:
    return TemplateFamily(name, kind, lambda size, arity, points, space: Flipped(size), **more)


class Flipped(Template):
    """i, or the first two change places."""

    def __init__(self, n: int) -> None:
        self.n, self.components = n, ((0, 1),)

    def at(self, chooser: Any, point: Any) -> Any:
        return chooser.pick(0, lambda flip: point[0] ^ flip if point[0] < 2 else point[0])

    def apply(self, choice: Any, arguments: Any) -> Any:
        return np.where(np.asarray(arguments[0]) < 2, np.asarray(arguments[0]) ^ choice[0], arguments[0])

    def expression(self, choice: Any, arguments: Any, place: Any) -> Any:
        i = arguments[0]
        flipped = Binary("^", i, number(choice[0], place), DType.INDEX, place)
        return Select(Compare("<", i, number(2, place), place), flipped, i, DType.INDEX, place)

    def constants(self, choice: Any) -> Any:
        return {"first": choice[0]}

    def parse(self, constants: Any) -> Any:
        return tuple(integers(constants, ["first"]))

    def words(self, choice: Any, names: Any) -> str:
        return "the first two change places"


SIX = """
from swizzle import *

@spec
def swapped(x):
    return [x[{index}] for i in range(6)]

@sketch(spec=swapped, block=6, x=f32[6], y=f32.out[6])
def swap(x, y):
    y[cuda.threadIdx.x] = x[sw_xform(cuda.threadIdx.x, 6)]
"""


def six(tmp_path: Path, index: str) -> Sketch:
    (tmp_path / "swap.py").write_text(SIX.format(index=index), encoding="utf-8")
    return sketch_of(tmp_path / "swap.py", "swap")


def test_sizes_without_maps_of_bits_have_three_spaces(tmp_path: Path) -> None:
    """Where nothing is new in Space 4, everything says what it said before there was one."""
    found = solve(six(tmp_path, "i * i % 6"))
    assert (found.status, found.space) == ("unsat", "3")
    assert {claim["space"] for claim in found.certificate["proved"]} <= {"1", "3"}


def test_a_family_of_ones_own(tmp_path: Path) -> None:
    """It joins Space 4, at a size that nothing of the tree has there; its solution is shown, a claim not confirmed."""
    swap = six(tmp_path, "i ^ 1 if i < 2 else i")
    assert solve(swap, Limits(space="4")).status == "unsat"
    mine = solve(swap, families=[family()])
    assert (mine.status, mine.space) == ("sat", "4")
    assert mine.best.holes[0].constants == {"flip": 1, "first": 1}
    assert [filling.words() for filling in fillings_of(mine.best)] == ["the first two change places"]
    assert "svg" in mine.best.show().svg
    every = solve(swap, Limits(space="4", certify=True, all_solutions=True), families=[family()])
    assert [claim["verdict"] for claim in every.certificate["confirmed"]] == [
        "not confirmed: the family flip, which has no second description, is not followed"
    ]


@pytest.mark.parametrize(
    ("families", "found"),
    [
        ([family("xor")], "a family is called 'xor'"),
        ([family("a b")], "a family is called 'a b'"),
        ([family(kind="zform")], "the family flip is for holes of the kind 'zform'"),
        ([family(kind="index")], "the family flip is for holes of the kind 'index'"),
        ([family(), family()], "two families of the same name"),
        ([3], "3 is not a family of templates"),
        (["flop"], "there is no family 'flop'"),
        ("xor", "the family 'xor' is Swizzle's own"),
    ],
)
def test_what_is_no_family(families: list[Any], found: str, maps: Path) -> None:
    """Each is the caller's mistake, and says so."""
    with pytest.raises(SwizzleError, match=found):
        solve(sketch_of(maps, "gray"), families=families)


def test_an_unknown_family(maps: Path) -> None:
    """The command line knows what is installed."""
    err = io.StringIO()
    assert execute(["solve", f"{maps}:gray", "--families", "nowhere"], io.StringIO(), err) == 2
    assert "there is no family 'nowhere'" in err.getvalue()


def test_a_family_by_its_name(tmp_path: Path) -> None:
    """One family or several, as objects or by the names of those that were handed in before; a near miss is told."""
    swap = six(tmp_path, "i ^ 1 if i < 2 else i")
    named = family("swapping")
    for families in ([named], named, "swapping", ["swapping"]):
        assert solve(swap, families=families).status == "sat"
        assert solve(swap, Limits(families=("swapping",))).status == "sat"
    with pytest.raises(SwizzleError, match="did you mean swapping"):
        solve(swap, families="swaping")


def test_explain_knows_a_family_of_ones_own(tmp_path: Path) -> None:
    """What it adds to Space 4 is neither blamed nor offered in vain: without it no change of a space helps."""
    swap = six(tmp_path, "i ^ 1 if i < 2 else i")
    without = explain(swap)
    assert (without.status, without.space) == ("unsat", "3") and "Space 4" not in str(without)
    assert explain(swap, Limits(families=(family(),))).status == "sat"
    offered = explain(swap, Limits(space="3", families=(family(),)))
    assert offered.status == "unsat" and "Space 4: solvable in Space 4" in str(offered)
    other = solve(six(tmp_path, "i * i % 6"), families=family())
    assert (other.status, other.space) == ("unsat", "4")
    said = str(other.explain())
    assert "no filling in Space 4 gives" in said and "tried" in said


# ---- what is wrong with a family -------------------------------------------------------------------------------


class FailsAt(Flipped):
    def at(self, chooser: Any, point: Any) -> Any:
        return chooser.pick(0, lambda flip: flip.nothing)


class FailsApply(Flipped):
    def apply(self, choice: Any, arguments: Any) -> Any:
        return choice[3]


class FailsExpression(Flipped):
    def expression(self, choice: Any, arguments: Any, place: Any) -> Any:
        return arguments[3]


class FailsWeight(Flipped):
    def weight(self, choice: Any) -> Any:
        return (1 // (choice[0] - 1),)


class FailsParse(Flipped):
    def parse(self, constants: Any) -> Any:
        raise ValueError("nothing fits")


class OutOfRange(Flipped):
    def at(self, chooser: Any, point: Any) -> Any:
        return chooser.pick(0, lambda flip: 6 + flip)


class OtherApply(Flipped):
    def apply(self, choice: Any, arguments: Any) -> Any:
        return arguments[0]


class OtherExpression(Flipped):
    def expression(self, choice: Any, arguments: Any, place: Any) -> Any:
        return arguments[0]


class TextExpression(Flipped):
    def expression(self, choice: Any, arguments: Any, place: Any) -> Any:
        return "lane"


class LateExpression(Flipped):
    """What it says is right but of one choice, which is not among the few that are compared first, and is printed."""

    def __init__(self, n: int) -> None:
        self.n, self.components = n, ((0, 1), tuple(range(40)))

    def weight(self, choice: Any) -> Any:
        return (choice[1] != 38,)

    def expression(self, choice: Any, arguments: Any, place: Any) -> Any:
        return arguments[0] if choice[1] == 38 else super().expression(choice, arguments, place)

    def constants(self, choice: Any) -> Any:
        return {"first": choice[0], "second": choice[1]}

    def parse(self, constants: Any) -> Any:
        return tuple(integers(constants, ["first", "second"]))


class OtherParse(Flipped):
    def parse(self, constants: Any) -> Any:
        return (0,)


class Empty(Flipped):
    def __init__(self, n: int) -> None:
        self.n, self.components = n, ((),)


class Bare(Template):
    components = ((0,),)


WRONG = "of the family flip, says of the choice"


@pytest.mark.parametrize(
    ("make", "found", "line"),
    [
        (FailsAt, "`at` of FailsAt, of the family flip, fails: AttributeError", "flip.nothing"),
        (FailsApply, "`apply` of FailsApply, of the family flip, fails: IndexError", "choice[3]"),
        (FailsExpression, "`expression` of FailsExpression, of the family flip, fails: IndexError", "arguments[3]"),
        (FailsWeight, "`weight` of FailsWeight, of the family flip, fails: ZeroDivisionError", "1 // (choice[0] - 1)"),
        (FailsParse, f"`parse` of FailsParse, {WRONG} (0,): nothing fits", "def parse"),
        (OutOfRange, f"`at` of OutOfRange, {WRONG} (0,): 6 at (0, 0)", "def at"),
        (OtherApply, f"`apply` of OtherApply, {WRONG} (1,): 0 at (0, 0), and `at` 1", "def apply"),
        (OtherExpression, f"`expression` of OtherExpression, {WRONG} (1,): 0 at (0, 0), and `at` 1", "def expression"),
        (LateExpression, f"`expression` of LateExpression, {WRONG} (1, 38): 0 at (0, 0), and `at` 1", "def expression"),
        (TextExpression, f"`expression` of TextExpression, {WRONG} (0,): 'lane'", "def expression"),
        (OtherParse, f"`parse` of OtherParse, {WRONG} (1,): 0 at (0, 0), and `at` 1", "def parse"),
        (Empty, "the components of Empty of the family flip are ((),)", "flip = TemplateFamily"),
        (lambda size: Bare(), "Bare of the family flip has no method `at`", "flip = TemplateFamily"),
        (lambda size: size, "the family flip makes 6", "flip = TemplateFamily"),
        (lambda size: 1 // (size - 6), "`make` of the family flip fails: ZeroDivisionError", "1 // (size - 6)"),
    ],
)
def test_mistakes_in_a_family(make: Any, found: str, line: str, tmp_path: Path) -> None:
    """What a family raises, and where it says two things of one function, is one mistake at its own line."""
    flip = TemplateFamily("flip", "xform", lambda size, arity, points, space: make(size))
    with pytest.raises(SwizzleError) as caught:
        solve(six(tmp_path, "i ^ 1 if i < 2 else i"), families=flip)
    place = caught.value.place
    assert caught.value.found.startswith(found) and caught.value.expected
    assert place is not None and place.file == __file__
    assert line in place.excerpt()
