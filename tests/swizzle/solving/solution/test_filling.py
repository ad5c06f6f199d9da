"""Holes that another sketch has solved: taken over, said so, and verified with the whole.

Functions from their constants: the same formulas and the same programs as the search gave.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from swizzle import Limits, Result, SwizzleError, load, solve
from swizzle.answers.explain.explain import explain
from swizzle.commands.process import execute
from swizzle.language.parameters import Parameters
from swizzle.language.specs.verify import verify
from swizzle.sketches.sketch import Sketch
from swizzle.sketches.swz_file import read_swz
from swizzle.solving.search import metasketch
from swizzle.solving.solution.filling import fill_from, refill
from swizzle.solving.solution.saved import load_saved, saved_text
from tests.sketches import kernel, sketch_of

TEXT = """
N = parameter("N", 8, domain=(8, 16))

@cuda.jit(device=True)
def turned(v, k):
    return cuda.shfl_sync(cuda.FULL_MASK, v, ?sw_xform(cuda.laneid, N, k))

@spec
def two_turns(x):
    return [[x[(i + 1) % N] for i in range(N)], [x[(i + 3) % N] for i in range(N)]]

@spec
def weighted(x, w):
    return [(x[(i + 4) % N] + x[(i + 3) % N]) * w[N - 1 - i] for i in range(N)]

@sketch(spec=two_turns, block=N, warp_size=N, x=f32[N], y=f32.out[2, N])
def turns(x, y):
    y[0, cuda.laneid] = turned(x[cuda.laneid], 1)
    y[1, cuda.laneid] = turned(x[cuda.laneid], 3)

@sketch(spec=weighted, filled_from=turns, block=N, warp_size=N, x=f32[N], w=f32[N], y=f32.out[N])
def whole(x, w, y):
    lane = cuda.laneid
    v = turned(x[lane], 1) + x[lane]
    y[lane] = turned(v, 3) * w[?sw_xform(lane, N)]
