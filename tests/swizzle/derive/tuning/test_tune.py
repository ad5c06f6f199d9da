"""Tuning of small files: what is tried, kept, resumed and written, and what is said where nothing is left."""

from __future__ import annotations

import json
import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cuda_out.compile.report import disassembler
from cuda_out.compile.toolchain import available_tools
from cuda_out.devices.device import device
from swizzle import check, load
from swizzle.derive.tuning import candidate, static_cost
from swizzle.derive.tuning.elsewhere import TuningEngine
from swizzle.derive.tuning.kernel_tuner import kernel_tuner_cache
from swizzle.derive.tuning.report import lines, plot, table
from swizzle.derive.tuning.store import CandidateStore
from swizzle.derive.tuning.tune import SearchBudget, SearchName, Tuned, tune
from swizzle.sketches.choices import NothingLeftError
from swizzle.sweeps.driver import Engine
from symbolic.errors import SwizzleError

SUMS = """
from swizzle import accumulator, choice, cuda, f32, gpu, require, sketch, spec

V = choice("V", (1, 2, 4))
WARPS = choice("WARPS", (1, 2, 3))
require(V * WARPS <= 8, "few outputs")
OUTPUTS = 32 * V * WARPS
SHIFT = 1 if WARPS == 3 else 0

@spec
def neighbours(x):
    return [x[i] + x[i + 1] for i in range(len(x) - 1)]

@sketch(spec=neighbours, block=32 * WARPS, x=f32[OUTPUTS + 1], y=f32.out[OUTPUTS])
def sums(x, y):
    first = cuda.grid(1) * V
    out = accumulator(f32, outer="+", shape=V)
    for m in range(V):
        out[m].accumulate(x[first + m])
        out[m].accumulate(x[first + m + 1 - SHIFT])
    for m in range(V):
        y[first + m] = out[m].value
"""


@pytest.fixture
def without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates are counted by what they move, as on a machine without a compiler."""
    monkeypatch.setattr(static_cost, "_compiled", lambda program, sizes, arch: None)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sums.py"
    path.write_text(SUMS)
    return path


def tuned_values(tuned: Tuned) -> set[tuple[object, ...]]:
    return {tuple(each.decisions.values()) for each in tuned.tried}


@pytest.mark.usefixtures("without_compiler")
@pytest.mark.parametrize("search", ["tag", "bound"])
def test_a_space_is_tried_as_a_whole(file: Path, tmp_path: Path, search: str) -> None:
    """Each candidate once; those that are not equal keep their reason, and the best is proved to be that."""
    tuned = tune(file, search=search, output=tmp_path / "out")  # type: ignore[arg-type]
    assert tuned_values(tuned) == {(v, w) for v in (1, 2, 4) for w in (1, 2, 3) if v * w <= 8}
    assert (tuned.size.low, tuned.size.high) == (8, 8)
    assert tuned.statuses == {"proved": 6, "none": 2}
    wrong = [each for each in tuned.tried if each.record.status == "none"]
    assert all(each.decisions["WARPS"] == 3 and "the specification says" in each.record.reason for each in wrong)
    assert tuned.best is not None and tuned.best.cost == min(each.cost for each in tuned.tried)
    assert tuned.optimal == "proved by the model"
    assert all(each.bound <= each.cost for each in tuned.tried)
    said = "\n".join(lines(tuned))
    assert "no candidate in this space" in said and tuned.space in said and device("h100").hash in said
    assert "not measured" in said


@pytest.mark.usefixtures("without_compiler")
@pytest.mark.slow
@pytest.mark.parametrize(("search", "engine"), [("tag", "local"), ("bound", "local"), ("bound", "dask")])
def test_workers_try_the_same_candidates(file: Path, tmp_path: Path, search: SearchName, engine: Engine) -> None:
    """Several at once: each once, with the same records and the same best one, which is proved here before it is
    written; and what is kept is not tried again."""
    if engine == "dask":
        pytest.importorskip("distributed")
    here = tune(file, search=search, output=tmp_path / "here")
    there = tune(file, search=search, output=tmp_path / "there", engine=TuningEngine(engine, None, 2))
    assert [by_decisions(each) for each in (there, here)] == [by_decisions(here)] * 2
    assert there.best is not None
    assert here.best is not None
    assert there.best.decisions == here.best.decisions
    assert (there.optimal, len(there.tried)) == (here.optimal, len(here.tried))
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == sorted(
        path.name for path in (tmp_path / "here").iterdir()
    )
    again = tune(file, search=search, output=tmp_path / "there", resume=True, engine=TuningEngine(engine, None, 2))
    assert by_decisions(again) == by_decisions(here)


def by_decisions(tuned: Tuned) -> dict[str, str]:
    return {json.dumps(dict(each.decisions)): each.record.status for each in tuned.tried}


@pytest.mark.slow
def test_a_budget_holds_for_workers(file: Path, tmp_path: Path) -> None:
    """No more candidates are tried than are allowed."""
    tuned = tune(file, budget="candidates:3", output=tmp_path / "out", engine=TuningEngine("local", None, 2))
    assert len(tuned.tried) == 3
    assert tuned.stopped == "the budget of 3 candidates is spent"


@pytest.mark.slow
def test_what_is_written_is_proved_again(file: Path, tmp_path: Path) -> None:
    """The kernel, a header, a solution that `check` takes, and JSON with the hashes of space and device."""
    tuned = tune(file, output=tmp_path / "out")
    names = {path.name for path in tuned.files}
    assert names == {"sums.cu", "sums.cuh", "sums.json", "sums.tuned.json"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == names | {"sums.tune.jsonl"}
    said = json.loads((tmp_path / "out" / "sums.tuned.json").read_text())
    assert said["space"]["hash"] == tuned.space and said["device"]["hash"] == device("h100").hash
    assert tuned.space in (tmp_path / "out" / "sums.cu").read_text()
    solution = json.loads((tmp_path / "out" / "sums.json").read_text())
    assert tuned.best is not None and solution["parameters"] == dict(tuned.best.decisions)
    assert check(load(file, None, solution["parameters"])[0], emitted=False)


@pytest.mark.usefixtures("without_compiler")
def test_a_search_is_resumed(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was tried is kept, and is not made again; where a value is added, only what is new is tried."""
    made = list[str]()
    evaluate = candidate.evaluate
    monkeypatch.setattr(
        "swizzle.derive.tuning.tune.evaluate",
        lambda sketch, name, *others, **more: made.append(name) or evaluate(sketch, name, *others, **more),
    )
    out = tmp_path / "out"
    first = tune(file, budget="candidates:3", output=out)
    assert len(first.tried) == 3 and first.optimal == "open" and "3 candidates is spent" in first.stopped
    again = tune(file, resume=True, output=out)
    assert len(again.tried) == 8 and len(set(made)) == 8 and len(made) <= 9  # the best is proved again
    before = len(made)
    file.write_text(SUMS.replace("(1, 2, 3)", "(1, 2, 3, 4)"))
    more = tune(file, output=out)
    assert len(more.tried) == 10 and len(set(made)) == 10 and before + 2 <= len(made) <= before + 3


