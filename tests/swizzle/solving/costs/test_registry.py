"""Costs by name: ours, a package's on the command line, one's own from Python; what is refused; what is kept."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cuda_out.passes.pipeline import optimize
from swizzle.commands.process import execute
from swizzle.commands.report import as_text
from swizzle.solving.costs.cost import Cost, Filled
from swizzle.solving.costs.registry import OURS, cost_named, costs_of
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from symbolic.errors import SwizzleError
from symbolic.extensions import _found
from tests.sketches import kernel

ROTATE = """
@spec
def rotated(x):
    return [x[(i + 3) % 8] for i in range(8)]

@sketch(spec=rotated, block=8, warp_size=8, x=f32[8], y=f32.out[8])
def rotate(x, y):
    tile = cuda.shared.array(64, f32)
    lane = cuda.laneid
    tile[8 * lane] = x[lane]
    cuda.syncwarp()
    y[lane] = tile[8 * ?sw_xform(lane, 8)]
"""

PACKAGE = """
from swizzle import Cost

class Words(Cost):
    name = "words"

    def of_run(self, filled):
        return sum(len(access.wanted) for access in filled.accesses)
"""


class Named(Cost):
    """A cost whose name is told."""

    def __init__(self, name: str) -> None:
        self.name = name

    def of_run(self, filled: Filled) -> int:
        return 0


@pytest.mark.parametrize("name", ["", "a,b", "two words", "conflicts"])
def test_a_name_that_no_command_can_say_or_that_is_taken_is_refused(name: str) -> None:
    with pytest.raises(SwizzleError, match=f"a cost called {name!r}"):
        costs_of(Named(name))
    assert costs_of(Named("mine"))[0].name == "mine"


def test_what_a_class_lacks_is_said() -> None:
    with pytest.raises(SwizzleError, match="it has no `name` and no `of_run`"):
        costs_of(type("Empty", (Cost,), {}))


class Unequal(Cost):
    """A cost that is made with an argument."""

    name = "unequals"

    def __init__(self, least: int) -> None:
        self.least = least

    def of_run(self, filled: Filled) -> int:
        return 1 // self.least

    def floor(self, problem: Problem) -> int:
        return abs(1 // (self.least - 7))


class Wrong(Cost):
    """A cost that gives whatever it was made with."""

    name = "wrongs"

    def __init__(self, count: Any = 0.5) -> None:
        self.count = count

    def of_run(self, filled: Filled) -> int:
        found: int = self.count
        return found


class High(Wrong):
    """A cost whose floor is above what a right kernel costs."""

    def floor(self, problem: Problem) -> int:
        return 5


class Statements(Cost):
    """How many statements the kernel has."""

    name = "statements"

    def of_run(self, filled: Filled) -> int:
        return len(filled.program.body)


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "rotate.swz"
    path.write_text(ROTATE)
    return str(path)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with a cost of its own."""
    (tmp_path / "counting_words.py").write_text(PACKAGE)
    info = tmp_path / "counting_words-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: counting_words\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[swizzle.costs]\nwords = counting_words:Words\n")
    monkeypatch.syspath_prepend(tmp_path)
    _found.cache_clear()
    yield
    _found.cache_clear()


def call(*words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    return execute(words, out, err), out.getvalue(), err.getvalue()


def test_every_cost_is_known_by_its_name() -> None:
    """The registry's names are the costs' own, and plural nouns."""
    assert list(OURS) == ["accumulates", "conflicts", "sectors", "shuffles", "clocks", "bytes", "terms"]
    assert all(cost_named(name).name == name and name.endswith("s") for name in OURS)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (["banks"], "there is no cost 'banks'"),
        ([], "the costs are none"),
        (["sectors", "sectors"], "the costs are sectors, sectors"),
        ([len], "<built-in function len> is not a cost"),
        ([Cost], "<class 'swizzle.solving.costs.cost.Cost'> is not a cost: it has no `name` and no `of_run`"),
        (Cost, "<class 'swizzle.solving.costs.cost.Cost'> is not a cost: it has no `name` and no `of_run`"),
        (3, "3 is not a cost"),
        ("banks", "there is no cost 'banks'"),
        (Unequal, "fails: TypeError: Unequal.__init__() missing 1 required positional argument: 'least'"),
        ([type("Uncounted", (Cost,), {"name": "uncounted"})], "Uncounted'> is not a cost: it has no `of_run`"),
    ],
)
def test_what_is_no_list_of_costs(asked: Any, found: str) -> None:
    """Each mistake is said at once, before anything is solved."""
    with pytest.raises(SwizzleError) as caught:
        costs_of(asked)
    assert str(caught.value).splitlines()[0].endswith(found)


def test_a_name_that_is_nearly_right() -> None:
    """The error says which cost was meant."""
    with pytest.raises(SwizzleError, match=r"did you mean sectors\?"):
        costs_of(["sector"])