"""


def sketches(text: str = TEXT) -> dict[str, Sketch]:
    return {sketch.name: sketch for sketch in read_swz(text, "parts.swz", Parameters())}


def call(*words: object) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    return execute([str(word) for word in words], out, err), out.getvalue(), err.getvalue()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The sketches on disk, in the current folder, with a cache of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SWIZZLE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "parts.swz").write_text(TEXT, encoding="utf-8")
    yield tmp_path / "parts.swz"


def test_the_rest_is_solved() -> None:
    """The shared hole is the other sketch's; the kernel's own is searched for; the whole is verified."""
    result = solve(sketches()["whole"])
    assert (result.status, result.optimal) == ("sat", True)
    assert [(h.name, h.formula, h.found_in) for h in result.best.holes] == [
        ("xform1", "(cuda.laneid + k) % 8", "turns"),
        ("xform2", "7 - lane", ""),
    ]
    assert result.posed is not None and result.posed.filled == result.best.holes[:1]
    assert not result.best.program.holes and verify(result.best.program, result.posed.spec).equal
    assert result.seconds["total"] >= result.seconds["sources"] > 0


def test_the_printed_text_says_where_its_holes_are_from(file: Path) -> None:
    """On the console, in the comment of the kernel, in the object for programs, in the solution file."""
    status, out, _ = call("solve", "parts.swz:whole", "-o", "out", "-q")
    assert status == 0
    assert "xform1 = (cuda.laneid + k) % 8   at parts.swz:6:46, found in turns" in out
    assert "cost    0 accumulates, proved minimal in Space 1, given the holes of turns" in out
    text = Path("out/whole.cu").read_text()
    assert "//   xform1 = (cuda.laneid + k) % 8  (line 6, found in turns)" in text
    first, second = json.loads(call("solve", "parts.swz:whole", "--json")[1])["holes"]
    formula = "(cuda.laneid + k) % 8"
    assert first == {"name": "xform1", "place": "parts.swz:6:46", "formula": formula, "found_in": "turns"}
    assert "found_in" not in second
    first, second = json.loads(Path("out/whole.json").read_text())["holes"]
    assert (first["name"], first["found_in"], first["constants"]["c_r"]) == ("xform1", "turns", 1)
    assert "found_in" not in second


def test_a_saved_solution_needs_no_other(file: Path) -> None:
    """The file has the constants of all holes; it is verified, not believed."""
    call("solve", "parts.swz:whole", "-o", "out", "-q")
    assert call("check", "out/whole.json")[:2] == (
        0,
        "whole: equal to its specification, verified for all inputs (8 outputs of 1 block)\n",
    )
    _, solution = load_saved(Path("out/whole.json"), {})
    assert [hole.found_in for hole in solution.holes] == ["turns", ""]
    assert set(solution.tables()) == {"xform1", "xform2"}
    changed = json.loads(Path("out/whole.json").read_text())
    changed["holes"][0]["constants"]["c"] = 1
    Path("out/whole.json").write_text(json.dumps(changed))
    status, _, err = call("check", "out/whole.json")
    assert status == 2 and "and its constants say xform1 = (cuda.laneid + k + 1) % 8" in err
    changed["holes"][0]["formula"] = "(cuda.laneid + k + 1) % 8"
    Path("out/whole.json").write_text(json.dumps(changed))
    assert call("check", "out/whole.json")[0] == 1
    changed["holes"][0]["name"] = "xform7"
    Path("out/whole.json").write_text(json.dumps(changed))
    status, _, err = call("check", "out/whole.json")
    assert status == 2 and "fills the holes xform7, xform2, but whole has the holes xform1, xform2" in err


def test_a_solution_file_fills(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --fill nothing else is solved, and the file may be of other sizes elsewhere in the sketch."""
    assert call("solve", "parts.swz:turns", "-o", "out", "-q", "--no-cache")[0] == 0
    asked: list[str] = []

    class Spy(metasketch._Search):
        def run(self) -> Result:
            asked.append(self.sketch.name)
            return super().run()

    monkeypatch.setattr(metasketch, "_Search", Spy)
    status, out, _ = call("solve", "parts.swz:whole", "--fill", "out/turns.json", "-q", "--no-cache")
    assert (status, asked) == (0, ["whole"])
    assert "found in turns" in out
    status, _, err = call("solve", "parts.swz:whole", "-D", "N=16", "--fill", "out/turns.json", "-q", "--no-cache")
    assert status == 2 and "the size 8 there and 16 in whole" in err and "parts.swz:6:46" in err
    status, _, err = call("solve", "parts.swz:turns", "--fill", "out/missing.json")
    assert status == 2 and "cannot be read" in err


def test_a_file_of_something_else_is_refused(file: Path) -> None:
    """A solution that fills no hole of any sketch asked for is a mistake."""
    other = TEXT.replace("turned", "rotated").replace("filled_from=turns, ", "")
    Path("others.swz").write_text("\n" + other, encoding="utf-8")
    assert call("solve", "others.swz:turns", "-o", "out", "-q")[0] == 0
    status, _, err = call("solve", "parts.swz:whole", "--fill", "out/turns.json", "-q")
    assert status == 2 and "out/turns.json fills no hole of whole" in err
    assert call("solve", "parts.swz:turns", "-o", "out", "-q")[0] == 0
    twice = ("--fill", "out/turns.json", "--fill", "out/turns.json")
    status, _, err = call("solve", "parts.swz:whole", *twice, "-q")
    assert status == 2 and "out/turns.json fills no hole that another --fill has not filled" in err


def test_a_saved_hole_of_another_kind(file: Path) -> None:
    """The error tells the two apart, though their names are the same."""
    assert call("solve", "parts.swz:turns", "-o", "out", "-q")[0] == 0
    saved = Path("out/turns.json")
    saved.write_text(saved.read_text(encoding="utf-8").replace('"kind": "xform"', '"kind": "cond"'), encoding="utf-8")
    status, _, err = call("check", saved)
    assert status == 2 and "fills the holes xform1 (sw_cond), but turns has the holes xform1" in err


def test_what_was_solved_is_remembered(file: Path) -> None:
    """Both sketches are answered from the cache the second time."""
    assert "cached" not in call("solve", "parts.swz:whole", "-q")[1]
    assert "cached" in call("solve", "parts.swz:turns", "-q")[1]
    again = call("solve", "parts.swz:whole", "-q")[1]
    assert "cached" in again and "found in turns" in again


