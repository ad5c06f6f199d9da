"""Solving with a memory: a second solve searches nothing, and a wrong memory is never believed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from swizzle.sketches.loading import load
from swizzle.sketches.sketch import Sketch
from swizzle.solving.cache import entries as files
from swizzle.solving.cache.entries import cache_folder
from swizzle.solving.cache.solve import solve
from swizzle.solving.search import metasketch
from swizzle.solving.solution.solution import Limits, Result
from tests.sketches import sketch_of

ROTATE = """
@spec
def rotated(x):
    return [x[{source}] for i in range(8)]

@sketch(spec=rotated, block=8, warp_size=8, x=f32[8], y=f32.out[8])
def rotate(x, y):
    lane = cuda.laneid
    out = accumulator(f32, outer="+")
    out.accumulate(x[?sw_xform(lane, 8)], when=?sw_cond(lane))
    out.accumulate(x[?sw_xform(lane, 8)], when=?sw_cond(lane))
    y[lane] = out.value
"""
SOLVABLE, HOPELESS = ROTATE.format(source="(i + 3) % 8"), ROTATE.format(source="i * i % 5")


def ignore(_: object) -> None:
    """Listen to nothing."""


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which sketches were really searched."""
    seen: list[str] = []
    search = metasketch.solve

    def counting(sketch: Sketch, *rest: Any) -> Result:
        seen.append(sketch.name)
        return search(sketch, *rest)

    monkeypatch.setattr("swizzle.solving.cache.solve.search", counting)
    return seen


def entry_file() -> Path:
    folder = cache_folder()
    assert folder is not None
    (path,) = folder.iterdir()
    return path


def rewrite(change: Callable[[dict[str, Any]], object]) -> None:
    """Change the only entry, with a right checksum."""
    content = json.loads(entry_file().read_text())
    content.pop("checksum")
    change(content)
    files.write_entry(cache_folder(), content.pop("key"), {k: v for k, v in content.items() if k != "format"})


@pytest.mark.sampled(3)
@pytest.mark.parametrize("text", [SOLVABLE, HOPELESS])
@pytest.mark.parametrize("limits", [Limits(), Limits(space="all", certify=True), Limits(all_solutions=True)])
def test_a_second_solve_searches_nothing(text: str, limits: Limits, searches: list[str]) -> None:
    """The answer is the first one's, but for the time and the word that it was kept."""
    first = solve(sketch_of(text), limits, ignore)
    second = solve(sketch_of(text), limits, ignore)
    assert searches == ["rotate"]
    assert (first.cached, second.cached) == (False, True)
    assert second == replace(first, cached=True, seconds=second.seconds)
    assert second.seconds["search"] == 0.0


def test_formulas_are_in_the_names_of_the_sketch_at_hand(searches: list[str]) -> None:
    """A renamed sketch is the same question, answered in its own words."""
    solve(sketch_of(SOLVABLE), Limits(), ignore)
    found = solve(sketch_of(re.sub(r"\blane\b", "me", SOLVABLE).replace("rotate(", "turn(")), Limits(), ignore)
    assert (searches, found.cached, found.sketch) == (["rotate"], True, "turn")
    assert "(me + 3) % 8" in [hole.formula for hole in found.best.holes]


@pytest.mark.parametrize("file", ["conv1d.swz", "transpose.py", "aos_store.py"])
def test_case_studies_come_back_as_they_were(file: str, searches: list[str]) -> None:
    """Formulas, programs and costs of kept solutions are those of the search."""
    path = Path(__file__).resolve().parents[4] / "case_studies" / file
    for sketch in load(path):
        first, second = (solve(sketch, Limits(), ignore) for _ in range(2))
        assert second.cached
        assert second.solutions == first.solutions
        assert second.certificate == first.certificate


