"""`explain` on sketches without a solution: each claim is checked, by another route where there is one.

That outputs cannot be produced is asked of the search itself, made to care for these outputs only, with z3; that
something helps is shown by a filling that the concrete machine runs, or by solving the changed sketch.
"""

import itertools
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from swizzle import load
from swizzle.answers.explain.blame import with_more_arguments
from swizzle.answers.explain.explain import explain
from swizzle.answers.explain.explanation import Explanation, Trial
from swizzle.answers.explain.relaxed import Ignores, Obeys, Relaxed, RelaxedFilling, Requirement, Right
from swizzle.answers.explain.variants import variants
from swizzle.language.specs.verify import Mismatch, verify
from swizzle.sketches.sketch import Sketch
from swizzle.solving.problem.candidate import Candidate, NoFilling
from swizzle.solving.problem.problem import Demand, Problem
from swizzle.solving.search.cegis import Cegis
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from symbolic.limits import OutOfTime
from symbolic.machine.run import Run
from symbolic.solve.engines import SolverName, quickest_boolean
from templates.template import Template
from tests.differential.test_explain_random import Table
from tests.patience import be_patient

FOLDER = Path(__file__).resolve().parents[3] / "explain"


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    be_patient(monkeypatch)


@dataclass(frozen=True)
class Expected:
    """What an explanation is to say: how many outputs, what is blamed, words of the reason, kinds that help."""

    outputs: int
    blamed: tuple[str, ...]
    reason: str
    helps: frozenset[str] = frozenset()
    space: Any = None


def expected(outputs: int, blamed: str, reason: str, helps: str = "", space: Any = None) -> Expected:
    return Expected(outputs, tuple(blamed.split()), reason, frozenset(helps.split()), space)


EXPECTED = {
    "barrier": expected(2, "present", "cond1 would have to be True for y["),
    "blind_condition": expected(1, "cond1", "cond1 would have to differ between step = 0"),
    "butterfly": expected(3, "xform1", "xform1 would have to be 5 at lane = 0", "space", "3"),
    "holes_contradict": expected(
        3, "xform1 xform2", "no function of ?sw_xform in Space 3 gives xform1 values", "space", "3"
    ),
    "needs_space_2": expected(2, "cond1", "no function of ?sw_cond in Space 1 is", "space hole", "1"),
    "never_stored": expected(1, "", "no thread ever stores to it"),
    "never_written": expected(0, "unwritten", ""),
    "one_argument_too_few": expected(1, "part1", "part1 would have to differ between k = 0 and 1, where", "arguments"),
    "other_block": expected(
        1,
        "",
        "it needs x[15]; whatever the holes are, only x[0] to x[7] can reach it\nx[15] is held by tile[7] of block 1",
    ),
    "other_shape": expected(1, "", "its inputs reach it, but the kernel's statements make no term of this shape"),
    "out_of_bounds": expected(1, "xform1 bounds", "xform1 would have to be ", "space", "3"),
    "race": expected(0, "race", ""),
    "race_by_hole": expected(
        2, "cond1 race unwritten", "no function of ?sw_cond in Space 4 gives cond1 values", "hole"
    ),
    "same_arguments": expected(2, "part1", "part1 would have to be 0 for y[", "arguments"),
    "too_few_accumulates": expected(1, "", "3 terms, and only 2 accumulates can", "iteration accumulate"),
    "too_few_registers": expected(1, "", "; whatever the holes are, only x[0] to x[7]", "register"),
    "too_few_rounds": expected(1, "", "only x[0] and x[8] can reach it", "register parameter"),
    "too_few_steps": expected(1, "", "16 elements; 8 at most are put together, whatever the holes are", "parameter"),
    "too_many_accumulates": expected(1, "", "3 accumulates always run (line 11 with k = 0, ", "iteration"),
    "unwritten": expected(4, "part1", "part1 would have to be 1 at lane = 0, 0 at lane = 2, ", "hole"),
    "weight_index": expected(1, "xform1", "xform1 would have to be 0 at k = 0 and 3 at k = 2", "space", "3"),
}


def shape(text: str) -> str:
    """Blank out numbers: which of several smallest conflicts is told depends on the solver."""
    return re.sub(r"\d+", "#", text)


class Restricted(Problem):
    """A problem in which only some outputs count."""

    keep: frozenset[tuple[str, int]] = frozenset()

    def first_demands(self) -> list[Demand]:
        return [o for o in self.outputs if (o.array, o.address) in self.keep]

    def candidate(self, templates: Sequence[Template], choices: Sequence[Any]) -> tuple[Run, list[Mismatch]]:
        run, wrong = super().candidate(templates, choices)
        return run, [m for m in wrong if (m.array, m.address) in self.keep]