def test_a_source_without_a_solution_leaves_the_whole_undecided() -> None:
    """The holes that are left open say nothing of the whole."""
    text = TEXT.replace("x[(i + 3) % N] for i in range(N)]]", "x[(i * i) % N] for i in range(N)]]")
    result = solve(sketches(text)["whole"])
    assert (result.status, result.solutions) == ("unknown", ())
    assert result.reason == "turns, which fills holes of whole, has no solution"
    late = solve(sketches()["whole"], Limits(timeout=0.0001))
    assert late.status == "unknown" and late.reason.startswith("turns, which fills holes of whole, is not solved: ")


def test_a_whole_that_its_parts_do_not_make(file: Path) -> None:
    """With the shared hole as the other sketch has it there is no solution, and `explain` speaks of the rest."""
    text = TEXT.replace("turned(v, 3) *", "turned(v, 2) *")
    whole = sketches(text)["whole"]
    assert solve(whole).status == "unsat"
    assert explain(whole).outputs
    file.write_text(text, encoding="utf-8")
    status, out, _ = call("solve", "parts.swz:whole", "-q")
    assert status == 1
    assert out.startswith("whole: no filling in Space 4 gives the specification's terms, given the holes of turns\n")
    assert "\n  why     swizzle explain parts.swz:whole\n" in out
    assert call("solve", "parts.swz:turns", "-o", "out", "-q")[0] == 0
    status, out, _ = call("solve", "parts.swz:whole", "-q", "--fill", "out/turns.json")
    assert (status, "why" in out) == (1, False)  # `explain` takes no solution file
    closed = text.replace("w[?sw_xform(lane, N)]", "w[N - 1 - lane]")
    file.write_text(closed, encoding="utf-8")
    status, out, _ = call("solve", "parts.swz:whole", "-q")
    assert status == 1
    assert out.startswith("whole: given the holes of turns, and its terms are not the specification's")


def test_other_commands_solve_the_sources_first(file: Path) -> None:
    """`run` and `show` take a sketch that is filled from another like any other."""
    status, out, _ = call("run", "parts.swz:whole", "--device", "cpu", "-q")
    assert status == 0 and "outputs are the specification's" in out
    status, out, _ = call("show", "parts.swz:whole", "-q")
    assert status == 0 and "xform1  rotate by k" in out and "xform2  reverse" in out
    status, _, err = call("check", "parts.swz:whole")
    assert status == 2 and "whole has 2 holes" in err


def test_sources_in_python(tmp_path: Path) -> None:
    """In Python too, with several sources, one of which is filled from another."""
    path = tmp_path / "parts.py"
    path.write_text(
        "from swizzle import cuda, f32, sketch, spec, sw_xform\n"
        "@cuda.jit(device=True)\ndef up(v):\n    return cuda.shfl_sync(-1, v, sw_xform(cuda.laneid, 8))\n"
        "@cuda.jit(device=True)\ndef down(v):\n    return cuda.shfl_sync(-1, v, sw_xform(cuda.laneid, 8, 0))\n"
        "A = dict(block=8, warp_size=8, x=f32[8], y=f32.out[8])\n"
        "@spec\ndef one(x):\n    return [x[(i + 1) % 8] for i in range(8)]\n"
        "@spec\ndef two(x):\n    return [x[(i + 3) % 8] for i in range(8)]\n"
        "@spec\ndef three(x):\n    return [x[(i + 4) % 8] for i in range(8)]\n"
        "@sketch(spec=one, **A)\ndef first(x, y):\n    y[cuda.laneid] = up(x[cuda.laneid])\n"
        "@sketch(spec=two, filled_from=first, **A)\ndef second(x, y):\n"
        "    y[cuda.laneid] = down(up(x[cuda.laneid]))\n"
        "@sketch(spec=three, filled_from=(first, second), **A)\ndef third(x, y):\n"
        "    y[cuda.laneid] = up(down(up(x[cuda.laneid])))\n"
    )
    with pytest.raises(SwizzleError, match="xform1 is filled from first and from second"):
        load(path)
    path.write_text(path.read_text().replace("(first, second)", "second"))
    (third,) = load(path, "third")
    assert [h.found_in for h in solve(third).best.holes] == ["first", "second"]