@pytest.mark.parametrize(
    "change",
    [
        lambda content: [hole["constants"].update(c=5) for hole in content["solutions"][0]["holes"]],
        lambda content: content["solutions"][0]["cost"].update(accumulates=0),
        lambda content: content["solutions"][0]["holes"].pop(),
        lambda content: content["solutions"][0]["holes"][0]["constants"].update(gs=0),
        lambda content: content["solutions"][0]["holes"][0]["constants"].update(c=10**30),
        lambda content: content["solutions"][0].update(holes=7),
        lambda content: content.update(solutions=[]),
        lambda content: content.update(status="unsat"),
        lambda content: content.update(status="perhaps"),
        lambda content: content.update(space="5"),
        lambda content: content.update(optimal="yes"),
        lambda content: content.pop("certificate"),
    ],
)
def test_a_wrong_entry_is_never_an_answer(change: Callable[[dict[str, Any]], object], searches: list[str]) -> None:
    """A solution is verified before it is reported; what does not hold, or is no answer, is searched again."""
    first = solve(sketch_of(SOLVABLE), Limits(), ignore)
    rewrite(change)
    again = solve(sketch_of(SOLVABLE), Limits(), ignore)
    assert (searches, again.cached, again.solutions) == (["rotate"] * 2, False, first.solutions)
    assert solve(sketch_of(SOLVABLE), Limits(), ignore).cached


@pytest.mark.parametrize(
    "change",
    [
        lambda other: [hole["constants"].update(c=5) for hole in other["holes"]],
        lambda other: other["cost"].update(accumulates=0),
        lambda other: other["holes"].pop(),
        lambda other: other["holes"][0]["constants"].update(gs=3),
    ],
)
def test_every_solution_of_an_entry_must_hold(change: Callable[[dict[str, Any]], object], searches: list[str]) -> None:
    """Of many solutions the last one is verified like the first."""
    limits = Limits(all_solutions=True)
    first = solve(sketch_of(SOLVABLE), limits, ignore)
    assert len(first.solutions) > 2
    rewrite(lambda content: change(content["solutions"][-1]))
    again = solve(sketch_of(SOLVABLE), limits, ignore)
    assert (searches, again.cached, again.solutions) == (["rotate"] * 2, False, first.solutions)


def test_no_proof_without_its_checksum(searches: list[str]) -> None:
    """'None exists' cannot be shown by running anything: it is believed only as it was written."""
    solve(sketch_of(SOLVABLE), Limits(), ignore)
    text = entry_file().read_text()
    entry_file().write_text(text.replace('"status": "sat"', '"status": "unsat"'))
    assert solve(sketch_of(SOLVABLE), Limits(), ignore).status == "sat"
    assert searches == ["rotate"] * 2


def cut_short(found: Result, cost: int | None) -> Result:
    """Return a result as if the search had ended early with a solution of this cost, or with none."""
    part = {"optimal": False, "reason": "timeout after 1 s"}
    if cost is None:
        return replace(found, status="unknown", solutions=(), **part)  # type: ignore[arg-type]
    solution = next(s for s in found.solutions if s.cost["accumulates"] == cost)
    return replace(found, solutions=(solution,), **part)  # type: ignore[arg-type]


def test_the_best_so_far_is_kept_until_there_is_a_better(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was cut short is no answer, but never lost to a search that is cut short with less."""
    every = metasketch.solve(sketch_of(SOLVABLE), Limits(all_solutions=True))
    assert {s.cost["accumulates"] for s in every.solutions} == {1, 2}
    costs: list[int | None] = [2, None, 1, 2]
    endings = iter(costs)
    monkeypatch.setattr("swizzle.solving.cache.solve.search", lambda *_: cut_short(every, next(endings)))
    found = [solve(sketch_of(SOLVABLE), Limits(), ignore) for _ in costs]
    assert [r.best.cost["accumulates"] for r in found] == [2, 2, 1, 1]
    assert {(r.status, r.optimal, r.cached, r.reason) for r in found} == {("sat", False, False, "timeout after 1 s")}
    monkeypatch.undo()


def test_a_list_that_was_cut_short_is_not_kept_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its best solution is proved minimal: the others are missing."""
    limits = Limits(all_solutions=True)
    every = metasketch.solve(sketch_of(SOLVABLE), limits)
    with monkeypatch.context() as patched:
        part = replace(every, solutions=every.solutions[:1], optimal=True, reason="interrupted")
        patched.setattr("swizzle.solving.cache.solve.search", lambda *_: part)
        assert solve(sketch_of(SOLVABLE), limits, ignore).solutions == part.solutions
    found = solve(sketch_of(SOLVABLE), limits, ignore)
    assert not found.cached and len(found.solutions) == len(every.solutions)


def test_interrupted_while_reading_the_specification(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C before the search begins is an undecided answer like any other."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("swizzle.solving.cache.solve.key", interrupt)
    found = solve(sketch_of(SOLVABLE), Limits(), ignore)
    assert (found.status, found.reason, found.solutions) == ("unknown", "interrupted", ())