@pytest.mark.parametrize(
    ("cost", "found", "line"),
    [
        (Unequal(0), "the cost unequals fails: ZeroDivisionError", "return 1 // self.least"),
        (Unequal(7), "the floor of the cost unequals fails: ZeroDivisionError", "return abs(1 // (self.least - 7))"),
        (Wrong, "`of_run` of the cost wrongs gives 0.5", "def of_run"),
        (Wrong(-1), "`of_run` of the cost wrongs gives -1", "def of_run"),
        (Wrong(None), "`of_run` of the cost wrongs gives None", "def of_run"),
        (High(3), "`floor` of the cost wrongs gives 5, and a right kernel costs 3", "def floor"),
    ],
)
def test_mistakes_in_a_cost(cost: Any, found: str, line: str) -> None:
    """What a cost raises, and what is no count, is one mistake at the cost's own line."""
    sketch = kernel("y[cuda.grid(1)] = x[?sw_xform(cuda.grid(1), 8)]", spec="[x[i] for i in range(8)]")
    with pytest.raises(SwizzleError) as caught:
        solve(sketch, cost=cost)
    place = caught.value.place
    assert caught.value.found.startswith(found) and caught.value.expected
    assert place is not None and place.file == __file__ and line in place.excerpt()


def test_an_unknown_name_on_the_command_line(file: str) -> None:
    """One error, with the names there are."""
    status, out, err = call("solve", file, "--cost", "accumulates,banks", "-q")
    assert (status, out) == (2, "")
    assert err == (
        "error: there is no cost 'banks'\n"
        "  expected: one of accumulates, conflicts, sectors, shuffles, clocks, bytes, terms\n"
        "  fix: several are separated by commas, the most important first\n"
    )


def test_a_cost_of_ones_own() -> None:
    """An object and its class are both taken; one that no filling changes is proved by looking at all."""
    sketch = kernel("y[cuda.grid(1)] = x[?sw_xform(cuda.grid(1), 8)]", spec="[x[i] for i in range(8)]")
    for one in (Statements(), Statements):
        assert solve(sketch, cost=one).best.cost == {"statements": 1}
    for cost in (Statements(), Statements):
        found = solve(sketch, cost=[cost, "sectors"])
        assert (found.best.cost, found.optimal) == ({"statements": 1, "sectors": 4}, True)


def test_a_cost_of_a_package(file: str, installed: None) -> None:
    """Named on the command line, beside ours; nothing of it is kept, as its code is in no key."""
    for _ in range(2):
        status, out, _ = call("solve", file, "--json", "--cost", "words,conflicts")
        answer = json.loads(out)
        assert (status, answer["cost"], answer["cached"]) == (0, {"words": 32, "conflicts": 2}, False)
        assert answer["proved"] == {"words": True, "conflicts": True}
    status, _, err = call("solve", file, "--cost", "banks", "-q")
    assert status == 2 and "one of accumulates, conflicts, sectors, shuffles, clocks, bytes, terms, words" in err


def test_costs_are_kept(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same costs are answered from the cache, counted again; others are another question."""
    monkeypatch.setenv("SWIZZLE_CACHE_DIR", str(tmp_path / "cache"))
    answers = []
    for names in ("conflicts,sectors", "conflicts,sectors", "sectors,conflicts", "accumulates", "accumulates"):
        status, out, _ = call("solve", file, "--json", "--cost", names)
        assert status == 0
        answers.append(json.loads(out))
    assert [a["cached"] for a in answers] == [False, True, False, False, True]
    assert answers[1]["cost"] == answers[0]["cost"] == {"conflicts": 2, "sectors": 2}
    assert answers[1]["proved"] == answers[0]["proved"] == {"conflicts": True, "sectors": True}


def test_a_solution_file_says_what_is_proved(file: str, tmp_path: Path) -> None:
    """NAME.json has the costs with what is proved of each; `check` reads it."""
    folder = tmp_path / "out"
    assert call("solve", file, "--cost", "sectors,conflicts", "-o", str(folder), "-q")[0] == 0
    saved = json.loads((folder / "rotate.json").read_text())
    assert saved["proved"] == {"sectors": True, "conflicts": True}
    assert "Cost: 2 sectors, proved minimal in Space 1; 2 conflicts, proved minimal among these." in (
        (folder / "rotate.cu").read_text()
    )
    assert call("check", str(folder / "rotate.json"))[0] == 0


def test_a_second_route_confirms_the_list() -> None:
    """`--certify` poses the solutions that were compared again: there is no other."""
    sketch = kernel("y[cuda.grid(1)] = x[?sw_xform(cuda.grid(1), 8)]", spec="[x[i] for i in range(8)]")
    found = solve(sketch, Limits(certify=True), cost=[Statements()])
    assert [(c["claim"], c["verdict"]) for c in found.certificate["confirmed"]] == [
        ("no filling besides those found: 1", "confirmed")
    ]
    assert found.certificate["counted_once"] == ["statements"]
    assert "certify statements: not confirmed: counted in one way only\n" in as_text(found, [])


def test_what_a_cost_sees() -> None:
    """The kernel as the sketch has it, with formulas for its holes, and as it is printed."""
    sketch = kernel("y[cuda.grid(1)] = x[?sw_xform(cuda.grid(1), 8) // 8]", spec="[x[0] for i in range(8)]")
    seen = list[Filled]()

    class Seeing(Statements):
        def of_run(self, filled: Filled) -> int:
            seen.append(filled)
            return super().of_run(filled)

    best = solve(sketch, cost=Seeing()).best
    assert seen[0].program == best.program and seen[0].printed == optimize(best.program) != best.program