@pytest.mark.parametrize(
    ("given", "found"), [("[turns]", "a list"), ("turned", "a DeviceFunction"), ("two_turns", "a Spec"), ("7", "7")]
)
def test_what_is_no_sketch_is_told_in_a_line(tmp_path: Path, given: str, found: str) -> None:
    """Neither a program nor an environment is printed."""
    path = tmp_path / "parts.py"
    text = TEXT.replace("?sw", "sw").replace("filled_from=turns", f"filled_from={given}")
    path.write_text("from swizzle import *\n" + text, encoding="utf-8")
    with pytest.raises(SwizzleError) as error:
        load(path)
    assert error.value.found == f"filled_from is {found}"
    assert "filled_from=(product, shift)" in error.value.fix


def test_naive_solutions_fill_like_any_other() -> None:
    """They are expressions, which mean the same in every caller."""
    both = sketches()
    naive = solve(both["turns"], Limits(template="naive-1")).best
    filled = fill_from(both["whole"], naive).filled
    assert [hole.formula for hole in filled] == [hole.formula for hole in naive.holes]


BEYOND = """
@cuda.jit(device=True)
def moved(v, j):
    return cuda.shfl_sync(cuda.FULL_MASK, v, ?sw_xform(cuda.laneid, 8, j))

@spec
def two(x):
    return [[x[5] for i in range(8)], [x[6] for i in range(8)]]

@sketch(spec=two, block=8, warp_size=8, x=f32[8], y=f32.out[2, 8])
def small(x, y):
    y[0, cuda.laneid] = moved(x[cuda.laneid], 0)
    y[1, cuda.laneid] = moved(x[cuda.laneid], 3)

@spec
def sums(x):
    return [x[4] + x[7 - i] for i in range(8)]

@sketch(spec=sums, filled_from=small, block=8, warp_size=8, x=f32[8], y=f32.out[8])
def large(x, y):
    lane = cuda.laneid
    y[lane] = moved(x[lane], 1) + x[?sw_xform(lane, 8)]

@sketch(spec=sums, filled_from=large, block=8, warp_size=8, x=f32[8], y=f32.out[8])
def larger(x, y):
    lane = cuda.laneid
    y[lane] = moved(x[lane], 1) + x[7 - lane]
"""


def test_the_printed_formula_is_handed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the large sketch asks, `j ^ 5` is not what its constants say: `(3 * j + 5) % 8`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SWIZZLE_CACHE_DIR", str(tmp_path / "cache"))
    Path("k.swz").write_text(BEYOND, encoding="utf-8")
    given = "xform1 = j ^ 5"
    status, out, _ = call("solve", "k.swz", "-q", "-o", "out")
    assert (status, out.count(given), out.count("found in small")) == (0, 3, 2)
    other = BEYOND.replace("x[4] + x[7 - i]", "x[0] + x[7 - i]")  # what the constants would give
    assert solve(sketches(other)["large"]).status == "unsat"

    saved = json.loads(Path("out/large.json").read_text())["holes"][0]
    assert (saved["formula"], saved["found_in"], saved["constants"]) == ("j ^ 5", "small", {})
    assert call("check", "out/large.json")[0] == 0
    _, solution = load_saved(Path("out/large.json"), {})
    assert solution.tables()["xform1"].values.tolist() == [4] * 8
    assert "xform1  compute j ^ 5" in call("show", "out/large.json", "-q")[1]
    for source in ("small", "large"):
        out = call("solve", "k.swz:larger", "-q", "--fill", f"out/{source}.json")[1]
        assert given in out and "found in small" in out

    saved = json.loads(Path("out/small.json").read_text())
    saved["holes"][0]["constants"] = {}  # only a hole that was found elsewhere has none
    Path("out/small.json").write_text(json.dumps(saved))
    assert "gs of xform1 is None" in call("check", "out/small.json")[2]


def test_a_source_is_solved_as_it_is_by_itself() -> None:
    """What limits a search limits those of its sources, which print the same formula then."""
    both = sketches(BEYOND.replace("x[4] + x[7 - i]", "x[0] + x[7 - i]"))
    naive = Limits(template="naive-2")
    (own,) = solve(both["small"], naive).best.holes
    (taken, _) = solve(both["large"], naive).best.holes
    assert own.formula == taken.formula == "(j - 1) * 3 % 8"
    text = TEXT.replace("x[(i + 1) % N] for", "x[i // 2] for")
    assert solve(sketches(text)["whole"], Limits(space="1")).reason == (
        "turns, which fills holes of whole, has no solution in Space 1"
    )