class Case:
    """One sketch, its explanation, and what checking it takes."""

    def __init__(self, path: Path, space: Any) -> None:
        (self.sketch,) = load(path)
        self.limits = Limits(space)
        self.path = path
        self.found: Explanation = explain(self.sketch, self.limits)
        assert self.found.space is not None
        self.space = self.found.space
        self.problem = Problem.of(self.sketch.program, self.sketch.spec)
        self.numbers = {(o.array, o.address): n for n, o in enumerate(self.problem.outputs)}
        self.deadline = time.monotonic() + 60
        names = {hole.name: number for number, hole in enumerate(self.sketch.program.holes)}
        self.holes = [names[b.name] for b in self.found.blamed if b.kind == "hole"]
        self.ignoring = [names[b.name] for b in self.found.blamed if b.kind == "arguments"]

    def remake(self, values: Any) -> Sketch:
        return load(self.path, None, values)[0]

    @property
    def rights(self) -> frozenset[Requirement]:
        return frozenset(Right(self.numbers[o.array, o.address]) for o in self.found.outputs)

    def producible(self, outputs: Iterable[tuple[str, int]], solver: SolverName) -> bool:
        """Ask the search for a filling that gets these outputs right."""
        problem = Restricted(*[getattr(self.problem, name) for name in Problem.__struct_fields__])
        problem.keep = frozenset(outputs)
        with Cegis(problem, self.space, solver, self.deadline, lambda _: None) as cegis:
            answer = cegis.find()
            assert isinstance(answer, Candidate | NoFilling)
            return isinstance(answer, Candidate)

    def relaxed_filling(self, freed: Iterable[int], outputs: frozenset[Requirement] | None) -> bool:
        """Look for a filling with holes set free, and show it: the machine runs it, the others obey their templates."""
        free = set(freed)
        with Relaxed(self.problem, self.space, quickest_boolean()) as relaxed:
            wanted = {r for r in relaxed.holes if isinstance(r, Obeys) and r.hole not in free}
            if outputs is None:
                answer = relaxed.solve(wanted, self.deadline)
            else:
                answer = relaxed.check({*wanted, *outputs}, self.deadline)
            if not isinstance(answer, RelaxedFilling):
                assert answer is not None
                return False
            functions = [relaxed.function(answer, n) for n in range(len(self.problem.points))]
        tables: list[Template] = []
        for number, (hole, function) in enumerate(zip(self.sketch.program.holes, functions, strict=True)):
            points, values = list(function), list(function.values())
            tables.append(Table((False, True) if hole.kind == "cond" else range(hole.size), points))
            if number not in free:
                assert relaxed.templates[number].simplest(points, values) is not None
        run, wrong = self.problem.candidate(tables, [tuple(f.values()) for f in functions])
        assert not run.violations
        bad = {self.numbers[m.array, m.address] for m in wrong}
        assert not bad if outputs is None else not bad & {r.output for r in outputs if isinstance(r, Right)}
        return True


def test_structures_of_six_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A harder sketch: no words and no trials, and the conflict is minimal but not proved smallest."""
    monkeypatch.setattr("swizzle.answers.explain.blame.LOOK_FOR_OUTPUTS", 0)
    monkeypatch.setattr("swizzle.answers.explain.explain.tried_changes", lambda *_: iter(()))
    monkeypatch.setattr("swizzle.answers.explain.explain.about_values", lambda *_: ())
    case = Case(FOLDER / "aos_struct_size_6.swz", None)
    assert not case.found.smallest
    assert {"xform1", "xform2"} <= {b.name for b in case.found.blamed}
    check_outputs(case, quickest_boolean())
    check_blame(case)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_claims(name: str) -> None:
    """The outputs, the blame and the trials are what they are said to be."""
    wanted = EXPECTED[name]
    case = Case(FOLDER / f"{name}.swz", wanted.space)
    found = case.found
    assert (found.status, found.cut_short) == ("unsat", "")
    assert tuple(b.name for b in found.blamed) == wanted.blamed
    assert len(found.outputs) == wanted.outputs
    assert shape(wanted.reason) in shape("\n".join(found.reasons))
    assert wanted.helps <= {t.kind for t in found.trials if t.verdict == "solvable"}
    check_outputs(case)
    check_blame(case)
    for trial in found.trials:
        check_trial(case, trial)


def test_a_check_that_was_broken_off_decides_nothing_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of an output's clauses would make a wrong filling look right."""
    (sketch,) = load(FOLDER / "same_arguments.swz")
    problem = Problem.of(sketch.program, sketch.spec)

    def late(*_: object) -> None:
        raise OutOfTime

    with Relaxed(problem, "1", quickest_boolean()) as relaxed:
        assert isinstance(relaxed.check([Right(0)], time.monotonic() + 60), RelaxedFilling)
        with monkeypatch.context() as patched:
            patched.setattr(Problem, "require", late)
            assert relaxed.check([Right(1)], time.monotonic() + 60) is None
        assert relaxed.check([Right(0)], time.monotonic() + 60) is None