@pytest.mark.usefixtures("without_compiler")
def test_one_kernel_is_one_candidate(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A choice that changes nothing makes no work: its candidates are known by their kernels."""
    file.write_text(SUMS.replace("SHIFT =", 'UNUSED = choice("UNUSED", (0, 1, 2))\nSHIFT ='))
    made = list[str]()
    evaluate = candidate.evaluate
    monkeypatch.setattr(
        "swizzle.derive.tuning.tune.evaluate",
        lambda sketch, name, *others, **more: made.append(name) or evaluate(sketch, name, *others, **more),
    )
    tuned = tune(file, fix={"V": 1}, output=tmp_path)
    assert len(tuned.tried) == 9 and len(made) == 3


@pytest.mark.usefixtures("without_compiler")
def test_a_line_that_is_broken_or_nobodys_is_no_record(file: Path, tmp_path: Path) -> None:
    """Half a line, as an ended process leaves it, is not read, and what comes after it is; a changed one is not."""
    tuned = tune(file, output=tmp_path)
    path = tmp_path / "sums.tune.jsonl"
    first, *others = path.read_text().splitlines(keepends=True)
    path.write_text(first + others[0][:60])
    store = CandidateStore(path)
    assert [record.key for record in store.records.values()] == [tuned.tried[0].record.key]
    store.put(tuned.tried[3].record, "another space", {"V": 1})
    read = CandidateStore(path)
    assert len(read.records) == 2 and read.known("another space", {"V": 1}) == tuned.tried[3].record
    proved = next(line for line in [first, *others] if '"proved"' in line)
    path.write_text(proved.replace('"conflicts": 0', '"conflicts": 1') + "[1]\n{}\nnonsense\n")
    assert CandidateStore(path).records == {}


@pytest.mark.usefixtures("without_compiler")
def test_values_that_are_set_are_not_searched(file: Path, tmp_path: Path) -> None:
    """And nothing left is an error with the rules that leave nothing."""
    assert tuned_values(tune(file, fix={"V": 2, "WARPS": 1}, output=tmp_path)) == {(2, 1)}
    with pytest.raises(NothingLeftError) as caught:
        tune(file, fix={"V": 4, "WARPS": 3})
    assert caught.value.rules == ("line 6: few outputs", "V = 4 is set", "WARPS = 3 is set")
    (file.parent / "plain.py").write_text(
        SUMS.replace('choice("V", (1, 2, 4))', "1").replace('choice("WARPS", (1, 2, 3))', "1")
    )
    with pytest.raises(SwizzleError, match="a kernel of one thread"):
        tune(file.parent / "plain.py")


@pytest.mark.usefixtures("without_compiler")
def test_tables_figures_and_exports(file: Path, tmp_path: Path) -> None:
    """All candidates in a table, a figure that is XML, and a file that Kernel Tuner's format says the same in."""
    tuned = tune(file, output=tmp_path)
    rows = list(table(tuned))
    assert len(rows) == 2 + 8 and rows[0].startswith("| V | WARPS | cost |")
    assert ElementTree.fromstring(plot(tuned)).tag.endswith("svg")
    data = json.loads(json.dumps(kernel_tuner_cache(tuned)))
    assert "not measured" in data["device_name"]
    for line, each in zip(data["cache"].values(), tuned.tried, strict=True):
        assert {name: line[name] for name in data["tune_params_keys"]} == each.decisions
        cost = line["time"] if isinstance(line["time"], float) else math.inf
        assert cost == pytest.approx(each.cost * 1e3)


@pytest.mark.parametrize("text", ["", "0", "-3", "x", "3d", "hours:3", ":3", "nan", "inf"])
def test_a_wrong_budget_is_a_mistake(text: str) -> None:
    """With what may be written."""
    with pytest.raises(SwizzleError, match="a budget of"):
        SearchBudget.of(text)


def test_budgets_are_of_three_kinds() -> None:
    """Processor seconds, seconds by the clock, candidates."""
    assert SearchBudget.of("2m") == SearchBudget("processor", 120) == SearchBudget.of("processor:120")
    assert SearchBudget.of("wall:1.5s") == SearchBudget("wall", 1.5)
    assert SearchBudget.of("candidates:40") == SearchBudget("candidates", 40)


@pytest.mark.skipif(not available_tools() or disassembler() is None, reason="no compiler or no nvdisasm")
@pytest.mark.slow
def test_a_candidate_is_compiled_and_counted(file: Path, tmp_path: Path) -> None:
    """With several outputs a thread there are fewer instructions an output, and the best has them."""
    tuned = tune(file, fix={"WARPS": 1}, output=tmp_path)
    counted = {each.decisions["V"]: each.record.static for each in tuned.tried}
    one, four = counted[1], counted[4]
    assert one is not None and four is not None and one.architecture == four.architecture == "sm_90"
    assert 0 < four.per_output < one.per_output < 40 and not one.loops and one.registers > 5
    assert tuned.best is not None and tuned.best.decisions["V"] == 4


PLAIN = """
from swizzle import f32, parameter, sketch, spec

N = parameter("N", 64, domain=range(1, 1 << 20))

@spec
def doubled(x):
    return [2 * x[i] for i in range(N)]

@sketch(spec=doubled, block=1, x=f32[N], y=f32.out[N])
def twice(x, y):
    for i in range(N):
        y[i] = 2 * x[i]
"""


@pytest.mark.usefixtures("without_compiler")
def test_a_kernel_with_loops_is_scheduled(tmp_path: Path) -> None:
    """Without choices in its file; of the schedules that were tried, the best is written with its text, and checked."""
    path = tmp_path / "twice.py"
    path.write_text(PLAIN)
    small = tune(path)
    assert small.best is not None and small.optimal == "proved by the model" and len(small.tried) < small.size.low
    assert small.best.cost == small.least, "nothing is below the bound of the whole space: how long one load takes"
    path.write_text(PLAIN.replace('"N", 64', '"N", 1 << 16'))
    tuned = tune(path, budget="candidates:3", output=tmp_path / "out")
    assert len(tuned.tried) == 3 and tuned.best is not None and tuned.size.low > 100
    assert any(name.startswith("size(") for name in tuned.best.decisions)
    assert all(each.bound <= each.cost for each in tuned.tried) and tuned.least > 0
    (text,) = (tmp_path / "out").glob("twice_*.py")
    assert "block=" in text.read_text() and check(load(text)[0], emitted=False)
    assert {path.name for path in tuned.files} == {"twice.cu", "twice.cuh", "twice.json", "twice.tuned.json"}