def test_a_table_is_handed_over_with_its_remainder() -> None:
    """What is shifted by stays below 32 wherever the table is asked, and is read back from a file."""
    entries = (3, 0, 7, 2, 5, 1, 6, 4)
    text = f"""
@cuda.jit(device=True)
def entry(j):
    return ?sw_index(j, 8, families="table")

@spec
def once(x):
    return [x[{entries}[i]] for i in range(8)]

@sketch(spec=once, block=8, x=f32[8], y=f32.out[8])
def small(x, y):
    y[cuda.threadIdx.x] = x[entry(cuda.threadIdx.x)]

@spec
def twice(x):
    return [x[{entries}[i % 8]] for i in range(16)]

@sketch(spec=twice, filled_from=small, block=16, x=f32[8], y=f32.out[16])
def large(x, y):
    y[cuda.threadIdx.x] = x[entry(cuda.threadIdx.x)]
"""
    both = sketches(text)
    best = solve(both["small"]).best
    (hole,) = best.holes
    assert hole.formula == "(10016195 >> j % 8 * 3) & 7"
    assert best.sketch is not None
    assert refill(best.sketch, [(hole.constants, hole.formula)], best.cost).holes == best.holes
    (taken,) = solve(both["large"]).best.holes
    assert (taken.formula, taken.constants, taken.table_bytes) == (hole.formula, hole.constants, 4)


NESTED = """
@cuda.jit(device=True)
def cell(r, c):
    return ?sw_xform(c, 8, r)

@cuda.jit(device=True)
def named(i):
    return ?sw_xform(i, 8)

@spec
def rotations(x):
    return [[x[(i + r) % 8] for i in range(8)] for r in range(8)]

@sketch(spec=rotations, block=8, x=f32[8], y=f32.out[8, 8])
def layout(x, y):
    for r in range(8):
        y[r, cuda.threadIdx.x] = x[cell(r, cuda.threadIdx.x)]

@spec
def reversal(x):
    return [x[7 - i] for i in range(8)]

@sketch(spec=reversal, block=8, x=f32[8], y=f32.out[8])
def rows(x, y):
    y[cuda.threadIdx.x] = x[named(cuda.threadIdx.x)]

@spec
def turned(x):
    return [[x[(7 - i + r) % 8] for i in range(8)] for r in range(8)]

@sketch(spec=turned, filled_from=SOURCE, block=8, x=f32[8], y=f32.out[8, 8])
def both(x, y):
    i = cuda.threadIdx.x
    for r in range(8):
        BODY
"""
DIRECT, BY_A_VARIABLE = "y[r, i] = x[cell(r, named(i))]", "p = named(i)\n        y[r, i] = x[cell(r, p)]"


@pytest.mark.parametrize("body", [DIRECT, BY_A_VARIABLE])
@pytest.mark.parametrize("source", ["layout", "rows", "(layout, rows)"])
def test_a_hole_feeds_one_that_is_found_before(source: str, body: str, tmp_path: Path) -> None:
    """Or is fed by one: a hole's argument has one value when it is searched."""
    text = NESTED.replace("SOURCE", source).replace("BODY", body)
    both = sketches(text)["both"]
    result = solve(both)
    assert [hole.formula for hole in result.best.holes] == ["(c + r) % 8", "7 - i"]
    assert verify(result.best.program, both.spec).equal
    file, saved = tmp_path / "k.swz", tmp_path / "both.json"
    file.write_text(text, encoding="utf-8")
    saved.write_text(saved_text(result, file, {}, tmp_path), encoding="utf-8")
    sketch, again = load_saved(saved, {})
    assert again.program.body == result.best.program.body or verify(again.program, sketch.spec).equal
    assert again.tables()["xform1"].values.tolist() == [(7 - i + r) % 8 for i in range(7, -1, -1) for r in range(8)]