def test_a_formula_over_the_thread_may_be_written_in_place_of_the_hole(tmp_path: Path) -> None:
    """Where more arguments help, and the values read as a formula of the thread, the sketch with it is solved."""
    text = (FOLDER / "same_arguments.swz").read_text(encoding="utf-8")
    (trial,) = [t for t in explain(load(FOLDER / "same_arguments.swz")[0]).trials if t.kind == "arguments"]
    formula = trial.detail.removeprefix("for example ")
    assert "cuda.threadIdx.x" in formula and text.count("?sw_part(2, k)") == 1
    (tmp_path / "k.swz").write_text(text.replace("?sw_part(2, k)", formula), encoding="utf-8")
    assert solve(load(tmp_path / "k.swz")[0]).status == "sat"


def check_outputs(case: Case, solver: SolverName = "z3") -> None:
    """No filling gets all of the outputs right; without any one of them, or with fewer at all, some filling does."""
    cells = [(o.array, o.address) for o in case.found.outputs]
    assert not case.producible(cells, solver)
    assert case.found.minimal
    if case.found.smallest and len(case.numbers) <= 8:
        fewer: Iterable[Sequence[tuple[str, int]]] = itertools.combinations(case.numbers, max(0, len(cells) - 1))
    else:
        fewer = [[c for c in cells if c != left] for left in cells]
    if cells:  # with none left out there is nothing fewer
        assert all(case.producible(some, quickest_boolean()) for some in fewer)


def check_blame(case: Case) -> None:
    """Freeing any one blamed hole, besides all that are not blamed, makes the outputs producible; freeing none not."""
    unblamed = set(range(len(case.sketch.program.holes))) - set(case.holes)
    if case.holes:
        assert not case.relaxed_filling(unblamed, case.rights)
    for hole in case.holes:
        assert case.relaxed_filling(unblamed | {hole}, case.rights)
    extended = with_more_arguments(case.problem, case.sketch.spec, case.deadline) if case.ignoring else None
    if extended is not None:
        with Relaxed(case.problem, case.space, quickest_boolean(), extended=extended) as relaxed:
            only = frozenset(Ignores(h) for h in case.ignoring)
            assert not isinstance(relaxed.check(case.rights | only, case.deadline), RelaxedFilling)
            for hole in case.ignoring:
                answer = relaxed.check(case.rights | only - {Ignores(hole)}, case.deadline)
                assert isinstance(answer, RelaxedFilling)
                assert not {Right(o) for o in answer.wrong} & case.rights


def check_trial(case: Case, trial: Trial) -> None:
    """What a trial says comes out again when the change is made by hand."""
    helps = trial.verdict == "solvable"
    assert trial.verdict != "not decided"
    match trial.kind:
        case "hole":
            (hole,) = [n for n, h in enumerate(case.sketch.program.holes) if f"as {h.name} (" in trial.change]
            assert case.relaxed_filling([hole], None) == helps
        case "register" | "iteration" | "accumulate":
            (variant,) = [v for v in variants(case.sketch.program) if v.change == trial.change]
            posed = Sketch("k", variant.program, case.sketch.spec, {}, case.sketch.place)
            assert is_solved(posed, case.limits) == helps
        case "parameter" | "specification":
            parameter, _, value = trial.change.removeprefix("-D ").partition("=")
            assert is_solved(case.remake({parameter: int(value)}), case.limits) == helps
        case "space":
            assert is_solved(case.sketch, Limits(space=trial.change.removeprefix("Space "))) == helps  # type: ignore[arg-type]
        case "arguments" | "holes":
            pass  # a table over threads and loops; the relaxed sketch's fillings are run when they are found


def is_solved(sketch: Sketch, limits: Limits) -> bool:
    result = solve(sketch, limits)
    assert result.status != "unknown"
    return result.status == "sat" and verify(result.best.program, sketch.spec).equal


def test_cells_that_nobody_writes_are_named() -> None:
    """Which they are is said where a search ends; which read is to blame, by `explain`."""
    assert solve(load(FOLDER / "never_written.swz")[0]).because() == (
        "y[0] cannot be x[0, 7] + x[1, 7]",
        "it is made of tile[1, 0], tile[1, 1], tile[1, 2] and 5 more, never written before, whatever the holes are",
    )