LEAVES = """
@cuda.jit(device=True)
def source(j):
    return ?sw_xform(j, 8)

@spec
def four(x):
    return [x[i + 1] for i in range(4)]

@sketch(spec=four, block=4, x=f32[8], y=f32.out[4])
def small(x, y):
    y[cuda.threadIdx.x] = x[source(cuda.threadIdx.x)]

@spec
def eight(x):
    return [x[(i + 1) % 8] for i in range(8)]

@sketch(spec=eight, filled_from=small, block=8, x=f32[8], y=f32.out[8])
def large(x, y):
    i = cuda.threadIdx.x
    y[i] = x[source(i)]
"""


def test_a_formula_that_leaves_the_array_is_told() -> None:
    """It may be right only where the small sketch asks. The message says which; another mistake says nothing of it."""
    given = ", with xform1 = j + 1, found in small"
    texts = {"y[i] = x[source(i)]": given, "y[source(i)] = x[i]": given, "y[source(i) % 8] = x[i + 1]": ""}
    for statement, said in texts.items():
        with pytest.raises(SwizzleError, match="is out of bounds") as caught:
            solve(sketches(LEAVES.replace("y[i] = x[source(i)]", statement))["large"])
        assert caught.value.found.endswith(said or "lane 7)")
        assert ("let small ask xform1 where large does" in caught.value.fix) == bool(said)


TURNING = """
@spec
def turned(x):
    return [[x[k % {size}] for k in range({rounds})] for i in range(4)]

@sketch(spec=turned, block=4, warp_size=4, x=f32[{size}], y=f32.out[4, {rounds}])
def turn(x, y):
    for k in range({rounds}):
        y[cuda.laneid, k] = x[?sw_xform(0, {size}, k)]
"""


@pytest.mark.parametrize(("rounds", "expected"), [(4, "k"), (8, "k % 4")])
def test_k_alone_where_it_stays_in_range(rounds: int, expected: str) -> None:
    """The points of a hole are not kept: its formula is."""
    sketch = sketch_of(TURNING.format(size=4, rounds=rounds))
    best = solve(sketch).best
    (hole,) = best.holes
    assert hole.formula == expected
    assert refill(sketch.program, [(hole.constants, hole.formula)], best.cost) == best


def test_other_parameters_may_ask_at_other_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A saved `k` is `k % 4` again where k may be larger; a formula that its constants contradict is refused."""
    monkeypatch.chdir(tmp_path)
    text = "R = parameter('R', 4, domain=(4, 8))\n" + TURNING.replace("{rounds}", "R").format(size=4)
    (tmp_path / "turn.swz").write_text(text, encoding="utf-8")
    assert execute(["solve", "turn.swz", "-o", "out", "-q"], io.StringIO(), io.StringIO()) == 0
    saved = tmp_path / "out" / "turn.json"
    assert [load_saved(saved, given)[1].holes[0].formula for given in ({}, {"R": 8})] == ["k", "k % 4"]
    content = json.loads(saved.read_text())
    content["holes"][0]["formula"] = "3 - k"
    saved.write_text(json.dumps(content))
    with pytest.raises(SwizzleError, match=r"says xform1 = 3 - k, and its constants say xform1 = k % 4"):
        load_saved(saved, {})
    content["holes"][0]["formula"] = "__import__('os').getcwd()"
    saved.write_text(json.dumps(content))
    with pytest.raises(SwizzleError, match="which is neither an argument nor a number"):
        load_saved(saved, {})


@pytest.mark.parametrize(
    ("constants", "complaint"),
    [
        ({}, "gs of xform1 is None"),
        ({"gs": True}, "gs of xform1 is True"),
        ({"gs": 3}, "gs = 3, d_f = 8, d_r = 0 is not an xform of size 8"),
        ({"c": 1 << 40}, "c of xform1 is 1099511627776"),
    ],
)
def test_constants_that_are_no_function(constants: dict[str, object], complaint: str) -> None:
    """Whatever a file says, only a function of the hole's template fills it."""
    sketch = kernel("y[cuda.laneid] = x[?sw_xform(cuda.laneid, 8)]")
    right = dict.fromkeys(("gs", "d_f"), 8) | dict.fromkeys(("c_f", "wrap", "c_r", "d_r", "c"), 0)
    assert refill(sketch.program, [(right, "0")], {}).holes[0].formula == "0"
    with pytest.raises(ValueError, match=complaint):
        refill(sketch.program, [(right | constants if constants else {}, "0")], {})
